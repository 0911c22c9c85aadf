/* SPDX-License-Identifier: Apache-2.0 */
/* The loader of oneDNN: a plan from the description of a function.
 *
 * Operands stand in the layout that the primitive before them left, convolutions and products may ask for
 * another one: a reorder then makes a further form of the value, constants' once for all calls. Forms of
 * their own share buffers when their times of use do not meet.
 */
#include "dnnl_rt.h"

#include <string.h>

enum { MAX_IN = 8 };

struct builder {
    struct dnnl_module *m;
    struct dnnl_plan *p;
    tnb_err *err;
    int *current; /* by value: its newest form */
    int *uses;    /* by value: the last operation that uses it, n_ops for results; -1: none */
    const json_t *op;
    int index, in[MAX_IN], n_in, out;
};

#define CHECK(b, call, what) TNB_TRY(dnnl_check((b)->m, call, (b)->err, what))

/* ---- growing ---- */

static tnb_status
grow(struct builder *b, void *list, int n, int *cap, size_t size)
{
    void **at = list;
    if (n < *cap)
        return TNB_OK;
    int more = *cap ? *cap * 2 : 16;
    void *p = realloc(*at, (size_t)more * size);
    if (!p)
        return tnb_fail(b->err, TNB_NO_MEMORY, "no memory for a plan of oneDNN");
    *at = p;
    *cap = more;
    return TNB_OK;
}

/* The bytes of a value in rows; 0 for a broken description. */
static uint64_t
bytes_of(const struct builder *b, int value)
{
    dnnl_dims_t dims;
    int rank = dnnl_dims_of(b->m, value, dims);
    uint64_t bytes = rank ? sizeof(float) : 0;
    for (int i = 0; i < rank; i++)
        bytes *= (uint64_t)dims[i];
    return bytes;
}

/* A form of a value; takes the description. In an argument's memory it has all of the value's bytes
 * and no more: calls compare these with the argument. */
static tnb_status
add_form(struct builder *b, int value, dnnl_md md, int arg, int *out)
{
    struct dnnl_plan *p = b->p;
    tnb_status st = grow(b, &p->forms, p->n_forms, &p->cap_forms, sizeof *p->forms);
    if (st == TNB_OK && arg >= 0 && dnnl_md_bytes(md) != bytes_of(b, value))
        st = dnnl_bad(b->m, b->err, "the extents of an operand");
    if (st != TNB_OK) {
        dnnl_md_free(md);
        return st;
    }
    p->forms[p->n_forms] = (struct dnnl_form){.value = value,
                                              .md = md,
                                              .arg = arg,
                                              .shares = DNNL_NO_FORM,
                                              .first = INT32_MAX,
                                              .last = -1,
                                              .constant = -1};
    *out = p->n_forms++;
    CHECK(b, dnnl_memory_create(&p->forms[*out].mem, md, b->m->engine, DNNL_MEMORY_NONE),
          "making memory");
    return TNB_OK;
}

static void
use(struct builder *b, int form, int step)
{
    struct dnnl_form *f = &b->p->forms[form];
    f->first = step < f->first ? step : f->first;
    f->last = step > f->last ? step : f->last;
}

/* oneDNN checks what a primitive is described by, but not what it is run on. */
static tnb_status
check_operands(struct builder *b, dnnl_pd pd, const int *what, const int *forms, int n)
{
    for (int i = 0; i < n; i++) {
        dnnl_const_md md = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, what[i]);
        if (!md || dnnl_md_bytes(md) != dnnl_md_bytes(b->p->forms[forms[i]].md))
            return dnnl_bad(b->m, b->err, "the extents of an operand");
    }
    return TNB_OK;
}

static tnb_status
add_step(struct builder *b, dnnl_pd pd, const int *what, const int *forms, int n)
{
    struct dnnl_plan *p = b->p;
    TNB_TRY(check_operands(b, pd, what, forms, n));
    TNB_TRY(grow(b, &p->steps, p->n_steps, &p->cap_steps, sizeof *p->steps));
    struct dnnl_step *s = &p->steps[p->n_steps];
    *s = (struct dnnl_step){.constant = -1};
    CHECK(b, dnnl_primitive_create(&s->primitive, pd), "making a primitive");
    p->n_steps++;
    for (int i = 0; i < n; i++) {
        s->args[s->n] = (dnnl_exec_arg_t){what[i], p->forms[forms[i]].mem};
        s->forms[s->n++] = forms[i];
        use(b, forms[i], p->n_steps - 1);
    }
    return TNB_OK;
}

/* ---- forms ---- */

static void
rows(int rank, const dnnl_dims_t dims, dnnl_dims_t strides)
{
    for (int i = rank; i-- > 0;)
        strides[i] = i == rank - 1 ? 1 : strides[i + 1] * dims[i + 1];
}

static tnb_status
plain_md(struct builder *b, int value, dnnl_md *out)
{
    dnnl_dims_t dims, strides;
    int rank = dnnl_dims_of(b->m, value, dims);
    if (!rank)
        return dnnl_bad(b->m, b->err, "the extents of a value");
    rows(rank, dims, strides);
    CHECK(b, dnnl_md_new(out, rank, dims, strides), "describing a tensor");
    return TNB_OK;
}

