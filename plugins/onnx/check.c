/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a model's bytes before protobuf-c unpacks them.
 *
 * protobuf-c recurses once a nested message and believes the lengths it finds within the buffer.
 * This walk uses a stack of its own and the same descriptors. It refuses nesting deeper than 64,
 * lengths past the parent's end, groups, wire types that a field cannot have, texts with a zero
 * byte, and numbers of messages that no model has. While walking it writes the skeleton that is
 * unpacked afterwards, so that tensors' data are never copied.
 *
 * Lengths of nested messages are written as varints of fixed width, filled in when the message
 * ends.
 */
#include <inttypes.h>
#include "model.h"

enum {
    MAX_DEPTH = 64,
    LENGTH_WIDTH = 5, /* of a length in the skeleton */
    MAX_FIELDS = 1 << 24,
    MAX_SKELETON = 1 << 30
};

typedef struct frame {
    const ProtobufCMessageDescriptor *type;
    const uint8_t *start, *at, *end;
    size_t length_at; /* where in the skeleton this message's length stands */
} frame;

typedef struct walk {
    tn_ctx *ctx;
    const char *file;
    const uint8_t *bytes;
    tnb_buf *out;
    frame stack[MAX_DEPTH];
    int depth; /* frames in use */
    uint64_t fields;
} walk;

/* Which occurrence of field `number` begins at `at` within the frame. */
static uint64_t
occurrence(const frame *f, uint32_t number, const uint8_t *at)
{
    uint64_t k = 0;
    for (const uint8_t *p = f->start; p < at;) {
        tnb_wire_field w;
        if (tnb_wire_next(&p, f->end, &w))
            break;
        k += w.number == number;
    }
    return k;
}

static void
put_step(tnb_buf *b, const frame *f, uint32_t number, const uint8_t *at)
{
    const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field(f->type, number);
    if (b->n)
        tnb_buf_putc(b, '.');
    if (!d) {
        tnb_buf_printf(b, "%u", number);
        return;
    }
    tnb_buf_puts(b, d->name);
    if (d->label == PROTOBUF_C_LABEL_REPEATED)
        tnb_buf_printf(b, "[%" PRIu64 "]", occurrence(f, number, at));
}

/* Records an error at the field that begins at `at` in the innermost message. */
static bool
refuse(walk *w, const uint8_t *at, tnb_status status, const char *what)
{
    tnb_buf path = {0};
    for (int i = 0; i < w->depth; i++) {
        const frame *f = &w->stack[i];
        const uint8_t *child = i + 1 < w->depth ? w->stack[i + 1].start : at;
        /* the field of this frame that holds the next one: the last that begins before it */
        const uint8_t *p = f->start, *begin = f->start;
        tnb_wire_field field = {0}, last = {0};
        while (p < f->end && p < child) {
            begin = p;
            if (tnb_wire_next(&p, f->end, &field))
                break;
            last = field;
        }
        if (i + 1 < w->depth && path.n < 400)
            put_step(&path, f, last.number, begin);
    }
    const uint8_t *p = at;
    uint64_t key;
    const frame *top = &w->stack[w->depth - 1];
    if (tnb_wire_varint(&p, top->end, &key) && key >> 3 && key >> 3 < UINT32_MAX)
        put_step(&path, top, (uint32_t)(key >> 3), at);
    tnb_report(tn_diags(w->ctx), TNB_ERROR, status, (tnb_place){.file = w->file},
               "byte %zu, in %s of %s: %s", (size_t)(at - w->bytes),
               path.n ? path.s : "the first field", w->stack[0].type->short_name, what);
    tnb_diag_hint(tn_diags(w->ctx),
                  status == TNB_BOUNDS
                      ? "this is a limit of the reader: export the model in smaller parts"
                      : "the file is damaged or is no ONNX model: copy or export it again");
    tnb_buf_free(&path);
    return false;
}

static bool
is_number(const ProtobufCFieldDescriptor *d)
{
    return d->type != PROTOBUF_C_TYPE_STRING && d->type != PROTOBUF_C_TYPE_BYTES &&
           d->type != PROTOBUF_C_TYPE_MESSAGE;
}

static uint32_t
wire_type_of(const ProtobufCFieldDescriptor *d)
{
    switch (d->type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return TNB_WIRE_FIXED32;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return TNB_WIRE_FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return TNB_WIRE_BYTES;
    default:
        return TNB_WIRE_VARINT;
    }
}

static const char *
packed_fault(const ProtobufCFieldDescriptor *d, const tnb_wire_field *f)
{
    uint32_t wire = wire_type_of(d);
    if (wire != TNB_WIRE_VARINT)
        return f->n % (wire == TNB_WIRE_FIXED32 ? 4 : 8) ? "the last number of a list is cut off"
                                                         : NULL;
    const uint8_t *p = f->data, *end = p + f->n;
    uint64_t v;
    while (p < end)
        if (!tnb_wire_varint(&p, end, &v))
            return "the last number of a list is cut off";
    return NULL;
}

