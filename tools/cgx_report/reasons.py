# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Why calls were exact: for each name that cgx-stats(5) lists, what it means and what to do."""

import collections

Reason = collections.namedtuple("Reason", "meaning advice")

_NOTHING = "Nothing to do: it is as you have set it."
_ERROR_LINE = "The error line of rank 0 names the value: correct it."

REASONS = {
    name: Reason(meaning, advice)
    for name, meaning, advice in (
        (
            "op",
            "The operation is not MPI_SUM.",
            "Nothing to do: maxima, minima and the program's own operations stay exact.",
        ),
        (
            "type",
            "The elements are not float32, float16 or bfloat16.",
            "Nothing to do, unless these are gradients in double precision: sum those as float32.",
        ),
        (
            "small",
            "Too few elements (CGX_COMPRESSION_MINIMAL_SIZE).",
            "Nothing to do where these are few bytes, as biases and losses are. Else fuse them into "
            "larger sums, or lower CGX_COMPRESSION_MINIMAL_SIZE.",
        ),
        ("large", "More than 2^48 elements.", "Sum in several parts."),
        (
            "no_communicator",
            "There is no communicator, or it is being freed.",
            "Sum before the communicator is freed.",
        ),
        (
            "intercommunicator",
            "The communicator is an intercommunicator.",
            "Sum on a communicator of one group.",
        ),
        (
            "one_rank",
            "The communicator has one rank: nothing is sent.",
            "Start more ranks, and see that all are of one MPI job.",
        ),
        ("outside_world", "A member is outside MPI_COMM_WORLD.", "Start all ranks by one mpiexec."),
        (
            "differ",
            "Ranks differ in settings, hints or versions.",
            "Give all ranks the settings that the error line of rank 0 names.",
        ),
        ("setting_refused", "A setting has a value that is not allowed.", _ERROR_LINE),
        ("enable", "CGX_ENABLE=0 is set.", _NOTHING),
        (
            "hint_refused",
            "A hint of the communicator has a value that is not allowed.",
            _ERROR_LINE,
        ),
        ("hint_enable", "The communicator has the hint cgx_enable.", _NOTHING),
        (
            "first",
            "The sum is one of the first 3 of its communicator.",
            "Nothing to do if the program makes its communicators once. If it makes one in every step, "
            "make it once and sum on it in every step.",
        ),
        (
            "not_recurring",
            "The sums do not recur, or had not yet shown that they do.",
            "Nothing to do where these are the first steps of a long run. Else say recurs=always of "
            "the gradients in CGX_RULES: cgx-report --suggest prints the rules.",
        ),
        (
            "stray",
            "The sum is no part of the program's step.",
            "Nothing to do for metrics and evaluations. If it is a gradient, say recurs=always in "
            "CGX_RULES.",
        ),
        ("rule", "A rule of CGX_RULES says so.", _NOTHING),
        ("hint", "A hint of the communicator says so.", _NOTHING),
        (
            "looked_at",
            "Ranks look at 11 sums of each kind before they compress them.",
            "Nothing to do; consensus=off in CGX_RULES begins at once.",
        ),
        (
            "held",
            "The data of these calls, or of those before them, did not look like gradients.",
            "Nothing to do unless these are gradients: then say consensus=off in CGX_RULES. "
            "cgx-info --data says which data the library sees.",
        ),
        (
            "slower",
            "Compressed sums took longer than exact ones.",
            "Nothing to do to save time. To save bytes, set CGX_COMPRESSION_MINIMAL_SIZE to a number.",
        ),
        (
            "unknown_sum",
            "The operation is the program's own, on elements of two bytes.",
            "If it sums float16 or bfloat16, say op=float16 or op=bfloat16 in CGX_RULES.",
        ),
        ("null", "A buffer is NULL.", "An error of the program: see what MPI says."),
        ("overlap", "The two buffers overlap.", "Use MPI_IN_PLACE."),
        (
            "unreachable",
            "A buffer is shorter than the count says, or was freed.",
            "An error of the program: look for where it frees its buffers.",
        ),
        ("host_memory", "The buffers are in host memory.", "Set CGX_BUFFERS=all or host."),
        ("device_memory", "The buffers are in device memory.", "Set CGX_BUFFERS=all or device."),
        ("no_memory", "A rank is out of memory.", "Set CGX_FUSION_BUFFER_SIZE_MB lower."),
        (
            "communicators",
            "Too many communicators have compressed calls.",
            "Free communicators that are no longer used.",
        ),
        (
            "device",
            "The device of a buffer, or its memory, cannot be used.",
            "The program's stderr says why; with CGX_LOG=info it says more.",
        ),
        (
            "device_lost",
            "The device of a buffer is lost.",
            "Look at the device's and the driver's logs.",
        ),
        (
            "peers",
            "Ranks of the node cannot reach the memory that the buffers have come to lie in.",
            "Set CGX_INNER_COMMUNICATOR_TYPE=SHM.",
        ),
        ("other_rank", "Another rank declines.", "Set CGX_LOG=debug: that rank says why."),
        (
            "observed",
            "CGX_ENABLE=observe is set: these calls would be compressed.",
            "Run without it to compress them.",
        ),
    )
}

# What looks at the data find (cgx-messages(7)), and what it is usual for.
LOOKS = {
    "alike": "all ranks bring the same signs: averaged weights, variances, or the same data",
    "steady": "the size changes by less than 15 % in 9 sums: densities, batch statistics",
    "still": "three quarters hardly change: forces, moving averages, second-order factors",
    "wild": "the size changes by more than a factor of 512 in 11 sums: residuals of solvers",
    "symmetric": "a symmetric matrix: covariances, second-order factors",
    "whole": "whole numbers: counts and histograms",
    "odd": "64 times above or below the 12 sums before: averages and metrics among gradients",
    "empty": "most of it is zero on some ranks: gathers and broadcasts done as sums",
}


def reason(name):
    """That of NAME; of another version of the library there is the name alone."""
    return REASONS.get(
        name, Reason(f"“{name}”.", "See cgx-stats(5) of the library that wrote the file.")
    )
