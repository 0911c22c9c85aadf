/* SPDX-License-Identifier: Apache-2.0 */
/* The packed functions of runtime/builtin.c that have a form in C, in tenon_aot_packed.h. */
#include "aot_private.h"

#define BUILTIN(name, function, least, most, reads, takes)               \
    {                                                                    \
        "vm.builtin." name, "tenon_" function, least, most, reads, takes \
    }
static const aot_packed packed[] = {
    BUILTIN("alloc_shape_heap", "alloc_shape_heap", 1, 1, false, true),
    BUILTIN("match_shape", "match_shape", 3, -1, false, false),
    BUILTIN("match_prim_value", "match_prim_value", 4, 5, false, false),
    BUILTIN("make_shape", "packed_make_shape", 2, -1, false, false),
    BUILTIN("make_prim_value", "make_prim_value", 3, 3, false, false),
    BUILTIN("check_tensor_info", "check_tensor_info", 4, 4, false, false),
    BUILTIN("check_shape_info", "check_shape_info", 3, 3, false, false),
    BUILTIN("check_prim_value_info", "check_prim_value_info", 3, 3, false, false),
    BUILTIN("check_tuple_info", "check_tuple_info", 3, 3, false, false),
    BUILTIN("reshape", "reshape", 2, 2, false, false),
    BUILTIN("shape_of", "shape_of", 1, 1, false, false),
    BUILTIN("tensor_to_shape", "tensor_to_shape", 1, 1, true, false),
    BUILTIN("checked_shape", "checked_shape", 3, 3, false, false),
    BUILTIN("copy", "copy", 1, 1, false, true),
    BUILTIN("ensure_zero_offset", "same", 1, 1, false, false),
    BUILTIN("to_device", "same", 3, 4, false, false),
    BUILTIN("null_value", "null_value", 0, -1, false, false),
    BUILTIN("read_if_cond", "read_if_cond", 1, 1, true, false),
    BUILTIN("tuple_getitem", "tuple_getitem", 2, 2, false, false),
    BUILTIN("tuple_reset_item", "tuple_reset_item", 2, 2, false, false),
    BUILTIN("make_tuple", "packed_make_tuple", 0, -1, false, true),
    {"relax.run.assert_op", "tenon_assert_op", 2, -1, true, false},
    {"runtime.TVMTensorCreateView", "tenon_create_view", 1, 4, false, false},
};

const aot_packed *
aot_packed_find(const char *name)
{
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (strcmp(packed[i].name, name) == 0)
            return &packed[i];
    return NULL;
}
