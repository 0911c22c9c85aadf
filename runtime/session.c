/* SPDX-License-Identifier: Apache-2.0 */
/* One model, opened and called in few steps: on top of what tenon/rt/vm.h and artifact.h have. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "internal.h"
#include "tenon/base/conf.h"
#include "tenon/base/diag.h"
#include "tenon/rt/params.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/session.h"

/* What a session does; from one to the next by compare and exchange, so that a thread too many is told of. */
enum { IDLE, RUNS, STARTS, STARTED, JOINED };

/* A call in a thread of its own. */
struct started {
    pthread_t thread; /* of what is STARTED or JOINED */
    atomic_bool ended;
    const tnr_binding *inputs;
    tnr_binding *outputs;
    uint32_t n_inputs, n_outputs;
    void (*done)(void *user);
    void *user;
    tnb_status status;
    tnb_err err;
};

struct tnr_session {
    tnb_conf *conf; /* of an own runtime */
    tnb_plugins *plugins;
    tnr_runtime *own, *runtime;
    tnr_artifact *artifact;
    tnr_vm *vm;
    uint32_t variant;
    tnb_buf why; /* it is that one */
    const tnr_signature *signature;
    tnr_value *args; /* by parameter */
    bool *given;
    tnr_value weights; /* from files of their own; null until used */
    char *weights_path;
    atomic_int state;
    struct started call;
};

/* ---- opening ---- */

/* Settings and plugins of the installation. */
static tnb_status
find_installation(tnr_session *s, tnr_runtime_options *opt, tnb_err *err)
{
    tnb_diags *diags = tnb_diags_new();
    if (!diags)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for messages");
    s->conf = tnb_conf_load(NULL, diags);
    tnb_status st = s->conf ? TNB_OK : tnb_diags_first(diags, err);
    tnb_diags_free(diags);
    TNB_TRY(st);
    TNB_TRY(tnb_plugins_open(s->conf, NULL, &s->plugins, err));
    opt->plugins = s->plugins;
    opt->conf = opt->conf ? opt->conf : s->conf;
    return TNB_OK;
}

static tnb_status
make_runtime(tnr_session *s, const tnr_session_options *opt, tnb_err *err)
{
    tnr_runtime_options options = {0};
    if (opt->runtime && (opt->options || opt->drivers || opt->n_drivers)) {
        (void)tnb_fail(
            err, TNB_INVALID,
            "the options of a session: %s has no effect beside a runtime, which is made already",
            opt->options   ? "options"
            : opt->drivers ? "drivers"
                           : "n_drivers");
        tnb_hint(err, "give them to tnr_runtime_new and tnr_runtime_add, or let the session make "
                      "its runtime");
        return TNB_INVALID;
    }
    if (opt->runtime) {
        s->runtime = opt->runtime;
        return TNB_OK;
    }
    if (opt->options)
        TNB_TRY(tnr_take_options(opt->options, &options, err));
    if (opt->n_drivers && !opt->drivers)
        return tnb_fail(err, TNB_INVALID,
                        "the options of a session: n_drivers is %" PRIu32 ", but drivers is NULL",
                        opt->n_drivers);
    if (!options.plugins && !opt->n_drivers)
        TNB_TRY(find_installation(s, &options, err));
    TNB_TRY(tnr_runtime_new(&options, &s->own, err));
    s->runtime = s->own;
    for (uint32_t i = 0; i < opt->n_drivers; i++)
        TNB_TRY(tnr_runtime_add(s->own, opt->drivers[i], err));
    return TNB_OK;
}

/* Whether the parameter stands for weights that lie in files. */
static bool
is_weights(const tnr_session *s, uint32_t param)
{
    return param >= s->signature->n_inputs &&
           strcmp(s->signature->params[param].kind, "tuple") == 0 && tnr_params_count(s->artifact);
}