static tnb_status
add_reorder(struct builder *b, int from, int to)
{
    dnnl_pd pd = NULL;
    CHECK(b, dnnl_describe_reorder(&pd, b->m->engine, b->p->forms[from].md, b->p->forms[to].md),
          "describing a reorder");
    tnb_status st =
        add_step(b, pd, (const int[]){DNNL_ARG_FROM, DNNL_ARG_TO}, (const int[]){from, to}, 2);
    (void)dnnl_primitive_desc_destroy(pd);
    return st;
}

/* A constant of the module in this layout. */
static tnb_status
constant_in(struct builder *b, int value, dnnl_const_md md, int *out)
{
    struct dnnl_module *m = b->m;
    for (int i = 0; i < m->n_constants; i++)
        if (m->constants[i].value == value && dnnl_md_equal(m->constants[i].md, md))
            return *out = i, TNB_OK;
    TNB_TRY(grow(b, &m->constants, m->n_constants, &m->cap_constants, sizeof *m->constants));
    struct dnnl_constant *c = &m->constants[m->n_constants];
    *c = (struct dnnl_constant){.value = value};
    CHECK(b, dnnl_md_copy(&c->md, md), "describing a constant");
    *out = m->n_constants++;
    size_t bytes = dnnl_md_bytes(md);
    if (bytes > PTRDIFF_MAX || posix_memalign(&c->data, 64, bytes ? bytes : 1) != 0) {
        c->data = NULL;
        return tnb_fail(b->err, TNB_NO_MEMORY, "no memory for a constant of %zu bytes", bytes);
    }
    CHECK(b, dnnl_memory_create(&c->mem, c->md, m->engine, c->data), "making memory");
    return TNB_OK;
}

/* The value in this layout, by a reorder of `from` where there is no such form yet. */
static tnb_status
as_from(struct builder *b, int value, int from, dnnl_const_md md, int *out)
{
    for (int i = 0; i < b->p->n_forms; i++)
        if (b->p->forms[i].value == value && dnnl_md_equal(b->p->forms[i].md, md))
            return *out = i, TNB_OK;
    dnnl_md copy;
    CHECK(b, dnnl_md_copy(&copy, md), "describing a tensor");
    TNB_TRY(add_form(b, value, copy, -1, out));
    if (dnnl_is_constant(b->m, value)) {
        int c;
        TNB_TRY(constant_in(b, value, md, &c));
        struct dnnl_form *f = &b->p->forms[*out];
        f->constant = c;
        CHECK(b, dnnl_memory_set_data_handle(f->mem, b->m->constants[c].data), "placing memory");
    }
    TNB_TRY(add_reorder(b, from, *out));
    b->p->steps[b->p->n_steps - 1].constant = b->p->forms[*out].constant;
    return TNB_OK;
}

static tnb_status
as(struct builder *b, int value, dnnl_const_md md, int *out)
{
    return as_from(b, value, b->current[value], md, out);
}

static dnnl_const_md
md_of(const struct builder *b, int value)
{
    return b->p->forms[b->current[value]].md;
}

static dnnl_const_md
asked(dnnl_pd pd, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(pd, what, 0);
}

/* The result in the layout that the primitive chose; it has the extents that its value says. */
static tnb_status
add_result(struct builder *b, dnnl_pd pd, int *out)
{
    dnnl_md md;
    dnnl_dims_t made, said;
    int rank = dnnl_md_dims(asked(pd, dnnl_query_dst_md), made);
    if (rank != dnnl_dims_of(b->m, b->out, said) ||
        memcmp(made, said, (size_t)rank * sizeof *made) != 0)
        return dnnl_bad(b->m, b->err, "the extents of a result");
    CHECK(b, dnnl_md_copy(&md, asked(pd, dnnl_query_dst_md)), "describing a result");
    TNB_TRY(add_form(b, b->out, md, -1, out));
    b->current[b->out] = *out;
    return TNB_OK;
}

static tnb_status
any_md(struct builder *b, int value, dnnl_md *out)
{
    dnnl_dims_t dims;
    int rank = dnnl_dims_of(b->m, value, dims);
    if (!rank)
        return dnnl_bad(b->m, b->err, "the extents of a value");
    CHECK(b, dnnl_md_new(out, rank, dims, NULL), "describing a tensor");
    return TNB_OK;
}

/* ---- attributes ---- */

static const struct {
    const char *name;
    dnnl_alg_kind_t how;
} activations[] = {
    {"relu", dnnl_eltwise_relu},           {"logistic", dnnl_eltwise_logistic},
    {"tanh", dnnl_eltwise_tanh},           {"gelu_erf", dnnl_eltwise_gelu_erf},
    {"gelu_tanh", dnnl_eltwise_gelu_tanh}, {"mish", dnnl_eltwise_mish},
    {"swish", dnnl_eltwise_swish},         {"clip", dnnl_eltwise_clip},
};

