/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of nodes: found by name, followed through a function's call, checked for their type.
 */
#include <inttypes.h>
#include "import.h"

#define AT(kind) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##kind

static const char *const type_names[] = {"undefined",      "float",   "int",    "string",
                                         "tensor",         "graph",   "floats", "ints",
                                         "strings",        "tensors", "graphs", "sparse tensor",
                                         "sparse tensors", "type",    "types"};

static const char *
type_name(int t)
{
    return t >= 0 && t < (int)(sizeof type_names / sizeof *type_names) ? type_names[t]
                                                                       : "of an unknown type";
}

/* Old files have no type field: what is filled counts. */
static int
type_of(const Onnx__AttributeProto *a)
{
    if (a->has_type && a->type != AT(UNDEFINED))
        return (int)a->type;
    return a->has_f       ? AT(FLOAT)
           : a->has_i     ? AT(INT)
           : a->has_s     ? AT(STRING)
           : a->t         ? AT(TENSOR)
           : a->g         ? AT(GRAPH)
           : a->n_floats  ? AT(FLOATS)
           : a->n_ints    ? AT(INTS)
           : a->n_strings ? AT(STRINGS)
                          : AT(UNDEFINED);
}

static const Onnx__AttributeProto *
find_attr(onnx_node *n, const Onnx__NodeProto *proto, const char *name)
{
    for (size_t i = 0; i < proto->n_attribute; i++) {
        const Onnx__AttributeProto *a = proto->attribute[i];
        if (a->name && strcmp(a->name, name) == 0) {
            if (proto == n->proto && i < 64)
                n->attrs_read |= UINT64_C(1) << i;
            return a;
        }
    }
    return NULL;
}

/* What the function gives an attribute that a call of it leaves out. */
static const Onnx__AttributeProto *
default_of(const Onnx__FunctionProto *f, const char *name)
{
    for (size_t i = 0; i < f->n_attribute_proto; i++)
        if (f->attribute_proto[i]->name && strcmp(f->attribute_proto[i]->name, name) == 0)
            return f->attribute_proto[i];
    return NULL;
}

const Onnx__AttributeProto *
onnx_attr(onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = find_attr(n, n->proto, name);
    const onnx_scope *s = n->imp->scope;
    while (a && a->ref_attr_name && a->ref_attr_name[0]) {
        const char *wanted = a->ref_attr_name;
        while (s && !s->function)
            s = s->outer;
        if (!s || !s->call) {
            onnx_fail(n, TNB_FORMAT,
                      "attribute '%s' refers to '%s' of a function, but stands outside of one",
                      name, wanted);
            return NULL;
        }
        a = find_attr(s->call, s->call->proto, wanted);
        if (!a) /* absent here too: the operator's own default holds */
            return default_of(s->function, wanted);
        s = s->outer;
    }
    return a;
}

static const Onnx__AttributeProto *
typed(onnx_node *n, const char *name, int want)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);
    if (!a)
        return NULL;
    int have = type_of(a);
    bool empty_list = have == AT(UNDEFINED) && want >= AT(FLOATS) && want <= AT(GRAPHS);
    bool there = (want != AT(TENSOR) || a->t) && (want != AT(GRAPH) || a->g);
    if ((have == want || empty_list) && there)
        return a;
    onnx_fail(n, TNB_TYPE, "attribute '%s' is %s, expected %s", name,
              have == want ? "empty" : type_name(have), type_name(want));
    return NULL;
}

int64_t
onnx_attr_int(onnx_node *n, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = typed(n, name, AT(INT));
    return a ? a->i : otherwise;
}

double
onnx_attr_float(onnx_node *n, const char *name, double otherwise)
{
    const Onnx__AttributeProto *a = typed(n, name, AT(FLOAT));
    return a ? (double)a->f : otherwise;
}

static const char *
text_of(onnx_node *n, const ProtobufCBinaryData *s)
{
    return s->len ? tn_strn(n->ctx, (const char *)s->data, s->len) : "";
}

const char *
onnx_attr_str(onnx_node *n, const char *name, const char *otherwise)
{
    const Onnx__AttributeProto *a = typed(n, name, AT(STRING));
    return a ? text_of(n, &a->s) : otherwise;
}