/* Weights that are named are there, and the function takes some: they are opened by the first call. */
static tnb_status
take_weights(tnr_session *s, const char *path, tnb_err *err)
{
    struct stat st;
    uint32_t at = s->signature->n_inputs;
    if (!tnr_params_count(s->artifact)) {
        (void)tnb_fail(
            err, TNB_INVALID,
            "the options of a session: weights is '%s', but the artifact has its weights itself",
            path);
        tnb_hint(
            err,
            "leave `weights` NULL; inputs of the function are given as bindings, by their names");
        return TNB_INVALID;
    }
    while (at < s->signature->n_params && !is_weights(s, at))
        at++;
    if (at == s->signature->n_params)
        return tnb_fail(
            err, TNB_INVALID,
            "the options of a session: weights is '%s', but the function '%s' takes none", path,
            s->signature->name);
    if (stat(path, &st) != 0)
        return tnb_fail(err, TNB_NOT_FOUND, "the options of a session: weights is '%s': %s", path,
                        strerror(errno));
    s->weights_path = strdup(path);
    return s->weights_path ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory for a session");
}

/* With the artifact open. */
static tnb_status
make_machine(tnr_session *s, const tnr_session_options *opt, tnb_err *err)
{
    const char *name = opt->function ? opt->function : "main";
    TNB_TRY(tnr_artifact_pick(s->runtime, s->artifact, opt->target, &s->variant, &s->why, err));
    TNB_TRY(tnr_vm_new(s->runtime, s->artifact, s->variant, &s->vm, err));
    s->signature = tnr_artifact_function(s->artifact, name);
    if (!s->signature) {
        const tnr_signature *first = tnr_artifact_function_at(s->artifact, 0);
        (void)tnb_fail(err, TNB_NOT_FOUND, "the artifact has no function '%s'", name);
        if (first)
            tnb_hint(err, "one that it has is '%s'", first->name);
        return TNB_NOT_FOUND;
    }
    if (opt->weights)
        TNB_TRY(take_weights(s, opt->weights, err));
    uint32_t n = s->signature->n_params;
    s->args = calloc(n + 1u, sizeof *s->args);
    s->given = calloc(n + 1u, sizeof *s->given);
    return s->args && s->given
               ? TNB_OK
               : tnb_fail(err, TNB_NO_MEMORY, "no memory for the arguments of a call");
}

static tnb_status
take_session_options(const tnr_session_options *opt, tnr_session_options *out, tnb_err *err)
{
    *out = (tnr_session_options){0};
    if (opt && opt->size && opt->size != sizeof *out) {
        (void)tnb_fail(err, TNB_ABI, "the options of a session: size is %" PRIu32 ", expected %zu",
                       opt->size, sizeof *out);
        tnb_hint(err, "rebuild the program against the headers of this Tenon");
        return TNB_ABI;
    }
    if (opt)
        *out = *opt;
    return TNB_OK;
}

static tnb_status
open_session(const char *path, const void *bytes, size_t n, const tnr_session_options *opt,
             tnr_session **out, tnb_err *err)
{
    tnr_session_options given;
    TNB_TRY(take_session_options(opt, &given, err));
    tnr_session *s = calloc(1, sizeof *s);
    if (!s)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a session");
    tnb_status st = make_runtime(s, &given, err);
    if (st == TNB_OK)
        st = path ? tnr_artifact_open(path, &s->artifact, err)
                  : tnr_artifact_open_borrowed(bytes, n, "memory", &s->artifact, err);
    if (st == TNB_OK)
        st = make_machine(s, &given, err);
    if (st != TNB_OK)
        tnr_session_close(s);
    else
        *out = s;
    return st;
}

tnb_status
tnr_session_open(const char *path, const tnr_session_options *opt, tnr_session **out, tnb_err *err)
{
    NEED(path, err);
    NEED(out, err);
    return open_session(path, NULL, 0, opt, out, err);
}

