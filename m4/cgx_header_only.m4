# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# CGX_HEADER_ONLY(NAME, HEADER, WITH, PLACES, WITHOUT, CONDITION)
# ---------------------------------------------------------------
# A dependency of which only HEADER is needed, with which the constant CONDITION is to be true. WITH
# is the value of --with-NAME: "guess" looks in the compiler's path and in PLACES, and not finding it
# is a notice that says WITHOUT; "yes" does the same and not finding it is an error; a directory is
# the only place. Sets cgx_header_found to yes or no, cgx_header_cppflags, and cgx_header_result for
# the summary.
AC_DEFUN([CGX_HEADER_ONLY], [
    cgx_header_found=no
    cgx_header_cppflags=
    cgx_header_result=no
    AS_CASE([$3], [no], [cgx_places=], [guess|yes], [cgx_places="default $4"], [cgx_places=$3])
    cgx_save_CPPFLAGS=$CPPFLAGS
    for cgx_place in $cgx_places; do
        AS_IF([test "$cgx_header_found" = yes], [break])
        AS_CASE([$cgx_place],
            [default], [cgx_try=],
            [cgx_try="-isystem $cgx_place/include"
             # Without it the compiler would find another one in its own path.
             AS_IF([test ! -f "$cgx_place/include/$2"], [continue])])
        AC_MSG_CHECKING([for $2 ($cgx_place)])
        CPPFLAGS="$cgx_try $cgx_save_CPPFLAGS"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <$2>
                                             _Static_assert($6, "");]])],
            [cgx_header_found=yes
             cgx_header_cppflags=$cgx_try
             cgx_header_result="yes ($cgx_place)"])
        AC_MSG_RESULT([$cgx_header_found])
    done
    CPPFLAGS=$cgx_save_CPPFLAGS
    AS_IF([test "$cgx_header_found" = no],
        [AS_CASE([$3],
            [no], [],
            [guess], [AC_MSG_NOTICE([built without $1: $5])],
            [AC_MSG_ERROR([--with-$1=$3: no $2 with $6 was found; name the directory above include/])])])
])
