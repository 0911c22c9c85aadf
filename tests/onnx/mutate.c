/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of ONNX models: numbers become extreme, names others of the model, bytes longer or
 * shorter, fields are lost, doubled or exchanged, and parts of another model come in. */
#include "mutate.h"

#include <math.h>

/* ---- what the fields of each message hold ---- */

typedef enum kind {
    INT,
    FIXED,
    TEXT,
    BYTES, /* leaves */
    MODEL,
    OPSET,
    GRAPH,
    NODE,
    ATTR,
    TENSOR,
    ENTRY,
    VALUE,
    TYPE,
    TENSOR_OF,
    SHAPE,
    DIM,
    FUNCTION
} kind;

static const struct {
    kind of;
    uint32_t number;
    kind holds;
} table[] = {
    {MODEL, 1, INT},       {MODEL, 7, GRAPH},    {MODEL, 8, OPSET},    {MODEL, 25, FUNCTION},
    {OPSET, 1, TEXT},      {OPSET, 2, INT},      {GRAPH, 1, NODE},     {GRAPH, 2, TEXT},
    {GRAPH, 5, TENSOR},    {GRAPH, 11, VALUE},   {GRAPH, 12, VALUE},   {GRAPH, 13, VALUE},
    {NODE, 1, TEXT},       {NODE, 2, TEXT},      {NODE, 3, TEXT},      {NODE, 4, TEXT},
    {NODE, 5, ATTR},       {NODE, 7, TEXT},      {ATTR, 1, TEXT},      {ATTR, 2, FIXED},
    {ATTR, 3, INT},        {ATTR, 4, TEXT},      {ATTR, 5, TENSOR},    {ATTR, 6, GRAPH},
    {ATTR, 7, FIXED},      {ATTR, 8, INT},       {ATTR, 9, TEXT},      {ATTR, 10, TENSOR},
    {ATTR, 11, GRAPH},     {ATTR, 20, INT},      {ATTR, 21, TEXT},     {TENSOR, 1, INT},
    {TENSOR, 2, INT},      {TENSOR, 4, FIXED},   {TENSOR, 5, INT},     {TENSOR, 7, INT},
    {TENSOR, 8, TEXT},     {TENSOR, 9, BYTES},   {TENSOR, 10, FIXED},  {TENSOR, 11, INT},
    {TENSOR, 13, ENTRY},   {TENSOR, 14, INT},    {ENTRY, 1, TEXT},     {ENTRY, 2, TEXT},
    {VALUE, 1, TEXT},      {VALUE, 2, TYPE},     {TYPE, 1, TENSOR_OF}, {TENSOR_OF, 1, INT},
    {TENSOR_OF, 2, SHAPE}, {SHAPE, 1, DIM},      {DIM, 1, INT},        {DIM, 2, TEXT},
    {FUNCTION, 1, TEXT},   {FUNCTION, 4, TEXT},  {FUNCTION, 5, TEXT},  {FUNCTION, 6, TEXT},
    {FUNCTION, 7, NODE},   {FUNCTION, 9, OPSET}, {FUNCTION, 10, TEXT}, {FUNCTION, 11, ATTR}};

typedef struct field {
    uint32_t number, type;
    kind holds;
    uint64_t value;
    const uint8_t *data;
    size_t n;
    message *child;
} field;

struct message {
    kind kind;
    TNB_VEC(field) fields;
};

static kind
holds(kind of, uint32_t number, uint32_t type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].of == of && table[i].number == number)
            return table[i].holds;
    return type == TNB_WIRE_BYTES ? BYTES : INT;
}

/* ---- reading and writing ---- */

static message *
read_message(mutator *m, kind of, const uint8_t *p, const uint8_t *end)
{
    message *out = TNB_NEW(m->arena, message);
    out->kind = of;
    while (p < end) {
        tnb_wire_field w;
        if (tnb_wire_next(&p, end, &w))
            return NULL;
        field f = {.number = w.number, .type = w.type, .value = w.value, .data = w.data};
        f.n = (size_t)w.n;
        f.holds = holds(of, w.number, w.type);
        if (f.holds >= MODEL && (w.type != TNB_WIRE_BYTES ||
                                 !(f.child = read_message(m, f.holds, w.data, w.data + w.n))))
            return NULL;
        TNB_PUSH(m->arena, out->fields, f);
    }
    return out;
}

message *
mutate_read(mutator *m, const void *bytes, size_t n)
{
    return read_message(m, MODEL, bytes, (const uint8_t *)bytes + n);
}

