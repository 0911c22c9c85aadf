/* SPDX-License-Identifier: Apache-2.0 */
/* What the size of the workspace follows from. A dry run computes extents without elements of tensors: an instruction that needs
 * elements is marked, what it gives is not known, and what depends on that neither. Memory of a size that is not known is an error.
 *
 * Facts of values follow the order of the instructions, those of scalars and of functions are joined until nothing changes.
 * tenon_aot_run.h checks all sizes again as it runs: a fact that is wrong costs a status, no memory.
 */
#include "aot_private.h"

#include <stdio.h>

enum {
    NO = AOT_NO,
    SD = AOT_SD,
    SS = AOT_SS,
    VD = AOT_VD,
    VS = AOT_VS,
    T = AOT_T,
    FN = AOT_FN,
    PK = AOT_PK,
    KN = AOT_KN,
    CO = AOT_CO,
    ST = AOT_ST,
    DV = AOT_DV,
    IM = AOT_IM,
    L = AOT_L
};
const aot_op aot_ops[] = {
#define X(name, a, b, c) {#name, a, b, c},
    TNB_VM_OPS(X)
#undef X
};

enum { MOST_BLOCKS = 1 << 15, MOST_BYTES = 1 << 26 };

static const char *
name_of(const aot_program *g, uint32_t function)
{
    return g->p.text + g->p.functions[function].name;
}

void
aot_error(aot_program *g, uint32_t function, uint32_t at, tnb_status st, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const tnb_tno_function *f = &g->p.functions[function];
    g->failed = true;
    if (at >= f->n_insns) {
        tn_error(g->ctx, 0, st, "function '%s': %s", name_of(g, function), text);
        return;
    }
    tn_error(g->ctx, 0, st, "function '%s', instruction %u (%s): %s", name_of(g, function), at,
             aot_ops[g->p.insns[f->first_insn + at].op].name, text);
    for (uint32_t i = at; i < f->n_insns; i++) {
        const tnb_vm_insn *in = &g->p.insns[f->first_insn + i];
        if (in->op != TNB_VM_LAUNCH)
            continue;
        tnb_diag_note(tn_diags(g->ctx), "it stands before the launch of kernel '%s'",
                      g->p.text + g->p.kernels[in->b].name);
        break;
    }
}

uint32_t
aot_asks(const aot_program *g, const char *kernel)
{
    for (uint32_t i = 0; i < g->in->n_kernels; i++)
        if (strcmp(g->in->kernels[i].name, kernel) == 0)
            return g->in->kernels[i].workspaces;
    return 0;
}

uint32_t
aot_target(const tnb_vm_insn *in, uint32_t at)
{
    switch (in->op) {
    case TNB_VM_JMP:
        return in->a;
    case TNB_VM_JZ:
    case TNB_VM_JNZ:
        return in->b;
    case TNB_VM_JLT:
    case TNB_VM_JGE:
        return in->c;
    case TNB_VM_ADDFIT:
    case TNB_VM_SUBFIT:
    case TNB_VM_MULFIT:
        return in->aux ? at + in->aux : UINT32_MAX;
    case TNB_VM_FIT:
        return in->c ? at + in->c : UINT32_MAX;
    case TNB_VM_TAIL:
        return 0;
    default:
        return UINT32_MAX;
    }
}

bool
aot_is_conditional(const tnb_vm_insn *in)
{
    return in->op == TNB_VM_JZ || in->op == TNB_VM_JNZ || in->op == TNB_VM_JLT ||
           in->op == TNB_VM_JGE;
}

/* ---- facts ---- */

/* A function under analysis. */
typedef struct scan {
    aot_program *g;
    uint32_t function;
    aot_function *f;
    const tnb_vm_insn *code;
    uint32_t n;
    uint8_t *values; /* facts of registers at the instruction */
    uint32_t until;  /* up to here both sides of a branch are gone through */
    bool last;       /* nothing changes any more: errors are recorded, memory is counted */
} scan;

static void
join(scan *s, uint8_t *to, uint8_t facts)
{
    if ((*to | facts) != *to) {
        *to |= facts;
        s->g->changed = true;
    }
}

static bool
scalar(const scan *s, uint32_t reg)
{
    return s->f->scalars[reg];
}

