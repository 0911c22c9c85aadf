/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors that a user gives against what a function takes, told in the model's terms before it is called. */
#include "tool.h"

#include "tenon/base/npy.h"
#include "tenon/rt/tensor.h"

/* What a symbol stands for, as the first input that has it says. */
typedef struct meaning {
    const char *symbol;
    int64_t value;
    uint32_t input;
    int32_t axis;
} meaning;

typedef struct inputs {
    tnt_session *s;
    const tnr_signature *sig;
    meaning known[64];
    uint32_t n_known;
} inputs;

static const meaning *
find(const inputs *in, const char *symbol)
{
    for (uint32_t i = 0; i < in->n_known; i++)
        if (strcmp(in->known[i].symbol, symbol) == 0)
            return &in->known[i];
    return NULL;
}

/* -1: it is of no fixed extent so far. What is computed from symbols (n + 1) is left to the program. */
static int64_t
wanted_extent(const inputs *in, const tnr_io *io, int32_t axis)
{
    const char *symbol = io->symbols ? io->symbols[axis] : NULL;
    const meaning *m = symbol ? find(in, symbol) : NULL;
    return m ? m->value : symbol ? -1 : io->dims[axis];
}

/* "float32[1, 3, n]"; numbers in the place of symbols where `dims` is given. */
static const char *
shape_text(const inputs *in, tnb_dtype dtype, int32_t ndim, const int64_t *dims, const tnr_io *io)
{
    tn_ctx *ctx = in->s->ctx;
    const char *text = tn_strf(ctx, "%s[", tnb_dtype_print(dtype).s);
    for (int32_t k = 0; k < ndim; k++) {
        const char *symbol = io && io->symbols ? io->symbols[k] : NULL;
        text = symbol ? tn_strf(ctx, "%s%s%s", text, k ? ", " : "", symbol)
                      : tn_strf(ctx, "%s%s%lld", text, k ? ", " : "",
                                (long long)(dims ? dims[k] : io->dims[k]));
    }
    return tn_strf(ctx, "%s]", text);
}

/* An order of axes that makes the shape the wanted one, as numpy.transpose takes it: axes of one extent stay in their order, and
 * those of any extent take what the others leave. NULL: there is none but the order they have. */
static const char *
order_of_axes(const inputs *in, const tnr_io *io, const tnb_dltensor *t)
{
    int32_t from[64];
    uint64_t used = 0;
    for (int any = 0; any < 2; any++)
        for (int32_t k = 0; k < io->ndim; k++) {
            int64_t want = wanted_extent(in, io, k);
            if ((want < 0) != any)
                continue;
            from[k] = 0;
            while (from[k] < t->ndim &&
                   ((!any && t->shape[from[k]] != want) || used >> from[k] & 1))
                from[k]++;
            if (from[k] == t->ndim)
                return NULL;
            used |= (uint64_t)1 << from[k];
        }
    const char *text = "";
    bool other = false;
    for (int32_t k = 0; k < io->ndim; k++) {
        other |= from[k] != k;
        text = tn_strf(in->s->ctx, "%s%s%d", text, k ? ", " : "", from[k]);
    }
    return other ? text : NULL;
}

static void
hint(const inputs *in, const tnr_io *io, const tnb_dltensor *t)
{
    const char *order =
        t->ndim == io->ndim && io->ndim > 1 && io->ndim < 64 ? order_of_axes(in, io, t) : NULL;
    bool leading = t->ndim + 1 == io->ndim;
    for (int32_t k = 0; leading && k < t->ndim; k++) {
        int64_t want = wanted_extent(in, io, k + 1);
        leading = want < 0 || want == t->shape[k];
    }
    if (order)
        fprintf(stderr, "  hint: the axes may stand in another order: numpy.transpose(x, (%s))\n",
                order);
    else if (leading)
        fputs("  hint: the first axis is missing: x[None]\n", stderr);
}

/* False after a message. */
static bool
check_one(inputs *in, uint32_t i, const tnb_dltensor *t)
{
    const tnr_io *io = &in->sig->params[i];
    tnb_dtype have = t->dtype;
    bool same_type = tnb_dtype_is_void(io->dtype) || tnb_dtype_eq(io->dtype, have);
    bool same = io->ndim < 0 || io->ndim == t->ndim;
    const meaning *cause = NULL;
    for (int32_t k = 0; same && k < io->ndim; k++) {
        int64_t want = wanted_extent(in, io, k);
        same = want < 0 || want == t->shape[k];
        if (!same && io->symbols && io->symbols[k])
            cause = find(in, io->symbols[k]);
    }
    if (!same || !same_type) {
        tnb_dtype want = tnb_dtype_is_void(io->dtype) ? have : io->dtype;
        fprintf(stderr, "tenon: input '%s' is %s; the model needs %s\n", io->name,
                shape_text(in, have, t->ndim, t->shape, NULL),
                io->ndim < 0 ? tnb_dtype_print(want).s : shape_text(in, want, io->ndim, NULL, io));
        if (cause)
            fprintf(stderr, "  note: %s is %lld, extent %d of input '%s'\n", cause->symbol,
                    (long long)cause->value, cause->axis, in->sig->params[cause->input].name);
        if (!same)
            hint(in, io, t);
        else
            fprintf(stderr, "  hint: convert it: x.astype('%s')\n", tnb_dtype_print(want).s);
        return false;
    }
    for (int32_t k = 0; k < io->ndim; k++) {
        const char *symbol = io->symbols ? io->symbols[k] : NULL;
        if (symbol && !strpbrk(symbol, " (") && !find(in, symbol) && in->n_known < 64)
            in->known[in->n_known++] = (meaning){symbol, t->shape[k], i, k};
    }
    return true;
}

bool
tnt_check_inputs(tnt_session *s, const tnr_signature *sig, const tnr_value *args)
{
    inputs in = {.s = s, .sig = sig};
    bool ok = true;
    for (uint32_t i = 0; i < sig->n_params && ok; i++)
        if (args[i].tag == TNR_TENSOR && strcmp(sig->params[i].kind, "tensor") == 0)
            ok = check_one(&in, i, &args[i].u.tensor->dl);
    return ok;
}