tnb_status
tnr_session_open_memory(const void *bytes, size_t n, const tnr_session_options *opt,
                        tnr_session **out, tnb_err *err)
{
    NEED(bytes, err);
    NEED(out, err);
    return open_session(NULL, bytes, n, opt, out, err);
}

void
tnr_session_close(tnr_session *s)
{
    if (!s)
        return;
    if (atomic_load(&s->state) == STARTED)
        (void)pthread_join(s->call.thread, NULL);
    tnr_release(&s->weights);
    free(s->weights_path);
    tnr_vm_free(s->vm);
    tnr_artifact_close(s->artifact);
    tnr_runtime_free(s->own);
    tnb_plugins_close(s->plugins);
    tnb_conf_free(s->conf);
    free(s->args);
    free(s->given);
    tnb_buf_free(&s->why);
    free(s);
}

const tnr_signature *
tnr_session_signature(const tnr_session *s)
{
    return s ? s->signature : NULL;
}

const tnr_variant *
tnr_session_variant(const tnr_session *s, const char **why)
{
    if (why)
        *why = s && s->why.s ? s->why.s : "";
    return s ? tnr_artifact_variant(s->artifact, s->variant) : NULL;
}

tnr_vm *
tnr_session_vm(tnr_session *s)
{
    return s ? s->vm : NULL;
}

/* ---- bindings ---- */

/* Which input or output a binding is of. */
static tnb_status
find_io(const tnr_io *all, uint32_t n, const tnr_binding *b, uint32_t place, const char *what,
        uint32_t *out, tnb_err *err)
{
    const char *names[32];
    uint32_t i = 0;
    if (!b->name) {
        *out = place;
        return place < n
                   ? TNB_OK
                   : tnb_fail(err, TNB_NOT_FOUND,
                              "%s %" PRIu32 ", counted from 0, is given; the function has %" PRIu32,
                              what, place, n);
    }
    while (i < n && strcmp(all[i].name, b->name) != 0) {
        if (i < sizeof names / sizeof *names)
            names[i] = all[i].name;
        i++;
    }
    *out = i;
    if (i < n)
        return TNB_OK;
    (void)tnb_fail(err, TNB_NOT_FOUND, "the function has no %s '%s'", what, b->name);
    uint32_t listed =
        n < sizeof names / sizeof *names ? n : (uint32_t)(sizeof names / sizeof *names);
    const char *near = tnb_nearest(b->name, names, listed);
    if (near || n)
        tnb_hint(err, near ? "did you mean '%s'?" : "one that it has is '%s'",
                 near ? near : all[0].name);
    return TNB_NOT_FOUND;
}

/* Elements begin where C lets a program read and write them. */
static tnb_status
check_aligned(const char *what, const char *name, const void *data, tnb_dtype dtype, tnb_err *err)
{
    uint32_t need = dtype.bits / 8u,
             off = need > 1 && (need & (need - 1)) == 0 ? (uint32_t)((uintptr_t)data % need) : 0;
    if (!off)
        return TNB_OK;
    (void)tnb_fail(err, TNB_INVALID,
                   "%s '%s': its memory begins %" PRIu32 " byte%s behind a multiple of %" PRIu32
                   ", which elements of %s begin at",
                   what, name, off, off == 1 ? "" : "s", need, tnb_dtype_print(dtype).s);
    tnb_hint(err, "copy it to memory of malloc, or of aligned_alloc with 64, from which inputs are "
                  "read without a copy");
    return TNB_INVALID;
}

