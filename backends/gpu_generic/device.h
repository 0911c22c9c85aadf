/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: what its files share.
 *
 * A memory handle is a struct gpu_generic_memory, a stream a struct gpu_generic_stream. One lock a device guards all that is
 * below it; it is given up only while the device is waited for. A function whose comment says "locked" is called with it.
 */
#ifndef TENON_BACKENDS_GPU_GENERIC_DEVICE_H
#define TENON_BACKENDS_GPU_GENERIC_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "api.h"
#include "info.h"
#include "payload.h"
#include "tenon/base/cache.h"
#include "tenon/rt/plugin.h"

struct gpu_generic_device;
struct gpu_generic_stream;
struct gpu_generic_function;
struct gpu_generic_check;

/* ---- memory.c ---- */

/* Memory of the driver with one buffer over all of it. */
struct gpu_generic_block {
    struct gpu_generic_block *next;
    VkDeviceMemory memory;
    VkBuffer buffer;
    VkDeviceAddress address; /* 0: the device has none */
    unsigned char *at;       /* where the host sees it; NULL: it does not */
    uint64_t bytes, in_use;
    uint64_t id;                      /* no other block ever has it */
    struct gpu_generic_memory *first; /* of the pieces, which cover it */
    bool host;                        /* pinned memory of the host */
};

enum { GPU_GENERIC_USES = 4 };
/* The last work of a stream that touches something: not done until the stream's `done` reaches the value. */
struct gpu_generic_use {
    struct gpu_generic_stream *stream;
    uint64_t value;
};

/* A piece of a block: given out, or free. */
struct gpu_generic_memory {
    struct gpu_generic_block *block;
    struct gpu_generic_memory *prev, *next; /* in the block, by offset */
    struct gpu_generic_memory *dying;       /* freed, but in use by the device */
    uint64_t offset, bytes;                 /* in the block */
    uint64_t asked;                         /* bytes that the caller asked for */
    bool taken;
    uint8_t n_uses;
    struct gpu_generic_use uses[GPU_GENERIC_USES];
};

/* What is the device's only memory of its kind: rings of the streams, zeros. */
struct gpu_generic_buffer {
    VkDeviceMemory memory;
    VkBuffer buffer;
    VkDeviceAddress address;
    unsigned char *at;
    uint64_t bytes;
};

enum { GPU_GENERIC_OWN, GPU_GENERIC_UPLOAD, GPU_GENERIC_BOTH_WAYS }; /* who uses memory, and how */
TNB_MUST_CHECK tnb_status
gpu_generic_buffer_new(struct gpu_generic_device *d, int use, uint64_t bytes,
                       struct gpu_generic_buffer *out, tnb_err *err);
void
gpu_generic_buffer_free(struct gpu_generic_device *d, struct gpu_generic_buffer *b);
TNB_MUST_CHECK tnb_status
gpu_generic_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err);
void
gpu_generic_free(void *dev, void *mem);
TNB_MUST_CHECK tnb_status
gpu_generic_pinned_alloc(void *dev, uint64_t bytes, void **host, tnb_err *err);
void
gpu_generic_pinned_free(void *dev, void *host);
/* Locked. The pinned memory that holds the host's bytes; NULL: none does. */
struct gpu_generic_memory *
gpu_generic_pinned_at(struct gpu_generic_device *d, const void *host, uint64_t bytes);
/* Locked. Whether the host sees what was done to pinned memory, for the check of hazards. */
TNB_MUST_CHECK tnb_status
gpu_generic_pinned_visible(const struct gpu_generic_device *d, tnb_err *err);
/* Locked. As the driver's functions. */
TNB_MUST_CHECK tnb_status
gpu_generic_take(struct gpu_generic_device *d, uint64_t bytes, struct gpu_generic_memory **out,
                 tnb_err *err);
void
gpu_generic_give(struct gpu_generic_device *d, struct gpu_generic_memory *m);
/* Locked. Gives all blocks back to the driver; `ended`: nothing is in use any more, else the driver's part is left alone. */
void
gpu_generic_memory_end(struct gpu_generic_device *d, bool ended);
/* TNB_OK, or why the handle and range are no memory of the device. */
TNB_MUST_CHECK tnb_status
gpu_generic_range(const struct gpu_generic_memory *m, uint64_t offset, uint64_t bytes,
                  tnb_err *err);

/* ---- copy.c ---- */
TNB_MUST_CHECK tnb_status
gpu_generic_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err);
TNB_MUST_CHECK tnb_status
gpu_generic_copy_start(void *dev, void *stream, const tnr_copy *c, tnb_err *err);
TNB_MUST_CHECK tnb_status
gpu_generic_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err);

