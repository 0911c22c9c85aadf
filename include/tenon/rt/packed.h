/* SPDX-License-Identifier: Apache-2.0 */
/* Packed functions: native functions that VM code calls by name. */
#ifndef TENON_RT_PACKED_H
#define TENON_RT_PACKED_H

#include "tenon/base/plugin.h"
#include "tenon/rt/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_vm tnr_vm;

/* args are borrowed; what is left in `ret` (null on entry) belongs to the caller. vm is NULL when
 * called from outside of one, unless the function is flagged TNR_PACKED_VM. */
typedef tnb_status (*tnr_packed_fn)(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret,
                                    tnb_err *err);

enum {
    TNR_PACKED_VM = 1,       /* needs the VM */
    TNR_PACKED_BLOCKING = 2, /* may wait for the device or a peer */
    TNR_PACKED_CAPTURABLE =
        4, /* may be part of a captured graph: neither waits for the device nor allocates its memory */
    TNR_PACKED_STREAM =
        8 /* gives work to the machine's stream (tnr_vm_stream) alone, or gives none; work of others is taken
                             to be on the device's own stream, in order behind and before that of the machine */
};

typedef struct tnr_packed {
    tnb_entry base; /* name: "vm.builtin.reshape" */
    uint32_t flags;
    tnr_packed_fn call;
    int min_args, max_args; /* checked before the call; max -1: no limit */
} tnr_packed;

/* For packed functions: TNB_TYPE unless args[i] has the tag, naming function, argument and what was
 * given. i is below the number of arguments. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_expect(const char *function, const tnr_value *args, int i, uint32_t tag, tnb_err *err);
/* An integer argument: int or bool. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnr_expect_int(const char *function, const tnr_value *args, int i, int64_t *out, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