/* A DLPack tensor that is dense memory of the host, as data, dtype, shape. */
static tnb_status
read_dl(const tnb_dltensor *dl, const char *name, tnr_binding *out, tnb_err *err)
{
    uint64_t count;
    if (dl->device.type != TNB_CPU)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "'%s': the tensor of DLPack is not in memory of the host", name);
    if (dl->ndim < 0 || dl->ndim > TNR_BINDING_DIMS || (dl->ndim && !dl->shape))
        return tnb_fail(err, TNB_SHAPE, "'%s': a tensor of DLPack of %" PRId32 " dimensions", name,
                        dl->ndim);
    bool empty = false; /* then strides say nothing; NumPy gives zeros */
    for (int32_t i = 0; i < dl->ndim; i++)
        empty |= dl->shape[i] == 0;
    int64_t step = 1;
    for (int32_t i = dl->ndim; i-- > 0 && dl->strides && !empty;) {
        if (dl->shape[i] > 1 && dl->strides[i] != step) {
            (void)tnb_fail(err, TNB_UNSUPPORTED, "'%s': the tensor of DLPack is not compact", name);
            tnb_hint(err, "copy it to dense row-major memory (numpy.ascontiguousarray, "
                          "torch.Tensor.contiguous)");
            return TNB_UNSUPPORTED;
        }
        step = (int64_t)((uint64_t)step * (uint64_t)dl->shape[i]);
    }
    out->data = dl->data ? (char *)dl->data + dl->byte_offset : NULL;
    out->dtype = dl->dtype;
    out->ndim = dl->ndim;
    for (int32_t i = 0; i < dl->ndim; i++)
        out->dims[i] = dl->shape[i];
    return tnb_shape_bytes(dl->dtype, dl->ndim, out->dims, &count, &out->bytes, err);
}

/* The binding with what the function says where the caller said nothing. */
static tnb_status
complete(const tnr_io *io, const tnr_binding *b, tnr_binding *out, tnb_err *err)
{
    uint64_t count, bytes;
    *out = *b;
    if (strcmp(io->kind, "tensor") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED, "input '%s' is a %s, not a tensor", io->name,
                        io->kind);
    if (b->dl)
        return b->data ? tnb_fail(err, TNB_INVALID,
                                  "input '%s' has both data and a tensor of DLPack", io->name)
                       : read_dl(b->dl, io->name, out, err);
    if (tnb_dtype_is_void(out->dtype))
        out->dtype = io->dtype;
    if (tnb_dtype_is_void(out->dtype))
        return tnb_fail(err, TNB_SHAPE, "input '%s': no dtype is given, and the function has none",
                        io->name);
    if (out->ndim < 0 || out->ndim > TNR_BINDING_DIMS)
        return tnb_fail(err, TNB_SHAPE, "input '%s': ndim is %" PRId32 ", expected 0 to %d",
                        io->name, out->ndim, TNR_BINDING_DIMS);
    if (out->ndim == 0 && io->ndim > 0) {
        out->ndim = io->ndim;
        for (int32_t i = 0; i < io->ndim && i < TNR_BINDING_DIMS; i++)
            out->dims[i] = io->dims[i];
        for (int32_t i = 0; i < io->ndim; i++)
            if (i >= TNR_BINDING_DIMS || io->dims[i] < 0) {
                (void)tnb_fail(err, TNB_SHAPE, "input '%s': its extent %" PRId32 " is not known",
                               io->name, i);
                tnb_hint(err, "say ndim and dims in its binding");
                return TNB_SHAPE;
            }
    }
    TNB_TRY(tnb_shape_bytes(out->dtype, out->ndim, out->dims, &count, &bytes, err));
    if (out->bytes && out->bytes != bytes)
        return tnb_fail(err, TNB_SHAPE,
                        "input '%s': %" PRIu64 " bytes are given, its shape has %" PRIu64, io->name,
                        out->bytes, bytes);
    if (!out->data && bytes)
        return tnb_fail(err, TNB_INVALID, "input '%s' has no data", io->name);
    out->bytes = bytes;
    return TNB_OK;
}

