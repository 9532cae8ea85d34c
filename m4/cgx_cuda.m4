# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# CGX_CUDA
# --------
# The header of the CUDA driver API, and nvcc for the kernels; the driver is what the program has
# loaded. Sets CUDA_CPPFLAGS, NVCC, NVCC_ARCHITECTURES, KERNELS (which, and how long they take), the conditional
# CUDA, and cgx_cuda_result for the summary.
AC_DEFUN([CGX_CUDA], [
    AC_ARG_WITH([cuda],
        [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
                        [compress buffers in GPU memory; toolkit in DIR @<:@if found@:>@])],
        [], [with_cuda=guess])
    AC_ARG_VAR([NVCC], [CUDA compiler])
    CGX_HEADER_ONLY([cuda], [cuda.h], [$with_cuda], [${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda],
                    [buffers in GPU memory are left to the MPI], [CUDA_VERSION >= 11020])
    CUDA_CPPFLAGS=$cgx_header_cppflags
    cgx_cuda_result=$cgx_header_result
    cgx_cuda_found=$cgx_header_found
    AS_IF([test "$cgx_cuda_found" = yes], [CGX_NVCC])
    AC_SUBST([CUDA_CPPFLAGS])
    AM_CONDITIONAL([CUDA], [test "$cgx_cuda_found" = yes])
])

# CGX_NVCC
# --------
# The architectures of CUDA_ARCHITECTURES, or the usual ones that this nvcc has: a GPU runs the code of its
# major number's first one (sm_80: 86 and 89 as well), and one that is newer than all the last one's PTX.
AC_DEFUN([CGX_NVCC], [
    AC_ARG_VAR([CUDA_ARCHITECTURES],
               [for which GPUs there are kernels, as "75 90"; native: this machine's; all usual ones if not set])
    AS_CASE([$with_cuda], [guess|yes], [cgx_cuda_home=${CUDA_HOME:-/usr/local/cuda}],
            [cgx_cuda_home=$with_cuda])
    AC_PATH_PROG([NVCC], [nvcc], [], [$cgx_cuda_home/bin$PATH_SEPARATOR$PATH])
    NVCC_ARCHITECTURES=
    AS_IF([test -n "$NVCC"], [
        AS_IF([test "$CUDA_ARCHITECTURES" = native], [
            CUDA_ARCHITECTURES=`nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
                                tr -d '. ' | sort -nu | tr '\n' ' '`
            AS_CASE([$CUDA_ARCHITECTURES], ['' | *@<:@!0-9\ @:>@*],
                [AC_MSG_ERROR([CUDA_ARCHITECTURES=native: nvidia-smi names no GPU; name it, as 90])])
        ])
        AC_MSG_CHECKING([for the architectures of $NVCC])
        cgx_has=" `$NVCC --list-gpu-code 2>/dev/null | tr '\n' ' '`"
        cgx_list= cgx_seconds=0
        for cgx_sm in ${CUDA_ARCHITECTURES:-70 75 80 90 100 120}; do
            AS_CASE([$cgx_has], [*" sm_$cgx_sm "*],
                [NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES -gencode=arch=compute_$cgx_sm,code=sm_$cgx_sm"
                 cgx_list="$cgx_list $cgx_sm"
                 cgx_seconds=`expr $cgx_seconds + 35`
                 cgx_last=$cgx_sm],
                [AS_IF([test -n "$CUDA_ARCHITECTURES"],
                    [AC_MSG_ERROR([CUDA_ARCHITECTURES="$CUDA_ARCHITECTURES": $NVCC knows no sm_$cgx_sm, but$cgx_has])])])
        done
        CUDA_ARCHITECTURES=`echo $cgx_list`
        AS_IF([test -n "$cgx_list"], [
            NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES -gencode=arch=compute_$cgx_last,code=compute_$cgx_last"
            # Between these two majors there are devices of others.
            AS_CASE([$cgx_list], [*" 90 100"*],
                [NVCC_ARCHITECTURES="$NVCC_ARCHITECTURES -gencode=arch=compute_90,code=compute_90"])
        ])
        AC_MSG_RESULT([${cgx_list:-none}])
        cgx_cuda_result="$cgx_cuda_result, sm${cgx_list}"
        # nvcc takes an architecture for each processor.
        cgx_processors=`getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1`
        KERNELS="CUDA kernels for sm$cgx_list, about `expr $cgx_seconds / $cgx_processors / 60 + 1` min (processors: $cgx_processors)"
    ])
    AS_IF([test -z "$NVCC_ARCHITECTURES"], [
        AS_CASE([$with_cuda], [guess],
            [AC_MSG_NOTICE([built without cuda: there is no nvcc that knows the usual architectures])],
            [AC_MSG_ERROR([--with-cuda=$with_cuda: no nvcc that knows the usual architectures; set NVCC])])
        cgx_cuda_found=no
        cgx_cuda_result="no (no nvcc)"
    ])
    AC_SUBST([cgx_cuda_home])
    AC_SUBST([KERNELS])
    AC_SUBST([NVCC_ARCHITECTURES])
])
