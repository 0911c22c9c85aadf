/* SPDX-License-Identifier: Apache-2.0 */
/* Device drivers: the table of functions that a backend's device half provides, and devices opened
 * through it.
 *
 * A driver's functions get `dev`, what its `open` gave. Memory is an opaque handle with byte
 * offsets; where the driver says TNR_DRIVER_HOST_MEMORY the handle is an address that the host may
 * read and write. Work is queued on a stream (NULL: the device's own) in order; `sync` waits for it, and so do copies with the
 * host: one to the host has ended when it returns, one to the device has read the host's bytes. Work of different streams has no
 * order but that of events. Functions marked optional may be NULL: all of a group, or none. They may be called from several threads.
 */
#ifndef TENON_RT_DEVICE_H
#define TENON_RT_DEVICE_H

#include <stdbool.h>
#include "tenon/base/param.h"
#include "tenon/base/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the host from the program that embeds the runtime. Any thread may call. */
typedef struct tnr_allocator {
    void *(*alloc)(void *user, size_t bytes,
                   size_t alignment);       /* a power of two; NULL: there is no memory */
    void (*free)(void *user, void *memory); /* what `alloc` gave; never NULL */
    void *user;
} tnr_allocator;

/* Threads of that program, in place of the runtime's own. */
typedef struct tnr_thread_pool {
    int threads; /* at least 1 */
    /* Calls part(args, from, to, number) on pieces that together are [min, min + n), on up to `most` threads, each with a number of its
     * own below that; returns when all is done. The calling thread may be one of them. Not called from within a part. */
    void (*run)(void *user, void (*part)(void *args, int64_t from, int64_t to, int32_t number),
                void *args, int64_t min, int64_t n, int most);
    void *user;
} tnr_thread_pool;

/* Settings a driver is opened with. Borrowed for the call. */
typedef struct tnr_device_options {
    uint32_t size;
    int threads; /* host threads that kernels may use; 0: the driver decides */
    /* The value of KEY in [device NAME] of the configuration; NULL: not set. */
    const char *(*setting)(const void *user, const char *key);
    const void *user;
    const char *cache_dir; /* [tenon] cache_dir, as tnb_cache_dir takes it; NULL: the usual one */
    /* of the embedding program, for drivers whose memory and threads are the host's; they stay until the device is closed. NULL: none */
    const tnr_allocator *allocator;
    const tnr_thread_pool *pool;
} tnr_device_options;

enum { TNR_COPY_TO_DEVICE, TNR_COPY_TO_HOST, TNR_COPY_ON_DEVICE };
typedef struct tnr_copy {
    int kind;
    void *dst; /* memory handle, or host address */
    uint64_t dst_offset;
    const void *src;
    uint64_t src_offset;
    uint64_t bytes; /* 0: nothing happens. Ranges may overlap on the device */
} tnr_copy;

/* Integers sign- or zero-extended, floats as double. */
typedef union tnr_scalar {
    int64_t i;
    double f;
} tnr_scalar;

/* Memory of the device: `mem` is what the driver's `alloc` gave, offset and bytes count within it. */
typedef struct tnr_memory {
    void *mem;
    uint64_t offset, bytes;
} tnr_memory;

/* A tensor map of one launch: memory as a tensor, and the constant part. Axes as those of a tensor. */
typedef struct tnr_tensor_map {
    const tnb_tensor_map *map;
    tnr_memory memory;
    uint64_t extents[TNB_MAP_RANK], strides[TNB_MAP_RANK]; /* elements; the last stride is 1 */
} tnr_tensor_map;

/* The value of one parameter. */
typedef struct tnr_param {
    uint16_t kind;    /* tnb_param_kind */
    uint16_t written; /* memory: 1 if the kernel writes it */
    tnb_dtype dtype;  /* of scalars; of memory what the kernel takes it for, void: not known */
    union {
        tnr_memory memory; /* BUFFER, IMAGE, REFUSED */
        tnr_scalar scalar; /* SCALAR, TAG */
        const tnr_tensor_map *map;
    } u;
} tnr_param;

/* Of launches. GRID: grid and block count; a kernel without runs once. */
enum {
    TNR_LAUNCH_GRID = 1,
    TNR_LAUNCH_CLUSTER = 2,     /* blocks come in clusters of `cluster` blocks */
    TNR_LAUNCH_COOPERATIVE = 4, /* all blocks run at the same time */
    TNR_LAUNCH_PROGRAMMATIC =
        8, /* may begin before the launch in front of it ends, and waits for it itself */
};

