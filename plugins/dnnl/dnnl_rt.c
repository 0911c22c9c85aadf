/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what DNNLDispatch gave to oneDNN, on devices whose memory is the host's.
 *
 * One module a function. Its plan (dnnl_build.c) is made for the extents that the arguments of a call
 * tell; of functions with symbols the last few plans are kept. Arguments and results are used where they
 * lie; constants are laid out by the first call. What the description is: dnnl_payload.c.
 */
#include "config.h"

#include "dnnl_rt.h"

#include <inttypes.h>
#include <string.h>
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#endif
#include "tenon/base/json.h"
#include "tenon/base/log.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/tensor.h"

tnb_status
dnnl_check(const struct dnnl_module *m, dnnl_status_t s, tnb_err *err, const char *what)
{
    if (s == dnnl_success)
        return TNB_OK;
    return tnb_fail(err,
                    s == dnnl_out_of_memory   ? TNB_NO_MEMORY
                    : s == dnnl_unimplemented ? TNB_UNSUPPORTED
                                              : TNB_DEVICE,
                    "oneDNN, %s of '%s': %s", what, m->desc->symbol, dnnl_status2str(s));
}

tnb_status
dnnl_bad(const struct dnnl_module *m, tnb_err *err, const char *what)
{
    return tnb_fail(err, TNB_FORMAT, "the description of '%s' is broken: %s", m->desc->symbol,
                    what);
}

int
dnnl_ints(const json_t *list, int n, int64_t low, int64_t *out)
{
    size_t have = json_array_size(list);
    if (!json_is_array(list) || (n >= 0 ? have != (size_t)n : have > (size_t)-n))
        return -1;
    for (size_t i = 0; i < have; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || json_integer_value(v) < low || json_integer_value(v) > INT32_MAX)
            return -1;
        out[i] = json_integer_value(v);
    }
    return (int)have;
}

/* ---- values ---- */

int
dnnl_arg_of(const struct dnnl_module *m, int value)
{
    const json_t *arg = json_object_get(json_array_get(m->values, (size_t)value), "arg");
    return json_is_integer(arg) ? (int)json_integer_value(arg) : -1;
}

bool
dnnl_is_constant(const struct dnnl_module *m, int value)
{
    int arg = dnnl_arg_of(m, value);
    for (uint32_t i = 0; arg >= 0 && i < m->desc->n_constants; i++)
        if (m->desc->constants[i] == (uint32_t)arg)
            return true;
    return false;
}

int
dnnl_dims_of(const struct dnnl_module *m, int value, dnnl_dims_t dims)
{
    const json_t *list = json_object_get(json_array_get(m->values, (size_t)value), "dims");
    int n = dnnl_ints(list, -6, -(int64_t)m->n_symbols, dims);
    int64_t bytes = sizeof(float);
    for (int i = 0; i < n; i++) {
        if (dims[i] < 0)
            dims[i] = m->symbols[-1 - dims[i]];
        if (dims[i] < 1 || __builtin_mul_overflow(bytes, dims[i], &bytes) || bytes > DNNL_MAX_BYTES)
            return 0;
    }
    return n < 0 ? 0 : n;
}

/* ---- plans ---- */

static void
free_plan(struct dnnl_plan *p)
{
    for (int i = 0; p && i < p->n_steps; i++)
        (void)dnnl_primitive_destroy(p->steps[i].primitive);
    for (int i = 0; p && i < p->n_forms; i++) {
        if (p->forms[i].mem)
            (void)dnnl_memory_destroy(p->forms[i].mem);
        dnnl_md_free(p->forms[i].md);
    }
    for (int i = 0; p && i < p->n_buffers; i++)
        free(p->buffers[i]);
    if (p) {
        free(p->buffers);
        free(p->forms);
        free(p->steps);
        free(p->symbols);
    }
    free(p);
}

