// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// The library's own kernels, for this processor: device.h, included first, takes the place of CUDA.
#include "cuda/kernels.cu"