/* One launch. */
typedef struct tnr_launch {
    uint32_t size;
    uint32_t flags;
    const tnr_param *params; /* in the order of the kernel's table */
    uint32_t n_params;
    uint32_t cluster[3];
    uint64_t grid[3], block[3];
    uint64_t shared_bytes; /* of a block, beyond what the kernel's code declares */
    /* For kernels that run while `launch` does: true when somebody wants the call to end, which it
     * then does with TNB_CANCELLED. May be NULL. */
    bool (*cancelled)(const void *user);
    const void *user; /* of `cancelled` */
} tnr_launch;

/* What launches of a driver may have beside buffers, scalars, a grid, and the notes of refused indices. */
enum {
    TNR_TAKES_IMAGES = 1,
    TNR_TAKES_TENSOR_MAPS = 2,
    TNR_TAKES_CLUSTERS = 4,
    TNR_TAKES_COOPERATIVE = 8,
    TNR_TAKES_PROGRAMMATIC = 16,
    TNR_TAKES_SHARED = 32 /* shared_bytes */
};

enum {
    TNR_DRIVER_HOST_MEMORY =
        1,                /* memory handles are host addresses, work is done when a call returns */
    TNR_DRIVER_NATIVE = 2 /* every device runs code of modules on the host's processor, outside of
                             any sandbox: --no-native refuses it. See tnr_driver.native */
};

/* A key of [device NAME] in INI files, which tnr_device_options.setting gives. */
typedef struct tnr_setting {
    const char *name;
    const char *fallback; /* what is taken without it, as text; NULL: the device's own */
    const char *doc;
} tnr_setting;

/* A fact about a device that programs may ask for, with its type. Names that mean the same for all drivers, where a driver has them:
 *     memory_bytes            int     memory that the device has
 *     units                   int     processors, compute units, multiprocessors
 *     threads_per_block       int     most threads of a block
 *     warp                    int     threads of a warp (a sub-group)
 *     shared_bytes            int     most shared memory of a block, in bytes
 *     clock_hz                float   highest clock of the units
 *     unified_memory          bool    host and device have the same memory
 *     vendor, driver_version  text
 * Others begin with the driver's name: "opencl.max_image_width". */
typedef enum tnr_property_type {
    TNR_PROPERTY_INT = 1,
    TNR_PROPERTY_FLOAT,
    TNR_PROPERTY_BOOL,
    TNR_PROPERTY_TEXT
} tnr_property_type;
typedef struct tnr_property {
    const char *name;
    tnr_property_type type;
    union {
        int64_t i;
        double f;
        bool b;
        const char *text;
    } u;
    const char *doc; /* may be NULL */
} tnr_property;