/* The plan for the module's symbols, made if there is none yet; it is then the first of the list. */
static tnb_status
find_plan(struct dnnl_module *m, struct dnnl_plan **out, tnb_err *err)
{
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
    /* primitives keep the number with which they were made */
    omp_set_num_threads(tnr_device_threads(m->device));
#endif
    struct dnnl_plan *p = NULL;
    int at = 0;
    for (; at < DNNL_PLANS && m->plans[at] && !p; at++)
        if (memcmp(m->plans[at]->symbols, m->symbols, m->n_symbols * sizeof *m->symbols) == 0)
            p = m->plans[at];
    if (p) {
        at--;
    } else {
        p = calloc(1, sizeof *p);
        if (p)
            p->symbols = malloc((m->n_symbols + 1) * sizeof *p->symbols);
        if (!p || !p->symbols) {
            free_plan(p);
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a plan of oneDNN");
        }
        memcpy(p->symbols, m->symbols, m->n_symbols * sizeof *p->symbols);
        tnb_status st = dnnl_build(m, p, err);
        if (st != TNB_OK) {
            free_plan(p);
            return st;
        }
        at = at < DNNL_PLANS ? at : DNNL_PLANS - 1;
        free_plan(m->plans[at]);
    }
    memmove(m->plans + 1, m->plans, (size_t)at * sizeof *m->plans);
    m->plans[0] = p;
    return *out = p, TNB_OK;
}

/* ---- open, close ---- */

static void
close_module(void *module)
{
    struct dnnl_module *m = module;
    for (int i = 0; i < DNNL_PLANS; i++)
        free_plan(m->plans[i]);
    for (int i = 0; i < m->n_constants; i++) {
        if (m->constants[i].mem)
            (void)dnnl_memory_destroy(m->constants[i].mem);
        dnnl_md_free(m->constants[i].md);
        free(m->constants[i].data);
    }
    free(m->constants);
    if (m->stream)
        (void)dnnl_stream_destroy(m->stream);
    if (m->engine)
        (void)dnnl_engine_destroy(m->engine);
    free(m->symbols);
    json_decref(m->root);
    free(m);
}

/* The count under `key`, of `list` where there is one; UINT32_MAX: not what it should be. */
static uint32_t
count(const json_t *root, const char *key, uint32_t most)
{
    const json_t *v = json_object_get(root, key);
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= most
               ? (uint32_t)json_integer_value(v)
               : UINT32_MAX;
}

static bool
is_sound(const struct dnnl_module *m)
{
    int64_t v;
    for (uint32_t i = 0; i < m->n_values; i++) {
        dnnl_dims_t dims;
        const json_t *o = json_array_get(m->values, i), *arg = json_object_get(o, "arg");
        if (dnnl_ints(json_object_get(o, "dims"), -6, -(int64_t)m->n_symbols, dims) < 1 ||
            (arg && (!json_is_integer(arg) || json_integer_value(arg) < 0 ||
                     json_integer_value(arg) >= m->n_args - m->n_results)))
            return false;
    }
    for (uint32_t i = 0; i < m->n_results; i++) {
        const json_t *o = json_array_get(m->out, i);
        v = json_is_integer(o) ? json_integer_value(o) : -1;
        if (v < 0 || v >= m->n_values)
            return false;
    }
    for (uint32_t i = 0; i < m->n_symbols; i++) {
        const json_t *o = json_array_get(json_object_get(m->root, "symbols"), i);
        if (count(o, "arg", m->n_args - 1) == UINT32_MAX || count(o, "dim", 5) == UINT32_MAX)
            return false;
    }
    return true;
}

