/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: what its files share.
 *
 * A memory handle is a cl_mem, as DLPack has it; a stream is a cl_command_queue. The library is used
 * as of OpenCL 1.2; what is newer is asked for by number.
 */
#ifndef TENON_BACKENDS_OPENCL_DEVICE_H
#define TENON_BACKENDS_OPENCL_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "tenon/base/cache.h"
#include "tenon/rt/plugin.h"

enum { OPENCL_TEXT = 256 };

/* What a device says about itself. */
struct opencl_info {
    char platform[OPENCL_TEXT], platform_version[OPENCL_TEXT];
    char name[OPENCL_TEXT], vendor[OPENCL_TEXT], driver[OPENCL_TEXT], version_text[OPENCL_TEXT];
    char *extensions; /* words between blanks; from malloc */
    int version;      /* 120, 200, 300 */
    cl_device_type type;
    cl_ulong memory, largest, local; /* bytes: in all, of one buffer, a work group's */
    size_t group, items[3];          /* work items a group may have: in all, by dimension */
    cl_uint units;
    bool images, doubles, halves, subgroups;
    bool rounds_division; /* quotients and square roots of float32 can be correctly rounded */
    size_t image_width, image_height, image_layers;
};

struct opencl_device {
    cl_platform_id platform;
    cl_device_id id;
    struct opencl_info info;
    cl_context context;
    cl_command_queue queue; /* in order; of launches and copies without a stream */
    cl_command_queue_properties properties;
    char *build_options;
    char *clml_tuning; /* file with results of tuning; NULL: none */
    bool clml_tune;    /* a run that fills it */
    bool clml_onchip;  /* memory on the chip may be used */
    bool native;       /* a processor: kernels become machine code of this process */
    tnb_arena *arena;  /* of the cache's folder */
    tnb_cache cache;
    atomic_bool cache_told; /* that the cache cannot be used */
    atomic_ulong in_use;    /* bytes */
    atomic_uint launches;   /* since the queue was last flushed */
    atomic_bool lost;
    pthread_mutex_t lock; /* of why_lost */
    char why_lost[160];
    tnr_property facts[12];
    uint32_t n_facts;
};

/* ---- error.c ---- */
/* Fills `err` with "TEXT: NAME (code): meaning" and a hint; the status fits the code. A code that
 * ends the device is remembered (d may be NULL). */
tnb_status
opencl_fail(struct opencl_device *d, cl_int code, tnb_err *err, const char *fmt, ...)
    TNB_PRINTF(4, 5);
/* TNB_DEVICE when the device was lost before. */
TNB_MUST_CHECK tnb_status
opencl_alive(struct opencl_device *d, tnb_err *err);
/* "CL_OUT_OF_RESOURCES", or the number as text. */
const char *
opencl_error_name(cl_int code, char number[16]);

/* ---- probe.c ---- */
/* The plugin's init: where its program opencl_probe lies. */
TNB_MUST_CHECK tnb_status
opencl_init(const tnb_plugin_start *start, tnb_err *err);
/* Asks the drivers in another process, once for the life of this one. False: asking ends or blocks
 * the process. *left: platforms that must be left alone for that reason, a bit each; then, and when
 * false is given, *why tells. */
bool
opencl_probe(uint64_t *left, tnb_err *why);

/* ---- info.c ---- */
/* Asks the device; `out->extensions` is the caller's, also on failure. */
TNB_MUST_CHECK tnb_status
opencl_info_read(cl_platform_id platform, cl_device_id id, struct opencl_info *out, tnb_err *err);
bool
opencl_has_extension(const struct opencl_info *info, const char *name);
void
opencl_describe(void *dev, char *out, size_t n);
const tnr_property *
opencl_facts(void *dev, uint32_t *n);
TNB_MUST_CHECK tnb_status
opencl_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err);

/* ---- clml_rt.c: part of builds with OPENCL_CLML ---- */
extern const tnr_loader opencl_clml, opencl_clml5;
/* Whether the device has the extension that this was compiled for. */
bool
opencl_has_clml(const struct opencl_info *info);
/* The newest version of it that the device and this program have; 0: none. */
int
opencl_clml_version(struct opencl_device *d);

