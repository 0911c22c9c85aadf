// SPDX-License-Identifier: Apache-2.0 OR MIT-0
// The scale plugin, device half: the packed function scale.by, whose factor the site may set.
#include <cstdlib>
#include <vector>
#include "tenon/rt/plugin.h"
#include "tenon/rt/tensor.h"

static float factor = 2;

static tnb_status
init(const tnb_plugin_start *start, tnb_err *err)
{
    const char *text = start->setting(start, "factor");
    char *end = nullptr;
    if (!text)
        return TNB_OK;
    factor = strtof(text, &end);
    if (end != text && *end == 0)
        return TNB_OK;
    tnb_fail(err, TNB_INVALID, "[plugin scale_rt] factor is '%s'", text);
    tnb_hint(err, "give a number");
    return TNB_INVALID;
}

// (x, y): y is where the result goes, as calls in destination-passing style have it.
static tnb_status
by(tnr_vm *, const tnr_value *args, int, tnr_value *, tnb_err *err)
{
    for (int i = 0; i < 2; i++)
        TNB_TRY(tnr_expect("scale.by", args, i, TNR_TENSOR, err));
    const tnr_tensor *x = args[0].u.tensor, *y = args[1].u.tensor;
    if (!tnb_dtype_eq(x->dl.dtype, TNB_F32) || x->n_bytes != y->n_bytes)
        return tnb_fail(err, TNB_TYPE, "scale.by takes and gives float32 of one shape");
    std::vector<float> values(x->n_elems);
    TNB_TRY(tnr_tensor_read(x, values.data(), x->n_bytes, err));
    for (float &v : values)
        v *= factor;
    return tnr_tensor_write(y, values.data(), y->n_bytes, err);
}

static const tnr_packed scale_by = {
    .base = {sizeof(tnr_packed), "scale.by", "x times the factor"},
    .flags = TNR_PACKED_BLOCKING,
    .call = by,
    .min_args = 2,
    .max_args = 2,
};
static const tnr_packed *const packed[] = {&scale_by};

TNR_PLUGIN(scale_rt, "0.1.0", "Apache-2.0 OR MIT-0", "the function scale.by", .packed = packed,
           .n_packed = 1, .init = init);