static tnb_status
begin(struct dnnl_module *m, tnb_err *err)
{
    uint32_t args = count(m->root, "args", UINT16_MAX);
    uint32_t results = count(m->root, "results", args);
    m->values = json_object_get(m->root, "values");
    m->ops = json_object_get(m->root, "ops");
    m->out = json_object_get(m->root, "out");
    m->n_values = (uint32_t)json_array_size(m->values);
    m->n_ops = (uint32_t)json_array_size(m->ops);
    m->n_symbols = (uint32_t)json_array_size(json_object_get(m->root, "symbols"));
    m->n_args = args;
    m->n_results = results;
    if (args == UINT32_MAX || results == UINT32_MAX || results == 0 ||
        json_array_size(m->out) != results || !is_sound(m))
        return dnnl_bad(m, err, "its values");
    m->symbols = calloc(m->n_symbols + 1, sizeof *m->symbols);
    if (!m->symbols)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %" PRIu32 " symbols", m->n_symbols);
    TNB_TRY(dnnl_check(m, dnnl_engine_create(&m->engine, dnnl_cpu, 0), err, "making an engine"));
    TNB_TRY(dnnl_check(m, dnnl_stream_create(&m->stream, m->engine, dnnl_stream_default_flags), err,
                       "making a stream"));
    struct dnnl_plan *p;
    return m->n_symbols ? TNB_OK : find_plan(m, &p, err); /* the others at their first call */
}

static tnb_status
open_module(void *self, const tnr_external *desc, tnr_device *dev, void **module, tnb_err *err)
{
    (void)self;
    if (!(tnr_device_driver(dev)->flags & TNR_DRIVER_HOST_MEMORY))
        return tnb_fail(err, TNB_UNSUPPORTED, "oneDNN works in memory of the host, not of '%s'",
                        tnr_device_driver(dev)->base.name);
    struct dnnl_module *m = calloc(1, sizeof *m);
    if (!m)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a module of oneDNN");
    m->desc = desc;
    m->device = dev;
    tnb_status st = tnb_json_parse(desc->payload, strlen(desc->payload), 0, &m->root, err);
    if (st == TNB_OK)
        st = begin(m, err);
    else
        tnb_err_prefix(err, "the description of '%s' is broken", desc->symbol);
    if (st != TNB_OK) {
        close_module(m);
        return st;
    }
    tnb_log(TNB_LOG_INFO, "dnnl: '%s': %" PRIu32 " operations, %d primitives, %" PRIu64 " bytes",
            desc->symbol, m->n_ops, m->plans[0] ? m->plans[0]->n_steps : 0,
            m->plans[0] ? m->plans[0]->bytes : 0);
    *module = m;
    return TNB_OK;
}

/* ---- calls ---- */

/* What a call needs of its arguments, whatever the description says. */
static tnb_status
check_arguments(const struct dnnl_module *m, const tnr_value *args, int n, tnb_err *err)
{
    if (n < 0 || (uint32_t)n != m->n_args)
        return tnb_fail(err, TNB_INVALID, "%d arguments, the function has %" PRIu32, n, m->n_args);
    for (uint32_t i = 0; i < m->n_args; i++) {
        const tnr_tensor *t = args[i].tag == TNR_TENSOR ? args[i].u.tensor : NULL;
        if (!t || !t->storage || !tnr_tensor_is_compact(t))
            return tnb_fail(err, TNB_INVALID, "argument %" PRIu32 " is no compact tensor", i);
        if (!tnr_tensor_data(t) || (uintptr_t)tnr_tensor_data(t) % sizeof(float))
            return tnb_fail(err, TNB_INVALID,
                            "argument %" PRIu32 " does not lie, aligned, in memory of the host", i);
        if (!tnb_dtype_eq(t->dl.dtype, TNB_F32))
            return tnb_fail(err, TNB_TYPE, "argument %" PRIu32 " is of %s, not of float32", i,
                            tnb_dtype_print(t->dl.dtype).s);
        if (i >= m->n_args - m->n_results && t->storage->flags & TNR_STORAGE_READ_ONLY)
            return tnb_fail(err, TNB_INVALID,
                            "argument %" PRIu32 ", which receives a result, is a constant", i);
    }
    return TNB_OK;
}