/* ---- memory.c ---- */
TNB_MUST_CHECK tnb_status
opencl_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err);
void
opencl_free(void *dev, void *mem);
TNB_MUST_CHECK tnb_status
opencl_copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err);
TNB_MUST_CHECK tnb_status
opencl_copy_start(void *dev, void *stream, const tnr_copy *c, tnb_err *err);
TNB_MUST_CHECK tnb_status
opencl_zero(void *dev, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err);

/* ---- image.c ---- */
/* An image by its scope: docs/target-opencl.md. */
TNB_MUST_CHECK tnb_status
opencl_image_new(struct opencl_device *d, const char *scope, cl_mem *out, tnb_err *err);
struct opencl_image {
    cl_mem mem;
    size_t width, height, layers, texel; /* texel: bytes of an element */
};
/* *is: whether `mem` is an image, which then is in *out. */
TNB_MUST_CHECK tnb_status
opencl_image_of(struct opencl_device *d, cl_mem mem, bool *is, struct opencl_image *out,
                tnb_err *err);
enum { OPENCL_FROM_HOST, OPENCL_TO_HOST, OPENCL_FROM_BUFFER, OPENCL_TO_BUFFER, OPENCL_ZEROS };
/* Moves bytes [offset, offset + bytes) of the image, its rows and layers one behind the other, from
 * or to memory of the host or a buffer at `at`. */
TNB_MUST_CHECK tnb_status
opencl_image_move(struct opencl_device *d, cl_command_queue q, int kind,
                  const struct opencl_image *image, uint64_t offset, uint64_t bytes, void *host,
                  cl_mem buffer, uint64_t at, tnb_err *err);

/* ---- queue.c ---- */
TNB_MUST_CHECK tnb_status
opencl_sync(void *dev, void *stream, tnb_err *err);
TNB_MUST_CHECK tnb_status
opencl_queue_new(struct opencl_device *d, cl_command_queue *out, tnb_err *err);
TNB_MUST_CHECK tnb_status
opencl_stream_new(void *dev, void **stream, tnb_err *err);
void
opencl_stream_free(void *dev, void *stream);
TNB_MUST_CHECK tnb_status
opencl_event_new(void *dev, void **event, tnb_err *err);
void
opencl_event_free(void *dev, void *event);
TNB_MUST_CHECK tnb_status
opencl_event_record(void *dev, void *event, void *stream, tnb_err *err);
TNB_MUST_CHECK tnb_status
opencl_event_wait(void *dev, void *event, void *stream, tnb_err *err);
TNB_MUST_CHECK tnb_status
opencl_event_done(void *dev, void *event, bool *done, tnb_err *err);
TNB_MUST_CHECK tnb_status
opencl_event_sync(void *dev, void *event, tnb_err *err);
TNB_MUST_CHECK tnb_status
opencl_event_seconds(void *dev, void *from, void *to, double *seconds, tnb_err *err);
static inline cl_command_queue
opencl_queue(const struct opencl_device *d, void *stream)
{
    return stream ? stream : d->queue;
}

/* ---- program.c, launch.c ---- */
enum { OPENCL_KERNELS = 8 };
struct opencl_kernel {
    struct opencl_kernel *next;
    struct opencl_module *module;
    cl_uint n_args;
    size_t group;       /* work items a group of it may have */
    size_t required[3]; /* the group's size that its source demands; zeros: any */
    cl_ulong local;     /* bytes a group of it uses */
    pthread_mutex_t lock;
    cl_kernel
        idle[OPENCL_KERNELS]; /* arguments belong to a cl_kernel, so each launch has its own */
    int n_idle;
    char name[];
};
struct opencl_module {
    cl_program program;
    pthread_mutex_t lock; /* of the list */
    struct opencl_kernel *kernels;
};
TNB_MUST_CHECK tnb_status
opencl_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                   tnb_err *err);
void
opencl_module_free(void *dev, void *module);
TNB_MUST_CHECK tnb_status
opencl_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err);
TNB_MUST_CHECK tnb_status
opencl_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err);

#endif
