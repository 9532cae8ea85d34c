/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Files that the library writes: what of somebody else's is left alone, whenever it comes to be
 * there. As root, who alone can make what belongs to another user. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/tap.h"
#include "util/hash.h"
#include "util/output.h"

#define STRANGER 65534
#define KEPT "what the user keeps"

static char folder[] = "/tmp/cgx-output-XXXXXX";
static char path[PATH_MAX], target[PATH_MAX];

/* What somebody does once the library has looked at the path. */
static void (*meanwhile)(void);

WRAPPED(int, lstat, const char *at, struct stat *about)
{
    int code = __real_lstat(at, about), saved = errno;
    void (*act)(void) = meanwhile;

    meanwhile = NULL;
    if (act)
        act();
    errno = saved;
    return code;
}

/* The next cookie; 0: a real one. */
static uint64_t known_cookie;

WRAPPED(uint64_t, cgx_cookie, void)
{
    return known_cookie ? known_cookie : __real_cgx_cookie();
}

static void put(const char *at, const char *text)
{
    FILE *file = fopen(at, "w");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bail_out("%s cannot be written", at);
}

static bool has(const char *at, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(at, "r");

    if (file) {
        found[fread(found, 1, sizeof found - 1, file)] = '\0';
        fclose(file);
    }
    return file && strcmp(found, text) == 0;
}

static void write_text(FILE *file, const void *state)
{
    fputs(state, file);
}

static bool replace(const char *text)
{
    return cgx_output_replace(path, write_text, text);
}

/* Where PATH is again to be nothing. */
static void clear(void)
{
    unlink(path);
    unlink(target);
}

static mode_t mode_of(const char *at)
{
    struct stat about;

    return lstat(at, &about) == 0 ? about.st_mode & 07777 : 0;
}

static void test_own(void)
{
    int file;

    umask(027);
    file = cgx_output_open(path);
    ok(file >= 0 && mode_of(path) == 0640, "a new file has the permissions that umask leaves");
    ok(file >= 0 && fcntl(file, F_GETFD) & FD_CLOEXEC, "programs that are started do not have it");
    close(file);
    umask(022);
    ok(replace(KEPT) && replace("new") && has(path, "new"), "a file is replaced");
    close(cgx_output_open(path));
    ok(has(path, "new"), "a file that is opened stays what it is");
    clear();
    ok(symlink(target, path) == 0 && replace("first") && has(target, "first") &&
           replace("second") && has(target, "second") && readlink(path, (char[1]){0}, 1) == 1,
       "a link of the user's is followed, and stays");
    clear();
}

/* The string of PATH_MAX bytes that STATE points to becomes the name that the file has while it is
 * written. */
static void write_name(FILE *file, const void *state)
{
    char link[64];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(file));
    if (readlink(link, *(char *const *)state, PATH_MAX - 1) < 0)
        bail_out("no name");
}

static void test_beside(void)
{
    static char first[PATH_MAX], second[PATH_MAX];
    char command[PATH_MAX + 64];

    ok(replace("a") && replace("b"), "a file is replaced twice");
    snprintf(command, sizeof command, "test \"$(ls %s | wc -l)\" = 1", folder);
    ok(system(command) == 0, "nothing is left beside it");
    ok(cgx_output_replace(path, write_name, &(char *){first}) &&
           cgx_output_replace(path, write_name, &(char *){second}) && strcmp(first, path) != 0 &&
           strcmp(first, second) != 0,
       "what is written beside it has another name each time");
    clear();
}