/* ---- hazard.c: which accesses need a barrier between them ---- */

/* Bytes [begin, end) of a block that a command reads or writes. Those of rings, whose use the host orders, are left out but for the
 * check, which calls a stream's ring of copies by the block GPU_GENERIC_RING. */
struct gpu_generic_access {
    uint64_t block; /* its id */
    uint64_t begin, end;
    bool written;
};
enum { GPU_GENERIC_ACCESSES = 192 };
/* An access that no barrier stands behind yet, and whose it is. */
struct gpu_generic_open_access {
    struct gpu_generic_access a;
    struct gpu_generic_use by;
};
struct gpu_generic_hazards {
    struct gpu_generic_open_access at[GPU_GENERIC_ACCESSES];
    uint32_t n;
    bool all;          /* a barrier is needed whatever comes next */
    uint64_t barriers; /* that stood so far */
};
/* Whether a barrier has to stand in front of a command with these accesses, or there is no room to remember them. Forgets what
 * the host has seen to be done. */
bool
gpu_generic_hazards_meet(struct gpu_generic_hazards *h, const struct gpu_generic_access *a,
                         uint32_t n);
/* A barrier stands behind all. */
void
gpu_generic_hazards_end(struct gpu_generic_hazards *h);
/* Remembers accesses of the work `by`. */
void
gpu_generic_hazards_add(struct gpu_generic_hazards *h, const struct gpu_generic_access *a,
                        uint32_t n, struct gpu_generic_use by);
/* Commands of `h` come behind those of `other`, another stream of its queue, whose `barriers` stood by then. */
void
gpu_generic_hazards_follow(struct gpu_generic_hazards *h, const struct gpu_generic_hazards *other,
                           uint64_t barriers);

/* ---- queue.c ---- */

/* Memory that the host fills for the device (or the device for the host), used round and round: bytes are counted from the
 * stream's beginning on. */
struct gpu_generic_ring {
    struct gpu_generic_buffer buffer;
    uint64_t head, tail; /* given out, done with */
};

enum { GPU_GENERIC_BATCHES = 8 };
/* Commands that are submitted together. */
struct gpu_generic_batch {
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;            /* without timelines */
    uint64_t value;           /* that the stream reaches by it */
    uint64_t params, staging; /* heads of the rings behind it */
    unsigned n;               /* commands */
    int waiters;              /* for its fence */
    bool pending;             /* submitted and not yet seen to be done */
    bool writes;              /* something that the host may look at */
    const struct gpu_generic_function *first, *last;
};

enum { GPU_GENERIC_WAITS = 16 };
struct gpu_generic_stream {
    struct gpu_generic_device *device;
    struct gpu_generic_stream *next;
    unsigned number; /* among the device's */
    unsigned queue;
    bool idle;                /* given back; another stream_new takes it */
    VkSemaphore timeline;     /* NULL: fences are used */
    uint64_t done, submitted; /* values; done <= submitted */
    struct gpu_generic_batch batches[GPU_GENERIC_BATCHES];
    struct gpu_generic_batch *open; /* being recorded; NULL: none */
    unsigned turn;                  /* the next batch */
    unsigned since;                 /* submits since the stream was last waited for */
    struct gpu_generic_use waits[GPU_GENERIC_WAITS]; /* that the next submit has to wait for */
    uint32_t n_waits;
    bool follows; /* it waits for another stream, and submitted nothing since */
    struct gpu_generic_hazards hazards;
    struct gpu_generic_ring params, staging;
    VkPipeline bound; /* in the open batch */
};

/* Numbers for `tenon bench --json` and the tests. */
struct gpu_generic_counts {
    uint64_t launches, dispatches, barriers, submits, allocations, sets, pipelines;
    double open_seconds, pipeline_seconds; /* of the driver's calls */
};

/* Whether it is not done. Work that could not be submitted never will be; what was before it may still be done. */
static inline bool
gpu_generic_used(const struct gpu_generic_use *u)
{
    const struct gpu_generic_stream *s = u->stream;
    return s->done < (u->value > s->submitted && !s->open ? s->submitted : u->value);
}
/* All locked, but those of the driver's table. */
/* The stream's open batch, begun if there is none; may wait. */
TNB_MUST_CHECK tnb_status
gpu_generic_batch_open(struct gpu_generic_stream *s, tnb_err *err);
/* The value that what is recorded now gives the stream. */
static inline uint64_t
gpu_generic_now(const struct gpu_generic_stream *s)
{
    return s->submitted + 1;
}
/* The value behind all that is recorded. */
static inline uint64_t
gpu_generic_last(const struct gpu_generic_stream *s)
{
    return s->submitted + (s->open ? 1 : 0);
}
/* Records a barrier where one is needed before a command with these accesses, which it remembers. The batch is open. `what` is for
 * messages of the check. */
