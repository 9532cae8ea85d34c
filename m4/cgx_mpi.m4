# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# CGX_MPI
# -------
# The MPI that programs of the tests, examples and benchmarks are built for: the library itself needs
# none and serves several. The flags come from the compiler wrapper $MPICC. Sets MPICC, MPIEXEC,
# MPIFORT, MPI_CPPFLAGS and MPI_LIBS; cgx_mpi_name for the summary.
AC_DEFUN([CGX_MPI], [
    AC_ARG_VAR([MPICC], [compiler wrapper of the MPI for tests and examples @<:@mpicc@:>@])
    AC_ARG_VAR([MPIEXEC], [launcher of that MPI @<:@mpiexec next to MPICC@:>@])
    AC_ARG_WITH([mpi],
        [AS_HELP_STRING([--with-mpi=DIR], [use DIR/bin/mpicc and DIR/bin/mpiexec])],
        [], [with_mpi=yes])
    AS_CASE([$with_mpi],
        [no], [AC_MSG_ERROR([--without-mpi: tests and examples need an MPI])],
        [yes], [],
        [MPICC=$with_mpi/bin/mpicc; MPIEXEC=$with_mpi/bin/mpiexec])

    # AC_PATH_PROG looks for the name that it is given, and only for variables without a path.
    cgx_mpicc=${MPICC:-mpicc}
    AS_CASE([$MPICC], [*/*], [], [MPICC=])
    AC_PATH_PROG([MPICC], [$cgx_mpicc])
    AS_IF([test ! -x "$MPICC"],
          [AC_MSG_ERROR([no MPI: '$cgx_mpicc' was not found; set MPICC or --with-mpi=DIR])])
    cgx_mpiexec=${MPIEXEC:-mpiexec}
    AS_CASE([$MPIEXEC], [*/*], [], [MPIEXEC=])
    AC_PATH_PROG([MPIEXEC], [$cgx_mpiexec], [$cgx_mpiexec],
                 [`dirname "$MPICC"`$PATH_SEPARATOR$PATH])

    # MPICH's family and Open MPI all know -show: the command line without the user's part.
    AC_MSG_CHECKING([the flags of $MPICC])
    cgx_mpi_command=`$MPICC -show 2>/dev/null` ||
        AC_MSG_ERROR([$MPICC -show fails])
    MPI_CPPFLAGS=
    MPI_LIBS=
    for cgx_flag in $cgx_mpi_command; do
        AS_CASE([$cgx_flag],
            [-I*|-D*], [MPI_CPPFLAGS="$MPI_CPPFLAGS $cgx_flag"],
            [-L*|-l*|-Wl,*], [MPI_LIBS="$MPI_LIBS $cgx_flag"])
    done
    AC_MSG_RESULT([$MPI_CPPFLAGS $MPI_LIBS])

    cgx_save_CPPFLAGS=$CPPFLAGS
    cgx_save_LIBS=$LIBS
    CPPFLAGS="$MPI_CPPFLAGS $CPPFLAGS"
    LIBS="$MPI_LIBS $LIBS"
    AC_MSG_CHECKING([for MPI 3 or later])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
        #include <mpi.h>
        #if MPI_VERSION < 3
        #error too old
        #endif]], [[return MPI_Init(0, 0)]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([no program for MPI 3 or later can be built with the flags of $MPICC])])
    AC_COMPUTE_INT([cgx_mpich], [MPICH_NUMVERSION], [#include <mpi.h>], [cgx_mpich=0])
    AS_IF([test "$cgx_mpich" = 0],
          [cgx_mpi_name="another than MPICH"],
          [cgx_mpi_name="MPICH `expr $cgx_mpich / 10000000`.`expr $cgx_mpich / 100000 % 100`"])
    CPPFLAGS=$cgx_save_CPPFLAGS
    LIBS=$cgx_save_LIBS

    # For tests: mpicc and mpifort, mpicc.mpich and mpifort.mpich.
    MPIFORT=`AS_ECHO(["$MPICC"]) | sed 's|mpicc\(@<:@^/@:>@*\)$|mpifort\1|'`
    AC_SUBST([MPIFORT])
    AC_SUBST([MPI_CPPFLAGS])
    AC_SUBST([MPI_LIBS])
])
