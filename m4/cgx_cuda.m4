# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# CGX_CUDA
# --------
# The header of the CUDA driver API, and nvcc for the kernels; the driver is what the program has
# loaded. Sets CUDA_CPPFLAGS, NVCC, NVCC_ARCHITECTURES, the conditional CUDA, and cgx_cuda_result for
# the summary.
AC_DEFUN([CGX_CUDA], [
    AC_ARG_WITH([cuda],
        [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
                        [compress buffers in GPU memory; toolkit in DIR @<:@if found@:>@])],
        [], [with_cuda=guess])
    AC_ARG_VAR([NVCC], [CUDA compiler])
    CGX_HEADER_ONLY([cuda], [cuda.h], [$with_cuda], [${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda],
                    [buffers in GPU memory are left to the MPI], [CUDA_VERSION >= 11000])
    CUDA_CPPFLAGS=$cgx_header_cppflags
    cgx_cuda_result=$cgx_header_result
    cgx_cuda_found=$cgx_header_found
    AS_IF([test "$cgx_cuda_found" = yes], [CGX_NVCC])
    AC_SUBST([CUDA_CPPFLAGS])
    AM_CONDITIONAL([CUDA], [test "$cgx_cuda_found" = yes])
])

# CGX_NVCC
# --------
# Which of the usual architectures, or of CUDA_ARCHITECTURES, this nvcc has; newer devices take the last
# one's PTX.
AC_DEFUN([CGX_NVCC], [
    AC_ARG_VAR([CUDA_ARCHITECTURES],
               [for which devices there are kernels, as "75 90"; all usual ones if not set])
    AS_CASE([$with_cuda], [guess|yes], [cgx_cuda_home=${CUDA_HOME:-/usr/local/cuda}],
            [cgx_cuda_home=$with_cuda])
    AC_PATH_PROG([NVCC], [nvcc], [], [$cgx_cuda_home/bin$PATH_SEPARATOR$PATH])
    NVCC_ARCHITECTURES=
    AS_IF([test -n "$NVCC"], [
        AC_MSG_CHECKING([for the architectures of $NVCC])
        cgx_has=" `$NVCC --list-gpu-code 2>/dev/null | tr '\n' ' '`"
        cgx_list=
        for cgx_sm in ${CUDA_ARCHITECTURES:-70 75 80 86 89 90 100 120}; do
            AS_CASE([$cgx_has], [*" sm_$cgx_sm "*],
                [NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES -gencode=arch=compute_$cgx_sm,code=sm_$cgx_sm"
                 cgx_list="$cgx_list $cgx_sm"
                 cgx_last=$cgx_sm])
        done
        AS_IF([test -n "$cgx_list"], [
            NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES -gencode=arch=compute_$cgx_last,code=compute_$cgx_last"
            # Between these two majors there are devices of others.
            AS_CASE([$cgx_list], [*" 90 100"*],
                [NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES -gencode=arch=compute_90,code=compute_90"])
        ])
        AC_MSG_RESULT([${cgx_list:-none}])
        cgx_cuda_result="$cgx_cuda_result, sm${cgx_list}"
    ])
    AS_IF([test -z "$NVCC_ARCHITECTURES"], [
        AS_CASE([$with_cuda], [guess],
            [AC_MSG_NOTICE([built without cuda: there is no nvcc that knows the usual architectures])],
            [AC_MSG_ERROR([--with-cuda=$with_cuda: no nvcc that knows the usual architectures; set NVCC])])
        cgx_cuda_found=no
        cgx_cuda_result="no (no nvcc)"
    ])
    AC_SUBST([NVCC_ARCHITECTURES])
])