TNB_MUST_CHECK tnb_status
gpu_generic_order(struct gpu_generic_stream *s, const struct gpu_generic_access *a, uint32_t n,
                  const char *what, tnb_err *err);
/* Counts a command of the open batch, which is submitted when there are enough. */
TNB_MUST_CHECK tnb_status
gpu_generic_recorded(struct gpu_generic_stream *s, const struct gpu_generic_function *k,
                     tnb_err *err);
/* Submits what is recorded. */
TNB_MUST_CHECK tnb_status
gpu_generic_flush(struct gpu_generic_stream *s, tnb_err *err);
/* Waits until the stream has reached the value, after a flush if that is needed. Gives the lock up meanwhile. */
TNB_MUST_CHECK tnb_status
gpu_generic_reach(struct gpu_generic_stream *s, uint64_t value, tnb_err *err);
/* What has been done since; never waits. */
TNB_MUST_CHECK tnb_status
gpu_generic_progress(struct gpu_generic_stream *s, tnb_err *err);
/* Room of the ring for the open batch: *at and its offset. *waited: there was none, the stream was waited for and no batch may be
 * open any more: begin again. */
TNB_MUST_CHECK tnb_status
gpu_generic_ring_take(struct gpu_generic_stream *s, struct gpu_generic_ring *r, uint64_t bytes,
                      uint64_t alignment, uint64_t *offset, bool *waited, tnb_err *err);
/* Notes that the open batch uses it. *waited: as above. */
TNB_MUST_CHECK tnb_status
gpu_generic_touch(struct gpu_generic_stream *s, struct gpu_generic_use *uses, uint8_t *n,
                  bool *waited, tnb_err *err);
/* Whether work is left that uses it. */
bool
gpu_generic_in_use(const struct gpu_generic_use *uses, uint8_t n);
/* Waits for all work that uses it; gives the lock up meanwhile. */
TNB_MUST_CHECK tnb_status
gpu_generic_settle(struct gpu_generic_use *uses, const uint8_t *n, tnb_err *err);
TNB_MUST_CHECK tnb_status
gpu_generic_stream_make(struct gpu_generic_device *d, struct gpu_generic_stream **out,
                        tnb_err *err);
/* Locked. Waits for all streams and frees them. False: work never ends, and nothing of the driver's was freed. */
bool
gpu_generic_streams_end(struct gpu_generic_device *d);

TNB_MUST_CHECK tnb_status
gpu_generic_sync(void *dev, void *stream, tnb_err *err);
TNB_MUST_CHECK tnb_status
gpu_generic_stream_new(void *dev, void **stream, tnb_err *err);
void
gpu_generic_stream_free(void *dev, void *stream);

/* ---- event.c ---- */
TNB_MUST_CHECK tnb_status
gpu_generic_event_new(void *dev, void **event, tnb_err *err);
void
gpu_generic_event_free(void *dev, void *event);
TNB_MUST_CHECK tnb_status
gpu_generic_event_record(void *dev, void *event, void *stream, tnb_err *err);
TNB_MUST_CHECK tnb_status
gpu_generic_event_wait(void *dev, void *event, void *stream, tnb_err *err);
TNB_MUST_CHECK tnb_status
gpu_generic_event_done(void *dev, void *event, bool *done, tnb_err *err);
TNB_MUST_CHECK tnb_status
gpu_generic_event_sync(void *dev, void *event, tnb_err *err);
TNB_MUST_CHECK tnb_status
gpu_generic_event_seconds(void *dev, void *from, void *to, double *seconds, tnb_err *err);
void
gpu_generic_events_end(struct gpu_generic_device *d);

/* ---- reader.c ---- */

/* One kernel of a payload; names and words lie in the payload. */
struct gpu_generic_entry {
    gpu_generic_kernel head;
    const char *name;
    const unsigned char *params; /* words */
    const unsigned char *turns;  /* words */
    const unsigned char *module; /* words */
};
/* Reads the payload's kernels, whose number is in *n; *out is the caller's, from malloc. Nothing of the payload is trusted: counts,
 * names, parameters, the module's structure are checked. */
TNB_MUST_CHECK tnb_status
gpu_generic_payload_read(const void *code, size_t size, struct gpu_generic_entry **out, uint32_t *n,
                         tnb_err *err);
