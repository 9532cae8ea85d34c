/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The host codec as a backend: every operation is carried out at once, in the staging memory. */
#include "codec/backend.h"

static enum cgx_status begin(struct cgx_backend *backend)
{
    (void)backend;
    return CGX_OK;
}

static void end(struct cgx_backend *backend)
{
    (void)backend;
}

static enum cgx_status encode(struct cgx_backend *backend, unsigned lane,
                              const struct cgx_coding *coding, const struct cgx_piece *pieces,
                              size_t npieces, const void *buffer, unsigned char *payload)
{
    (void)backend, (void)lane;
    return cgx_codec_host()->encode(coding, pieces, npieces, buffer, payload);
}

static enum cgx_status reduce(struct cgx_backend *backend, unsigned lane,
                              const struct cgx_coding *coding, const struct cgx_piece *pieces,
                              size_t npieces, const unsigned char *const *sources, size_t nsources,
                              const void *buffer, unsigned char *payload)
{
    (void)backend, (void)lane;
    return cgx_codec_host()->reduce(coding, pieces, npieces, sources, nsources, buffer, payload);
}

static enum cgx_status decode(struct cgx_backend *backend, unsigned lane,
                              const struct cgx_coding *coding, const struct cgx_piece *pieces,
                              size_t npieces, const unsigned char *payload, void *buffer)
{
    (void)backend, (void)lane;
    return cgx_codec_host()->decode(coding, pieces, npieces, payload, buffer);
}

static enum cgx_status measure(struct cgx_backend *backend, unsigned lane,
                               const struct cgx_coding *coding, const struct cgx_piece *pieces,
                               size_t npieces, const unsigned char *const *sources, size_t nsources,
                               const void *buffer, struct cgx_sample *samples)
{
    (void)backend, (void)lane;
    return cgx_codec_host()->measure(coding, pieces, npieces, sources, nsources, buffer, samples);
}

static enum cgx_status fetch(struct cgx_backend *backend, unsigned lane, unsigned char *data,
                             size_t bytes)
{
    (void)backend, (void)lane, (void)data, (void)bytes;
    return CGX_OK;
}

static void store(struct cgx_backend *backend, unsigned lane, const unsigned char *data,
                  size_t bytes)
{
    (void)backend, (void)lane, (void)data, (void)bytes;
}

static enum cgx_status wait(struct cgx_backend *backend, unsigned lane)
{
    (void)backend, (void)lane;
    return CGX_OK;
}

static bool lost(struct cgx_backend *backend)
{
    (void)backend;
    return false;
}

struct cgx_backend *cgx_backend_host(void)
{
    static const struct cgx_backend_ops ops = {.name = "host",
                                               .begin = begin,
                                               .end = end,
                                               .encode = encode,
                                               .reduce = reduce,
                                               .decode = decode,
                                               .measure = measure,
                                               .fetch = fetch,
                                               .store = store,
                                               .wait = wait,
                                               .lost = lost};
    static struct cgx_backend backend = {.ops = &ops};

    return &backend;
}