static bool
activation(const struct builder *b, dnnl_alg_kind_t *how, float *alpha, float *beta)
{
    const char *name = json_string_value(json_object_get(b->op, "activation"));
    for (size_t i = 0; name && i < sizeof activations / sizeof *activations; i++)
        if (strcmp(activations[i].name, name) == 0) {
            *how = activations[i].how;
            *alpha = (float)json_number_value(json_object_get(b->op, "alpha"));
            *beta = (float)json_number_value(json_object_get(b->op, "beta"));
            return true;
        }
    return false;
}

static tnb_status
attributes(struct builder *b, dnnl_primitive_attr_t *out)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_alg_kind_t how;
    float alpha, beta;
    *out = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(out);
    if (s == dnnl_success)
        s = dnnl_post_ops_create(&ops);
    if (s == dnnl_success && json_object_get(b->op, "sum"))
        s = dnnl_post_ops_append_sum(ops, 1
#if DNNL_VERSION_MAJOR >= 3
                                     ,
                                     0, dnnl_f32
#endif
        );
    if (s == dnnl_success && json_object_get(b->op, "activation"))
        s = activation(b, &how, &alpha, &beta) ? dnnl_add_eltwise(ops, how, alpha, beta)
                                               : dnnl_invalid_arguments;
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_post_ops(*out, ops);
    if (ops)
        (void)dnnl_post_ops_destroy(ops);
    CHECK(b, s, "describing what follows a primitive");
    return TNB_OK;
}

/* Puts what is to be added where the result will be: there already, when nothing else needs it. */
static tnb_status
begin_sum(struct builder *b, int result)
{
    if (!json_object_get(b->op, "sum"))
        return TNB_OK;
    int64_t r = -1;
    const json_t *list = json_object_get(b->op, "sum");
    if (!json_is_integer(list) || (r = json_integer_value(list)) < 0 ||
        r >= (int64_t)b->m->n_values || r == b->out || b->current[r] == DNNL_NO_FORM)
        return dnnl_bad(b->m, b->err, "what is added to a result");
    bool operand = false; /* which the primitive reads while it writes the result */
    for (int i = 0; i < b->n_in; i++)
        operand |= b->in[i] == r;
    for (int i = 0; i < b->p->n_forms && !operand; i++) {
        struct dnnl_form *f = &b->p->forms[i];
        if (f->value == r && f->arg < 0 && f->constant < 0 && b->uses[r] == b->index &&
            dnnl_md_equal(f->md, b->p->forms[result].md)) {
            b->p->forms[result].shares = i;
            return TNB_OK;
        }
    }
    return add_reorder(b, b->current[r], result);
}

/* ---- operations ---- */

/* strides, dilation and padding of a window over `n` dimensions. */
static tnb_status
window(struct builder *b, int n, dnnl_window *w)
{
    int64_t pads[6];
    *w = (dnnl_window){0};
    if (dnnl_ints(json_object_get(b->op, "strides"), n, 1, w->strides) != n ||
        dnnl_ints(json_object_get(b->op, "dilation"), n, 1, w->dilates) != n ||
        dnnl_ints(json_object_get(b->op, "padding"), 2 * n, 0, pads) != 2 * n)
        return dnnl_bad(b->m, b->err, "a window");
    for (int i = 0; i < n; i++) {
        if (w->strides[i] > DNNL_MAX_SPAN || w->dilates[i] > DNNL_MAX_SPAN ||
            pads[i] > DNNL_MAX_SPAN || pads[n + i] > DNNL_MAX_SPAN)
            return dnnl_bad(b->m, b->err, "a window");
        w->dilates[i]--;
        w->before[i] = pads[i];
        w->after[i] = pads[n + i];
    }
    return TNB_OK;
}

/* Padding behind such that the result has its extents. */
static tnb_status
pad_behind(struct builder *b, dnnl_window *w, int n, const dnnl_dims_t x, const dnnl_dims_t y,
           bool transposed)
{
    for (int i = 0; i < n; i++) {
        /* the larger side is reached from the smaller one, which a window steps over */
        const int64_t many = transposed ? y[2 + i] : x[2 + i],
                      few = transposed ? x[2 + i] : y[2 + i];
        if (w->size[i] > DNNL_MAX_SPAN)
            return dnnl_bad(b->m, b->err, "a window");
        /* extents are below 2^31, spans below 2^16 */
        const int64_t size = (w->size[i] - 1) * (w->dilates[i] + 1) + 1,
                      need = (few - 1) * w->strides[i] + size - many - w->before[i];
        if (transposed || need > w->after[i])
            w->after[i] = need;
        if (size > INT32_MAX || w->after[i] > DNNL_MAX_SPAN || w->after[i] < -DNNL_MAX_SPAN)
            return dnnl_bad(b->m, b->err, "a window");
    }
    return TNB_OK;
}

/* A kernel (O, I/groups, ...) as oneDNN sees it: (groups, O/groups, I/groups, ...) where there are
 * several. Transposed kernels are (I, O/groups, ...). */