static uint8_t
operand(const scan *s, uint32_t o)
{
    uint32_t i = TNB_VM_OPERAND_INDEX(o);
    switch (TNB_VM_OPERAND_KIND(o)) {
    case TNB_VM_VALUE:
        return s->values[i];
    case TNB_VM_CONST_:
        return 0;
    default:
        return scalar(s, i) ? AOT_UNKNOWN : 0;
    }
}

static uint8_t
operands(const scan *s, const tnb_vm_insn *in, uint32_t from)
{
    uint8_t all = 0;
    for (uint32_t i = from; i < in->aux; i++)
        all |= operand(s, s->g->p.operands[in->c + i]);
    return all;
}

/* The number that a scalar operand or register always has. */
static bool
constant_scalar(const scan *s, uint32_t reg, int64_t *out)
{
    const tnb_vm_insn *only = NULL;
    for (uint32_t i = 0; i < s->n; i++)
        if (aot_ops[s->code[i].op].a == SD && s->code[i].a == reg) {
            if (only)
                return false;
            only = &s->code[i];
        }
    if (!only || only->op != TNB_VM_LDI)
        return false;
    *out = (int64_t)((uint64_t)only->c << 32 | only->b);
    return true;
}

static bool
constant_int(const scan *s, uint32_t o, int64_t *out)
{
    if (TNB_VM_OPERAND_KIND(o) == TNB_VM_INT)
        return constant_scalar(s, TNB_VM_OPERAND_INDEX(o), out);
    if (TNB_VM_OPERAND_KIND(o) != TNB_VM_CONST_)
        return false;
    const tnb_tno_constant *c = &s->g->p.constants[TNB_VM_OPERAND_INDEX(o)];
    *out = (int64_t)c->data;
    return c->kind == TNB_TNO_INT;
}

/* ---- memory ---- */

static uint64_t
capped(uint64_t a, uint64_t b)
{
    return a > UINT32_MAX || b > UINT32_MAX || a + b > UINT32_MAX ? UINT32_MAX : a + b;
}

static void
takes_cells(scan *s, uint32_t at, uint64_t elems, tnb_dtype d)
{
    uint64_t bytes;
    tnb_err err;
    if (tnb_dtype_storage(d, elems, &bytes, &err) != TNB_OK || bytes > MOST_BYTES) {
        aot_error(s->g, s->function, at, TNB_BOUNDS,
                  "a tensor of the host is too large for the stack");
        return;
    }
    s->f->blocks++;
    s->f->cells += (bytes + 63) / 64 * 64;
}

static void
takes_host_tensor(scan *s, uint32_t at, const tnb_vm_insn *in)
{
    uint64_t elems = 1;
    for (uint32_t i = 0; i < in->aux; i++) {
        int64_t n;
        if (!constant_int(s, s->g->p.operands[in->c + i], &n) || n < 0 || n > MOST_BYTES ||
            !tnb_mul_u64(elems, (uint64_t)n, &elems)) {
            aot_error(s->g, s->function, at, TNB_UNSUPPORTED,
                      "extent %u of a tensor of the host is not constant: it has no place in C "
                      "without an "
                      "allocator",
                      i);
            return;
        }
    }
    takes_cells(s, at, elems, tnb_vm_to_dtype(in->b));
}

static void
takes_of(scan *s, const aot_function *callee)
{
    s->f->blocks = capped(s->f->blocks, callee->blocks);
    s->f->items = capped(s->f->items, callee->items);
    s->f->cells = capped(s->f->cells, callee->cells);
}

/* ---- instructions ---- */

static void
call(scan *s, uint32_t at, const tnb_vm_insn *in)
{
    aot_function *callee = &s->g->functions[in->b];
    if (!callee->reached) {
        callee->reached = true;
        s->g->changed = true;
    }
    for (uint32_t i = 0; i < in->aux; i++)
        join(s, &callee->params[i], operand(s, s->g->p.operands[in->c + i]));
    s->values[in->a] = callee->result;
    if (!s->last)
        return;
    if (!callee->analyzed)
        aot_error(
            s->g, s->function, at, TNB_UNSUPPORTED,
            "'%s' is called while it runs: a recursion other than a loop has no form in C with a "
            "workspace of a known size",
            name_of(s->g, in->b));
    takes_of(s, callee);
}

