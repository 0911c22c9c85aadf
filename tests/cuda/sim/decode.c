/* SPDX-License-Identifier: Apache-2.0 */
/* From the tree of a kernel to a list of instructions with resolved operands. Each register has its place in a warp's registers: 32
 * values in a row, or a mask for a predicate. Functions are put in where they are called, so that a program counter is all that a
 * lane's position takes. */
#include "config.h"

#include "decode.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_CALL_DEPTH = 32, MAX_CODE = 1 << 22, MAX_LOCAL = 1 << 20 };

static const char *const special_names[SIM_N_SPECIAL] = {
    [SIM_TID_X] = "%tid.x",
    [SIM_TID_Y] = "%tid.y",
    [SIM_TID_Z] = "%tid.z",
    [SIM_NTID_X] = "%ntid.x",
    [SIM_NTID_Y] = "%ntid.y",
    [SIM_NTID_Z] = "%ntid.z",
    [SIM_CTAID_X] = "%ctaid.x",
    [SIM_CTAID_Y] = "%ctaid.y",
    [SIM_CTAID_Z] = "%ctaid.z",
    [SIM_NCTAID_X] = "%nctaid.x",
    [SIM_NCTAID_Y] = "%nctaid.y",
    [SIM_NCTAID_Z] = "%nctaid.z",
    [SIM_LANEID] = "%laneid",
    [SIM_WARPID] = "%warpid",
    [SIM_NWARPID] = "%nwarpid",
    [SIM_SMID] = "%smid",
    [SIM_NSMID] = "%nsmid",
    [SIM_LANEMASK_EQ] = "%lanemask_eq",
    [SIM_LANEMASK_LE] = "%lanemask_le",
    [SIM_LANEMASK_LT] = "%lanemask_lt",
    [SIM_LANEMASK_GE] = "%lanemask_ge",
    [SIM_LANEMASK_GT] = "%lanemask_gt",
    [SIM_DYNAMIC_SMEM] = "%dynamic_smem_size",
    [SIM_TOTAL_SMEM] = "%total_smem_size",
    [SIM_CLOCK] = "%clock",
    [SIM_CLOCK64] = "%clock64",
    [SIM_GLOBALTIMER] = "%globaltimer",
};

_Noreturn void
sim_decode_fail(sim_decoder *d, tnb_status st, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)tnb_failv(d->err, st, fmt, ap);
    va_end(ap);
    if (d->ptx)
        tnb_err_prefix(d->err, "kernel '%s', PTX line %u", d->k->ptx->name, d->ptx->line);
    longjmp(d->failed, 1);
}

/* ---- registers and constants ---- */

uint32_t
sim_new_register(sim_decoder *d, uint32_t bytes)
{
    uint32_t ref = d->at;
    d->at += bytes * SIM_LANES < SIM_SLOT ? SIM_SLOT : bytes * SIM_LANES;
    if (d->at >= SIM_POOL)
        sim_decode_fail(d, TNB_UNSUPPORTED, "too many registers");
    d->k->n_registers += (bytes + 3) / 4;
    return ref;
}

uint32_t
sim_constant(sim_decoder *d, uint64_t bits, uint32_t bytes)
{
    char key[32];
    if (bytes == 1) { /* a predicate is a mask */
        bits = bits ? SIM_ALL : 0;
        bytes = 4;
    }
    if (bytes < 8)
        bits &= (UINT64_C(1) << 8 * bytes) - 1;
    snprintf(key, sizeof key, "%u:%llx", bytes, (unsigned long long)bits);
    uint32_t *known = tnb_strmap_get(&d->constants, key);
    if (known)
        return *known;
    uint32_t ref = SIM_POOL | (uint32_t)d->pool.n;
    if (d->pool.n >= SIM_POOL / 2)
        sim_decode_fail(d, TNB_UNSUPPORTED, "too many constants");
    for (uint32_t l = 0; l < SIM_LANES; l++)
        tnb_buf_put(&d->pool, &bits, bytes < 8 ? bytes : 8);
    tnb_strmap_set(&d->constants, key, tnb_dup(d->a, &ref, sizeof ref));
    return ref;
}

