/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors from and to files and the runtime; arguments of functions from -i or from a seed. */
#include "tool.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "tenon/base/file.h"
#include "tenon/base/npy.h"
#include "tenon/base/num.h"
#include "tenon/base/tensor_pb.h"
#include "tenon/core/eval.h"
#include "tenon/rt/tensor.h"

/* ---- files ---- */

static const tn_expr *
as_constant(tnt_session *s, tnb_dtype d, int32_t ndim, const int64_t *shape, const void *data)
{
    void *bytes;
    const tn_data *t = tn_data_new(s->ctx, d, ndim, shape, &bytes);
    if (!t) {
        tnt_report(s);
        return NULL;
    }
    if (t->n_bytes)
        memcpy(bytes, data, t->n_bytes);
    return tn_constant_of(s->ctx, t);
}

/* What has no file name that tells, as a pipe: .npy by its first bytes, else a TensorProto. */
static const tn_expr *
load_by_content(tnt_session *s, const char *path, tnb_err *err)
{
    enum { MOST = 1 << 30 };
    char *bytes;
    size_t n;
    const tn_expr *c = NULL;
    if (tnb_read_file(path, MOST, &bytes, &n, err) != TNB_OK)
        return NULL;
    if (n >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0) {
        tnb_array a = {0};
        if (tnb_npy_load(bytes, n, path, &a, err) == TNB_OK)
            c = as_constant(s, a.dtype, a.ndim, a.shape, a.data);
        tnb_array_free(&a);
    } else {
        tnb_tensor_pb t = {0};
        tnb_status st = tnb_tensor_pb_parse(bytes, n, &t, err);
        if (st == TNB_OK && t.external)
            st = tnb_fail(err, TNB_UNSUPPORTED, "the tensor's data are in an external file");
        if (st == TNB_OK && n)
            c = as_constant(s, t.dtype, t.ndim, t.shape, t.data);
        tnb_tensor_pb_free(&t);
        if (st == TNB_FORMAT || n == 0) {
            tnb_fail(err, TNB_FORMAT, "%s: neither an .npy file nor an ONNX TensorProto", path);
            tnb_hint(err, "save it with numpy.save, or as an ONNX TensorProto");
        }
    }
    free(bytes);
    return c;
}

static bool
is_pipe(const char *path)
{
    struct stat st;
    return strcmp(path, "-") == 0 ||
           (stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)));
}

const tn_expr *
tnt_load_tensor(tnt_session *s, const char *path)
{
    tnb_err err = {0};
    const tn_expr *c = NULL;
    if (is_pipe(path) || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) {
        c = load_by_content(s, path, &err);
    } else if (tnb_ends_with(path, ".npy")) {
        tnb_array a = {0};
        if (tnb_npy_read(path, &a, &err) == TNB_OK)
            c = as_constant(s, a.dtype, a.ndim, a.shape, a.data);
        tnb_array_free(&a);
    } else if (tnb_ends_with(path, ".pb")) {
        tnb_tensor_pb t = {0};
        if (tnb_tensor_pb_read(path, &t, &err) == TNB_OK) {
            c = as_constant(s, t.dtype, t.ndim, t.shape, t.data);
            tnb_tensor_pb_free(&t);
        }
    } else {
        tnb_fail(&err, TNB_FORMAT,
                 "%s: unknown extension: tensors are read from .npy and .pb files", path);
        tnb_hint(&err, "save it with numpy.save, or as an ONNX TensorProto");
    }
    if (err.status != TNB_OK)
        tnt_complain(&err);
    return c;
}

/* ---- the runtime ---- */

tnb_status
tnt_to_runtime(tnr_device *dev, const tn_expr *constant, tn_ctx *ctx, tnr_value *out, tnb_err *err)
{
    const tn_constant *c = tn_as_constant(constant);
    const void *bytes = c ? tn_data_get(ctx, c->data) : NULL;
    if (!bytes)
        return tnb_fail(err, TNB_INVALID, "only tensors can be passed to the runtime");
    return tnr_tensor_from(dev, bytes, c->data->shape, (uint32_t)c->data->ndim, c->data->dtype, out,
                           err);
}