static int
too_many(onnx_node *n, const char *name, size_t have, int max)
{
    onnx_fail(n, TNB_BOUNDS, "attribute '%s' has %zu entries, at most %d make sense", name, have,
              max);
    return -1;
}

int
onnx_attr_ints(onnx_node *n, const char *name, int64_t *out, int max)
{
    const Onnx__AttributeProto *a = typed(n, name, AT(INTS));
    if (!a)
        return -1;
    if (a->n_ints > (size_t)max)
        return too_many(n, name, a->n_ints, max);
    for (size_t i = 0; i < a->n_ints; i++)
        out[i] = a->ints[i];
    return (int)a->n_ints;
}

int
onnx_attr_floats(onnx_node *n, const char *name, double *out, int max)
{
    const Onnx__AttributeProto *a = typed(n, name, AT(FLOATS));
    if (!a)
        return -1;
    if (a->n_floats > (size_t)max)
        return too_many(n, name, a->n_floats, max);
    for (size_t i = 0; i < a->n_floats; i++)
        out[i] = (double)a->floats[i];
    return (int)a->n_floats;
}

int
onnx_attr_strs(onnx_node *n, const char *name, const char **out, int max)
{
    const Onnx__AttributeProto *a = typed(n, name, AT(STRINGS));
    if (!a)
        return -1;
    if (a->n_strings > (size_t)max)
        return too_many(n, name, a->n_strings, max);
    for (size_t i = 0; i < a->n_strings; i++)
        out[i] = text_of(n, &a->strings[i]);
    return (int)a->n_strings;
}

int
onnx_attr_choice(onnx_node *n, const char *name, const char *otherwise, const char *const *choices)
{
    const char *s = onnx_attr_str(n, name, otherwise);
    tnb_buf all = {0};
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], s) == 0) {
            tnb_buf_free(&all);
            return i;
        }
        tnb_buf_printf(&all, "%s%s", i ? ", " : "", choices[i]);
    }
    onnx_fail(n, TNB_INVALID, "attribute '%s' is '%s', expected one of %s", name, s,
              all.s ? all.s : "none");
    tnb_buf_free(&all);
    return -1;
}

const Onnx__GraphProto *
onnx_attr_graph(onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = typed(n, name, AT(GRAPH));
    if (!a && !n->failed)
        onnx_fail(n, TNB_INVALID, "attribute '%s' is missing", name);
    return a ? a->g : NULL;
}

bool
onnx_axis(onnx_node *n, int64_t rank, int64_t *axis)
{
    if (rank < 0)
        return false;
    if (*axis < -rank || *axis >= rank)
        return onnx_fail(n, TNB_BOUNDS,
                         "axis %" PRId64 " is out of range for a tensor of rank %" PRId64, *axis,
                         rank);
    if (*axis < 0)
        *axis += rank;
    return true;
}

bool
onnx_axes(onnx_node *n, int64_t rank, int64_t *axes, int count)
{
    uint64_t seen = 0;
    for (int i = 0; i < count; i++) {
        if (!onnx_axis(n, rank, &axes[i]))
            return false;
        if (seen >> axes[i] & 1)
            return onnx_fail(n, TNB_INVALID, "axis %" PRId64 " is given twice", axes[i]);
        seen |= UINT64_C(1) << axes[i];
    }
    return true;
}

int
onnx_axes_in(onnx_node *n, uint32_t i, int64_t *out, int max)
{
    uint32_t count = 0;
    int have = onnx_attr_ints(n, "axes", out, max);
    if (have >= 0 || n->failed)
        return have;
    if (!onnx_has(n, i))
        return -1;
    return onnx_ints(n, i, "the list of axes", out, (uint32_t)max, &count) ? (int)count : -1;
}

void
onnx_attrs_check(onnx_node *n)
{
    if (n->failed)
        return;
    for (size_t i = 0; i < n->proto->n_attribute && i < 64; i++) {
        const char *name = n->proto->attribute[i]->name;
        if (!(n->attrs_read >> i & 1) && name)
            tn_warn(n->ctx, 0, "attribute '%s' is not known and was ignored", name);
    }
}