static tnb_status
read_symbols(struct dnnl_module *m, const tnr_value *args, bool *empty, tnb_err *err)
{
    const json_t *list = json_object_get(m->root, "symbols");
    for (uint32_t i = 0; i < m->n_symbols; i++) {
        const json_t *o = json_array_get(list, i);
        const tnr_tensor *t = args[count(o, "arg", m->n_args - 1)].u.tensor;
        uint32_t dim = count(o, "dim", 5);
        if (dim >= (uint32_t)t->dl.ndim)
            return dnnl_bad(m, err, "where a symbol is");
        m->symbols[i] = t->dl.shape[dim];
        *empty |= m->symbols[i] == 0;
    }
    return TNB_OK;
}

/* Whether argument `arg` has the bytes of this value. */
static tnb_status
check_bytes(const struct dnnl_module *m, int value, int arg, const tnr_value *args, tnb_err *err)
{
    dnnl_dims_t dims;
    int rank = dnnl_dims_of(m, value, dims);
    uint64_t want = sizeof(float);
    for (int i = 0; i < rank; i++)
        want *= (uint64_t)dims[i];
    if (args[arg].u.tensor->n_bytes != want)
        return tnb_fail(err, TNB_INVALID,
                        "argument %d has %" PRIu64 " bytes, %" PRIu64 " were expected", arg,
                        (uint64_t)args[arg].u.tensor->n_bytes, want);
    return TNB_OK;
}

static tnb_status
run(struct dnnl_module *m, struct dnnl_plan *p, const tnr_value *args, tnb_err *err)
{
    for (int i = 0; i < p->n_forms; i++)
        if (p->forms[i].arg >= 0)
            TNB_TRY(dnnl_check(m,
                               dnnl_memory_set_data_handle(p->forms[i].mem,
                                                           tnr_tensor_data(
                                                               args[p->forms[i].arg].u.tensor)),
                               err, "placing memory"));
    for (int i = 0; i < p->n_steps; i++) {
        const struct dnnl_step *s = &p->steps[i];
        struct dnnl_constant *c = s->constant >= 0 ? &m->constants[s->constant] : NULL;
        if (c && c->made)
            continue;
        TNB_TRY(dnnl_check(m, dnnl_primitive_execute(s->primitive, m->stream, s->n, s->args), err,
                           "running a primitive"));
        if (c) {
            TNB_TRY(dnnl_check(m, dnnl_stream_wait(m->stream), err, "waiting"));
            c->made = true;
        }
    }
    return dnnl_check(m, dnnl_stream_wait(m->stream), err, "waiting");
}

static tnb_status
call(void *module, const tnr_value *args, int n, tnb_err *err)
{
    struct dnnl_module *m = module;
    bool empty = false;
    TNB_TRY(check_arguments(m, args, n, err));
    TNB_TRY(read_symbols(m, args, &empty, err));
    for (uint32_t i = m->n_args - m->n_results; empty && i < m->n_args; i++)
        if (args[i].u.tensor->n_elems)
            return tnb_fail(err, TNB_INVALID, "a batch of none gives argument %" PRIu32 " elements",
                            i);
    if (empty)
        return TNB_OK;
    for (uint32_t i = 0; i < m->n_values; i++)
        if (dnnl_arg_of(m, (int)i) >= 0)
            TNB_TRY(check_bytes(m, (int)i, dnnl_arg_of(m, (int)i), args, err));
    for (uint32_t i = 0; i < m->n_results; i++)
        TNB_TRY(check_bytes(m, (int)json_integer_value(json_array_get(m->out, i)),
                            (int)(m->n_args - m->n_results + i), args, err));
    struct dnnl_plan *p;
    TNB_TRY(find_plan(m, &p, err));
    return run(m, p, args, err);
}

static const tnr_loader dnnl_loader = {
    .base.size = sizeof(tnr_loader),
    .base.name = "dnnl",
    .base.doc = "oneDNN, primitives for processors",
    .open = open_module,
    .call = call,
    .close = close_module,
};
static const tnr_loader *const loaders[] = {&dnnl_loader};

TNR_PLUGIN(dnnl_rt, PACKAGE_VERSION, "Apache-2.0", "runs primitives of oneDNN", .loaders = loaders,
           .n_loaders = 1);
