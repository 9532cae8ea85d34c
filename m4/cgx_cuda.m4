# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# CGX_CUDA
# --------
# The header of the CUDA driver API only; the driver is what the program has loaded. Sets
# CUDA_CPPFLAGS, the conditional CUDA, and cgx_cuda_result for the summary.
AC_DEFUN([CGX_CUDA], [
    AC_ARG_WITH([cuda],
        [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
                        [recognise buffers in GPU memory; header in DIR/include @<:@if found@:>@])],
        [], [with_cuda=guess])
    CGX_HEADER_ONLY([cuda], [cuda.h], [$with_cuda], [${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda],
                    [buffers in GPU memory are left to the MPI])
    CUDA_CPPFLAGS=$cgx_header_cppflags
    cgx_cuda_result=$cgx_header_result
    AC_SUBST([CUDA_CPPFLAGS])
    AM_CONDITIONAL([CUDA], [test "$cgx_header_found" = yes])
])