/* "float32[1, 3, n]" */
static void
put_type(tnb_buf *out, tnb_dtype dtype, int32_t ndim, const int64_t *dims,
         const char *const *symbols)
{
    tnb_buf_printf(out, "%s[", tnb_dtype_is_void(dtype) ? "any" : tnb_dtype_print(dtype).s);
    for (int32_t i = 0; i < ndim; i++)
        if (symbols && symbols[i])
            tnb_buf_printf(out, "%s%s", i ? ", " : "", symbols[i]);
        else
            tnb_buf_printf(out, "%s%" PRId64, i ? ", " : "", dims[i]);
    tnb_buf_puts(out, "]");
}

/* What the signature knows; extents of symbols are compared in the call. */
static tnb_status
check_input(const tnr_io *io, const tnr_binding *x, tnb_err *err)
{
    tnb_status st = TNB_OK;
    if (!tnb_dtype_is_void(io->dtype) && !tnb_dtype_eq(io->dtype, x->dtype))
        st = TNB_TYPE;
    else if (io->ndim >= 0 && io->ndim != x->ndim)
        st = TNB_SHAPE;
    for (int32_t i = 0; i < io->ndim && st == TNB_OK; i++)
        if (io->dims[i] >= 0 && io->dims[i] != x->dims[i])
            st = TNB_SHAPE;
    if (st == TNB_OK)
        return st;
    tnb_buf is = {0}, needed = {0};
    put_type(&is, x->dtype, x->ndim, x->dims, NULL);
    put_type(&needed, io->dtype, io->ndim, io->dims, io->symbols);
    (void)tnb_fail(err, st, "input '%s' is %s; the model needs %s", io->name, is.s ? is.s : "?",
                   needed.s ? needed.s : "?");
    tnb_buf_free(&is);
    tnb_buf_free(&needed);
    return st;
}

/* Where the device uses the host's memory the caller's is read where it lies. */
static tnb_status
bind_input(tnr_session *s, const tnr_io *io, const tnr_binding *b, tnr_value *out, tnb_err *err)
{
    tnr_binding x;
    tnr_value storage;
    TNB_TRY(complete(io, b, &x, err));
    TNB_TRY(check_input(io, &x, err));
    TNB_TRY(check_aligned("input", io->name, x.data, x.dtype, err));
    tnr_device *dev = tnr_vm_device(s->vm);
    if (!tnr_device_is_host(dev) || !x.bytes)
        return tnr_tensor_from(dev, x.data, x.dims, (uint32_t)x.ndim, x.dtype, out, err);
    TNB_TRY(
        tnr_storage_wrap(dev, x.data, x.bytes, TNR_STORAGE_READ_ONLY, NULL, NULL, &storage, err));
    tnb_status st =
        tnr_tensor_view(storage.u.storage, 0, x.dims, (uint32_t)x.ndim, x.dtype, out, err);
    tnr_release(&storage);
    return st;
}

/* The weights that lie in files, where the function takes them behind its inputs. */
static tnb_status
bind_weights(tnr_session *s, tnr_value *out, tnb_err *err)
{
    tnr_params_options opt = {.path = s->weights_path};
    if (s->weights.tag == TNR_NULL)
        TNB_TRY(tnr_params_open(s->vm, &opt, &s->weights, err));
    tnr_retain(s->weights);
    *out = s->weights;
    return TNB_OK;
}

static tnb_status
bind_inputs(tnr_session *s, const tnr_binding *inputs, uint32_t n, tnb_err *err)
{
    const tnr_signature *sig = s->signature;
    memset(s->given, 0, sig->n_params * sizeof *s->given);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at;
        TNB_TRY(find_io(sig->params, sig->n_params, &inputs[i], i, "input", &at, err));
        if (s->given[at])
            return tnb_fail(err, TNB_INVALID, "input '%s' is given twice", sig->params[at].name);
        s->given[at] = true;
        TNB_TRY(bind_input(s, &sig->params[at], &inputs[i], &s->args[at], err));
    }
    for (uint32_t i = 0; i < sig->n_params; i++) {
        if (!s->given[i] && is_weights(s, i))
            TNB_TRY(bind_weights(s, &s->args[i], err));
        else if (!s->given[i])
            return tnb_fail(err, TNB_INVALID, "input '%s' is not given", sig->params[i].name);
    }
    return TNB_OK;
}