/* ---- names ---- */

static void
declare(sim_decoder *d, sim_instance *in, uint32_t scope, const char *name, sim_symbol s)
{
    tnb_strmap_set(&in->names, tnb_printf(d->a, "%u:%s", scope, name), tnb_dup(d->a, &s, sizeof s));
}

static uint64_t
round_up(uint64_t n, uint64_t align)
{
    return align > 1 ? (n + align - 1) / align * align : n;
}

static void
declare_variable(sim_decoder *d, sim_instance *in, const ptx_variable *v)
{
    sim_kernel *k = d->k;
    uint64_t bytes = v->bytes * v->n;
    sim_symbol s = {.meaning = SIM_VARIABLE, .space = v->space, .bytes = bytes};
    if (v->space == PTX_SHARED) {
        s.address = round_up(k->shared_bytes, v->align);
        if (s.address + bytes > SIM_MAX_SHARED)
            sim_decode_fail(d, TNB_UNSUPPORTED,
                            "kernel '%s' has more than %d bytes of shared memory", k->ptx->name,
                            SIM_MAX_SHARED);
        /* a vector's load may reach beyond the last element, to where the variable's alignment ends */
        k->shared_bytes = (uint32_t)round_up(s.address + bytes, v->align);
    } else if (v->space == PTX_LOCAL || v->space == PTX_PARAM) {
        s.space = PTX_LOCAL;
        s.address = round_up(k->local_bytes, v->align);
        if (s.address + bytes > MAX_LOCAL)
            sim_decode_fail(d, TNB_UNSUPPORTED,
                            "kernel '%s' has more than %d bytes of local memory", k->ptx->name,
                            MAX_LOCAL);
        k->local_bytes = (uint32_t)(s.address + bytes);
    } else {
        sim_decode_fail(d, TNB_UNSUPPORTED,
                        "variable '%s' of a function is in a space that is not known", v->name);
    }
    declare(d, in, v->scope, v->name, s);
}

/* A register that is declared as one of a range: %r12 of %r<20>. Ranges are declared under their prefix with a '<'. */
static sim_symbol *
register_of_range(sim_decoder *d, sim_instance *in, uint32_t scope, const char *name)
{
    size_t n = strlen(name), digits = n;
    while (digits && isdigit((unsigned char)name[digits - 1]))
        digits--;
    for (; digits < n; digits++) { /* the prefix may end with digits itself */
        sim_symbol *range =
            tnb_strmap_get(&in->names, tnb_printf(d->a, "%u:%.*s<", scope, (int)digits, name));
        if (!range)
            continue;
        if (strtoull(name + digits, NULL, 10) >= range->bytes)
            return NULL;
        sim_symbol s = {.meaning = SIM_REGISTER, .width = range->width};
        s.ref = sim_new_register(d, s.width);
        declare(d, in, scope, name, s);
        return tnb_strmap_get(&in->names, tnb_printf(d->a, "%u:%s", scope, name));
    }
    return NULL;
}

static sim_symbol *
special(sim_decoder *d, const char *name)
{
    for (uint32_t s = 0; s < SIM_N_SPECIAL; s++)
        if (strcmp(special_names[s], name) == 0) {
            sim_symbol out = {.meaning = SIM_REGISTER};
            out.width = s == SIM_CLOCK64 || s == SIM_GLOBALTIMER ? 8 : 4;
            if (d->k->special[s] == SIM_NONE)
                d->k->special[s] = sim_new_register(d, out.width);
            out.ref = d->k->special[s];
            if (s >= SIM_CLOCK) { /* read anew by each instruction that names it */
                sim_insn *i = sim_new_insn(d, sim_op_clock, SIM_PLAIN);
                i->n_out = 1;
                sim_push_ref(d, i, out.ref, out.width);
                sim_append(d, i);
            }
            return tnb_dup(d->a, &out, sizeof out);
        }
    return NULL;
}

