/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: what its files share. Read device.c first.
 *
 * Memory handles are addresses of the device, as in DLPack. A device uses the primary context of its GPU, which other libraries of
 * the process share. Every function pushes it and pops it again: the calling thread's own context stays.
 */
#ifndef TENON_BACKENDS_CUDA_DEVICE_H
#define TENON_BACKENDS_CUDA_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "api.h"
#include "payload.h"
#include "tenon/rt/plugin.h"

enum { CUDA_TEXT = 128, CUDA_NOTED = 4, CUDA_PROPERTIES = 14 };

/* Facts about a GPU, read when it is opened. */
struct cuda_info {
    char name[CUDA_TEXT];
    int major, minor; /* compute capability */
    int units, clock_khz, warp, integrated, pools, cooperative;
    int threads; /* of a block */
    int block[3], grid[3];
    int shared, shared_most; /* bytes of a block: declared, and when the launch asks for more */
    int registers, l2;
    size_t memory;
};

struct cuda_stream {
    CUstream handle;
    atomic_bool capturing;
    atomic_bool spoilt; /* something was asked for that a capture does not permit */
    struct cuda_stream *next;
};

struct cuda_device {
    const struct cuda_api *api;
    CUdevice gpu;
    CUcontext context;
    struct cuda_info info;
    bool check_launches;       /* each launch is waited for */
    pthread_mutex_t lock;      /* of the list of streams */
    pthread_mutex_t load_lock; /* of loading kernels */
    pthread_mutex_t lost_lock; /* of `why_lost` while `lost` is not set */
    atomic_bool lost;
    char why_lost[CUDA_TEXT];
    struct cuda_stream own; /* of work without a stream; first of the list */
    atomic_uint n_launched;
    atomic_uintptr_t launched[CUDA_NOTED]; /* names of kernels, a ring */
    atomic_ullong launches, captures, updates;
    char version_text[32]; /* of the driver */
    tnr_property properties[CUDA_PROPERTIES];
};

/* A kernel of a payload (reader.c). Pointers are into the payload. */
struct cuda_entry {
    cuda_kernel head;
    const char *name;
    const unsigned char *params; /* words */
    const unsigned char *ptx, *cubin;
};

static inline uint32_t
cuda_entry_param(const struct cuda_entry *e, uint32_t i)
{
    const unsigned char *p = e->params + 4 * (size_t)i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- error.c ---- */
/* A failed call of the driver as an error: what was done (fmt), the call, the code's name and text, a hint. `d` may be NULL; else it
 * is lost where the code says that nothing works any more. */
tnb_status
cuda_fail(struct cuda_device *d, const struct cuda_api *api, CUresult code, const char *call,
          tnb_err *err, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* TNB_DEVICE when the device was lost. */
TNB_MUST_CHECK tnb_status
cuda_alive(struct cuda_device *d, tnb_err *err);
void
cuda_note_launch(struct cuda_device *d, const char *name);

/* ---- device.c ---- */
/* The device's context for the calling thread, until cuda_leave; fails, with nothing to leave, when the device was lost. */
TNB_MUST_CHECK tnb_status
cuda_enter(struct cuda_device *d, tnb_err *err);
void
cuda_leave(struct cuda_device *d);

/* ---- info.c ---- */
TNB_MUST_CHECK tnb_status
cuda_info_read(const struct cuda_api *api, CUdevice gpu, struct cuda_info *out, tnb_err *err);
void
cuda_describe(void *dev, char *out, size_t n);
tnb_status
cuda_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err);
const tnr_property *
cuda_facts(void *dev, uint32_t *n);
tnb_status
cuda_target_of(void *dev, char *out, size_t n, tnb_err *err);
/* Whether the device runs a cubin for, or PTX for, "sm_90a". */
bool
cuda_runs_cubin(const struct cuda_info *i, const char *arch);
bool
cuda_runs_ptx(const struct cuda_info *i, const char *arch);

/* ---- queue.c ---- */
static inline struct cuda_stream *
cuda_stream_of(struct cuda_device *d, void *stream)
{
    return stream ? (struct cuda_stream *)stream : &d->own;
}
/* Refuses what a capture does not permit. */
TNB_MUST_CHECK tnb_status
cuda_not_captured(struct cuda_stream *s, const char *what, tnb_err *err);
/* Waits for all streams that do not capture. */
TNB_MUST_CHECK tnb_status
cuda_wait_all(struct cuda_device *d, tnb_err *err);
tnb_status
cuda_sync(void *dev, void *stream, tnb_err *err);
tnb_status
cuda_stream_new(void *dev, void **stream, tnb_err *err);
void
cuda_stream_free(void *dev, void *stream);
tnb_status
cuda_event_new(void *dev, void **event, tnb_err *err);
void
cuda_event_free(void *dev, void *event);
tnb_status
cuda_event_record(void *dev, void *event, void *stream, tnb_err *err);
tnb_status
cuda_event_wait(void *dev, void *event, void *stream, tnb_err *err);
tnb_status
cuda_event_seconds(void *dev, void *from, void *to, double *seconds, tnb_err *err);
tnb_status
cuda_event_done(void *dev, void *event, bool *done, tnb_err *err);
tnb_status
cuda_event_sync(void *dev, void *event, tnb_err *err);

/* ---- graph.c ---- */
tnb_status
cuda_graph_begin(void *dev, void *stream, tnb_err *err);
tnb_status
cuda_graph_end(void *dev, void *stream, void **graph, tnb_err *err);
tnb_status
cuda_graph_update(void *dev, void *graph, void *from, tnb_err *err);
tnb_status
cuda_graph_launch(void *dev, void *stream, void *graph, tnb_err *err);
void
cuda_graph_free(void *dev, void *graph);

/* ---- memory.c ---- */
tnb_status
cuda_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err);
void
cuda_free(void *dev, void *mem);
tnb_status
cuda_alloc_ordered(void *dev, void *stream, uint64_t bytes, const char *scope, void **mem,
                   tnb_err *err);
tnb_status
cuda_free_ordered(void *dev, void *stream, void *mem, tnb_err *err);
tnb_status
cuda_pinned_alloc(void *dev, uint64_t bytes, void **host, tnb_err *err);
void
cuda_pinned_free(void *dev, void *host);
tnb_status
cuda_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err);
tnb_status
cuda_copy_start(void *dev, void *stream, const tnr_copy *c, tnb_err *err);
tnb_status
cuda_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err);
bool
cuda_peer(void *dev, void *from);
tnb_status
cuda_peer_copy(void *dev, void *stream, void *from, const tnr_copy *c, tnb_err *err);

/* ---- reader.c ---- */
/* Checks a payload whole and lists its kernels; free the list. TNB_FORMAT with the place; TNB_NO_MEMORY. `arch` gets the payload's
 * architecture. */
TNB_MUST_CHECK tnb_status
cuda_payload_read(const void *code, size_t size, struct cuda_entry **out, uint32_t *n,
                  char arch[16], tnb_err *err);

/* ---- program.c ---- */
struct cuda_function {
    struct cuda_entry entry;
    CUmodule module;            /* of this kernel alone, loaded when it is first asked for */
    _Atomic(CUfunction) handle; /* NULL: not yet */
    int threads, shared;        /* most of a block; bytes that its code declares */
    atomic_int dynamic;         /* bytes beyond them that were allowed so far */
};
extern const char *const cuda_formats[];
tnb_status
cuda_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                 tnb_err *err);
void
cuda_module_free(void *dev, void *module);
tnb_status
cuda_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err);

/* ---- launch.c ---- */
tnb_status
cuda_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err);

#endif