/* Facts of what a packed function gives. */
static uint8_t
packed_result(const scan *s, const aot_packed *p, const tnb_vm_insn *in)
{
    uint8_t all = operands(s, in, 0), first = in->aux ? operand(s, s->g->p.operands[in->c]) : 0;
    if (p->takes && p->min_args == 1 && p->max_args == 1 && strcmp(p->function, "tenon_copy"))
        return AOT_HEAP;
    if (!strcmp(p->function, "tenon_packed_make_shape") ||
        !strcmp(p->function, "tenon_make_prim_value"))
        return s->g->heap_unknown ? AOT_UNKNOWN : 0;
    if (p->reads)
        return first & (AOT_UNKNOWN | AOT_ELEMENTS) ? AOT_UNKNOWN : 0;
    if (!strcmp(p->function, "tenon_shape_of"))
        return first & AOT_UNKNOWN;
    return all & (AOT_UNKNOWN | AOT_ELEMENTS | AOT_HEAP);
}

static void
call_packed(scan *s, uint32_t at, const tnb_vm_insn *in)
{
    const char *name = s->g->p.text + s->g->p.packed[in->b];
    const aot_packed *p = aot_packed_find(name);
    if (!p || in->aux < p->min_args || (p->max_args >= 0 && in->aux > p->max_args)) {
        if (!s->last)
            return;
        aot_error(s->g, s->function, at, TNB_UNSUPPORTED,
                  p ? "the packed function '%s' is called with %u arguments"
                    : "the packed function '%s' has no form in C",
                  name, in->aux);
        tnb_diag_hint(
            tn_diags(s->g->ctx),
            "compile an artifact (.tno) and run it with the runtime library, or leave the pass out "
            "that gives work to '%s'",
            name);
        return;
    }
    uint8_t all = operands(s, in, 0);
    s->f->marks[at] = (all & AOT_UNKNOWN) || (p->reads && all & AOT_ELEMENTS);
    /* matching stores what it finds */
    if ((all & AOT_UNKNOWN) && in->aux > 1 && operand(s, s->g->p.operands[in->c + 1]) & AOT_HEAP &&
        !s->g->heap_unknown)
        s->g->heap_unknown = s->g->changed = true;
    s->values[in->a] = packed_result(s, p, in);
    int64_t n;
    if (!s->last || !p->takes)
        return;
    if (s->values[in->a] & AOT_HEAP && in->aux == 1 && constant_int(s, s->g->p.operands[in->c], &n))
        takes_cells(s, at, n < 0 ? 0 : (uint64_t)n, TNB_I64);
    else
        s->f->blocks++, s->f->items += in->aux + 1u;
}

static void
launch(scan *s, uint32_t at, const tnb_vm_insn *in)
{
    const tnb_tno_kernel *k = &s->g->p.kernels[in->b];
    const uint32_t *list = s->g->p.operands + in->c;
    const char *name = s->g->p.text + k->name;
    if (!s->last)
        return;
    if (k->flags & ~(uint32_t)TNB_TNO_CHECKED)
        aot_error(s->g, s->function, at, TNB_UNSUPPORTED, "kernel '%s' is launched with a grid",
                  name);
    for (uint32_t i = 0; i < k->n_params; i++) {
        const tnb_tno_param *p = &s->g->p.params[k->first_param + i];
        if (p->kind == TNB_PARAM_IMAGE || p->kind == TNB_PARAM_TENSOR_MAP)
            aot_error(s->g, s->function, at, TNB_UNSUPPORTED,
                      "kernel '%s' takes an image or a tensor map", name);
        if (p->kind == TNB_PARAM_SCALAR && aot_asks(s->g, name) && operand(s, *list))
            aot_error(s->g, s->function, at, TNB_UNSUPPORTED,
                      "the temporary memory of kernel '%s' may depend on elements of tensors",
                      name);
        list += tnb_tno_operands(p);
    }
}

/* Conditions on the way to it, and what stands on either side. */
static void
branch(scan *s, uint32_t at, const tnb_vm_insn *in)
{
    uint32_t to = aot_target(in, at);
    bool unknown =
        scalar(s, in->a) || ((in->op == TNB_VM_JLT || in->op == TNB_VM_JGE) && scalar(s, in->b));
    s->f->marks[at] = unknown || at < s->until;
    if (!s->f->marks[at] || to <= at)
        return;
    const tnb_vm_insn *end = &s->code[to - 1];
    uint32_t behind = end->op == TNB_VM_JMP && end->a > to              ? end->a
                      : end->op == TNB_VM_RET || end->op == TNB_VM_TAIL ? s->n
                                                                        : to;
    s->until = behind > s->until ? behind : s->until;
    if (in->op == TNB_VM_JZ && behind > to)
        s->f->sites[to] = at + 1;
}