void
mutate_write(const message *root, mw *out)
{
    for (uint32_t i = 0; i < root->fields.n; i++) {
        const field *f = &root->fields.at[i];
        if (f->type == TNB_WIRE_VARINT) {
            tnb_wire_put_int(out, f->number, f->value);
        } else if (f->type == TNB_WIRE_BYTES) {
            mw part = {0};
            if (f->child)
                mutate_write(f->child, &part);
            else
                tnb_buf_put(&part, f->data, f->n);
            mw_put(out, f->number, part);
        } else {
            tnb_wire_put_varint(out, (uint64_t)f->number << 3 | f->type);
            tnb_buf_put(out, &f->value, f->type == TNB_WIRE_FIXED32 ? 4 : 8);
        }
    }
}

static message *
copy(mutator *m, const message *from, int depth)
{
    message *out = TNB_NEW(m->arena, message);
    out->kind = from->kind;
    for (uint32_t i = 0; i < from->fields.n; i++) {
        field f = from->fields.at[i];
        if (f.child && depth > 64)
            continue;
        if (f.child)
            f.child = copy(m, f.child, depth + 1);
        TNB_PUSH(m->arena, out->fields, f);
    }
    return out;
}

/* ---- choosing ---- */

uint32_t
mutator_below(mutator *m, uint32_t n)
{
    uint64_t z = (m->state += 0x9e3779b97f4a7c15ULL); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    return (uint32_t)((z >> 32) * n >> 32);
}

typedef struct place {
    message *in;
    uint32_t at;
} place;
typedef TNB_VEC(place) place_list;

static void
find_places(mutator *m, const message *in, place_list *out)
{
    for (uint32_t i = 0; i < in->fields.n; i++) {
        place p = {(message *)(uintptr_t)in, i};
        TNB_PUSH(m->arena, *out, p);
        if (in->fields.at[i].child)
            find_places(m, in->fields.at[i].child, out);
    }
}

/* A field that holds `wanted`; NULL: none. */
static const field *
any_of(mutator *m, const message *root, kind wanted)
{
    place_list all = {0};
    uint32_t n = 0;
    find_places(m, root, &all);
    for (uint32_t i = 0; i < all.n; i++) {
        const field *f = &all.at[i].in->fields.at[all.at[i].at];
        if (f->holds == wanted && (wanted >= MODEL) == (f->child != NULL))
            all.at[n++] = all.at[i];
    }
    if (!n)
        return NULL;
    place p = all.at[mutator_below(m, n)];
    return &p.in->fields.at[p.at];
}

/* ---- changes of leaves ---- */

static uint64_t
integer(mutator *m, uint64_t old)
{
    static const int64_t wild[] = {
        0,    1,    2,     3,         -1,        -2,         4,         7,         16,
        64,   1000, 65536, INT32_MAX, INT32_MIN, 1000000000, INT64_MAX, INT64_MIN, INT64_C(1) << 33,
        -1000};
    switch (mutator_below(m, 8)) {
    case 0:
        return old + 1;
    case 1:
        return old - 1;
    case 2:
        return 0 - old;
    default:
        return (uint64_t)wild[mutator_below(m, sizeof wild / sizeof *wild)];
    }
}

static double
real(mutator *m)
{
    static const double wild[] = {0, -0.0, 1, -1, 0.5, 1e30, -1e30, 1e-30, 3, 2147483648.0};
    uint32_t k = mutator_below(m, 13);
    return k == 12 ? NAN : k == 11 ? INFINITY : k == 10 ? -INFINITY : wild[k];
}

static void
change_text(mutator *m, const message *root, field *f)
{
    static const char *const wild[] = {"",    "x",     "axis", "%s%n%p", "\xff\xfe", "/etc/passwd",
                                       "Add", "Shape", "a b",  "../x",   "-1",       "NOTSET"};
    const field *other = any_of(m, root, TEXT);
    if (other && mutator_below(m, 3)) {
        f->data = other->data;
        f->n = other->n;
    } else {
        const char *s = wild[mutator_below(m, sizeof wild / sizeof *wild)];
        f->data = (const uint8_t *)s;
        f->n = strlen(s);
    }
}