static tnb_status
write_dl(const tnr_tensor *t, const char *name, tnr_binding *b, tnb_err *err)
{
    tnr_binding x = {0};
    TNB_TRY(read_dl(b->dl, name, &x, err));
    if (!tnb_dtype_eq(x.dtype, t->dl.dtype))
        return tnb_fail(err, TNB_TYPE, "output '%s' is of %s, the tensor of DLPack of %s", name,
                        tnb_dtype_print(t->dl.dtype).s, tnb_dtype_print(x.dtype).s);
    bool same = x.ndim == t->dl.ndim;
    for (int32_t i = 0; same && i < x.ndim; i++)
        same = x.dims[i] == t->dl.shape[i];
    if (!same)
        return tnb_fail(err, TNB_SHAPE, "output '%s' has another shape than the tensor of DLPack",
                        name);
    TNB_TRY(check_aligned("output", name, x.data, x.dtype, err));
    return tnr_tensor_read(t, x.data, x.bytes, err);
}

static tnb_status
write_output(tnr_value v, const char *name, tnr_binding *b, tnb_err *err)
{
    if (v.tag != TNR_TENSOR)
        return tnb_fail(err, TNB_UNSUPPORTED, "output '%s' is no tensor", name);
    const tnr_tensor *t = v.u.tensor;
    if (b->dl)
        return b->data ? tnb_fail(err, TNB_INVALID,
                                  "output '%s' has both data and a tensor of DLPack", name)
                       : write_dl(t, name, b, err);
    if (t->dl.ndim > TNR_BINDING_DIMS)
        return tnb_fail(err, TNB_SHAPE, "output '%s' has %" PRId32 " dimensions", name, t->dl.ndim);
    uint64_t room = b->bytes;
    b->bytes = t->n_bytes;
    b->dtype = t->dl.dtype;
    b->ndim = t->dl.ndim;
    for (int32_t i = 0; i < b->ndim; i++)
        b->dims[i] = t->dl.shape[i];
    if (!b->data)
        return TNB_OK;
    if (room < t->n_bytes)
        return tnb_fail(err, TNB_SHAPE,
                        "output '%s' has %" PRIu64 " bytes, there is room for %" PRIu64, name,
                        t->n_bytes, room);
    TNB_TRY(check_aligned("output", name, b->data, b->dtype, err));
    return tnr_tensor_read(t, b->data, t->n_bytes, err);
}

static tnb_status
write_outputs(tnr_session *s, tnr_value result, tnr_binding *outputs, uint32_t n, tnb_err *err)
{
    const tnr_signature *sig = s->signature;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at;
        TNB_TRY(find_io(sig->results, sig->n_results, &outputs[i], i, "output", &at, err));
        if (sig->tuple_result && (result.tag != TNR_TUPLE || at >= result.u.tuple->n))
            return tnb_fail(err, TNB_TYPE, "the function gave no tuple of %" PRIu32,
                            sig->n_results);
        TNB_TRY(write_output(sig->tuple_result ? result.u.tuple->items[at] : result,
                             sig->results[at].name, &outputs[i], err));
    }
    return TNB_OK;
}

/* ---- calls ---- */

static tnb_status
call(tnr_session *s, const tnr_binding *inputs, uint32_t n_inputs, tnr_binding *outputs,
     uint32_t n_outputs, tnb_err *err)
{
    tnr_value result = tnr_null();
    tnb_status st = TNB_OK;
    for (uint32_t i = 0, at; i < n_outputs && st == TNB_OK; i++) /* before the work is done */
        st = find_io(s->signature->results, s->signature->n_results, &outputs[i], i, "output", &at,
                     err);
    if (st == TNB_OK)
        st = bind_inputs(s, inputs, n_inputs, err);
    if (st == TNB_OK)
        st = tnr_vm_call(s->vm, s->signature->name, s->args, s->signature->n_params, &result, err);
    if (st == TNB_OK)
        st = write_outputs(s, result, outputs, n_outputs, err);
    if (st == TNB_OK) /* inputs are the caller's again */
        st = tnr_device_sync(tnr_vm_device(s->vm), err);
    tnr_release(&result);
    for (uint32_t i = 0; i < s->signature->n_params; i++)
        tnr_release(&s->args[i]);
    return st;
}