const tn_expr *
tnt_from_runtime(tnt_session *s, tnr_value v)
{
    tnb_err err = {0};
    if (v.tag == TNR_INT || v.tag == TNR_BOOL)
        return as_constant(s, v.tag == TNR_INT ? TNB_I64 : TNB_B8, 0, NULL, &v.u.i);
    if (v.tag == TNR_FLOAT)
        return as_constant(s, TNB_F64, 0, NULL, &v.u.f);
    if (v.tag == TNR_SHAPE) {
        int64_t n = v.u.shape->n;
        return as_constant(s, TNB_I64, 1, &n, v.u.shape->dims);
    }
    if (v.tag != TNR_TENSOR) {
        fprintf(stderr, "tenon: an output of kind %s has no elements to show\n",
                tnr_tag_name(v.tag));
        return NULL;
    }
    const tnr_tensor *t = v.u.tensor;
    void *bytes;
    const tn_data *d = tn_data_new(s->ctx, t->dl.dtype, t->dl.ndim, t->dl.shape, &bytes);
    if (!d) {
        tnt_report(s);
        return NULL;
    }
    if (tnr_tensor_read(t, bytes, d->n_bytes, &err) != TNB_OK) {
        tnt_complain(&err);
        return NULL;
    }
    return tn_constant_of(s->ctx, d);
}

bool
tnt_enter_tuple(tnt_items *items, const tnr_tuple *t)
{
    enum { DEEPEST = 64, MOST = 1 << 20 };
    if (items->depth >= DEEPEST || t->n > MOST - items->n) {
        fprintf(
            stderr,
            "tenon: the output is a nested tuple, %s; at most %d levels and %d items are shown\n",
            items->depth >= DEEPEST ? "too deep" : "with too many items", DEEPEST, MOST);
        return false;
    }
    items->depth++;
    items->n += t->n;
    return true;
}

const tnr_value *
tnt_results(const tnr_value *ret, uint32_t *n)
{
    if (ret->tag == TNR_TUPLE) {
        *n = ret->u.tuple->n;
        return ret->u.tuple->items;
    }
    *n = 1;
    return ret;
}

/* ---- names ---- */

int
tnt_assignment(const char *text, const char *const *names, uint32_t n, const char *what,
               const char **file)
{
    /* a name may hold '=' itself: the longest known name that fits wins */
    size_t best = 0;
    int found = -1;
    for (uint32_t i = 0; i < n; i++) {
        size_t k = names[i] ? strlen(names[i]) : 0;
        if (k >= best && k && strncmp(text, names[i], k) == 0 && text[k] == '=') {
            best = k;
            found = (int)i;
        }
    }
    const char *eq = strchr(text, '=');
    int64_t index;
    if (found < 0 && text[0] == '#' && eq &&
        tnb_read_i64(text + 1, (size_t)(eq - text - 1), &index) && index >= 0 &&
        index < (int64_t)n) {
        found = (int)index;
        best = (size_t)(eq - text);
    }
    if (found >= 0) {
        *file = text + best + 1;
        return found;
    }
    if (!eq) {
        fprintf(stderr, "tenon: expected NAME=FILE or #INDEX=FILE, found '%s'\n", text);
        return -1;
    }
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(eq - text < 127 ? eq - text : 127), text);
    fprintf(stderr, "tenon: no %s named '%s'\n", what, name);
    const char *near = tnb_nearest(name, names, n);
    if (!n) {
        fprintf(stderr, "  hint: the function has no %ss\n", what);
        return -1;
    }
    fputs("  hint: ", stderr);
    if (near)
        fprintf(stderr, "did you mean '%s'? ", near);
    fprintf(stderr, n == 1 ? "the only %s is" : "the %ss are", what);
    for (uint32_t i = 0; i < n && i < 20; i++)
        fprintf(stderr, "%s #%u '%s'", i ? "," : "", i, names[i] ? names[i] : "");
    fputs(n > 20 ? ", ...\n" : "\n", stderr);
    return -1;
}

