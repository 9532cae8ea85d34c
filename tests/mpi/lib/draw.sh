# shellcheck shell=sh
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# Random choices for jobs. The script sets $state, the generator's state, a number below 2^31.

# pick WORD...: one of them, in $picked.
pick() {
    state=$(((state * 1103515245 + 12345) % 2147483648))
    shift $((state / 65536 % $#))
    picked=$1
}

# set_one NAME WORD...: the variable with one of the values goes into $environment.
set_one() {
    set_name=$1
    shift
    pick "$@"
    environment="$environment $set_name=$picked"
}