/* A shared variable of the module has its place in each kernel that names it. */
static sim_symbol *
variable_of_module(sim_decoder *d, const char *name)
{
    sim_instance *outer = d->instance;
    while (outer->caller)
        outer = outer->caller;
    sim_symbol *known = tnb_strmap_get(&outer->names, tnb_printf(d->a, "module:%s", name));
    if (known)
        return known;
    sim_symbol s = {.meaning = SIM_VARIABLE};
    for (const ptx_variable *v = d->module->ptx->variables; v; v = v->next) {
        if (v->space != PTX_SHARED || strcmp(v->name, name) != 0)
            continue;
        s.space = PTX_SHARED;
        s.bytes = v->bytes * v->n;
        s.address = round_up(d->k->shared_bytes, v->align);
        if (s.bytes == 0) { /* dynamic: behind all others, which a second pass knows */
            s.address = d->dynamic_at;
            d->dynamic_align = v->align > d->dynamic_align ? v->align : d->dynamic_align;
        } else if (s.address + s.bytes > SIM_MAX_SHARED) {
            sim_decode_fail(d, TNB_UNSUPPORTED,
                            "kernel '%s' has more than %d bytes of shared memory", d->k->ptx->name,
                            SIM_MAX_SHARED);
        } else {
            d->k->shared_bytes = (uint32_t)round_up(s.address + s.bytes, v->align);
        }
        tnb_strmap_set(&outer->names, tnb_printf(d->a, "module:%s", name),
                       tnb_dup(d->a, &s, sizeof s));
        return variable_of_module(d, name);
    }
    sim_global *g = tnb_strmap_get(&d->module->variables, name);
    if (!g)
        return NULL;
    s.space = g->ptx->space;
    s.address = g->address;
    s.bytes = g->bytes;
    return tnb_dup(d->a, &s, sizeof s);
}

static sim_symbol *
look_up_in(sim_decoder *d, sim_instance *in, uint32_t scope, const char *name)
{
    for (;;) {
        sim_symbol *s = tnb_strmap_get(&in->names, tnb_printf(d->a, "%u:%s", scope, name));
        if (!s)
            s = register_of_range(d, in, scope, name);
        if (s || scope == 0)
            return s;
        scope = in->f->scopes[scope].outer;
    }
}

sim_symbol *
sim_look_up(sim_decoder *d, const char *name)
{
    sim_symbol *s = look_up_in(d, d->instance, d->ptx->scope, name);
    if (!s)
        s = variable_of_module(d, name);
    if (!s && *name == '%')
        s = special(d, name);
    if (s)
        return s;
    for (const ptx_function *f = d->module->ptx->functions; f; f = f->next)
        if (strcmp(f->name, name) == 0 && (!f->is_extern || !s)) {
            sim_symbol out = {.meaning = SIM_FUNCTION, .function = f};
            s = tnb_dup(d->a, &out, sizeof out);
        }
    return s;
}

/* ---- instructions ---- */

sim_insn *
sim_new_insn(sim_decoder *d, sim_op run, sim_flow flow)
{
    const char *text = d->ptx->text ? d->ptx->text : "";
    uint32_t *id = tnb_strmap_get(&d->texts, text);
    if (!id) {
        id = tnb_dup(d->a, &d->n_texts, sizeof d->n_texts);
        d->n_texts++;
        tnb_strmap_set(&d->texts, text, id);
    }
    sim_insn *i = TNB_NEW(d->a, sim_insn);
    *i = (sim_insn){.run = run,
                    .flow = (uint8_t)flow,
                    .guard = SIM_NONE,
                    .member = SIM_NONE,
                    .address = SIM_NONE,
                    .text_id = *id,
                    .ptx = d->ptx};
    return i;
}

void
sim_append(sim_decoder *d, const sim_insn *i)
{
    if (d->code.n == MAX_CODE)
        sim_decode_fail(d, TNB_UNSUPPORTED, "more than %d instructions", MAX_CODE);
    TNB_PUSH(d->a, d->code, *i);
}