/* ---- arguments ---- */

static uint64_t
next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* `example`: a shape that the function takes; NULL: the compiler found none. */
static tnb_status
random_tensor(tnr_device *dev, const tnr_io *io, const int64_t *example, uint64_t seed,
              tnr_value *out, tnb_err *err)
{
    int64_t shape[TNB_NPY_MAX_DIMS];
    uint64_t count, bytes;
    if (io->ndim < 0 || io->ndim > TNB_NPY_MAX_DIMS || tnb_dtype_is_void(io->dtype))
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "rank or dtype of input '%s' is unknown: pass it with -i", io->name);
    for (int32_t k = 0; k < io->ndim; k++) {
        shape[k] = example ? example[k] : io->dims[k];
        if (shape[k] < 0)
            shape[k] = 1;
    }
    if (tnb_shape_bytes(io->dtype, io->ndim, shape, &count, &bytes, err) != TNB_OK)
        return tnb_fail(err, TNB_BOUNDS, "input '%s' is too large", io->name);
    void *host = calloc(1, bytes ? bytes : 1);
    if (!host)
        return tnb_fail(err, TNB_NO_MEMORY, "out of memory: %llu bytes for input '%s'",
                        (unsigned long long)bytes, io->name);
    bool is_float = tnb_dtype_is_float(io->dtype);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t r = next_random(&seed);
        if (is_float)
            tnb_store_f64(host, io->dtype, i, (double)(r >> 11) * 0x1p-53);
        else
            tnb_store_i64(host, io->dtype, i,
                          (int64_t)(r % 2)); /* indices into all but the shortest axes */
    }
    tnb_status st = tnr_tensor_from(dev, host, shape, (uint32_t)io->ndim, io->dtype, out, err);
    free(host);
    return st;
}

/* A dimension that whoever runs the model may choose: its symbol, and where it comes first. */
typedef struct extent {
    const char *symbol;
    uint32_t param;
    int32_t axis;
} extent;
enum { EXTENTS = 64 };

/* Each once; what is computed from others is not chosen. */
static uint32_t
find_extents(const tnr_signature *sig, extent *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < sig->n_params; i++)
        for (int32_t k = 0; k < sig->params[i].ndim && n < EXTENTS; k++) {
            const char *symbol = sig->params[i].symbols[k];
            bool new = symbol && !strchr(symbol, ' ');
            for (uint32_t j = 0; new &&j < n; j++)
                new = strcmp(out[j].symbol, symbol) != 0;
            if (new)
                out[n++] = (extent){symbol, i, k};
        }
    return n;
}

/* The extents that made-up inputs take for symbols, in one line; or that nobody knows any that fit. */
static void
tell_extents(const tnt_args *a, const tnr_signature *sig, bool compiled)
{
    extent told[EXTENTS];
    if (tnt_has(a, "quiet") && sig->example_shapes)
        return;
    uint32_t n = find_extents(sig, told);
    for (uint32_t i = 0; i < n; i++)
        if (sig->example_shapes)
            fprintf(stderr, "%s%s = %lld", i ? ", " : "  dynamic extents: ", told[i].symbol,
                    (long long)sig->example_shapes[told[i].param][told[i].axis]);
        else
            fprintf(stderr, "%s%s",
                    i ? ", "
                      : "  no valid extents found for the random inputs\n  hint: set some with "
                        "--dim NAME=N: ",
                    told[i].symbol);
    if (!n)
        return;
    fputs("\n", stderr);
    if (sig->example_shapes)
        fprintf(stderr,
                compiled
                    ? "  hint: --dim '%s=N'%s chooses one, or -i gives inputs\n"
                    : "  hint: -i gives inputs with others; `tenon compile` with --dim '%s=N'%s "
                      "fixes one\n",
                told[0].symbol, n > 1 ? " (and so on)" : "");
}