/* The session goes from IDLE to `state`, if the call can be made. */
static tnb_status
begin_call(tnr_session *s, int state, const tnr_binding *inputs, uint32_t n_inputs,
           const tnr_binding *outputs, uint32_t n_outputs, tnb_err *err)
{
    int idle = IDLE;
    NEED(s, err);
    NEED_N(inputs, n_inputs, err);
    NEED_N(outputs, n_outputs, err);
    if (atomic_compare_exchange_strong(&s->state, &idle, state))
        return TNB_OK;
    (void)tnb_fail(err, TNB_INVALID, "a call of this session is under way");
    tnb_hint(err, "wait for it with tnr_session_wait, or open another session");
    return TNB_INVALID;
}

tnb_status
tnr_session_run(tnr_session *s, const tnr_binding *inputs, uint32_t n_inputs, tnr_binding *outputs,
                uint32_t n_outputs, tnb_err *err)
{
    TNB_TRY(begin_call(s, RUNS, inputs, n_inputs, outputs, n_outputs, err));
    tnb_status st = call(s, inputs, n_inputs, outputs, n_outputs, err);
    atomic_store(&s->state, IDLE);
    return st;
}

static void *
run_started(void *session)
{
    tnr_session *s = session;
    struct started *c = &s->call;
    c->status = call(s, c->inputs, c->n_inputs, c->outputs, c->n_outputs, &c->err);
    atomic_store(&c->ended, true);
    if (c->done)
        c->done(c->user);
    return NULL;
}

tnb_status
tnr_session_start(tnr_session *s, const tnr_binding *inputs, uint32_t n_inputs,
                  tnr_binding *outputs, uint32_t n_outputs, void (*done)(void *user), void *user,
                  tnb_err *err)
{
    TNB_TRY(begin_call(s, STARTS, inputs, n_inputs, outputs, n_outputs, err));
    struct started *c = &s->call;
    c->inputs = inputs;
    c->n_inputs = n_inputs;
    c->outputs = outputs;
    c->n_outputs = n_outputs;
    c->done = done;
    c->user = user;
    c->err = (tnb_err){0};
    atomic_store(&c->ended, false);
    bool is = pthread_create(&c->thread, NULL, run_started, s) == 0;
    atomic_store(&s->state, is ? STARTED : IDLE);
    if (is)
        return TNB_OK;
    return tnb_fail(err, TNB_NO_MEMORY, "no thread for a call: the system has none to give");
}

bool
tnr_session_done(const tnr_session *s)
{
    int state = s ? atomic_load(&s->state) : IDLE;
    return state == IDLE || state == RUNS || (state != STARTS && atomic_load(&s->call.ended));
}

tnb_status
tnr_session_wait(tnr_session *s, tnb_err *err)
{
    int started = STARTED;
    NEED(s, err);
    if (!atomic_compare_exchange_strong(&s->state, &started, JOINED))
        return tnb_fail(err, TNB_INVALID,
                        started == JOINED ? "another thread waits for the call of this session"
                                          : "no call of this session was started");
    if (pthread_join(s->call.thread, NULL) != 0) { /* of the thread itself */
        atomic_store(&s->state, STARTED);
        return tnb_fail(err, TNB_INVALID, "a call cannot wait for its own end");
    }
    tnb_status st = s->call.status;
    if (st != TNB_OK && err)
        *err = s->call.err;
    atomic_store(&s->state, IDLE);
    return st;
}
