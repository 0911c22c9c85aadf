/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of the runtime that its own files share. */
#ifndef TENON_RUNTIME_INTERNAL_H
#define TENON_RUNTIME_INTERNAL_H

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include "tenon/base/call.h"
#include "tenon/base/tno.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

/* ---- arguments of public functions ---- */
/* TNB_INVALID: the function was given NULL for the argument. */
tnb_status
tnr_null_argument(const char *function, const char *argument, tnb_err *err);
#define NEED(pointer, err)                                     \
    do {                                                       \
        if (!(pointer))                                        \
            return tnr_null_argument(__func__, #pointer, err); \
    } while (0)
/* An array, or bytes, of which NULL is one of none. */
#define NEED_N(pointer, n, err)                                \
    do {                                                       \
        if ((n) && !(pointer))                                 \
            return tnr_null_argument(__func__, #pointer, err); \
    } while (0)
/* TNB_INVALID for a tag that there is none of, and for an object that is NULL. */
TNB_MUST_CHECK tnb_status
tnr_check_value(tnr_value v, tnb_err *err);

/* ---- devices ---- */
enum { POOL_BLOCKS = 64 };
struct pool_block {
    void *mem;
    uint64_t bytes;
    const char *scope;
    uint64_t stamp;          /* when it came back: the oldest leaves first */
    struct tnr_queue *queue; /* that used it last, counted; NULL: the device's own stream */
};
/* The name of a memory scope that was asked for, kept as long as the device. */
struct scope_name {
    struct scope_name *next;
    char text[];
};
/* Kernels that were launched since the host last waited, for errors that a device reports late. */
struct launched {
    _Atomic(const char *) kernel; /* the last one; NULL: none */
    atomic_uint n;
};
struct tnr_device {
    tnr_object object;
    const tnr_driver *driver; /* &table */
    tnr_driver table;         /* a copy: storages may outlive the runtime */
    void *handle;
    tnb_device dl;
    int threads;
    bool has_streams;
    struct launched launched; /* on its own stream */
    pthread_mutex_t lock;     /* of what follows */
    struct scope_name *scopes;
    struct pool_block blocks[POOL_BLOCKS];
    uint32_t n_blocks;
    uint64_t stamp, limit;
    tnr_memory_stats stats;
    struct tnr_queue *queues; /* all that there are */
    void *event;              /* for waits behind the device's own stream; NULL: none so far */
    struct tnr_device *next;
};
/* A function of the device's driver that may fail, without its first and last argument: a failure has a reason. */
#define TNR_ASK(dev, err, function, ...)                                              \
    TNB_CALL(err, (dev)->driver->function((dev)->handle, __VA_ARGS__, err), "device", \
             (dev)->driver->base.name, #function)
/* The same for one that waits for work of the queue (NULL: the device's own stream): a failure names the device and, as far as it is
 * known, the kernel. */
#define TNR_WAIT(dev, q, err, function, ...) \
    tnr_waited(dev, q, TNR_ASK(dev, err, function, __VA_ARGS__), err)
TNB_MUST_CHECK tnb_status
tnr_waited(tnr_device *dev, struct tnr_queue *q, tnb_status st, tnb_err *err);
/* Names of the program's kernels are not used any more. */
void
tnr_forget_launches(tnr_vm *vm);
/* Memory of at least `bytes` for the scope, for work in the order of `queue`; *capacity is what to give back. */
TNB_MUST_CHECK tnb_status
tnr_pool_get(tnr_device *dev, struct tnr_queue *queue, uint64_t bytes, const char *scope,
             void **mem, uint64_t *capacity, tnb_err *err);
/* Takes the reference to the queue over. */
void
tnr_pool_put(tnr_device *dev, struct tnr_queue *queue, void *mem, uint64_t capacity,
             const char *scope);

/* ---- queue.c: streams and the order of their work ---- */
/* A stream of a machine. NULL stands for the device's own everywhere. Whoever holds one holds its device. */
struct tnr_queue {
    atomic_uint refs;
    tnr_device *device;
    void *stream;
    void *event;    /* for waits behind it, under the device's lock; NULL: none so far */
    bool capturing; /* what is queued becomes a graph */
    struct launched launched;
    struct tnr_queue *next;
};
static inline void *
tnr_stream(const struct tnr_queue *q)
{
    return q ? q->stream : NULL;
}
static inline void
tnr_note_launch(tnr_device *dev, struct tnr_queue *q, const char *kernel)
{
    struct launched *l = q ? &q->launched : &dev->launched;
    atomic_store_explicit(&l->kernel, kernel, memory_order_relaxed);
    unsigned n = atomic_load_explicit(&l->n, memory_order_relaxed);
    atomic_store_explicit(&l->n, n + 1, memory_order_relaxed);
}
/* *out NULL: the device has no streams. */
TNB_MUST_CHECK tnb_status
tnr_queue_new(tnr_device *dev, struct tnr_queue **out, tnb_err *err);
struct tnr_queue *
tnr_queue_retain(struct tnr_queue *q);
void
tnr_queue_drop(struct tnr_queue *q, bool locked);
static inline void
tnr_queue_release(struct tnr_queue *q)
{
    if (q)
        tnr_queue_drop(q, false);
}
static inline void
tnr_queue_release_locked(struct tnr_queue *q)
{
    if (q)
        tnr_queue_drop(q, true);
}
/* What is queued on `q` from now on waits for what was queued on `behind` until now. */
TNB_MUST_CHECK tnb_status
tnr_queue_wait(tnr_device *dev, struct tnr_queue *q, struct tnr_queue *behind, tnb_err *err);
TNB_MUST_CHECK tnb_status
tnr_queue_wait_locked(tnr_device *dev, struct tnr_queue *q, struct tnr_queue *behind, tnb_err *err);
/* TNB_UNSUPPORTED: WHAT while a graph is captured. */
TNB_MUST_CHECK tnb_status
tnr_capture_forbids(const char *what, tnb_err *err);
/* To compare with; another thread may change it. */
static inline const struct tnr_queue *
tnr_queue_of(const tnr_storage *s)
{
    return __atomic_load_n(&s->queue, __ATOMIC_RELAXED);
}
/* The storage is used in the order of `q` from now on, behind what used it until now: asked for before the work is queued, and
 * again behind it. */
TNB_MUST_CHECK tnb_status
tnr_storage_adopt(tnr_storage *s, struct tnr_queue *q, tnb_err *err);
/* Who uses the storage from now on waits for what was queued on `q` until now; its queue stays. */
TNB_MUST_CHECK tnb_status
tnr_storage_follow(tnr_storage *s, struct tnr_queue *q, tnb_err *err);
/* Its queue, counted. */
struct tnr_queue *
tnr_storage_retain_queue(const tnr_storage *s);
static inline struct tnr_queue *
tnr_storage_queue(const tnr_storage *s)
{
    return s->device->has_streams ? tnr_storage_retain_queue(s) : NULL;
}
TNB_MUST_CHECK tnb_status
tnr_storage_new_on(tnr_device *dev, struct tnr_queue *q, uint64_t bytes, const char *scope,
                   tnr_value *out, tnb_err *err);
TNB_MUST_CHECK tnb_status
tnr_tensor_new_on(tnr_device *dev, struct tnr_queue *q, const int64_t *shape, uint32_t ndim,
                  tnb_dtype dtype, tnr_value *out, tnb_err *err);
/* As tnr_tensor_to, a copy in the order of `q`. */
TNB_MUST_CHECK tnb_status
tnr_tensor_to_on(tnr_tensor *t, tnr_device *dev, struct tnr_queue *q, tnr_value *out, tnb_err *err);
/* Whether so many bytes may be copied from the tensor to the host, or back. */
TNB_MUST_CHECK tnb_status
tnr_check_copy(const tnr_tensor *t, uint64_t bytes, bool write, tnb_err *err);
/* The device's own copy of a scope's name, "global" for NULL and ""; NULL without memory. */
const char *
tnr_device_scope(tnr_device *dev, const char *scope);
/* Opens a driver's device outside of any runtime's list. */
TNB_MUST_CHECK tnb_status
tnr_device_new(const tnr_driver *drv, int id, const tnr_device_options *opt, tnr_device **out,
               tnb_err *err);
extern const tnr_driver tnr_host_driver;
/* TNB_UNTRUSTED, with the reason, where code of artifacts may not run natively and the device does
 * that. */
TNB_MUST_CHECK tnb_status
tnr_device_check_native(const tnr_device *dev, bool no_native, tnb_err *err);

/* ---- the runtime ---- */
/* A copy like that of a driver; stays where it is, as machines point to it. */
struct packed_entry {
    tnr_packed p;
    bool from_plugin;          /* that the index found */
    struct packed_entry *next; /* of the replaced ones */
};
/* Checks options and copies them. */
TNB_MUST_CHECK tnb_status
tnr_take_options(const tnr_runtime_options *opt, tnr_runtime_options *out, tnb_err *err);

struct tnr_runtime {
    tnr_runtime_options opt;
    int threads;
    pthread_mutex_t lock; /* of the lists below; recursive, as finding one thing may load another */
    tnr_driver **drivers; /* copies */
    uint32_t n_drivers;
    tnr_loader **loaders; /* copies */
    uint32_t n_loaders;
    struct packed_entry **packed; /* open addressing by name; NULL: free */
    uint32_t n_packed, packed_slots;
    struct packed_entry *replaced; /* machines may hold them still */
    tnr_device *devices, *host;
    void (**finis)(void); /* of the plugins added, in order */
    uint32_t n_finis;
};

/* ---- artifacts ---- */
struct section {
    const void *at;
    uint64_t n;
};
struct variant {
    tnr_variant info;
    struct section program, code, fallback;
};
struct tnr_artifact {
    tnr_object object;
    char *name; /* for messages */
    uint8_t *map;
    uint64_t n;
    enum holds {
        HOLDS_MAPPING,
        HOLDS_MEMORY,
        HOLDS_NOTHING
    } holds;                 /* what to give back: `map` is mapped, from malloc, borrowed */
    int fd;                  /* of what is mapped and may be changed; -1: none */
    struct timespec written; /* when it was, last */
    tnb_arena *arena;
    const char *metadata;
    struct section constants;
    uint64_t constants_hash;
    struct variant *variants;
    uint32_t n_variants;
    tnr_signature *functions;
    uint32_t n_functions;
    uint32_t n_weights; /* that lie in files of their own */
};
/* TNB_IO where the file that is mapped was written or shortened since it was opened. */
TNB_MUST_CHECK tnb_status
tnr_artifact_unchanged(const tnr_artifact *a, tnb_err *err);
TNB_MUST_CHECK tnb_status
tnr_artifact_read_metadata(tnr_artifact *a, const char *json, size_t n, tnb_err *err);

/* NULL with `err` set when no plugin offers it. */
const tnr_loader *
tnr_find_loader(tnr_runtime *rt, const char *name, tnb_err *err);
/* What the variant says of a function that a library runs; NULL: nothing. */
const tnr_external *
tnr_variant_external(const tnr_variant *v, const char *symbol);

/* ---- lazy tuples ---- */
/* `item` makes an item that is null, and stores its tag last; `check` tells whether all that items are made from is as it
 * was. */
typedef struct tnr_lazy {
    tnb_status (*item)(tnr_tuple *t, uint32_t i, tnb_err *err);
    tnb_status (*check)(tnr_tuple *t, tnb_err *err);
} tnr_lazy;

/* ---- closures ---- */
struct tnr_closure {
    tnr_object object;
    tnr_vm *vm; /* borrowed: a closure is used only with the machine that made it */
    uint32_t function, n_bound;
    tnr_value bound[];
};

/* ---- the machine ---- */
struct kernel {
    void *handle;
    uint64_t calls, bytes;
    double seconds;
};
/* A function that a loader's module runs. */
struct external {
    const tnr_loader *loader;
    void *module;
};
/* Memory of a device in which its kernels note an index that is out of range; NULL: none needed it so
 * far. */
struct refusal {
    void *mem;
    bool pending; /* a kernel may have noted something since the machine looked */
};
struct frame {
    uint32_t function, pc, values, scalars,
        dst; /* bases in the stacks; where the caller wants the result */
};
struct tnr_vm {
    tnr_runtime *rt;
    tnr_artifact *artifact;
    const struct variant *variant;
    tnb_tno_view p;
    tnr_device **devices;
    tnr_device *device;   /* devices[0], or the host's */
    tnr_device *fallback; /* runs kernels on copies of what lies elsewhere; NULL: none */
    void **modules;       /* per device; NULL: no kernel there */
    struct kernel *kernels;
    struct refusal *refusals; /* per device */
    struct tnr_queue *
        *queues;           /* per device, entries of the same device share one; NULL: no streams */
    bool has_queues;       /* one is not NULL */
    struct graphs *graphs; /* captured ones; NULL: none */
    const tnr_packed **packed; /* NULL: the external of the same index */
    struct external *externals;
    tnr_value *constants; /* null until used */
    tnr_value *values;    /* stacks */
    int64_t *scalars;
    struct frame *frames;
    uint32_t n_values, n_scalars, n_frames;       /* in use */
    uint32_t cap_values, cap_scalars, cap_frames; /* allocated */
    uint32_t depth;    /* of calls from packed functions into the machine */
    tnr_param *params; /* of the launch at hand */
    tnr_tensor_map *maps;
    tnr_value *copies; /* per parameter of a launch on `fallback`: the copy there, or null */
    bool profiling;
    bool capturing;                  /* what is launched becomes a graph */
    struct graph_storages *captured; /* that it uses */
    void *
        uploaded; /* event behind the arguments that were copied without waiting; NULL: none so far */
    struct tnr_queue *fallback_queue;
    tnb_running *at; /* the frame of the call: what it calls now; NULL: no call */
    int64_t looked;  /* at the file of the artifact, ns of the monotonic clock; 0: never */
    atomic_bool cancel;
    tnr_kernel_time *times;
};
/* A call of what a plugin provides, where it is so frequent that it has to cost next to nothing: as TNB_CALL, but the frame is that of
 * the machine's call, and the caller asks for the reason where the status is not TNB_OK. */
#define TNR_HOT_CALL(vm, err, call, kind_, name_)    \
    ({                                               \
        tnb_running none_ = {0}, *at_ = (vm)->at;    \
        at_ = at_ ? at_ : &none_;                    \
        const char *k_ = at_->kind, *n_ = at_->name; \
        at_->kind = (kind_);                         \
        at_->name = (name_);                         \
        if (err)                                     \
            (err)->message[0] = (err)->hint[0] = 0;  \
        tnb_status st_ = (call);                     \
        at_->kind = k_;                              \
        at_->name = n_;                              \
        st_;                                         \
    })
/* The machine's queue on a device; NULL: none. */
struct tnr_queue *
tnr_vm_queue(const tnr_vm *vm, const tnr_device *dev);
/* The storage of a tensor, or those of a tuple's tensors, are used in the order of the machine's queues. In a capture they are noted
 * as the graph's instead. */
TNB_MUST_CHECK tnb_status
tnr_vm_order(tnr_vm *vm, tnr_value v, int depth, tnb_err *err);
TNB_MUST_CHECK tnb_status
tnr_vm_constant(tnr_vm *vm, uint32_t index, tnr_value *out, tnb_err *err);

/* ---- refusal.c: indices that came as data and are out of range ---- */
/* Where a launch of a kernel that looks for them notes one. */
TNB_MUST_CHECK tnb_status
tnr_refusal_give(tnr_vm *vm, uint32_t kernel, tnr_memory *out, tnb_err *err);
/* After a launch: TNB_BOUNDS and a message if it noted one, as far as the host sees it already. */
TNB_MUST_CHECK tnb_status
tnr_refusal_after(tnr_vm *vm, uint32_t kernel, tnb_err *err);
/* At the end of the outermost call: the same for all devices, else `st`. */
TNB_MUST_CHECK tnb_status
tnr_refusal_end(tnr_vm *vm, tnb_status st, tnb_err *err);
void
tnr_refusal_free(tnr_vm *vm);

/* ---- graph.c: captured graphs ---- */
TNB_MUST_CHECK tnb_status
tnr_graph_cached_alloc(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err);
TNB_MUST_CHECK tnb_status
tnr_graph_run(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err);
/* In a capture: the graph uses the storage. */
TNB_MUST_CHECK tnb_status
tnr_graph_note(tnr_vm *vm, tnr_storage *s, tnb_err *err);
void
tnr_graphs_free(tnr_device *dev, struct graphs **list);
/* Launches of the runtime's own that come again: captured and replayed, in a module that has captured regions; else `call` does them.
 * A graph for each slot and dims; where other arguments come (memory, extents, numbers) it is captured again. */
struct tnr_repeated {
    tnb_status (*call)(void *user, tnb_err *err);
    void *user;
    int64_t slot, dims[2];
    uint32_t n_dims, n_args;
    const tnr_value *args; /* all that the launches depend on, borrowed */
};
TNB_MUST_CHECK tnb_status
tnr_graph_repeat(tnr_vm *vm, struct graphs **list, const struct tnr_repeated *r, tnb_err *err);

extern const tnr_packed tnr_builtins[];
extern const uint32_t tnr_n_builtins;
/* kv_packed.c: the paged cache */
extern const tnr_packed tnr_kv_builtins[];
extern const uint32_t tnr_n_kv_builtins;

/* What tnr_expect, tnr_expect_int and tnr_release do where the runtime calls them with what it made: most of the time there is nothing
 * to tell and nothing to release. */
static inline tnb_status
tnr_want(const char *function, const tnr_value *args, int i, uint32_t tag, tnb_err *err)
{
    return args[i].tag == tag ? TNB_OK : tnr_expect(function, args, i, tag, err);
}
static inline tnb_status
tnr_want_int(const char *function, const tnr_value *args, int i, int64_t *out, tnb_err *err)
{
    bool is = args[i].tag == TNR_INT || args[i].tag == TNR_BOOL;
    *out = is ? args[i].u.i : 0;
    return is ? TNB_OK : tnr_expect(function, args, i, TNR_INT, err);
}
static inline void
tnr_drop(tnr_value *v)
{
    if (v->tag >= TNR_FIRST_OBJECT)
        tnr_release(v);
    else
        *v = (tnr_value){.tag = TNR_NULL};
}

/* Truth of a condition; element of a one-element tensor as a number. */
TNB_MUST_CHECK tnb_status
tnr_value_truth(tnr_value v, bool *out, tnb_err *err);
TNB_MUST_CHECK tnb_status
tnr_value_int(tnr_value v, int64_t *out, tnb_err *err);
TNB_MUST_CHECK tnb_status
tnr_value_float(tnr_value v, double *out, tnb_err *err);

#endif
