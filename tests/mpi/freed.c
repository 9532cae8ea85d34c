/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Programs whose attributes' delete functions use the communicator that is being freed: "freed
 * WAY". */

#include "../lib/tap.h"
#include "lib/check.h"
#include "lib/sums.h"

enum { COUNT = 5000, TIMES = 60 };

static const char *way;
static MPI_Comm living, other, outer;
static int keyval, nothing, deleted;
static bool fails, good = true;

static bool is(const char *name)
{
    return strcmp(way, name) == 0;
}

/* Whether a sum on COMM is compressed, or else the MPI's, to the bit. */
static bool sum_is(bool compressed, MPI_Comm comm)
{
    static float input[COUNT], result[COUNT], exact[COUNT];
    uint64_t before = traffic_messages();

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, check_rank, COUNT, input);
    PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, comm);
    MPI_Allreduce(input, result, COUNT, MPI_FLOAT, MPI_SUM, comm);
    if (compressed && !check_set("CGX_ENABLE", "0"))
        return traffic_messages() > before;
    return traffic_messages() == before && memcmp(result, exact, sizeof exact) == 0;
}

/* Sums on COMM until they are compressed. */
static void use(MPI_Comm comm)
{
    for (int i = 0; i < 3; i++)
        good = sum_is(false, comm) && good;
    good = sum_is(true, comm) && good;
}

static void use_copy(MPI_Comm comm)
{
    MPI_Comm copy;

    MPI_Comm_dup(comm, &copy);
    use(copy);
    MPI_Comm_free(&copy);
}

static void use_attributes(MPI_Comm comm)
{
    void *value;
    int found;

    MPI_Comm_set_attr(comm, nothing, &good);
    MPI_Comm_get_attr(comm, nothing, &value, &found);
    good = good && found && value == &good;
    MPI_Comm_delete_attr(comm, nothing);
}

/* Frees the other communicator while COMM is being freed. */
static void free_other(MPI_Comm comm)
{
    MPI_Comm freed = other;

    other = MPI_COMM_NULL;
    outer = comm;
    MPI_Comm_free(&freed);
    outer = MPI_COMM_NULL;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    if (fails) {
        fails = false;
        return MPI_ERR_OTHER;
    }
    deleted++;
    if (is("copy"))
        use_copy(comm);
    else if (is("attributes"))
        use_attributes(comm);
    else if (other != MPI_COMM_NULL)
        free_other(comm);
    if (outer != MPI_COMM_NULL)
        good = sum_is(false, outer) && good;
    good = sum_is(false, comm) && good;
    if (living != MPI_COMM_NULL)
        good = sum_is(true, living) && good;
    return MPI_SUCCESS;
}

static MPI_Comm make(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, keyval, NULL);
    use(comm);
    return comm;
}

/* Where freeing has failed some MPIs have deleted the attribute. */
static void keep_attribute(MPI_Comm comm)
{
    void *value;
    int found;

    MPI_Comm_get_attr(comm, keyval, &value, &found);
    if (!found)
        MPI_Comm_set_attr(comm, keyval, NULL);
}

static void make_and_free(void)
{
    MPI_Comm comm = make();

    if (is("another"))
        other = make();
    if (is("fails")) {
        fails = true;
        good = MPI_Comm_free(&comm) != MPI_SUCCESS && good;
        good = sum_is(true, comm) && good;
        keep_attribute(comm);
    }
    if (is("disconnect"))
        MPI_Comm_disconnect(&comm);
    else
        MPI_Comm_free(&comm);
}

/* Attributes of the communicators that MPI_Finalize frees; Open MPI 5 leaves those of
 * MPI_COMM_WORLD.
 */
static int finalize(void)
{
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    use(MPI_COMM_WORLD);
    sum_is(false, MPI_COMM_SELF);
    MPI_Finalize();
    if (check_rank > 0)
        return 0;
    ok(good && deleted > 0, "sums in MPI_Finalize are right");
    return done_testing();
}

int main(int argc, char **argv)
{
    int times = 1;

    check_begin(&argc, &argv);
    way = argc > 1 ? argv[1] : "sum";
    living = other = outer = MPI_COMM_NULL;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &nothing, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (is("finalize"))
        return finalize();
    MPI_Comm_dup(MPI_COMM_WORLD, &living);
    use(living);
    for (int i = 0; i < TIMES; i++)
        make_and_free();
    if (is("another"))
        times = 2;
    check(deleted == times * TIMES, "%s: every delete function is called", way);
    check(good, "%s: only sums on the communicator that is being freed are the MPI's", way);
    MPI_Comm_free(&living);
    return check_end();
}