void
sim_push_ref(sim_decoder *d, sim_insn *i, uint32_t ref, uint32_t width)
{
    enum { MOST = 64 };
    if (!i->ref) {
        i->ref = TNB_NEW_N(d->a, uint32_t, MOST);
        i->width = TNB_NEW_N(d->a, uint8_t, MOST);
    }
    if (i->n_ref == MOST)
        sim_decode_fail(d, TNB_UNSUPPORTED, "'%s' has more than %d registers", d->ptx->text, MOST);
    i->width[i->n_ref] = (uint8_t)width;
    i->ref[i->n_ref++] = ref;
}

/* A number as an operand of so many bytes: 1.5 may stand where a float is wanted. */
static uint64_t
number(const ptx_operand *o, uint32_t bytes)
{
    if (o->kind == PTX_FLOAT64 && bytes == 4) {
        double v;
        memcpy(&v, &o->bits, sizeof v);
        float f = (float)v;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return bits;
    }
    return o->bits;
}

void
sim_push(sim_decoder *d, sim_insn *i, const ptx_operand *o, uint32_t bytes, uint32_t constant)
{
    uint32_t wanted = bytes ? bytes : constant;
    if (o->kind == PTX_INT || o->kind == PTX_FLOAT32 || o->kind == PTX_FLOAT64) {
        sim_push_ref(d, i, sim_constant(d, number(o, wanted), wanted), wanted);
        return;
    }
    if (o->kind == PTX_SINK) {
        sim_push_ref(d, i, d->sink, wanted);
        return;
    }
    if (o->kind != PTX_NAME)
        sim_decode_fail(d, TNB_UNSUPPORTED, "'%s' has an operand of a form that is not known",
                        d->ptx->text);
    if (strcmp(o->name, "WARP_SZ") == 0) {
        sim_push_ref(d, i, sim_constant(d, SIM_LANES, wanted), wanted);
        return;
    }
    sim_symbol *s = sim_look_up(d, o->name);
    if (!s)
        sim_decode_fail(d, TNB_NOT_FOUND, "'%s' is not declared", o->name);
    if (s->meaning == SIM_VARIABLE) {
        uint64_t at = s->address + (uint64_t)o->offset;
        sim_push_ref(d, i, sim_constant(d, at, wanted), wanted);
        return;
    }
    if (s->meaning != SIM_REGISTER)
        sim_decode_fail(d, TNB_UNSUPPORTED, "'%s' is no register", o->name);
    if (bytes && s->width != bytes)
        sim_decode_fail(d, TNB_FORMAT, "'%s': register '%s' has %u bytes, %u are wanted",
                        d->ptx->text, o->name, s->width, bytes);
    uint32_t ref = s->ref;
    if (o->negated) { /* its complement, in a register of its own */
        ref = sim_new_register(d, 1);
        sim_insn *complement = sim_new_insn(d, sim_op_complement, SIM_PLAIN);
        complement->n_out = 1;
        sim_push_ref(d, complement, ref, 1);
        sim_push_ref(d, complement, s->ref, 1);
        sim_append(d, complement);
    }
    sim_push_ref(d, i, ref, s->width);
}

void
sim_push_address(sim_decoder *d, sim_insn *i, const ptx_operand *o)
{
    if (o->kind != PTX_ADDRESS)
        sim_decode_fail(d, TNB_FORMAT, "'%s' wants an address", d->ptx->text);
    i->offset = o->offset;
    if (!o->name)
        return;
    sim_symbol *s = sim_look_up(d, o->name);
    if (!s)
        sim_decode_fail(d, TNB_NOT_FOUND, "'%s' is not declared", o->name);
    if (s->meaning == SIM_VARIABLE) {
        i->offset += (int64_t)s->address;
        if (i->space == PTX_PARAM || i->space == SIM_GENERIC)
            i->space = (uint8_t)s->space;
        if (i->space != s->space)
            sim_decode_fail(d, TNB_FORMAT, "'%s': '%s' is in another space", d->ptx->text, o->name);
    } else if (s->meaning == SIM_REGISTER && s->width >= 4) {
        i->address = i->n_ref;
        sim_push_ref(d, i, s->ref, s->width);
    } else {
        sim_decode_fail(d, TNB_FORMAT, "'%s': '%s' is no address", d->ptx->text, o->name);
    }
}

