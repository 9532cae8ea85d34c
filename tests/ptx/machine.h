/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What PTX instructions do (PTX ISA, chapter 9), a function for each that the kernels have, for
 * what translate makes of them; softcuda's engine runs the threads. Only what is here is known: an
 * instruction or a modifier that is not, .ftz or an access without a space say, does not compile.
 * Registers hold bits, those of a float too, and garbage at first. What a device leaves open is
 * chosen anew here: the last bit of an approximate reciprocal. Compile with device.h first. */
#ifndef PTX_MACHINE_H
#define PTX_MACHINE_H

#include "float.h"
#include "integer.h"

/* ---- memory ---- */

struct ptx_variable {
    uint32_t at, bytes; /* bytes: 0: there is no other */
};

/* Of all kernels, of which one runs at a time: softcuda overwrites the section for each block. */
inline
    __attribute__((section("softcuda_shared"), aligned(16))) unsigned char ptx_shared_memory[49152];

/* Of a kernel; that in global memory is softcuda's, which faults beside it. */
struct ptx_memory {
    const void *param;
    size_t param_bytes;
    unsigned char *shared;
    const struct ptx_variable *variables; /* in shared memory */
};

static inline void ptx_fail(const char *what, uint64_t address)
{
    fprintf(stderr, "ptx: block %u, thread %u: %s: %llx\n", softcuda_here.block.x,
            softcuda_here.thread.x, what, static_cast<unsigned long long>(address));
    abort();
}

/* Each returns where the BYTES at ADDRESS of a space are. */
PTX unsigned char *ptx_global(const struct ptx_memory *, uint64_t address, uint32_t bytes)
{
    if (address % bytes != 0)
        ptx_fail("a misaligned address of global memory", address);
    return reinterpret_cast<unsigned char *>(address);
}

static inline unsigned char *ptx_shared(const struct ptx_memory *memory, uint32_t address,
                                        uint32_t bytes)
{
    const struct ptx_variable *variable = memory->variables;

    while (variable->bytes != 0 &&
           (address < variable->at || address - variable->at + bytes > variable->bytes))
        variable++;
    if (variable->bytes == 0)
        ptx_fail("no variable in shared memory is there", address);
    if (address % bytes != 0)
        ptx_fail("a misaligned address of shared memory", address);
    return memory->shared + address;
}

PTX unsigned char *ptx_param(const struct ptx_memory *memory, uint32_t offset, uint32_t bytes)
{
    if (offset + bytes > memory->param_bytes || offset % bytes != 0)
        ptx_fail("no argument is there", offset);
    return static_cast<unsigned char *>(const_cast<void *>(memory->param)) + offset;
}

template <typename Type> PTX Type ptx_load(const unsigned char *at)
{
    Type value;

    memcpy(&value, at, sizeof value);
    return value;
}

template <typename Type> PTX void ptx_store(unsigned char *at, Type value)
{
    memcpy(at, &value, sizeof value);
}

PTX uint64_t ptx_cvta_to_global_u64(uint64_t generic)
{
    return generic;
}

PTX void ptx_spoil(void *registers, size_t bytes)
{
    memset(registers, 0xE7, bytes);
}

PTX void ptx_spoil(bool *registers, size_t count)
{
    memset(registers, 1, count);
}

/* ---- atomics: relaxed ---- */

PTX uint32_t ptx_atom_or_b32(unsigned char *at, uint32_t value)
{
    return atomicOr(reinterpret_cast<unsigned *>(at), value);
}

PTX uint64_t ptx_atom_or_b64(unsigned char *at, uint64_t value)
{
    return atomicOr(reinterpret_cast<unsigned long long *>(at), value);
}

PTX uint64_t ptx_atom_add_u64(unsigned char *at, uint64_t value)
{
    return atomicAdd(reinterpret_cast<unsigned long long *>(at), value);
}

PTX uint64_t ptx_atom_exch_b64(unsigned char *at, uint64_t value)
{
    return atomicExch(reinterpret_cast<unsigned long long *>(at), value);
}

/* ---- threads ---- */

PTX void ptx_bar_sync(uint32_t barrier, SOFTCUDA_FROM)
{
    if (barrier != 0)
        ptx_fail("a barrier that is not known", barrier);
    softcuda_barrier(file, line);
}

PTX void ptx_bar_warp_sync(uint32_t mask, SOFTCUDA_FROM)
{
    softcuda_syncwarp(file, line, mask);
}

PTX uint32_t ptx_vote_sync_ballot_b32(bool predicate, uint32_t mask, SOFTCUDA_FROM)
{
    return softcuda_ballot(file, line, mask, predicate);
}

/* LIMITS: of segments of 32 lanes, none is outside. */
static inline uint32_t ptx_shuffle(uint32_t value, uint32_t source, uint32_t limits, uint32_t mask,
                                   bool *is_inside, const char *file, int line)
{
    if (limits != 31)
        ptx_fail("segments of a warp are not known", limits);
    if (is_inside)
        *is_inside = true;
    return static_cast<uint32_t>(softcuda_shuffle(file, line, mask, value, source & 31));
}

static inline uint32_t ptx_shfl_sync_bfly_b32(uint32_t value, uint32_t lanes, uint32_t limits,
                                              uint32_t mask, bool *is_inside = NULL, SOFTCUDA_FROM)
{
    return ptx_shuffle(value, softcuda_here.thread.x ^ lanes, limits, mask, is_inside, file, line);
}

/* Of the source the five lowest bits count. */
static inline uint32_t ptx_shfl_sync_idx_b32(uint32_t value, uint32_t source, uint32_t limits,
                                             uint32_t mask, bool *is_inside = NULL, SOFTCUDA_FROM)
{
    return ptx_shuffle(value, source, limits, mask, is_inside, file, line);
}

#endif
