/* SPDX-License-Identifier: Apache-2.0 */
/* Running a tensor program: arguments are compared with its parameters and put into a frame, and the
 * extents that are known only behind it are compared with the arguments.
 */
#include "interp.h"

/* Puts argument i where the code expects it; false after recording an error. */
static bool
bind_arg(interp *vm, interp_frame *f, const interp_code *code, uint32_t i, const interp_arg *a,
         tn_loc loc)
{
    const tn_prim_func *p = code->func;
    const tn_buffer *b = i < p->buffers.n ? tn_as_buffer(p->buffers.at[i]) : NULL;
    if (!a->mem) {
        tnb_dtype want = tn_dtype_of(p->params.at[i]);
        if (b || want.code == TNB_HANDLE) {
            tn_error(vm->ctx, loc, TNB_TYPE, "%s: argument %u is a scalar, expected a tensor",
                     code->name, i);
            return false;
        }
        if (!tnb_dtype_eq(want, a->dtype)) {
            bool ints =
                interp_class_of(want) == INTERP_INT && interp_class_of(a->dtype) == INTERP_INT;
            f->r[code->params[i]] =
                ints ? a->scalar
                     : interp_reg_of_double(want, interp_reg_to_double(a->dtype, a->scalar));
            return true;
        }
        f->r[code->params[i]] = a->scalar;
        return true;
    }
    f->r[code->params[i]].i = interp_handle(a->mem, a->offset);
    if (!b)
        return true;
    tnb_dtype elem = {b->dtype.code, b->dtype.bits, 1};
    if (a->dtype.code != elem.code || a->dtype.bits != elem.bits) {
        tn_error(vm->ctx, loc, TNB_TYPE, "%s: buffer '%s' has dtype %s, but the argument has %s",
                 code->name, b->name, tnb_dtype_print(b->dtype).s, tnb_dtype_print(a->dtype).s);
        return false;
    }
    if ((int64_t)b->shape.n != a->ndim) {
        tn_error(vm->ctx, loc, TNB_SHAPE,
                 "%s: buffer '%s' has %u dimensions, but the argument has %d", code->name, b->name,
                 b->shape.n, a->ndim);
        return false;
    }
    for (uint32_t k = 0; k < b->shape.n; k++) {
        int64_t v;
        if (tn_int_value(b->shape.at[k], &v) && v != a->shape[k]) {
            tn_error(vm->ctx, loc, TNB_SHAPE,
                     "%s: buffer '%s' has extent %lld in dimension %u, but the argument has %lld",
                     code->name, b->name, (long long)v, k, (long long)a->shape[k]);
            return false;
        }
    }
    return true;
}

bool
interp_run_prim(interp *vm, const char *name, const tn_prim_func *p, const interp_arg *args,
                uint32_t n, interp_reg *ret, tn_loc loc)
{
    interp_code *code = interp_compile(vm, name, p);
    interp_frame f;
    if (!code)
        return false;
    if (n != p->params.n) {
        tn_error(vm->ctx, loc, TNB_INVALID, "%s: takes %u arguments, %u are given", code->name,
                 p->params.n, n);
        return false;
    }
    if (!interp_frame_open(vm, &f, code))
        return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = bind_arg(vm, &f, code, i, &args[i], loc);
    for (const int32_t *s = code->shape; ok && *s >= 0; s += 2)
        f.r[s[1]].i = args[*s >> 8].shape[*s & 255];
    ok = ok && interp_exec(vm, &f);
    /* symbolic extents that are expressions: now known */
    for (int32_t i = 0; ok && i < code->n_bufs; i++) {
        for (uint32_t k = 0; k < n && k < p->buffers.n; k++) {
            if (p->buffers.at[k] != TN_NODE(code->bufs[i].node) || !args[k].mem || !f.b[i].mem)
                continue;
            for (int32_t d = 0; ok && d < args[k].ndim; d++) {
                if ((int64_t)f.b[i].ext[d] == args[k].shape[d])
                    continue;
                ok = false;
                tn_error(
                    vm->ctx, loc, TNB_SHAPE,
                    "%s: buffer '%s' has extent %lld in dimension %d, but the argument has %lld",
                    code->name, code->bufs[i].node->name, (long long)f.b[i].ext[d], d,
                    (long long)args[k].shape[d]);
            }
        }
    }
    if (ok && ret && f.returned)
        *ret = f.ret;
    interp_frame_close(vm, &f);
    return ok;
}