static void
change_bytes(mutator *m, field *f)
{
    uint32_t k = mutator_below(m, 6);
    size_t n = k == 0 ? mutator_below(m, (uint32_t)f->n + 1) : k == 1 ? f->n + 8 : f->n;
    uint8_t *p = tnb_alloc(m->arena, n + 8);
    memcpy(p, f->data, n < f->n ? n : f->n);
    for (uint32_t turns = 1 + mutator_below(m, 3); k > 1 && turns > 0; turns--) {
        float single = (float)real(m);
        double twice = real(m);
        uint64_t whole = integer(m, 1);
        size_t width = k == 2 ? 4 : k == 5 ? 1 : 8;
        if (n < width)
            break;
        memcpy(p + width * mutator_below(m, (uint32_t)(n / width)),
               k == 2   ? (const void *)&single
               : k == 3 ? (const void *)&twice
                        : (const void *)&whole,
               width);
    }
    f->data = p;
    f->n = n;
}

static void
change_leaf(mutator *m, const message *root, field *f)
{
    if (f->type == TNB_WIRE_VARINT) {
        f->value = integer(m, f->value);
    } else if (f->type == TNB_WIRE_FIXED32) {
        float v = (float)real(m);
        memcpy(&f->value, &v, 4);
    } else if (f->type == TNB_WIRE_FIXED64) {
        double v = real(m);
        memcpy(&f->value, &v, 8);
    } else if (f->holds == TEXT) {
        change_text(m, root, f);
    } else {
        change_bytes(m, f);
    }
}

/* ---- changes of messages ---- */

static void
remove_at(message *in, uint32_t at)
{
    in->fields.n--;
    for (uint32_t i = at; i < in->fields.n; i++)
        in->fields.at[i] = in->fields.at[i + 1];
}

static void
double_at(mutator *m, message *in, uint32_t at)
{
    field f = in->fields.at[at];
    if (f.child)
        f.child = copy(m, f.child, 0);
    TNB_PUSH(m->arena, in->fields, f);
}

/* A part of another model, or of this one, in the place of one, or beside it. */
static void
bring(mutator *m, const message *root, const message *other, message *in, uint32_t at)
{
    field *f = &in->fields.at[at];
    const field *from = any_of(m, other && mutator_below(m, 2) ? other : root, f->holds);
    if (!from)
        return;
    message *child = from->child ? copy(m, from->child, 0) : NULL;
    field new = *from;
    new.number = f->number;
    new.child = child;
    if (mutator_below(m, 2))
        TNB_PUSH(m->arena, in->fields, new);
    else
        in->fields.at[at] = new;
}

void
mutate_once(mutator *m, message *root, const message *other)
{
    place_list all = {0};
    find_places(m, root, &all);
    if (!all.n)
        return;
    place p = all.at[mutator_below(m, all.n)];
    field *f = &p.in->fields.at[p.at];
    uint32_t k = mutator_below(m, 100);
    if (k < 8)
        remove_at(p.in, p.at);
    else if (k < 16)
        double_at(m, p.in, p.at);
    else if (k < 20 && p.in->fields.n > 1) {
        field *g = &p.in->fields.at[mutator_below(m, p.in->fields.n)], old = *f;
        *f = *g;
        *g = old;
    } else if (k < 32)
        bring(m, root, other, p.in, p.at);
    else if (!f->child)
        change_leaf(m, root, f);
    else
        mutate_once(m, f->child, other);
}

bool
mutate_bind(mutator *m, message *root, uint32_t i, const void *tensor, size_t n)
{
    const uint8_t *p = tensor;
    message *t = read_message(m, TENSOR, p, p + n), *g = NULL;
    const field *name = NULL;
    for (uint32_t k = 0; k < root->fields.n; k++)
        if (root->fields.at[k].number == MODEL_GRAPH)
            g = root->fields.at[k].child;
    for (uint32_t k = 0; g && k < g->fields.n; k++)
        if (g->fields.at[k].number == GRAPH_INPUT && i-- == 0)
            for (uint32_t j = 0; j < g->fields.at[k].child->fields.n; j++)
                if (g->fields.at[k].child->fields.at[j].number == 1)
                    name = &g->fields.at[k].child->fields.at[j];
    if (!t || !name)
        return false;
    for (uint32_t k = 0; k < t->fields.n; k++)
        if (t->fields.at[k].number == TENSOR_NAME)
            remove_at(t, k--);
    field f = *name, put = {.number = GRAPH_INITIALIZER, .type = TNB_WIRE_BYTES, .holds = TENSOR};
    f.number = TENSOR_NAME;
    put.child = t;
    TNB_PUSH(m->arena, t->fields, f);
    TNB_PUSH(m->arena, g->fields, put);
    return true;
}
