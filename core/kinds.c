/* SPDX-License-Identifier: Apache-2.0 */
/* The table of node kinds, made from tenon/core/nodes.def. */
#include "tenon/core/node.h"
#include <stddef.h>

#define TN_K(kind, name)
#define TN_F(sname, ftype, field) {#field, offsetof(tn_##sname, field), TN_FIELD_##ftype},
#define TN_STRUCT(name, fields) static const tn_field fields_##name[] = {fields{NULL, 0, 0}};
#include "tenon/core/nodes.def"
#undef TN_STRUCT
#undef TN_F
#undef TN_K

#define TN_F(sname, ftype, field)
#define TN_STRUCT(name, fields)
#define TN_K(kind, sname)                                                                        \
    {#kind, TN_STRUCT_##sname, sizeof(tn_##sname), sizeof fields_##sname / sizeof(tn_field) - 1, \
     fields_##sname},
const tn_kind_info tn_kinds[TN_KIND_COUNT] = {
#include "tenon/core/nodes.def"
};