static void
instruction(scan *s, uint32_t at)
{
    const tnb_vm_insn *in = &s->code[at];
    const aot_op *op = &aot_ops[in->op];
    uint8_t *marks = &s->f->marks[at], facts;
    switch (in->op) {
    case TNB_VM_JZ:
    case TNB_VM_JNZ:
    case TNB_VM_JLT:
    case TNB_VM_JGE:
        branch(s, at, in);
        return;
    case TNB_VM_JMP:
        *marks = at < s->until;
        return;
    case TNB_VM_ASSERT:
        *marks = scalar(s, in->a) || at < s->until;
        return;
    case TNB_VM_TAIL:
        *marks = at < s->until;
        for (uint32_t i = 0; i < in->aux; i++)
            join(s, &s->f->params[i], operand(s, s->g->p.operands[in->c + i]));
        return;
    case TNB_VM_RET:
        join(s, &s->f->result, s->values[in->a]);
        return;
    case TNB_VM_KILL:
        s->values[in->a] = 0;
        return;
    case TNB_VM_MOVV:
    case TNB_VM_GET:
        s->values[in->a] = s->values[in->b];
        return;
    case TNB_VM_CONST:
        s->values[in->a] = 0;
        if (s->last && s->g->p.constants[in->b].kind == TNB_TNO_FUNCTION)
            aot_error(s->g, s->function, at, TNB_UNSUPPORTED, "a function is a value");
        return;
    case TNB_VM_BOXI:
    case TNB_VM_BOXF:
    case TNB_VM_BOXB:
        s->values[in->a] = scalar(s, in->b) ? AOT_UNKNOWN : 0;
        return;
    case TNB_VM_UNBOXI:
    case TNB_VM_UNBOXF:
    case TNB_VM_TRUTH:
        facts = s->values[in->b];
        *marks = (facts & (AOT_UNKNOWN | AOT_ELEMENTS)) != 0;
        join(s, &s->f->scalars[in->a], *marks);
        return;
    case TNB_VM_SHAPE:
        s->values[in->a] = operands(s, in, 0) & AOT_UNKNOWN;
        return;
    case TNB_VM_DIM:
    case TNB_VM_STRIDE:
        join(s, &s->f->scalars[in->a], s->values[in->b] & AOT_UNKNOWN);
        return;
    case TNB_VM_TUPLE:
        s->values[in->a] = operands(s, in, 0);
        if (s->last)
            s->f->blocks++, s->f->items += in->aux + 1u;
        return;
    case TNB_VM_LOADI:
    case TNB_VM_LOADF:
        facts = s->values[in->b];
        *marks = facts & AOT_ELEMENTS || (facts & AOT_HEAP && scalar(s, in->c));
        join(s, &s->f->scalars[in->a], *marks || (facts & AOT_HEAP && s->g->heap_unknown));
        return;
    case TNB_VM_STOREI:
    case TNB_VM_STOREF:
        facts = s->values[in->b];
        *marks = facts & AOT_ELEMENTS || scalar(s, in->c);
        if (facts & AOT_HEAP && (scalar(s, in->a) || scalar(s, in->c) || at < s->until) &&
            !s->g->heap_unknown)
            s->g->heap_unknown = s->g->changed = true;
        return;
    case TNB_VM_ALLOCS:
        s->values[in->a] = 0;
        if (!s->last)
            return;
        s->f->blocks++;
        if (scalar(s, in->b)) {
            aot_error(
                s->g, s->function, at, TNB_UNSUPPORTED,
                "how much memory is needed depends on elements of tensors, so no workspace can be "
                "asked for before the call");
            tnb_diag_hint(tn_diags(s->g->ctx),
                          "compile an artifact (.tno) and run it with the runtime library");
        }
        return;
    case TNB_VM_ALLOCT:
        s->values[in->a] = (uint8_t)((operands(s, in, 1) & AOT_UNKNOWN) | AOT_ELEMENTS);
        return;
    case TNB_VM_HOSTT:
        s->values[in->a] = AOT_HEAP;
        if (s->last)
            takes_host_tensor(s, at, in);
        return;
    case TNB_VM_CALL:
        call(s, at, in);
        return;
    case TNB_VM_CALLV:
        if (s->last)
            aot_error(s->g, s->function, at, TNB_UNSUPPORTED, "a closure is called");
        return;
    case TNB_VM_CALLP:
        call_packed(s, at, in);
        return;
    case TNB_VM_LAUNCH:
        launch(s, at, in);
        return;
    default: /* scalars; a divisor that is not known may read as 0 */
        if (op->a != SD)
            return;
        facts = (op->b == SS && scalar(s, in->b)) || (op->c == SS && scalar(s, in->c)) ||
                (in->op == TNB_VM_SEL && scalar(s, in->a)) ||
                (in->op == TNB_VM_MOVS && at < s->until);
        *marks = op->c == SS && scalar(s, in->c);
        join(s, &s->f->scalars[in->a], facts != 0 && op->b != IM);
    }
}

