/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the loader of oneDNN share (device half).
 *
 * A function is a module; for the extents of a call's symbols the module has a plan: forms (a value in a
 * layout, in the memory of an argument or of its own) and steps (primitives) in order.
 */
#ifndef TENON_PLUGINS_DNNL_DNNL_RT_H
#define TENON_PLUGINS_DNNL_DNNL_RT_H

#include <jansson.h>
#include "dnnl_api.h"
#include "tenon/rt/loader.h"

/* oneDNN counts elements, and what a window spans, in 32 bits without looking whether they fit. */
#define DNNL_MAX_BYTES (INT64_C(4) * INT32_MAX)
enum { DNNL_MAX_SPAN = UINT16_MAX };
enum { DNNL_MAX_ARGS = 12, DNNL_PLANS = 4, DNNL_NO_FORM = -1 };

struct dnnl_form {
    int value;
    dnnl_md md;
    dnnl_memory_t mem;
    int arg;         /* whose memory it is; -1: its own */
    int shares;      /* the form whose memory it takes over; -1: none */
    int first, last; /* steps that use it */
    int constant;    /* among the module's constants; -1: none of them */
};

struct dnnl_step {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[DNNL_MAX_ARGS];
    int forms[DNNL_MAX_ARGS];
    int n, constant; /* constant: the one that it makes, -1: none */
};

/* A constant in the layout that a primitive wants, made once for all plans. */
struct dnnl_constant {
    int value;
    dnnl_md md;
    dnnl_memory_t mem;
    void *data;
    bool made;
};

struct dnnl_plan {
    int64_t *symbols;
    struct dnnl_form *forms;
    struct dnnl_step *steps;
    int n_forms, n_steps, cap_forms, cap_steps;
    void **buffers;
    int n_buffers;
    uint64_t bytes; /* of the buffers */
};

struct dnnl_module {
    const tnr_external *desc;
    tnr_device *device;
    json_t *root; /* what dnnl_payload.c wrote */
    const json_t *values, *ops, *out;
    uint32_t n_args, n_results, n_values, n_ops, n_symbols;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int64_t *symbols;                    /* of the call */
    struct dnnl_plan *plans[DNNL_PLANS]; /* the last used one first */
    struct dnnl_constant *constants;
    int n_constants, cap_constants;
};

/* In dnnl_rt.c. Records what failed and gives its status; 0 is success. */
TNB_MUST_CHECK tnb_status
dnnl_check(const struct dnnl_module *m, dnnl_status_t s, tnb_err *err, const char *what);
tnb_status
dnnl_bad(const struct dnnl_module *m, tnb_err *err, const char *what);
bool
dnnl_is_constant(const struct dnnl_module *m, int value);
/* The argument in whose memory a value is; -1: none. */
int
dnnl_arg_of(const struct dnnl_module *m, int value);
/* The extents of a value for the module's symbols; its rank, 0 for a broken description. */
int
dnnl_dims_of(const struct dnnl_module *m, int value, dnnl_dims_t dims);
/* Reads n integers from `low` on; n < 0: up to -n. How many there are; -1: they are not what they should be. */
int
dnnl_ints(const json_t *list, int n, int64_t low, int64_t *out);

/* In dnnl_build.c. A plan for the module's symbols. */
TNB_MUST_CHECK tnb_status
dnnl_build(struct dnnl_module *m, struct dnnl_plan *p, tnb_err *err);

#endif