static tnb_status
kernel_md(struct builder *b, const dnnl_dims_t dims, int rank, int64_t groups, bool transposed,
          bool plain, dnnl_md *out)
{
    dnnl_dims_t d, s, strides;
    int at = 0;
    rows(rank, dims, strides);
    if (dims[0] % groups)
        return dnnl_bad(b->m, b->err, "the groups of a convolution");
    if (groups > 1) {
        d[0] = groups;
        s[0] = dims[0] / groups * strides[0];
        at = 1;
    }
    const int o = transposed ? 1 : 0, i = 1 - o;
    d[at] = o == 0 ? dims[0] / groups : dims[1];
    s[at] = strides[o];
    d[at + 1] = i == 0 ? dims[0] / groups : dims[1];
    s[at + 1] = strides[i];
    for (int k = 2; k < rank; k++) {
        d[at + k] = dims[k];
        s[at + k] = strides[k];
    }
    CHECK(b, dnnl_md_new(out, rank + at, d, plain ? s : NULL), "describing a kernel");
    return TNB_OK;
}

/* Runs the operation `pd` that has src, weights, bias and a result. */
static tnb_status
weighted(struct builder *b, dnnl_pd pd, int weights)
{
    static const int what[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS};
    int forms[4], bias = b->in[2], n = 3;
    TNB_TRY(as(b, b->in[0], asked(pd, dnnl_query_src_md), &forms[0]));
    TNB_TRY(as_from(b, b->in[1], weights, asked(pd, dnnl_query_weights_md), &forms[1]));
    TNB_TRY(add_result(b, pd, &forms[2]));
    if (bias >= 0) {
        dnnl_const_md md = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1);
        dnnl_md copy;
        CHECK(b, dnnl_md_copy(&copy, md), "describing a bias");
        TNB_TRY(add_form(b, bias, copy, dnnl_arg_of(b->m, bias), &forms[3]));
        n = 4;
    }
    TNB_TRY(begin_sum(b, forms[2]));
    return add_step(b, pd, what, forms, n);
}

static tnb_status
describe_convolution(struct builder *b, dnnl_md md[4], int *weights, dnnl_pd *pd)
{
    const bool transposed =
        strcmp(json_string_value(json_object_get(b->op, "op")), "deconvolution") == 0;
    dnnl_dims_t x, w, y;
    dnnl_window win;
    int rank = dnnl_dims_of(b->m, b->in[0], x);
    int64_t groups = json_integer_value(json_object_get(b->op, "groups"));
    if (rank < 3 || rank > 5 || dnnl_dims_of(b->m, b->in[1], w) != rank ||
        dnnl_dims_of(b->m, b->out, y) != rank || groups < 1)
        return dnnl_bad(b->m, b->err, "a convolution");
    TNB_TRY(window(b, rank - 2, &win));
    memcpy(win.size, w + 2, (size_t)(rank - 2) * sizeof *w);
    TNB_TRY(pad_behind(b, &win, rank - 2, x, y, transposed));
    dnnl_md plain;
    TNB_TRY(kernel_md(b, w, rank, groups, transposed, true, &plain));
    TNB_TRY(add_form(b, b->in[1], plain, dnnl_arg_of(b->m, b->in[1]), weights));
    if (b->p->forms[*weights].arg < 0)
        return dnnl_bad(b->m, b->err, "the kernel of a convolution");
    TNB_TRY(any_md(b, b->in[0], &md[0]));
    TNB_TRY(kernel_md(b, w, rank, groups, transposed, false, &md[1]));
    TNB_TRY(any_md(b, b->out, &md[2]));
    if (b->in[2] >= 0)
        CHECK(b, dnnl_md_new(&md[3], 1, (const dnnl_dims_t){y[1]}, (const dnnl_dims_t){1}),
              "describing a bias");
    dnnl_primitive_attr_t attr;
    tnb_status st = attributes(b, &attr);
    if (st == TNB_OK)
        st = dnnl_check(b->m,
                        dnnl_describe_convolution(pd, b->m->engine, transposed, md[0], md[1], md[3],
                                                  md[2], &win, attr),
                        b->err, "describing a convolution");
    (void)dnnl_primitive_attr_destroy(attr);
    return st;
}

/* A matrix with ones before it up to the rank; with its last two dimensions swapped if it stands so. */
static tnb_status
matrix_md(struct builder *b, int value, int rank, bool transposed, dnnl_md *out)
{
    dnnl_dims_t d, s, dims, strides;
    int r = dnnl_dims_of(b->m, value, d);
    if (r < 1 || r > rank || (transposed && r < 2))
        return dnnl_bad(b->m, b->err, "a matrix");
    rows(r, d, s);
    if (transposed) {
        int64_t t = d[r - 1];
        d[r - 1] = d[r - 2];
        d[r - 2] = t;
        t = s[r - 1];
        s[r - 1] = s[r - 2];
        s[r - 2] = t;
    }
    int64_t whole = 1;
    for (int i = 0; i < r; i++)
        whole *= d[i];
    for (int i = 0; i < rank; i++) {
        dims[i] = i < rank - r ? 1 : d[i - (rank - r)];
        strides[i] = i < rank - r ? whole : s[i - (rank - r)];
    }
    CHECK(b, dnnl_md_new(out, rank, dims, strides), "describing a matrix");
    return TNB_OK;
}

