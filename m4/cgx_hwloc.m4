# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# CGX_HWLOC
# ---------
# hwloc's header only, of 2.1 or later; the library is opened at run time where it is present. Sets
# HWLOC_CPPFLAGS, the conditional HWLOC, and cgx_hwloc_result for the summary.
AC_DEFUN([CGX_HWLOC], [
    AC_ARG_WITH([hwloc],
        [AS_HELP_STRING([--with-hwloc@<:@=DIR@:>@],
                        [ask hwloc for the topology; header in DIR/include @<:@if found@:>@])],
        [], [with_hwloc=guess])
    CGX_HEADER_ONLY([hwloc], [hwloc.h], [$with_hwloc], [],
                    [the topology is what MPI says of nodes], [HWLOC_API_VERSION >= 0x20100])
    HWLOC_CPPFLAGS=$cgx_header_cppflags
    cgx_hwloc_result=$cgx_header_result
    AC_SUBST([HWLOC_CPPFLAGS])
    AM_CONDITIONAL([HWLOC], [test "$cgx_header_found" = yes])
])