/* ---- branches ---- */

static void
add_fixup(sim_decoder *d, uint32_t entry, const char *label, uint32_t scope)
{
    TNB_PUSH(d->a, d->fixups, ((sim_fixup){d->code.n, entry, label, scope}));
}

static void
set_guard(sim_decoder *d, sim_insn *i)
{
    if (!d->ptx->guard)
        return;
    sim_symbol *s = sim_look_up(d, d->ptx->guard);
    if (!s || s->meaning != SIM_REGISTER || s->width != 1)
        sim_decode_fail(d, TNB_FORMAT, "'%s' is no predicate", d->ptx->guard);
    i->guard = s->ref;
    i->guard_negated = d->ptx->guard_negated;
}

static void
branch_to(sim_decoder *d, const char *label)
{
    sim_insn *i = sim_new_insn(d, NULL, SIM_BRANCH);
    set_guard(d, i);
    add_fixup(d, SIM_NONE, label, d->ptx->scope);
    sim_append(d, i);
}

static void
branch_by_table(sim_decoder *d)
{
    const ptx_operand *o = d->ptx->operands;
    const ptx_targets *t = d->instance->f->targets;
    sim_insn *i = sim_new_insn(d, NULL, SIM_TABLE);
    if (d->ptx->n_operands != 2 || o[1].kind != PTX_NAME)
        sim_decode_fail(d, TNB_FORMAT, "'%s' wants an index and a list", d->ptx->text);
    while (t && strcmp(t->name, o[1].name) != 0)
        t = t->next;
    if (!t)
        sim_decode_fail(d, TNB_NOT_FOUND, "list '%s' is not declared", o[1].name);
    set_guard(d, i);
    sim_push(d, i, &o[0], 4, 4);
    i->n_table = t->n;
    i->table = TNB_NEW_N(d->a, uint32_t, t->n + 1);
    for (uint32_t e = 0; e < t->n; e++)
        add_fixup(d, e, t->labels[e], t->scope);
    sim_append(d, i);
}

/* ---- functions ---- */

static void
decode_body(sim_decoder *d, sim_instance *in);

static const char end_label[] = " end"; /* no label of a text has a space */

/* The callee's parameter stands for the caller's register or variable. */
static void
bind(sim_decoder *d, sim_instance *callee, const ptx_variable *formal, const ptx_operand *actual)
{
    sim_symbol *s = NULL, made = {.meaning = SIM_REGISTER, .width = formal->bytes};
    if (actual->kind == PTX_NAME)
        s = sim_look_up(d, actual->name);
    else if (actual->kind == PTX_INT || actual->kind == PTX_FLOAT32 || actual->kind == PTX_FLOAT64)
        made.ref = sim_constant(d, number(actual, formal->bytes), formal->bytes);
    else
        made.ref = d->sink;
    if (actual->kind == PTX_NAME && !s)
        sim_decode_fail(d, TNB_NOT_FOUND, "'%s' is not declared", actual->name);
    declare(d, callee, 0, formal->name, s ? *s : made);
}

static void
bind_all(sim_decoder *d, sim_instance *callee, const ptx_variable *formals,
         const ptx_operand *actuals)
{
    uint32_t n = actuals ? actuals->n_items : 0, k = 0;
    for (; formals && k < n; formals = formals->next, k++)
        bind(d, callee, formals, &actuals->items[k]);
    if (formals || k < n)
        sim_decode_fail(d, TNB_FORMAT, "'%s' is called with another number of values",
                        callee->f->name);
}