typedef struct tnr_driver {
    tnb_entry base; /* name: "cpu" */
    uint32_t flags;
    uint32_t
        takes;    /* TNR_TAKES_*: a machine whose kernels need another is refused when it is made */
    int32_t type; /* DLPack's device type */
    uint32_t alignment; /* of memory given out, bytes */
    void *self;
    /* All keys of [device NAME], ends with a NULL name: another one is an error then. NULL: any. */
    const tnr_setting *settings;
    /* Devices present. None: *n = 0, TNB_OK, and `err` (may be NULL) tells why. */
    tnb_status (*count)(void *self, int *n, tnb_err *err);
    tnb_status (*open)(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err);
    void (*close)(void *dev);
    /* One line for a person: name, memory, what it can. The text is cut to n. */
    void (*describe)(void *dev, char *out, size_t n);
    /* TNB_OK when the device has all features; else a message with both lists. */
    tnb_status (*check_features)(void *dev, const char *const *features, uint32_t n, tnb_err *err);

    /* memory: never NULL handles for bytes > 0; bytes == 0 gives a handle that may be freed.
     * `scope` ("global", or a name of the device's own) lives as long as the device;
     * TNB_UNSUPPORTED for one that the device does not have. `free` comes while queued work of any stream still uses the memory: it
     * does not wait, and nobody else gets the memory before that work has ended. A driver whose work is not done when a call returns
     * counts what uses the memory, or keeps it until an event of its own. */
    tnb_status (*alloc)(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err);
    void (*free)(void *dev, void *mem);
    tnb_status (*copy)(void *dev, void *stream, const tnr_copy *c, tnb_err *err);
    tnb_status (*zero)(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes,
                       tnb_err *err);
    tnb_status (*sync)(void *dev, void *stream, tnb_err *err);

    /* streams: optional. What was queued on one that is freed is still done */
    tnb_status (*stream_new)(void *dev, void **stream, tnb_err *err);
    void (*stream_free)(void *dev, void *stream);
    /* events: optional. `event_wait` waits for the last record before it; for nothing if there was none */
    tnb_status (*event_new)(void *dev, void **event, tnb_err *err);
    void (*event_free)(void *dev, void *event);
    tnb_status (*event_record)(void *dev, void *event, void *stream, tnb_err *err);
    tnb_status (*event_wait)(void *dev, void *event, void *stream,
                             tnb_err *err); /* the stream waits */
    tnb_status (*event_seconds)(void *dev, void *from, void *to, double *seconds, tnb_err *err);
    /* events and the host: optional, with those of events. `event_done` does not wait; true where nothing was recorded */
    tnb_status (*event_done)(void *dev, void *event, bool *done, tnb_err *err);
    tnb_status (*event_sync)(void *dev, void *event, tnb_err *err);

    /* A copy with the host (TNR_COPY_TO_DEVICE, TNR_COPY_TO_HOST) that is not waited for: until an event behind it is done
     * the host's bytes may not be changed, or mean nothing. Optional, with events and the host */
    tnb_status (*copy_start)(void *dev, void *stream, const tnr_copy *c, tnb_err *err);
    /* memory of the host that such copies are fast with: optional. Never NULL for bytes > 0 */
    tnb_status (*pinned_alloc)(void *dev, uint64_t bytes, void **host, tnb_err *err);
    void (*pinned_free)(void *dev, void *host);
    /* memory in stream order: optional, with events. What is queued on the stream behind `alloc_ordered` may use the memory; other
     * streams need an event. `free_ordered` gives it back behind what is queued on the stream so far, and does not wait: work of
     * the stream that is queued later may get it at once, anybody else when the stream has come there. The runtime has the stream
     * wait for other streams that use the memory. `free` takes such memory, too */
    tnb_status (*alloc_ordered)(void *dev, void *stream, uint64_t bytes, const char *scope,
                                void **mem, tnb_err *err);
    tnb_status (*free_ordered)(void *dev, void *stream, void *mem, tnb_err *err);
    /* Copies between devices of this driver: optional. Whether `dev` reaches memory of `from`; a copy to `dev`, in its stream,
     * for which the work of `from` that it needs was waited for */
    bool (*peer)(void *dev, void *from);
    tnb_status (*peer_copy)(void *dev, void *stream, void *from, const tnr_copy *c, tnb_err *err);

    /* modules: code in one of `formats` (NULL-terminated). The bytes may be unmapped after
     * module_free only, and nothing that is queued uses the module then. */
    const char *const *formats;
    tnb_status (*module_load)(void *dev, const char *format, const void *code, size_t n,
                              void **module, tnb_err *err);
    void (*module_free)(void *dev, void *module);
    tnb_status (*module_kernel)(void *dev, void *module, const char *name, void **kernel,
                                tnb_err *err);
    tnb_status (*launch)(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err);

    /* Graphs: optional. Between begin and end what is queued on the stream is not done but kept: launches, zeros, copies
     * on the device. `graph_end` after an error gives no graph (TNB_INVALID) and ends the capture all the same.
     * `graph_update` makes `graph` do what `from` does; TNB_UNSUPPORTED, and nothing changed, where they are too different */
    tnb_status (*graph_begin)(void *dev, void *stream, tnb_err *err);
    tnb_status (*graph_end)(void *dev, void *stream, void **graph, tnb_err *err);
    tnb_status (*graph_update)(void *dev, void *graph, void *from, tnb_err *err);
    tnb_status (*graph_launch)(void *dev, void *stream, void *graph, tnb_err *err);
    void (*graph_free)(void *dev, void *graph);

    /* Threads that kernels use from now on; 0: the default. Optional. */
    void (*set_threads)(void *dev, int threads);
    /* Whether this device runs an artifact's kernels as code of the host's processor, with the
     * rights of this process, whatever form the code has in the artifact: --no-native then refuses
     * it. For drivers of which some devices do, as OpenCL's for processors, which compile text to
     * it. NULL: as TNR_DRIVER_NATIVE says. */
    bool (*native)(void *dev);
    /* What is known of the device, of unique names; lives as long as `dev`. Names, types and texts stay; a number that changes, such as a
     * count, is that of the last call. NULL: nothing but what `describe` says. */
    const tnr_property *(*properties)(void *dev, uint32_t *n);
    /* Attributes of a target that fit this device, for -t NAME:auto, where NAME is a target that the driver runs: members of a
     * JSON object, as `"max_threads_per_block": 256, "features": []`. TNB_NO_MEMORY when they are longer than n. Optional. */
    tnb_status (*target)(void *dev, char *out, size_t n, tnb_err *err);
    /* Whether `open` takes the value of a key of `settings`, as far as that can be said without a device: `tenon check-config` asks,
     * and tnr_device_open before `open`. Else TNB_INVALID with what it may be ("block = x: it is a number from 1 to 9"). Optional. */
    tnb_status (*check_setting)(void *self, const char *key, const char *value, tnb_err *err);
} tnr_driver;

