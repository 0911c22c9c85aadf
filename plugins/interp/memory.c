/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of interpreted programs: counted, numbered, with a bit for every byte that was written. */
#include "interp.h"

#include "tenon/base/scalar.h"

#include <math.h>
#include <stdlib.h>

static interp_mem *
enlist(interp *vm, interp_mem *m)
{
    m->refs = 1;
    for (uint32_t i = vm->mems.n > 64 ? vm->mems.n - 64 : 1; i < vm->mems.n; i++) {
        if (!vm->mems.at[i]) { /* a number used lately is free again */
            vm->mems.at[i] = m;
            m->id = i;
            return m;
        }
    }
    if (vm->mems.n == 0)
        TNB_PUSH(vm->arena, vm->mems, NULL); /* number 0 is the null pointer */
    m->id = vm->mems.n;
    TNB_PUSH(vm->arena, vm->mems, m);
    return m;
}

interp_mem *
interp_mem_new(interp *vm, uint64_t size, tn_loc loc)
{
    uint64_t taken = size + 16;
    if (size > (uint64_t)1 << 40)
        taken = size;
    if (!tn_limit_take(vm->ctx, TN_LIMIT_SCRATCH, taken, loc))
        return NULL;
    interp_mem *m = calloc(1, sizeof *m);
    bool shadowed = !vm->opt->no_checks;
    bool fits = size < (uint64_t)1 << 40;
    if (m && fits) {
        m->bytes = calloc(1, size + 16);
        m->shadow = shadowed ? calloc(1, size / 8 + 3) : NULL;
    }
    if (!m || !m->bytes || (shadowed && !m->shadow)) {
        if (m) {
            free(m->bytes);
            free(m->shadow);
        }
        free(m);
        tn_limit_give(vm->ctx, TN_LIMIT_SCRATCH, taken);
        tn_error(vm->ctx, loc, TNB_NO_MEMORY,
                 "no memory for a buffer of %llu bytes that the compiler computes with",
                 (unsigned long long)size);
        return NULL;
    }
    m->size = size;
    return enlist(vm, m);
}

interp_mem *
interp_mem_borrow(interp *vm, void *bytes, uint64_t size, bool readonly)
{
    interp_mem *m = calloc(1, sizeof *m);
    if (!m) {
        tn_error(vm->ctx, 0, TNB_NO_MEMORY, "no memory for a description of memory");
        return NULL;
    }
    m->borrowed = true;
    m->readonly = readonly;
    m->bytes = bytes;
    m->size = size;
    return enlist(vm, m);
}

void
interp_mem_ref(interp_mem *m)
{
    m->refs++;
}

void
interp_mem_unref(interp *vm, interp_mem *m)
{
    if (!m || --m->refs)
        return;
    vm->mems.at[m->id] = NULL;
    if (!m->borrowed) {
        tn_limit_give(vm->ctx, TN_LIMIT_SCRATCH, m->size + 16);
        free(m->bytes);
    }
    free(m->shadow);
    free(m);
}

interp_mem *
interp_handle_mem(interp *vm, int64_t handle, uint64_t *offset)
{
    uint64_t id = (uint64_t)handle >> 40;
    *offset = (uint64_t)handle & (((uint64_t)1 << 40) - 1);
    return id && id < vm->mems.n ? vm->mems.at[id] : NULL;
}

void
interp_mem_written(interp_mem *m)
{
    free(m->shadow);
    m->shadow = NULL;
}

bool
interp_mem_forget(interp *vm, interp_mem *m, tn_loc loc)
{
    if (vm->opt->no_checks)
        return true;
    free(m->shadow);
    m->shadow = calloc(1, m->size / 8 + 3);
    if (!m->shadow)
        tn_error(vm->ctx, loc, TNB_NO_MEMORY, "no memory to watch a buffer of %llu bytes",
                 (unsigned long long)m->size);
    return m->shadow != NULL;
}

/* ---- registers ---- */

interp_class
interp_class_of(tnb_dtype d)
{
    if (tnb_dtype_is_int(d) || tnb_dtype_is_bool(d))
        return INTERP_INT;
    if (d.code == TNB_HANDLE && d.bits)
        return INTERP_PTR;
    if (!tnb_dtype_is_float(d))
        return INTERP_NO_CLASS;
    return d.code == TNB_FLOAT && d.bits == 64 ? INTERP_DBL : INTERP_FLT;
}

interp_reg
interp_reg_of_double(tnb_dtype d, double v)
{
    interp_reg r = {.i = 0};
    switch (interp_class_of(d)) {
    case INTERP_DBL:
        r.d = v;
        break;
    case INTERP_FLT:
        r.f = (float)v;
        break;
    default:
        r.i = tnb_f64_to_i64(v);
        break;
    }
    return r;
}

double
interp_reg_to_double(tnb_dtype d, interp_reg r)
{
    switch (interp_class_of(d)) {
    case INTERP_DBL:
        return r.d;
    case INTERP_FLT:
        return (double)r.f;
    default:
        return d.code == TNB_UINT ? (double)r.u : (double)r.i;
    }
}