static tnb_status
matmul(struct builder *b)
{
    static const int what[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS};
    const bool turned = json_integer_value(json_object_get(b->op, "transposed")) != 0;
    dnnl_dims_t y, w;
    int rank = dnnl_dims_of(b->m, b->out, y), forms[4], n = 3;
    if (rank < 2 || dnnl_dims_of(b->m, b->in[1], w) < 1)
        return dnnl_bad(b->m, b->err, "a product");
    /* operands that another primitive left in a layout of its own come back into rows */
    dnnl_md md[4] = {NULL}, plain = NULL;
    for (int i = 0; i < 3; i++) {
        if (b->in[i] < 0)
            continue;
        int source;
        TNB_TRY(plain_md(b, b->in[i], &plain));
        tnb_status st = as(b, b->in[i], plain, &source);
        dnnl_md_free(plain);
        TNB_TRY(st);
        TNB_TRY(matrix_md(b, b->in[i], rank, i == 1 && turned, &md[0]));
        int arg = b->p->forms[source].arg, slot = i == 2 ? 3 : i;
        TNB_TRY(add_form(b, b->in[i], md[0], arg, &forms[slot]));
        if (arg < 0)
            b->p->forms[forms[slot]].shares = source;
        n = i == 2 ? 4 : n;
    }
    /* constant matrices may be packed */
    dnnl_md any = NULL, out = NULL;
    dnnl_const_md weights = b->p->forms[forms[1]].md;
    if (dnnl_is_constant(b->m, b->in[1])) {
        dnnl_dims_t dims;
        int r = dnnl_dims_of(b->m, b->in[1], w);
        for (int i = 0; i < rank; i++)
            dims[i] = i < rank - r ? 1 : w[i - (rank - r)];
        if (turned) {
            int64_t t = dims[rank - 1];
            dims[rank - 1] = dims[rank - 2];
            dims[rank - 2] = t;
        }
        CHECK(b, dnnl_md_new(&any, rank, dims, NULL), "describing a matrix");
        weights = any;
    }
    dnnl_primitive_attr_t attr = NULL;
    dnnl_pd pd = NULL;
    tnb_status st = plain_md(b, b->out, &out);
    if (st == TNB_OK)
        st = attributes(b, &attr);
    if (st == TNB_OK)
        st = dnnl_check(b->m,
                        dnnl_describe_matmul(&pd, b->m->engine, b->p->forms[forms[0]].md, weights,
                                             n == 4 ? b->p->forms[forms[3]].md : NULL, out, attr),
                        b->err, "describing a product");
    if (st == TNB_OK && any)
        st = as_from(b, b->in[1], forms[1], asked(pd, dnnl_query_weights_md), &forms[1]);
    if (st == TNB_OK)
        st = add_result(b, pd, &forms[2]);
    if (st == TNB_OK)
        st = begin_sum(b, forms[2]);
    if (st == TNB_OK)
        st = add_step(b, pd, what, forms, n);
    if (attr)
        (void)dnnl_primitive_attr_destroy(attr);
    if (pd)
        (void)dnnl_primitive_desc_destroy(pd);
    dnnl_md_free(any);
    dnnl_md_free(out);
    return st;
}

static tnb_status
convolution(struct builder *b)
{
    dnnl_md md[4] = {NULL};
    dnnl_pd pd = NULL;
    int weights;
    tnb_status st = describe_convolution(b, md, &weights, &pd);
    if (st == TNB_OK)
        st = weighted(b, pd, weights);
    if (pd)
        (void)dnnl_primitive_desc_destroy(pd);
    for (int i = 0; i < 4; i++)
        dnnl_md_free(md[i]);
    return st;
}

/* Adds `pd` as a step from forms of the operands to a new one of the result. */
static tnb_status
finish(struct builder *b, dnnl_status_t s, dnnl_pd pd, const int *what, int *forms, int n,
       const char *doing)
{
    tnb_status st = dnnl_check(b->m, s, b->err, doing);
    if (st == TNB_OK)
        st = add_result(b, pd, &forms[n]);
    if (st == TNB_OK)
        st = add_step(b, pd, what, forms, n + 1);
    if (pd)
        (void)dnnl_primitive_desc_destroy(pd);
    return st;
}

