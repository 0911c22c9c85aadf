/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format: one field at a time, checked. */
#include "tenon/base/wire.h"

static uint64_t
little_endian(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

const char *
tnb_wire_next(const uint8_t **p, const uint8_t *end, tnb_wire_field *f)
{
    const uint8_t *at = *p;
    uint64_t key;
    if (!tnb_wire_varint(&at, end, &key))
        return "a field's tag is cut off";
    f->type = (uint32_t)(key & 7);
    if (key >> 3 == 0 || key >> 3 > 536870911)
        return "a field number is out of range";
    f->number = (uint32_t)(key >> 3);
    f->data = NULL;
    f->n = 0;
    switch (f->type) {
    case TNB_WIRE_VARINT:
        if (!tnb_wire_varint(&at, end, &f->value))
            return "a number is cut off";
        break;
    case TNB_WIRE_FIXED32:
    case TNB_WIRE_FIXED64: {
        unsigned n = f->type == TNB_WIRE_FIXED32 ? 4 : 8;
        if ((size_t)(end - at) < n)
            return "a number is cut off";
        f->value = little_endian(at, n);
        at += n;
        break;
    }
    case TNB_WIRE_BYTES:
        if (!tnb_wire_varint(&at, end, &f->n))
            return "a length is cut off";
        if (f->n > (uint64_t)(end - at))
            return "a length goes past the end of what holds it";
        f->data = at;
        at += f->n;
        break;
    case 3:
    case 4:
        return "a group is found, which this format does not use";
    default:
        return "a field has an unknown wire type";
    }
    *p = at;
    return NULL;
}

void
tnb_wire_put_varint(tnb_buf *b, uint64_t v)
{
    while (v >= 0x80) {
        tnb_buf_putc(b, (char)(v | 0x80));
        v >>= 7;
    }
    tnb_buf_putc(b, (char)v);
}

void
tnb_wire_put_int(tnb_buf *b, uint32_t field, uint64_t v)
{
    tnb_wire_put_varint(b, (uint64_t)field << 3 | TNB_WIRE_VARINT);
    tnb_wire_put_varint(b, v);
}

void
tnb_wire_put_bytes(tnb_buf *b, uint32_t field, const void *p, size_t n)
{
    tnb_wire_put_varint(b, (uint64_t)field << 3 | TNB_WIRE_BYTES);
    tnb_wire_put_varint(b, n);
    if (n)
        tnb_buf_put(b, p, n);
}

void
tnb_wire_put_text(tnb_buf *b, uint32_t field, const char *s)
{
    tnb_wire_put_bytes(b, field, s, strlen(s));
}