static inline uint32_t
gpu_generic_word(const unsigned char *words, size_t i)
{
    const unsigned char *p = words + 4 * i;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
/* The turns of a thread's loops with these scalars; 0: not known. The words were read. */
double
gpu_generic_turns(const unsigned char *words, uint32_t n, const tnr_param *params);
/* Calls `take` for each capability that the module declares. The module was read. */
void
gpu_generic_capabilities(const struct gpu_generic_entry *e,
                         void (*take)(void *user, uint32_t capability), void *user);

/* ---- program.c ---- */

/* How kernels with so many bindings and such push constants are bound. */
struct gpu_generic_layout {
    struct gpu_generic_layout *next;
    uint32_t first, bindings, push; /* number of the first binding, how many, bytes */
    bool pushed;                    /* descriptors are pushed, not taken from sets */
    VkDescriptorSetLayout set;
    VkPipelineLayout pipeline;
};

enum { GPU_GENERIC_SETS = 64 };
/* Descriptor sets of one kernel, made when it is first launched. */
struct gpu_generic_sets {
    VkDescriptorPool pool;
    VkDescriptorSet at[GPU_GENERIC_SETS];
    struct gpu_generic_use uses[GPU_GENERIC_SETS];
    unsigned turn;
};

struct gpu_generic_placed {
    uint32_t at; /* offset in the block of parameters */
    uint8_t kind;
    bool written;
    uint16_t bytes;
    uint8_t more; /* bindings beyond the first */
};

struct gpu_generic_function {
    struct gpu_generic_module *module;
    char *name;                 /* of its own: work that never ends outlives the artifact */
    const unsigned char *code;  /* the module's words */
    const unsigned char *turns; /* words of the turns */
    struct gpu_generic_placed *params;
    gpu_generic_kernel head;
    uint32_t n_memory, n_bindings; /* of the parameters */
    struct gpu_generic_layout *layout;
    VkPipeline pipeline;                /* made when the kernel is first launched */
    struct gpu_generic_function *parts; /* its form for memory of several bindings; NULL: none */
    struct gpu_generic_sets *sets;
    uint8_t n_uses;
    struct gpu_generic_use uses[GPU_GENERIC_USES];
};

struct gpu_generic_module {
    struct gpu_generic_module *next; /* of those that were freed on a device that hung */
    struct gpu_generic_function *kernels;
    uint32_t n;
    bool made; /* pipelines that are not in the cache on disk */
    VkPipelineCache cache;
    char key[40]; /* of it; "": none */
};

TNB_MUST_CHECK tnb_status
gpu_generic_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                        tnb_err *err);
void
gpu_generic_module_free(void *dev, void *module);
TNB_MUST_CHECK tnb_status
gpu_generic_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err);
/* Locked. The layout, the pipeline, and descriptor sets where they are not pushed, of a kernel. */
TNB_MUST_CHECK tnb_status
gpu_generic_kernel_ready(struct gpu_generic_device *d, struct gpu_generic_function *k,
                         tnb_err *err);
/* Locked. Frees the modules that a device which hung still held, now that it has ended. */
void
gpu_generic_modules_end(struct gpu_generic_device *d);
void
gpu_generic_layouts_end(struct gpu_generic_device *d);

/* ---- probe.c ---- */
/* The plugin's init: where its program gpu_generic_probe lies. */
TNB_MUST_CHECK tnb_status
gpu_generic_init(const tnb_plugin_start *start, tnb_err *err);
/* TNB_DEVICE: a driver or layer ends or holds up a process that asks it. */
TNB_MUST_CHECK tnb_status
gpu_generic_probe(tnb_err *err);

/* ---- launch.c ---- */
TNB_MUST_CHECK tnb_status
gpu_generic_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err);

/* ---- check.c: hazards found from what is recorded, for [device gpu_generic] check_hazards ---- */

enum { GPU_GENERIC_HOST = 63, GPU_GENERIC_CHECKED_STREAMS = 63 };
#define GPU_GENERIC_RING(stream) (UINT64_MAX - (stream)->number)
/* NULL without memory. */
struct gpu_generic_check *
gpu_generic_check_new(void);
void
gpu_generic_check_free(struct gpu_generic_check *c);
/* All locked; `c` may be NULL: nothing is checked. A command of the stream (or the host, GPU_GENERIC_HOST) accesses memory:
 * TNB_INTERNAL, with both commands' names, when an access that conflicts may not be over. */
TNB_MUST_CHECK tnb_status
gpu_generic_check_access(struct gpu_generic_check *c, unsigned stream,
                         const struct gpu_generic_access *a, uint32_t n, const char *what,
                         tnb_err *err);