static void
call(sim_decoder *d)
{
    const ptx_operand *o = d->ptx->operands, *results = NULL, *params = NULL;
    uint32_t n = d->ptx->n_operands, at = 0;
    if (at < n && o[at].kind == PTX_VECTOR)
        results = &o[at++];
    if (at == n || o[at].kind != PTX_NAME)
        sim_decode_fail(d, TNB_FORMAT, "a call names no function");
    const char *name = o[at++].name;
    if (at < n && o[at].kind == PTX_VECTOR)
        params = &o[at++];
    sim_symbol *s = sim_look_up(d, name);
    if (!s || s->meaning != SIM_FUNCTION)
        sim_decode_fail(d, TNB_UNSUPPORTED, "calls by address are not known: '%s'", name);
    if (s->function->is_extern) {
        sim_insn *i = sim_new_insn(d, sim_op_trap, SIM_PLAIN);
        if (strcmp(name, "__assertfail") != 0)
            sim_decode_fail(d, TNB_NOT_FOUND, "function '%s' is not in the module", name);
        set_guard(d, i);
        sim_append(d, i);
        return;
    }
    if (d->instance->depth == MAX_CALL_DEPTH)
        sim_decode_fail(d, TNB_UNSUPPORTED, "calls are nested deeper than %d: '%s'", MAX_CALL_DEPTH,
                        name);
    const ptx_instruction *where = d->ptx;
    uint32_t skip = d->code.n;
    if (where->guard) { /* who does not call goes on behind the body */
        sim_insn *i = sim_new_insn(d, NULL, SIM_BRANCH);
        set_guard(d, i);
        i->guard_negated = !i->guard_negated;
        sim_append(d, i);
    }
    sim_instance callee = {.f = s->function,
                           .caller = d->instance,
                           .depth = d->instance->depth + 1};
    tnb_strmap_init(&callee.names, d->a);
    bind_all(d, &callee, callee.f->results, results);
    bind_all(d, &callee, callee.f->params, params);
    sim_instance *caller = d->instance;
    decode_body(d, &callee);
    d->instance = caller;
    d->ptx = where;
    if (where->guard)
        d->code.at[skip].target = d->code.n;
}

static void
decode_one(sim_decoder *d, sim_instance *in)
{
    const ptx_instruction *p = d->ptx;
    if (p->label) {
        sim_symbol s = {.meaning = SIM_LABEL, .target = d->code.n};
        declare(d, in, p->scope, p->label, s);
    } else if (strcmp(p->part[0], "bra") == 0) {
        if (p->n_operands != 1 || p->operands[0].kind != PTX_NAME)
            sim_decode_fail(d, TNB_FORMAT, "a branch names no label");
        branch_to(d, p->operands[0].name);
    } else if (strcmp(p->text, "brx.idx") == 0 || strcmp(p->text, "brx.idx.uni") == 0) {
        branch_by_table(d);
    } else if (strcmp(p->part[0], "call") == 0) {
        call(d);
    } else if (strcmp(p->part[0], "ret") == 0 && in->caller) {
        branch_to(d, end_label);
    } else {
        uint32_t first = d->code.n;
        sim_decode_form(d);
        for (uint32_t c = first; c < d->code.n; c++)
            if (d->code.at[c].run != sim_op_complement && d->code.at[c].run != sim_op_clock)
                set_guard(d, &d->code.at[c]);
    }
}

static void
decode_body(sim_decoder *d, sim_instance *in)
{
    uint32_t first = d->fixups.n;
    d->instance = in;
    for (const ptx_variable *v = in->f->variables; v; v = v->next) {
        sim_symbol s = {.meaning = SIM_REGISTER, .width = v->bytes, .bytes = v->n};
        if (v->space != PTX_REG) {
            declare_variable(d, in, v);
        } else if (v->n) {
            declare(d, in, v->scope, tnb_printf(d->a, "%s<", v->name), s);
        } else {
            s.ref = sim_new_register(d, v->bytes);
            declare(d, in, v->scope, v->name, s);
        }
    }
    for (d->ptx = in->f->body; d->ptx; d->ptx = d->ptx->next)
        decode_one(d, in);
    declare(d, in, 0, end_label, (sim_symbol){.meaning = SIM_LABEL, .target = d->code.n});
    for (uint32_t f = first; f < d->fixups.n; f++) {
        sim_fixup *x = &d->fixups.at[f];
        sim_insn *i = &d->code.at[x->insn];
        sim_symbol *s = look_up_in(d, in, x->scope, x->label);
        d->ptx = i->ptx;
        if (!s || s->meaning != SIM_LABEL)
            sim_decode_fail(d, TNB_NOT_FOUND, "label '%s' is not in the function", x->label);
        if (x->entry == SIM_NONE)
            i->target = s->target;
        else
            i->table[x->entry] = s->target;
    }
    d->fixups.n = first;
}