static tnb_status
pool(struct builder *b)
{
    const char *mode = json_string_value(json_object_get(b->op, "mode"));
    dnnl_dims_t x, y;
    dnnl_window w = {.size = {0}};
    dnnl_md dst = NULL;
    dnnl_pd pd = NULL;
    int rank = dnnl_dims_of(b->m, b->in[0], x), forms[2] = {b->current[b->in[0]]};
    if (!mode || rank < 3 || rank > 5 || dnnl_dims_of(b->m, b->out, y) != rank)
        return dnnl_bad(b->m, b->err, "a pooling");
    if (strcmp(mode, "global") == 0) {
        for (int i = 0; i < rank - 2; i++)
            w.strides[i] = 1, w.size[i] = x[2 + i];
    } else {
        TNB_TRY(window(b, rank - 2, &w));
        if (dnnl_ints(json_object_get(b->op, "pool_size"), rank - 2, 1, w.size) != rank - 2)
            return dnnl_bad(b->m, b->err, "a window");
        TNB_TRY(pad_behind(b, &w, rank - 2, x, y, false));
    }
    TNB_TRY(any_md(b, b->out, &dst));
    dnnl_status_t s =
        dnnl_describe_pool(&pd, b->m->engine,
                           strcmp(mode, "max") == 0           ? dnnl_pooling_max
                           : strcmp(mode, "average_all") == 0 ? dnnl_pooling_avg_include_padding
                                                              : dnnl_pooling_avg_exclude_padding,
                           b->p->forms[forms[0]].md, dst, &w);
    dnnl_md_free(dst);
    return finish(b, s, pd, (const int[]){DNNL_ARG_SRC, DNNL_ARG_DST}, forms, 1,
                  "describing a pooling");
}

static tnb_status
norm(struct builder *b)
{
    static const int layer[] = {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_DST},
                     batch[] = {DNNL_ARG_SRC,  DNNL_ARG_SCALE,    DNNL_ARG_SHIFT,
                                DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_DST};
    const bool is_batch =
        strcmp(json_string_value(json_object_get(b->op, "op")), "batch_norm") == 0;
    const float epsilon = (float)json_number_value(json_object_get(b->op, "epsilon"));
    int forms[6];
    if (b->n_in != (is_batch ? 5 : 3))
        return dnnl_bad(b->m, b->err, "a normalization");
    for (int i = 0; i < b->n_in; i++)
        forms[i] = b->current[b->in[i]];
    dnnl_pd pd = NULL;
    dnnl_const_md data = md_of(b, b->in[0]);
    dnnl_status_t s =
        is_batch ? dnnl_describe_batch_norm(&pd, b->m->engine, data, epsilon,
                                            json_integer_value(json_object_get(b->op, "relu")) != 0)
                 : dnnl_describe_layer_norm(&pd, b->m->engine, data, epsilon);
    return finish(b, s, pd, is_batch ? batch : layer, forms, b->n_in, "describing a normalization");
}

/* The number of a dimension of value `value`. */
static tnb_status
axis_of(struct builder *b, int value, int *out)
{
    dnnl_dims_t dims;
    const json_t *axis = json_object_get(b->op, "axis");
    int rank = dnnl_dims_of(b->m, value, dims);
    if (!json_is_integer(axis) || json_integer_value(axis) < 0 || json_integer_value(axis) >= rank)
        return dnnl_bad(b->m, b->err, "an axis");
    *out = (int)json_integer_value(axis);
    return TNB_OK;
}

static tnb_status
unary(struct builder *b)
{
    const char *name = json_string_value(json_object_get(b->op, "op"));
    int axis = 0;
    int forms[2] = {b->current[b->in[0]]};
    dnnl_alg_kind_t how = dnnl_eltwise_relu;
    float alpha, beta;
    dnnl_pd pd = NULL;
    dnnl_const_md data = md_of(b, b->in[0]);
    if (strcmp(name, "softmax") != 0 && !activation(b, &how, &alpha, &beta))
        return dnnl_bad(b->m, b->err, "an activation");
    if (strcmp(name, "softmax") == 0)
        TNB_TRY(axis_of(b, b->in[0], &axis));
    dnnl_status_t s = strcmp(name, "softmax") == 0
                          ? dnnl_describe_softmax(&pd, b->m->engine, data, axis)
                          : dnnl_describe_eltwise(&pd, b->m->engine, how, data, alpha, beta);
    return finish(b, s, pd, (const int[]){DNNL_ARG_SRC, DNNL_ARG_DST}, forms, 1,
                  "describing an element-wise operation");
}

static tnb_status
binary(struct builder *b)
{
    static const struct {
        const char *name;
        dnnl_alg_kind_t how;
    } all[] = {{"add", dnnl_binary_add},      {"subtract", dnnl_binary_sub},
               {"multiply", dnnl_binary_mul}, {"divide", dnnl_binary_div},
               {"minimum", dnnl_binary_min},  {"maximum", dnnl_binary_max}};
    const char *name = json_string_value(json_object_get(b->op, "function"));
    size_t k = 0;
    while (name && k < sizeof all / sizeof *all && strcmp(all[k].name, name) != 0)
        k++;
    if (!name || k == sizeof all / sizeof *all || b->n_in != 2)
        return dnnl_bad(b->m, b->err, "arithmetic");
    int forms[3] = {b->current[b->in[0]]};
    dnnl_pd pd = NULL;
    TNB_TRY(as(b, b->in[1], b->p->forms[forms[0]].md, &forms[1]));
    dnnl_const_md md = b->p->forms[forms[0]].md;
    dnnl_status_t s = dnnl_describe_binary(&pd, b->m->engine, all[k].how, md, md, md);
    return finish(b, s, pd, (const int[]){DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST}, forms, 2,
                  "describing arithmetic");
}