static void
scan_function(aot_program *g, uint32_t i, bool last)
{
    const tnb_tno_function *t = &g->p.functions[i];
    scan s = {.g = g,
              .function = i,
              .f = &g->functions[i],
              .code = g->p.insns + t->first_insn,
              .n = t->n_insns,
              .values = TNB_NEW_N(g->arena, uint8_t, t->n_values + 1),
              .last = last};
    memcpy(s.values, s.f->params, t->n_params);
    bool loops = false;
    for (uint32_t k = 0; k < s.n; k++) {
        instruction(&s, k);
        loops |= aot_target(&s.code[k], k) <= k;
    }
    if (last && loops) { /* what a turn leaves is there in the next one */
        s.f->blocks = 2 * s.f->blocks + t->n_params;
        s.f->items *= 2;
        s.f->cells *= 2;
    }
    if (last && (s.f->blocks > MOST_BLOCKS || s.f->items > MOST_BLOCKS || s.f->cells > MOST_BYTES))
        aot_error(g, i, UINT32_MAX, TNB_UNSUPPORTED,
                  "it has too many pieces of memory for a list on the stack");
}

/* The last look at a function, behind those that it calls. */
static void
finish(aot_program *g, uint32_t i, uint32_t depth)
{
    aot_function *f = &g->functions[i];
    const tnb_tno_function *t = &g->p.functions[i];
    enum { DEEPEST = 200 };
    if (f->analyzed || depth > DEEPEST)
        return;
    for (uint32_t k = 0; k < t->n_insns; k++) {
        const tnb_vm_insn *in = &g->p.insns[t->first_insn + k];
        if (in->op == TNB_VM_CALL && in->b != i)
            finish(g, in->b, depth + 1);
    }
    if (f->analyzed)
        return;
    scan_function(g, i, true);
    f->analyzed = true;
}

void
aot_analyze(aot_program *g)
{
    g->functions = TNB_NEW_N(g->arena, aot_function, g->p.head.n_functions);
    for (uint32_t i = 0; i < g->p.head.n_functions; i++) {
        const tnb_tno_function *t = &g->p.functions[i];
        aot_function *f = &g->functions[i];
        f->params = TNB_NEW_N(g->arena, uint8_t, t->n_params + 1);
        f->scalars = TNB_NEW_N(g->arena, uint8_t, t->n_scalars + 1);
        f->marks = TNB_NEW_N(g->arena, uint8_t, t->n_insns + 1);
        f->sites = TNB_NEW_N(g->arena, uint32_t, t->n_insns + 1);
    }
    for (uint32_t i = 0; i < g->n_entries; i++) {
        aot_function *f = &g->functions[g->entries[i].function];
        f->reached = true;
        for (uint32_t k = 0; k < g->entries[i].n_inputs; k++)
            f->params[k] = g->entries[i].kinds[k] == AOT_KIND_TENSOR ? AOT_ELEMENTS : 0;
    }
    do {
        g->changed = false;
        for (uint32_t i = 0; i < g->p.head.n_functions; i++)
            if (g->functions[i].reached)
                scan_function(g, i, false);
    } while (g->changed);
    for (uint32_t i = 0; i < g->p.head.n_functions; i++)
        if (g->functions[i].reached)
            finish(g, i, 0);
}