/* The signal that comes of the program's own writing is the program's. */
static void test_own_signal(void)
{
    sigset_t signals, before, pending;

    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    raise(SIGXFSZ);
    ok(replace("text") && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1,
       "a signal that was pending still is");
    signal(SIGXFSZ, SIG_IGN); /* which drops it */
    signal(SIGXFSZ, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    clear();
}

/* The limit would end the program with SIGXFSZ. */
static void test_limit(void)
{
    struct rlimit before, limit;
    sigset_t mask;
    bool replaced;

    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 4;
    setrlimit(RLIMIT_FSIZE, &limit);
    errno = 0;
    replaced = replace("more than four") || errno != EFBIG;
    setrlimit(RLIMIT_FSIZE, &before); /* for stdout too */
    ok(!replaced, "a file beyond the limit is an error");
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    ok(sigismember(&mask, SIGXFSZ) == 0, "the signal is not held back any more");
    clear();
}

/* What is at the path, which is WHAT, is not opened. */
static void refuses(const char *what)
{
    bool refused;

    errno = 0;
    refused = cgx_output_open(path) < 0 && errno == EACCES;
    ok(refused, "another user's %s is not opened", what);
}

static void put_strangers_file(void)
{
    put(path, KEPT);
    if (chown(path, STRANGER, STRANGER) != 0)
        bail_out("no file");
}

static void put_strangers_link(void)
{
    if (symlink(target, path) != 0 || lchown(path, STRANGER, STRANGER) != 0)
        bail_out("no link");
}

static void swap_for_file(void)
{
    unlink(path);
    put_strangers_file();
}

static void swap_for_link(void)
{
    unlink(path);
    put_strangers_link();
}

/* What comes to be at the path by ACT, after the library has looked there, is not written into. */
static void refuses_what_comes(void (*act)(void), const char *at, const char *what)
{
    bool refused;

    meanwhile = act;
    refused = cgx_output_open(path) < 0;
    if (meanwhile)
        skip(what, "this C library calls lstat by another name");
    else
        ok(refused && has(at, KEPT), "%s", what);
    meanwhile = NULL;
    clear();
}

static void test_races(void)
{
    put(target, KEPT);
    put(path, "the user's");
    refuses_what_comes(swap_for_link, target, "a link in the place of the user's file");
    put(path, "the user's");
    refuses_what_comes(swap_for_file, path, "another user's file in the place of the user's");
    refuses_what_comes(put_strangers_file, path, "another user's file where there was none");
    put(target, KEPT);
    refuses_what_comes(put_strangers_link, target, "another user's link where there was nothing");
}

/* A name beside the file that somebody has guessed. */
static void test_guessed(void)
{
    char beside[PATH_MAX + 32];

    known_cookie = 0x1234;
    put(path, "the user's");
    put(target, KEPT);
    snprintf(beside, sizeof beside, "%s.%016x", path, 0x1234);
    if (symlink(target, beside) != 0)
        bail_out("no link");
    ok(replace("new") && has(path, "new") && has(target, KEPT),
       "what has the name beside the file already is not written into");
    known_cookie = 0;
    unlink(beside);
    clear();
}

static void test_strangers(void)
{
    int reader;

    put(target, KEPT);
    put_strangers_link();
    refuses("link");
    ok(!replace("overwritten") && errno == EACCES && has(target, KEPT),
       "what another user's link points to is not replaced");
    clear();
    put_strangers_link();
    refuses("link to nothing");
    ok(access(target, F_OK) != 0, "nothing is made where it points to");
    clear();
    if (mkfifo(path, 0666) != 0 || chown(path, STRANGER, STRANGER) != 0)
        bail_out("no FIFO");
    reader = open(path, O_RDONLY | O_NONBLOCK); /* else who opens it to write waits */
    refuses("FIFO");
    ok(!replace("overwritten") && errno == EACCES && read(reader, (char[1]){0}, 1) == 0,
       "nothing is written into it");
    close(reader);
    clear();
    put_strangers_file();
    refuses("file");
    ok(has(path, KEPT), "it is as it was");
    unlink(target);
    ok(link(path, target) == 0 && replace("new") && has(path, "new") && has(target, KEPT),
       "a new file may take its place, and nothing is written into it");
    clear();
}

int main(void)
{
    if (!mkdtemp(folder))
        bail_out("no folder");
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(target, sizeof target, "%s-target", folder);
    test_own();
    test_beside();
    test_limit();
    test_own_signal();
    test_guessed();
    if (geteuid() == 0) {
        test_strangers();
        test_races();
    } else {
        skip("what belongs to another user is left alone", "not root");
    }
    rmdir(folder);
    return done_testing();
}
