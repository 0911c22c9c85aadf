/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the protobuf wire format: a cursor over bytes that never goes past its end.
 *
 * Used where a message is read straight from a file (TensorProto) or checked before a library
 * unpacks it.
 */
#ifndef TENON_BASE_WIRE_H
#define TENON_BASE_WIRE_H

#include <stdbool.h>
#include "tenon/base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TNB_WIRE_VARINT = 0, TNB_WIRE_FIXED64 = 1, TNB_WIRE_BYTES = 2, TNB_WIRE_FIXED32 = 5 };

/* One field as it stands in the bytes. */
typedef struct tnb_wire_field {
    uint32_t number;
    uint32_t type;       /* TNB_WIRE_* */
    uint64_t value;      /* VARINT, FIXED32, FIXED64 */
    const uint8_t *data; /* BYTES: the payload */
    uint64_t n;
} tnb_wire_field;

/* `*p` moves behind the varint. False: cut off or longer than ten bytes. */
static inline bool
tnb_wire_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && *p < end; shift += 7) {
        uint8_t b = *(*p)++;
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = v;
            return true;
        }
    }
    return false;
}

/* The next field of [*p, end), which is not empty. NULL, or what is wrong with the bytes at `*p`.
 */
TNB_EXPORT const char *
tnb_wire_next(const uint8_t **p, const uint8_t *end, tnb_wire_field *f);

/* ---- writing ---- */
TNB_EXPORT void
tnb_wire_put_varint(tnb_buf *b, uint64_t v);
TNB_EXPORT void
tnb_wire_put_int(tnb_buf *b, uint32_t field, uint64_t v);
TNB_EXPORT void
tnb_wire_put_bytes(tnb_buf *b, uint32_t field, const void *p, size_t n);
TNB_EXPORT void
tnb_wire_put_text(tnb_buf *b, uint32_t field, const char *s);

#ifdef __cplusplus
}
#endif
#endif