/* Operands that are joined have one rank, and the extents of the result but along the axis. */
static tnb_status
check_joined(struct builder *b, int axis)
{
    dnnl_dims_t y, x;
    int rank = dnnl_dims_of(b->m, b->out, y);
    int64_t along = 0;
    for (int i = 0; i < b->n_in; i++) {
        if (dnnl_dims_of(b->m, b->in[i], x) != rank || axis >= rank)
            return dnnl_bad(b->m, b->err, "a join");
        for (int d = 0; d < rank; d++)
            if (d != axis && x[d] != y[d])
                return dnnl_bad(b->m, b->err, "a join");
        along += x[axis];
    }
    return along == y[axis] ? TNB_OK : dnnl_bad(b->m, b->err, "a join");
}

static tnb_status
concat(struct builder *b)
{
    int what[MAX_IN + 1], forms[MAX_IN + 1];
    dnnl_md md[MAX_IN];
    dnnl_pd pd = NULL;
    int axis;
    TNB_TRY(axis_of(b, b->in[0], &axis));
    TNB_TRY(check_joined(b, axis));
    for (int i = 0; i < b->n_in; i++) {
        what[i] = DNNL_ARG_MULTIPLE_SRC + i;
        forms[i] = b->current[b->in[i]];
        md[i] = b->p->forms[forms[i]].md;
    }
    what[b->n_in] = DNNL_ARG_DST;
    dnnl_status_t s = dnnl_describe_concat(&pd, b->m->engine, b->n_in, axis, md);
    return finish(b, s, pd, what, forms, b->n_in, "describing a join");
}

static const struct {
    const char *name;
    int least_in;
    bool bias; /* operand 2 may be missing */
    tnb_status (*make)(struct builder *b);
} makers[] = {
    {"convolution", 3, true, convolution}, {"deconvolution", 3, true, convolution},
    {"matmul", 3, true, matmul},           {"layer_norm", 3, false, norm},
    {"batch_norm", 5, false, norm},        {"pool", 1, false, pool},
    {"softmax", 1, false, unary},          {"eltwise", 1, false, unary},
    {"binary", 2, false, binary},          {"concat", 1, false, concat},
};

static tnb_status
add_op(struct builder *b)
{
    const char *name = json_string_value(json_object_get(b->op, "op"));
    int64_t in[MAX_IN];
    b->n_in = dnnl_ints(json_object_get(b->op, "in"), -MAX_IN, -1, in);
    const json_t *out = json_object_get(b->op, "out");
    b->out = json_is_integer(out) ? (int)json_integer_value(out) : -1;
    if (!name || b->n_in < 1 || b->out < 0 || (uint32_t)b->out >= b->m->n_values ||
        b->current[b->out] != DNNL_NO_FORM)
        return dnnl_bad(b->m, b->err, "an operation");
    size_t k = 0;
    while (k < sizeof makers / sizeof *makers && strcmp(makers[k].name, name) != 0)
        k++;
    if (k == sizeof makers / sizeof *makers)
        return dnnl_bad(b->m, b->err, "the name of an operation");
    if (b->n_in < makers[k].least_in)
        return dnnl_bad(b->m, b->err, "the number of operands");
    for (int i = 0; i < b->n_in; i++) {
        b->in[i] = (int)in[i];
        if (in[i] >= (int64_t)b->m->n_values ||
            (in[i] < 0 ? !makers[k].bias || i != 2 : b->current[in[i]] == DNNL_NO_FORM))
            return dnnl_bad(b->m, b->err, "the operands of an operation");
    }
    return makers[k].make(b);
}

/* ---- results and memory ---- */

/* A result in rows lies where the caller wants it; others are reordered there. */
static tnb_status
place_result(struct builder *b, int value, int arg)
{
    dnnl_md md;
    int to;
    TNB_TRY(plain_md(b, value, &md));
    struct dnnl_form *f = &b->p->forms[b->current[value]];
    bool free_form = f->arg < 0 && f->shares == DNNL_NO_FORM && dnnl_md_equal(f->md, md);
    for (int i = 0; i < b->p->n_forms && free_form; i++)
        free_form = b->p->forms[i].shares != b->current[value];
    if (free_form) {
        f->arg = arg;
        dnnl_md_free(md);
        return TNB_OK;
    }
    TNB_TRY(add_form(b, value, md, arg, &to));
    return add_reorder(b, b->current[value], to);
}

/* The form whose memory this one has in the end. */
static int
root_of(const struct dnnl_plan *p, int i)
{
    while (p->forms[i].shares != DNNL_NO_FORM)
        i = p->forms[i].shares;
    return i;
}

struct slot {
    size_t bytes;
    int free_from; /* the first step that may take it */
};