/* Which of several extents is too small the run cannot tell: all are named that the text has room for. */
static void
hint_larger(const tnt_args *a, const extent *told, uint32_t n, tnb_err *err)
{
    const char *what = "the random inputs may be too small";
    if (tnt_is_artifact(a->operands[0])) {
        tnb_hint(err, "%s: give others with -i", what);
        return;
    }
    if (n == 1) {
        tnb_hint(err, "%s: --dim '%s=N' chooses an extent", what, told[0].symbol);
        return;
    }
    char names[128];
    size_t used = 0;
    for (uint32_t i = 0; i < n && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 told[i].symbol);
    tnb_hint(err, "%s: --dim NAME=N chooses an extent, of %s%s", what, names,
             used < sizeof names ? "" : "...");
}

/* The symbol of the input's axis that the message names ("axis 1 of 'input'"); NULL: it names none. */
static const char *
named_symbol(const tnr_signature *sig, const char *message)
{
    for (uint32_t i = 0; i < sig->n_params; i++)
        for (int32_t k = 0; k < sig->params[i].ndim; k++) {
            const char *symbol = sig->params[i].symbols[k];
            char axis[sizeof((tnb_err *)0)->message];
            snprintf(axis, sizeof axis, "axis %d of '%s'", (int)k, sig->params[i].name);
            if (symbol && !strchr(symbol, ' ') && strstr(message, axis))
                return symbol;
        }
    return NULL;
}

void
tnt_hint_extents(const tnt_args *a, const tnr_signature *sig, tnb_err *err)
{
    const bool index = err->status == TNB_BOUNDS; /* whose hint is for a target's settings */
    if ((*err->hint && !index) || tnt_has(a, "input") || !sig->n_params)
        return;
    extent told[EXTENTS];
    uint32_t n = sig->example_shapes && !index ? find_extents(sig, told) : 0;
    const char *named = n ? named_symbol(sig, err->message) : NULL;
    if (named) {
        told[0].symbol = named;
        n = 1;
    }
    if (n)
        hint_larger(a, told, n, err);
    else
        tnb_hint(
            err,
            "the inputs are random: where they are indices or lengths, give real ones with -i");
}

/* Whether --bind names the input that `text`, an input as NAME=FILE, is for: it is none any more. Says so. */
static bool
is_bound(const tnt_args *a, const char *text)
{
    uint32_t n;
    const char **binds = tnt_values(a, "bind", &n), *eq = strchr(text, '=');
    bool found = false;
    for (uint32_t i = 0; binds && eq && !found && i < n; i++)
        found = strncmp(binds[i], text, (size_t)(eq - text) + 1) == 0;
    free(binds);
    if (found)
        fprintf(
            stderr,
            "tenon: input '%.*s' is given twice: by --bind, which makes it a constant, and by -i\n"
            "  hint: remove one of the two options\n",
            (int)(eq - text), text);
    return found;
}

/* tnt_assignment of an input. */
static int
find_input(const tnt_args *a, const char *text, const char *const *names, uint32_t n,
           const char **file)
{
    return is_bound(a, text) ? -1 : tnt_assignment(text, names, n, "input", file);
}

/* Names of a function's parameters as its model has them; malloc'ed. NULL without memory. */
static const char **
input_names(const tnk_model *model, const tn_function *f)
{
    const tn_array *names = tn_as_array(tn_dict_get(model->module->attrs, "input_names"));
    const char **out = calloc(f->params.n + 1u, sizeof *out);
    for (uint32_t i = 0; out && i < f->params.n; i++) {
        const tn_string_imm *own =
            names && i < names->items.n ? tn_as_string_imm(names->items.at[i]) : NULL;
        out[i] = own ? own->value : tn_var_name(f->params.at[i]);
    }
    return out;
}