static bool
push(walk *w, const ProtobufCMessageDescriptor *type, const uint8_t *data, uint64_t n,
     const uint8_t *at)
{
    if (w->depth == MAX_DEPTH)
        return refuse(w, at, TNB_FORMAT, "messages are nested more than 64 deep");
    w->stack[w->depth++] =
        (frame){.type = type, .start = data, .at = data, .end = data + n, .length_at = w->out->n};
    for (int i = 0; i < LENGTH_WIDTH; i++)
        tnb_buf_putc(w->out, 0);
    return true;
}

static void
pop(walk *w)
{
    frame *f = &w->stack[--w->depth];
    if (w->out->failed || w->depth == 0)
        return;
    uint64_t n = w->out->n - f->length_at - LENGTH_WIDTH;
    for (int i = 0; i < LENGTH_WIDTH; i++, n >>= 7)
        w->out->s[f->length_at + (size_t)i] =
            (char)((n & 0x7f) | (i + 1 < LENGTH_WIDTH ? 0x80 : 0));
}

/* A TensorProto is checked field by field, but only its name and its range are kept. */
static bool
put_tensor(walk *w, uint32_t number, const tnb_wire_field *f, const uint8_t *at)
{
    const uint8_t *p = f->data, *end = p + f->n;
    tnb_buf body = {0};
    while (p < end) {
        tnb_wire_field t;
        const uint8_t *here = p;
        const char *wrong = tnb_wire_next(&p, end, &t);
        if (!wrong && t.number == 8 && t.type == TNB_WIRE_BYTES) {
            if (memchr(t.data, 0, t.n))
                wrong = "a text holds a zero byte";
            tnb_wire_put_bytes(&body, 8, t.data, t.n);
        }
        if (wrong) {
            tnb_buf_free(&body);
            if (!push(w, &onnx__tensor_proto__descriptor, f->data, f->n, at))
                return false;
            return refuse(w, here, TNB_FORMAT, wrong);
        }
    }
    tnb_wire_put_int(&body, 1, (uint64_t)(f->data - w->bytes));
    tnb_wire_put_int(&body, 1, f->n);
    tnb_wire_put_bytes(w->out, number, body.s, body.n);
    w->out->failed |= body.failed;
    tnb_buf_free(&body);
    return true;
}

/* One field of the innermost message. */
static bool
take(walk *w)
{
    frame *top = &w->stack[w->depth - 1];
    const uint8_t *at = top->at;
    tnb_wire_field f;
    const char *wrong = tnb_wire_next(&top->at, top->end, &f);
    if (wrong)
        return refuse(w, at, TNB_FORMAT, wrong);
    if (++w->fields > MAX_FIELDS)
        return refuse(w, at, TNB_BOUNDS, "the model has more than 16777216 fields");
    const ProtobufCFieldDescriptor *d =
        protobuf_c_message_descriptor_get_field(top->type, f.number);
    if (!d) /* documentation, training graphs and what else the importer does not read */
        return true;
    bool packed = f.type == TNB_WIRE_BYTES && is_number(d) && d->label == PROTOBUF_C_LABEL_REPEATED;
    if (!packed && f.type != wire_type_of(d))
        return refuse(w, at, TNB_FORMAT, "the field has the wire type of another kind of value");
    if (packed && (wrong = packed_fault(d, &f)))
        return refuse(w, at, TNB_FORMAT, wrong);
    if (d->type == PROTOBUF_C_TYPE_STRING && f.n && memchr(f.data, 0, f.n))
        return refuse(w, at, TNB_FORMAT, "a text holds a zero byte");
    if (w->out->n > MAX_SKELETON)
        return refuse(w, at, TNB_BOUNDS, "the model without its tensors is larger than 1 GiB");
    if (d->type == PROTOBUF_C_TYPE_MESSAGE) {
        if (d->descriptor == &onnx__tensor_proto__descriptor)
            return put_tensor(w, f.number, &f, at);
        tnb_wire_put_varint(w->out, (uint64_t)f.number << 3 | TNB_WIRE_BYTES);
        return push(w, d->descriptor, f.data, f.n, at);
    }
    tnb_buf_put(w->out, at, (size_t)(top->at - at));
    return true;
}

bool
onnx_check_message(tn_ctx *ctx, const char *file, const uint8_t *bytes, size_t n, tnb_buf *out)
{
    walk w = {.ctx = ctx, .file = file, .bytes = bytes, .out = out};
    w.stack[0] = (frame){.type = &onnx__model_proto__descriptor,
                         .start = bytes,
                         .at = bytes,
                         .end = bytes + n};
    w.depth = 1;
    while (w.depth) {
        frame *top = &w.stack[w.depth - 1];
        if (top->at == top->end)
            pop(&w);
        else if (!take(&w))
            return false;
    }
    if (out->failed) {
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_NO_MEMORY, (tnb_place){.file = file},
                   "no memory to read the model");
        return false;
    }
    return true;
}
