/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime plugin as an author outside of the tree writes it: abi.negate(x, y) writes -x to y. */
#include <string.h>

#include "tenon/rt/plugin.h"
#include "tenon/rt/tensor.h"

static tnb_status
negate(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)vm;
    (void)ret;
    for (int i = 0; i < n; i++) {
        tnb_status s = tnr_expect("abi.negate", args, i, TNR_TENSOR, err);
        if (s != TNB_OK)
            return s;
    }
    const tnr_tensor *x = args[0].u.tensor, *y = args[1].u.tensor;
    if (x->n_bytes != y->n_bytes || x->n_elems * sizeof(float) != x->n_bytes)
        return tnb_fail(err, TNB_SHAPE, "abi.negate takes float32 tensors of one shape");
    const float *from = tnr_tensor_data(x);
    float *to = tnr_tensor_data(y);
    if (!from || !to)
        return tnb_fail(err, TNB_UNSUPPORTED, "abi.negate takes tensors in the host's memory");
    for (uint64_t i = 0; i < x->n_elems; i++)
        to[i] = -from[i];
    return TNB_OK;
}

static const tnr_packed packed_negate = {.base.size = sizeof(tnr_packed),
                                         .base.name = "abi.negate",
                                         .call = negate,
                                         .min_args = 2,
                                         .max_args = 2};
static const tnr_packed *const packed[] = {&packed_negate};

TNR_PLUGIN(abi_rt, "1.0", "Apache-2.0", "a runtime plugin of the ABI test", .packed = packed,
           .n_packed = 1);
