/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/softcuda_peer.h"

#include <dirent.h>
#include <sys/socket.h>

CUcontext context;
CUdeviceptr own;
CUfunction add;

static pid_t child;
static int peer; /* socket to the other process */

void start_alone(void)
{
    must(cuInit(0));
    must(cuCtxCreate_v2(&context, 0, 0));
    must(cuMemAlloc(&own, BYTES));
    load_add();
}

void load_add(void)
{
    CUmodule module;

    add = load_adding(&module);
}

void add_to(CUdeviceptr words, unsigned count, unsigned addend)
{
    must(queue_add(add, words, addend, 1, count, NULL));
}

unsigned word(CUdeviceptr words, unsigned which)
{
    return word_at(words + which * sizeof(unsigned));
}

unsigned count_files(void)
{
    DIR *files = opendir("/proc/self/fd");
    unsigned count = 0;

    while (files && readdir(files))
        count++;
    closedir(files);
    return count;
}

/* ---- the other process ---- */

struct question {
    enum ask ask;
    CUdeviceptr pointer;
    unsigned value;
};

static struct answer answer_to(const struct question *question)
{
    struct answer answer = {.pointer = question->pointer};

    switch (question->ask) {
    case ALLOCATE:
        must(cuMemAlloc(&answer.pointer, BYTES));
        must(cuMemsetD32(answer.pointer, question->value, WORDS));
        must(cuCtxSynchronize());
        must(cuIpcGetMemHandle(&answer.handle, answer.pointer));
        break;
    case ADD:
        add_to(question->pointer, WORDS, question->value);
        must(cuCtxSynchronize());
        break;
    case READ:
        answer.value = word(question->pointer, WORDS - 1);
        break;
    case FREE:
        answer.value = (unsigned long long)cuMemFree(question->pointer);
        break;
    case FREED_WHILE_OPEN:
        answer.value = counts_now().freed_while_open;
        break;
    case FILES:
        answer.value = count_files();
        break;
    case LIVE:
        must(cuCtxDestroy(context));
        answer.value = live();
        break;
    }
    return answer;
}

static int serve(void)
{
    struct question question;

    start_alone();
    while (read(peer, &question, sizeof question) == (ssize_t)sizeof question) {
        struct answer answer = answer_to(&question);

        if (write(peer, &answer, sizeof answer) != (ssize_t)sizeof answer)
            return 1;
    }
    return 0;
}

struct answer ask(enum ask what, CUdeviceptr pointer, unsigned value)
{
    struct question question = {what, pointer, value};
    struct answer answer;

    if (write(peer, &question, sizeof question) != (ssize_t)sizeof question ||
        read(peer, &answer, sizeof answer) != (ssize_t)sizeof answer)
        bail_out("the other process has gone");
    return answer;
}

unsigned long long value_of(enum ask what, CUdeviceptr pointer)
{
    return ask(what, pointer, 0).value;
}

/* ---- both ---- */

void start_both(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        bail_out("no sockets");
    child = fork();
    if (child < 0)
        bail_out("no child process");
    peer = ends[child == 0];
    close(ends[child != 0]);
    if (child == 0)
        _exit(serve());
    start_alone();
}

void end_both(void)
{
    int status = -1;

    must(cuCtxDestroy(context));
    ok(live() == 0 && value_of(LIVE, 0) == 0, "nothing is left here or there");
    close(peer);
    ok(waitpid(child, &status, 0) == child && status == 0, "the other process ends well");
}