static tnb_status
plan_memory(struct builder *b)
{
    struct dnnl_plan *p = b->p;
    for (int i = 0; i < p->n_forms; i++) {
        struct dnnl_form *root = &p->forms[root_of(p, i)], *f = &p->forms[i];
        root->first = f->first < root->first ? f->first : root->first;
        root->last = f->last > root->last ? f->last : root->last;
    }
    struct slot *slots = calloc((size_t)p->n_forms + 1, sizeof *slots);
    int *slot_of = calloc((size_t)p->n_forms + 1, sizeof *slot_of), n = 0;
    p->buffers = calloc((size_t)p->n_forms + 1, sizeof *p->buffers);
    tnb_status st = slots && slot_of && p->buffers
                        ? TNB_OK
                        : tnb_fail(b->err, TNB_NO_MEMORY, "no memory for a plan of oneDNN");
    for (int step = 0; st == TNB_OK && step < p->n_steps; step++)
        for (int i = 0; i < p->n_forms; i++) {
            struct dnnl_form *f = &p->forms[i];
            if (f->first != step || f->arg >= 0 || f->constant >= 0 || f->shares != DNNL_NO_FORM)
                continue;
            size_t bytes = dnnl_md_bytes(f->md);
            int best = -1; /* the smallest that is large enough, else the largest */
            for (int k = 0; k < n; k++) {
                if (slots[k].free_from > step)
                    continue;
                bool fits = slots[k].bytes >= bytes;
                bool held = best >= 0 && slots[best].bytes >= bytes;
                if (best < 0 || (fits ? !held || slots[k].bytes < slots[best].bytes
                                      : !held && slots[k].bytes > slots[best].bytes))
                    best = k;
            }
            best = best < 0 ? n++ : best;
            slots[best].bytes = slots[best].bytes > bytes ? slots[best].bytes : bytes;
            slots[best].free_from = f->last + 1;
            slot_of[i] = best;
        }
    for (int k = 0; k < n && st == TNB_OK; k++) {
        if (posix_memalign(&p->buffers[k], 64, slots[k].bytes ? slots[k].bytes : 1) != 0) {
            p->buffers[k] = NULL;
            st = tnb_fail(b->err, TNB_NO_MEMORY, "no memory for %zu bytes", slots[k].bytes);
            break;
        }
        p->n_buffers = k + 1;
        p->bytes += slots[k].bytes;
    }
    for (int i = 0; i < p->n_forms && st == TNB_OK; i++) {
        int root = root_of(p, i);
        const struct dnnl_form *r = &p->forms[root];
        if (r->arg < 0 && r->constant < 0 && r->last >= 0)
            st = dnnl_check(b->m,
                            dnnl_memory_set_data_handle(p->forms[i].mem, p->buffers[slot_of[root]]),
                            b->err, "placing memory");
        else if (r->arg >= 0)
            p->forms[i].arg = r->arg;
    }
    free(slots);
    free(slot_of);
    return st;
}

/* The last operation that uses each value. */
static void
count_uses(struct builder *b)
{
    for (uint32_t i = 0; i < b->m->n_values; i++)
        b->uses[i] = -1;
    for (uint32_t i = 0; i < b->m->n_ops; i++) {
        const json_t *op = json_array_get(b->m->ops, i), *sum = json_object_get(op, "sum");
        int64_t in[MAX_IN];
        int n = dnnl_ints(json_object_get(op, "in"), -MAX_IN, -1, in);
        for (int k = 0; k < n; k++)
            if (in[k] >= 0 && in[k] < (int64_t)b->m->n_values)
                b->uses[in[k]] = (int)i;
        if (json_is_integer(sum) && json_integer_value(sum) >= 0 &&
            json_integer_value(sum) < (int64_t)b->m->n_values)
            b->uses[json_integer_value(sum)] = (int)i;
    }
    for (uint32_t i = 0; i < b->m->n_results; i++)
        b->uses[json_integer_value(json_array_get(b->m->out, i))] = (int)b->m->n_ops;
}

static tnb_status
build(struct builder *b)
{
    struct dnnl_module *m = b->m;
    count_uses(b);
    for (uint32_t i = 0; i < m->n_values; i++) {
        int arg = dnnl_arg_of(m, (int)i);
        dnnl_md md;
        b->current[i] = DNNL_NO_FORM;
        if (arg < 0)
            continue;
        TNB_TRY(plain_md(b, (int)i, &md));
        TNB_TRY(add_form(b, (int)i, md, arg, &b->current[i]));
    }
    for (uint32_t i = 0; i < m->n_ops; i++) {
        b->op = json_array_get(m->ops, i);
        b->index = (int)i;
        TNB_TRY(add_op(b));
    }
    for (uint32_t i = 0; i < m->n_results; i++) {
        int value = (int)json_integer_value(json_array_get(m->out, i));
        if (b->current[value] == DNNL_NO_FORM)
            return dnnl_bad(m, b->err, "a result");
        TNB_TRY(place_result(b, value, (int)(m->n_args - m->n_results + i)));
    }
    return plan_memory(b);
}

tnb_status
dnnl_build(struct dnnl_module *m, struct dnnl_plan *p, tnb_err *err)
{
    struct builder b = {.m = m, .p = p, .err = err};
    b.current = calloc(m->n_values + 1, sizeof *b.current);
    b.uses = calloc(m->n_values + 1, sizeof *b.uses);
    tnb_status st = b.current && b.uses
                        ? build(&b)
                        : tnb_fail(err, TNB_NO_MEMORY, "no memory for a plan of oneDNN");
    free(b.current);
    free(b.uses);
    return st;
}
