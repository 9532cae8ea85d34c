/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory for devices, when the program forks. */

#define _GNU_SOURCE /* memfd_create, mincore */

#include "util/pages.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/tap.h"

enum { BYTES = 70000 };

static unsigned char *memory;

/* Whether ACT is true in a child. */
static bool is_in_child(bool (*act)(void))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(!act());
    if (child < 0 || waitpid(child, &status, 0) != child)
        bail_out("no child process");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_mapped(void)
{
    unsigned char state[BYTES / 4096 + 1];

    return mincore(memory, BYTES, state) == 0;
}

static bool write_byte(void)
{
    memory[BYTES - 1] = 2;
    return true;
}

static bool write_behind(void)
{
    const struct rlimit none = {0, 0};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    setrlimit(RLIMIT_CORE, &none);
    *(volatile unsigned char *)(memory + (BYTES + page - 1) / page * page) = 1;
    return true;
}

static void test_fork(const char *name, int file)
{
    memory = cgx_pages_map(BYTES, file);
    if (memory == NULL)
        bail_out("no memory");
    ok(memory[0] == 0 && memory[BYTES - 1] == 0 && (uintptr_t)memory % 4096 == 0,
       "%s: zeros in whole pages", name);
    ok(is_mapped() && !is_in_child(is_mapped), "%s: a child does not have it", name);
    if (madvise(memory, BYTES, MADV_DOFORK) != 0)
        bail_out("madvise");
    memory[BYTES - 1] = 1;
    ok(is_in_child(write_byte) && memory[BYTES - 1] == 2,
       "%s: where that is undone, a write copies nothing", name);
    ok(!is_in_child(write_behind), "%s: what is touched behind it faults", name);
    cgx_pages_unmap(memory, BYTES);
    ok(!is_mapped(), "%s: then it is gone", name);
}

static void test_again(void)
{
    int file = open("/proc/self/exe", O_RDONLY);
    void *again, *text = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);

    again = cgx_pages_again(text, 1, false);
    ok(again != NULL && memcmp(again, text, 4) == 0, "what may be read can be mapped again");
    ok(cgx_pages_again(text, 1, true) == NULL, "but not to be written");
    ok(cgx_pages_again(NULL, 1, false) == NULL, "what is not there is not mapped again");
    close(file);
}

int main(void)
{
    int file = memfd_create("pages", MFD_CLOEXEC);

    if (file < 0 || ftruncate(file, BYTES) != 0)
        bail_out("no file");
    test_fork("of no file", -1);
    test_fork("of a file", file);
    test_again();
    memory = cgx_pages_map(0, -1);
    ok(memory != NULL, "no bytes are an address");
    cgx_pages_unmap(memory, 0);
    ok(cgx_pages_map((size_t)-4096, -1) == NULL && cgx_pages_map(PTRDIFF_MAX, -1) == NULL,
       "what is too much is not there");
    cgx_pages_unmap(NULL, BYTES);
    close(file);
    return done_testing();
}