void
gpu_generic_check_barrier(struct gpu_generic_check *c, unsigned stream);
/* What the stream has recorded is submitted under this value, which comes behind all that the stream waited for. */
void
gpu_generic_check_submit(struct gpu_generic_check *c, unsigned stream, uint64_t value);
/* A barrier for the host behind all commands of the stream. */
void
gpu_generic_check_barrier_for_host(struct gpu_generic_check *c, unsigned stream);
/* What the host may look at now without a call, as memory of the block that was waited for: TNB_INTERNAL, when it was written and no
 * barrier for the host stands behind. */
TNB_MUST_CHECK tnb_status
gpu_generic_check_visible(const struct gpu_generic_check *c, uint64_t block, tnb_err *err);
/* From here on the stream comes behind what another one had submitted under the value; `later`, in the same queue: behind what that
 * one had barriers for, behind the rest from the next barrier on. */
void
gpu_generic_check_wait(struct gpu_generic_check *c, unsigned stream, unsigned other, uint64_t value,
                       bool later);
/* The host has seen the value. */
void
gpu_generic_check_seen(struct gpu_generic_check *c, unsigned stream, uint64_t value);

/* ---- error.c ---- */
/* Fills `err` with "TEXT: CALL: NAME (code): meaning" and a hint; the status fits the code. A code that ends the device is
 * remembered (d may be NULL). */
tnb_status
gpu_generic_fail(struct gpu_generic_device *d, VkResult code, const char *call, tnb_err *err,
                 const char *fmt, ...) TNB_PRINTF(5, 6);
/* TNB_DEVICE when the device was lost before. */
TNB_MUST_CHECK tnb_status
gpu_generic_alive(struct gpu_generic_device *d, tnb_err *err);
void
gpu_generic_lose(struct gpu_generic_device *d, const char *why);

/* ---- device.c ---- */

/* ---- facts.c ---- */
double
gpu_generic_seconds(void); /* of a clock that only goes on */
enum { GPU_GENERIC_FACTS = 20 };
const tnr_property *
gpu_generic_facts(void *dev, uint32_t *n);

/* [device gpu_generic]. */
struct gpu_generic_settings {
    bool profiling, timeline, push_descriptors;
    bool staging; /* copies with the host go by buffers, also where it sees the device's memory */
    bool check_hazards;
    uint64_t memory; /* bytes that may be given out; 0: all */
    uint64_t block, ring;
    uint64_t leave_out_barrier; /* its number, from 1; 0: none */
    bool leave_out_for_host;    /* the barriers that are for the host */
    unsigned batch;             /* commands of a submit */
    double timeout;             /* seconds without progress; 0: for ever */
};

struct gpu_generic_device {
    const struct gpu_generic_instance *instance;
    struct gpu_generic_info info;
    struct gpu_generic_settings set;
    VkDevice handle;
    struct gpu_generic_calls vk;
    pthread_mutex_t lock;
    VkQueue queues[8];
    unsigned n_queues, next_queue;
    bool timeline, addresses,
        unified;        /* unified: the host sees the device's memory, and copies itself */
    uint64_t alignment; /* of what is given out */
    uint32_t own_type, upload_type, both_type; /* of memory: numbers */
    struct gpu_generic_block *blocks;
    struct gpu_generic_memory *dying;
    uint64_t in_use;                            /* bytes given out */
    uint64_t next_id;                           /* of a block */
    struct gpu_generic_stream *streams, *usual; /* all; the device's own */
    unsigned n_streams;
    struct gpu_generic_buffer zeros; /* GPU_GENERIC_ZEROS bytes that are zero */
    struct gpu_generic_queries *queries;
    struct gpu_generic_layout *layouts;
    struct gpu_generic_module *stuck; /* freed, but the device hung in them */
    VkDescriptorBufferInfo *infos;    /* room for a launch */
    struct gpu_generic_access *accesses;
    uint32_t room; /* of these two */
    tnb_arena *arena;
    tnb_cache cache;
    bool cache_told;
    struct gpu_generic_counts counts;
    tnr_property facts[GPU_GENERIC_FACTS];
    uint32_t n_facts;
    struct gpu_generic_check *check;
    bool hung; /* work never ended */
    atomic_bool lost;
    pthread_mutex_t lost_lock; /* of why_lost */
    char why_lost[160];
};
enum { GPU_GENERIC_ZEROS = 256 };

static inline struct gpu_generic_stream *
gpu_generic_stream_of(struct gpu_generic_device *d, void *stream)
{
    return stream ? stream : d->usual;
}

#endif