/* What a driver may take for its functions of the same names: one device without a state or features
 * of its own, whose memory is the host's. Arguments and errors are those of the table above. */
enum { TNR_HOST_ALIGNMENT = 64 };
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_host_count(void *self, int *n, tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_host_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err);
TNB_EXPORT void
tnr_host_close(void *dev);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_host_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_host_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err);
TNB_EXPORT void
tnr_host_free(void *dev, void *mem);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_host_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_host_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_host_sync(void *dev, void *stream, tnb_err *err);
/* For a driver's `launch`: TNB_UNSUPPORTED with a message that names the i-th parameter, of a kind that the driver's
 * kernels do not take. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_refuse_param(const tnr_launch *l, uint32_t i, tnb_err *err);

/* ---- opened devices ---- */
typedef struct tnr_runtime tnr_runtime;
typedef struct tnr_device tnr_device;

/* The device NAME (a driver's) number `id`, from 0, opened when first asked for. Borrowed from the
 * runtime. TNB_NOT_FOUND: no such driver; TNB_BOUNDS: no such number; TNB_DEVICE: it has no devices, or
 * opening failed; TNB_INVALID: a setting in [device NAME] that the driver does not have. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_device_open(tnr_runtime *rt, const char *name, int id, tnr_device **out, tnb_err *err);
/* Plain memory of the host, where shape values live and results can be read. Borrowed from the
 * runtime. */
TNB_EXPORT tnr_device *
tnr_device_host(tnr_runtime *rt);
TNB_EXPORT const tnr_driver *
tnr_device_driver(const tnr_device *dev);
TNB_EXPORT void *
tnr_device_handle(const tnr_device *dev); /* what the driver's `open` gave */
/* Its type and number as DLPack has them: what tnr_tensor_from_dlpack expects of a tensor. */
TNB_EXPORT tnb_device
tnr_device_dl(const tnr_device *dev);
/* Threads of the host that its kernels, and libraries on it, may use. */
TNB_EXPORT int
tnr_device_threads(const tnr_device *dev);
TNB_EXPORT bool
tnr_device_is_host(const tnr_device *dev);
/* Whether it runs an artifact's kernels as code of the host's processor, with the rights of this
 * process. */
TNB_EXPORT bool
tnr_device_is_native(const tnr_device *dev);
/* Waits for all work of the device; TNB_DEVICE where some of it failed. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_device_sync(tnr_device *dev, tnb_err *err);
/* Memory of the host that copies without waiting are fast with; plain memory where the driver has none. The caller's, to be
 * given to tnr_pinned_free before the device's runtime is freed; NULL is fine there. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_pinned_new(tnr_device *dev, uint64_t bytes, void **host, tnb_err *err);
TNB_EXPORT void
tnr_pinned_free(tnr_device *dev, void *host);
/* All that the device tells of itself; *n = 0 and NULL: nothing. Borrowed from the device. A number that changes is that of the
 * last call by any thread: who reads it while others ask has to lock. */
TNB_EXPORT const tnr_property *
tnr_device_properties(tnr_device *dev, uint32_t *n);
/* The property of that name and type. NULL with TNB_NOT_FOUND (the device has none of the name), or TNB_TYPE (of another type). */
TNB_EXPORT const tnr_property *
tnr_device_property(tnr_device *dev, const char *name, tnr_property_type type, tnb_err *err);
/* Gives cached memory back to the driver. */
TNB_EXPORT void
tnr_device_trim(tnr_device *dev);
typedef struct tnr_memory_stats {
    uint64_t in_use, cached, peak; /* bytes; peak of both together */
    uint64_t allocs, reuses;
} tnr_memory_stats;
TNB_EXPORT void
tnr_device_memory(tnr_device *dev, tnr_memory_stats *out);

#ifdef __cplusplus
}
#endif
#endif