static void
declare_params(sim_decoder *d, sim_instance *in)
{
    sim_kernel *k = d->k;
    for (const ptx_variable *v = in->f->params; v; v = v->next)
        k->n_params++;
    k->param_at = TNB_NEW_N(d->a, uint32_t, k->n_params + 1);
    k->param_size = TNB_NEW_N(d->a, uint32_t, k->n_params + 1);
    uint32_t n = 0;
    for (const ptx_variable *v = in->f->params; v; v = v->next, n++) {
        uint64_t at = round_up(k->param_bytes, v->align), bytes = v->bytes * v->n;
        if (at + bytes > 32764)
            sim_decode_fail(d, TNB_UNSUPPORTED,
                            "kernel '%s' has more than 32764 bytes of parameters", in->f->name);
        declare(d, in, 0, v->name,
                (sim_symbol){
                    .meaning = SIM_VARIABLE, .space = PTX_PARAM, .address = at, .bytes = bytes});
        k->param_at[n] = (uint32_t)at;
        k->param_size[n] = (uint32_t)bytes;
        k->param_bytes = (uint32_t)(at + bytes);
    }
}

static void
pass(sim_decoder *d, const ptx_function *f)
{
    sim_instance in = {.f = f};
    *d->k = (sim_kernel){.module = d->module, .ptx = f};
    for (uint32_t s = 0; s < sizeof d->k->special / sizeof *d->k->special; s++)
        d->k->special[s] = SIM_NONE;
    tnb_buf_free(&d->pool);
    d->pool = (tnb_buf){0};
    d->code.n = d->fixups.n = d->n_texts = d->at = 0;
    tnb_strmap_init(&d->constants, d->a);
    tnb_strmap_init(&d->texts, d->a);
    tnb_strmap_init(&in.names, d->a);
    d->ptx = NULL;
    d->sink = sim_new_register(d, 16);
    declare_params(d, &in);
    decode_body(d, &in);
    ptx_instruction *end = TNB_NEW(d->a, ptx_instruction);
    *end = (ptx_instruction){.line = f->line, .text = "ret"};
    d->ptx = end;
    sim_append(d, sim_new_insn(d, NULL, SIM_EXIT));
}

tnb_status
sim_decode(sim_machine *m, sim_module *module, const ptx_function *f, sim_kernel **out,
           tnb_err *err)
{
    sim_decoder *d =
        TNB_NEW(module->arena, sim_decoder); /* not on the stack: longjmp would lose it */
    sim_kernel *k = TNB_NEW(module->arena, sim_kernel);
    *d = (sim_decoder){.a = module->arena, .m = m, .module = module, .k = k, .err = err};
    if (setjmp(d->failed)) {
        tnb_buf_free(&d->pool);
        return err ? err->status : TNB_FORMAT;
    }
    pass(d, f);
    if (d->dynamic_align) {
        d->dynamic_at = (uint32_t)round_up(k->shared_bytes, d->dynamic_align);
        pass(d, f);
    }
    k->dynamic_at = d->dynamic_align ? d->dynamic_at : k->shared_bytes;
    k->code = d->code.at;
    k->n_code = d->code.n;
    k->pool = tnb_dup(d->a, d->pool.n ? d->pool.s : "", d->pool.n);
    k->register_bytes = d->at;
    tnb_buf_free(&d->pool);
    *out = k;
    return TNB_OK;
}