bool
tnt_given_extents(tnt_session *s, const tnt_args *a, const tnk_model *model, const tn_node **out)
{
    const tn_function *f =
        tn_as_function(tn_module_get(model->module, tnt_value(a, "function", "main")));
    uint32_t n;
    const char **given = tnt_values(a, "input", &n), **names = f ? input_names(model, f) : NULL;
    bool ok = given && (names || !f);
    if (given && !ok)
        fputs("tenon: out of memory\n", stderr);
    *out = NULL;
    for (uint32_t g = 0; ok && f && g < n; g++) {
        const char *file;
        tn_list dims;
        int i = find_input(a, given[g], names, f->params.n, &file);
        ok = i >= 0;
        if (!ok || is_pipe(file) || !tn_type_dims(f->params.at[i]->type, &dims))
            continue;
        const tn_constant *c = tn_as_constant(tnt_load_tensor(s, file));
        ok = c != NULL;
        for (uint32_t k = 0; ok && k < dims.n && (int32_t)k < c->data->ndim; k++)
            if (tn_is_var(dims.at[k]))
                *out = tn_dict_set(s->ctx, *out, tn_var_name(dims.at[k]),
                                   tn_i64(s->ctx, c->data->shape[k]));
    }
    free(given);
    free(names);
    return ok;
}

bool
tnt_seed_counts(const tnt_args *a, const char *why, bool drawn)
{
    if (drawn || !tnt_has(a, "seed") || tnt_has(a, "verify"))
        return true;
    tnt_usage(a->command, "option '--seed' has no effect: %s", why);
    return false;
}

bool
tnt_make_inputs(tnt_session *s, const tnt_args *a, const tnt_program *p, const tnr_signature *sig,
                tnr_value **out, uint32_t *n)
{
    tnb_err err = {0};
    uint32_t n_given;
    const char **given = tnt_values(a, "input", &n_given);
    /* weights are given as inputs are: the function gets them from nowhere else */
    tnr_value *args = calloc(sig->n_params + 1u, sizeof *args);
    const char **names = calloc(sig->n_params + 1u, sizeof *names);
    bool ok = given && args && names;
    if (given && !ok)
        fputs("tenon: out of memory\n", stderr);
    for (uint32_t i = 0; ok && i < sig->n_params; i++)
        names[i] = sig->params[i].name;
    tnr_device *dev = tnr_vm_device(p->vm);
    for (uint32_t g = 0; ok && g < n_given; g++) {
        const char *file;
        int i = find_input(a, given[g], names, sig->n_params, &file);
        const tn_expr *c = i < 0 ? NULL : tnt_load_tensor(s, file);
        ok = c && args[i].tag == TNR_NULL;
        if (c && !ok)
            fprintf(stderr, "tenon: input '%s' is given twice\n", names[i]);
        if (ok && tnt_to_runtime(dev, c, s->ctx, &args[i], &err) != TNB_OK) {
            tnt_complain(&err);
            ok = false;
        }
    }
    int64_t seed;
    ok = ok && tnt_int(a, "seed", 0, 0, INT64_MAX, &seed);
    ok = ok && tnt_seed_counts(a, "the function takes no input", sig->n_params != 0);
    for (uint32_t i = 0; ok && i < sig->n_params; i++) {
        if (args[i].tag != TNR_NULL)
            continue;
        if (n_given) {
            fprintf(stderr, "tenon: input '%s' is missing\n  hint: add -i '%s=FILE.npy'\n",
                    names[i], names[i]);
            ok = false;
        } else if (strcmp(sig->params[i].kind, "tensor") != 0) {
            fprintf(stderr, "tenon: no random value for input '%s': it is a %s, not a tensor\n",
                    names[i], sig->params[i].kind);
            ok = false;
        } else if (random_tensor(dev, &sig->params[i],
                                 sig->example_shapes ? sig->example_shapes[i] : NULL,
                                 (uint64_t)seed * 1000003u + i, &args[i], &err) != TNB_OK) {
            tnt_complain(&err);
            ok = false;
        }
    }
    ok = ok && (!n_given || tnt_check_inputs(s, sig, args));
    if (ok && !n_given && sig->n_params)
        tnt_remark(a, "tenon: no -i given: random inputs (seed %lld)\n", (long long)seed);
    if (ok && !n_given)
        tell_extents(a, sig, p->was_compiled);
    free(given);
    free(names);
    if (!ok) {
        for (uint32_t i = 0; args && i < sig->n_params; i++)
            tnr_release(&args[i]);
        free(args);
        return false;
    }
    *out = args;
    *n = sig->n_params;
    return true;
}
