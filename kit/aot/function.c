/* SPDX-License-Identifier: Apache-2.0 */
/* A VM function as a C function. Registers are arrays `v` and `s`; jumps are gotos; each instruction is a statement.
 *
 *     ALLOCS v4, s0         TENON_TRY(2, tenon_alloc_storage(r, &v[4], s[0]));
 *     LAUNCH conv, v0 c7 v5 { static const tenon_param p[] = ...; TENON_TRY(3, tenon_launch(r, digits_conv, ...)); }
 *
 * A dry run (tenon_aot_run.h) leaves out what is marked (facts.c), and goes through both sides of a marked branch: the
 * registers are saved in front of the first side and restored behind it.
 */
#include "aot_private.h"

#include <inttypes.h>
#include <stdio.h>

/* A function being written. */
typedef struct writer {
    aot_program *g;
    tnb_buf *out;
    uint32_t function, n;
    const aot_function *f;
    const tnb_tno_function *t;
    const tnb_vm_insn *code;
    uint32_t at;    /* of the instruction */
    bool marked;    /* it is */
    uint32_t forks; /* branches of which a dry run goes through both sides */
    uint32_t *ends; /* by instruction: behind the second side of a fork; 0: it is none */
} writer;

uint32_t
aot_place(aot_program *g, const char *text)
{
    uintptr_t known = (uintptr_t)tnb_strmap_get(&g->place_of, text);
    if (known)
        return (uint32_t)known;
    tnb_strmap_set(&g->place_of, text, (void *)(uintptr_t)g->places.n);
    TNB_PUSH(g->arena, g->places, tnb_strdup(g->arena, text));
    return g->places.n - 1;
}

static const char *
operand(const writer *w, uint32_t o)
{
    tnb_arena *a = w->g->arena;
    uint32_t i = TNB_VM_OPERAND_INDEX(o);
    switch (TNB_VM_OPERAND_KIND(o)) {
    case TNB_VM_VALUE:
        return tnb_printf(a, "&v[%u]", i);
    case TNB_VM_CONST_:
        return tnb_printf(a, "&k[%u]", i);
    case TNB_VM_INT:
        return tnb_printf(a, "&(tenon_value){.tag = TV_INT, .u = {.i = s[%u]}}", i);
    default:
        return tnb_printf(a, "&(tenon_value){.tag = TV_FLOAT, .u = {.i = s[%u]}}", i);
    }
}

static uint32_t
listed(const writer *w, const tnb_vm_insn *in, uint32_t i)
{
    return w->g->p.operands[in->c + i];
}

/* "{&v[1], &k[2]}" of the operands from one on. */
static const char *
pointers(const writer *w, const tnb_vm_insn *in)
{
    tnb_buf b = {0};
    for (uint32_t i = 0; i < in->aux; i++)
        tnb_buf_printf(&b, "%s%s", i ? ", " : "{", operand(w, listed(w, in, i)));
    tnb_buf_puts(&b, in->aux ? "}" : "{NULL}");
    const char *s = tnb_strdup(w->g->arena, b.s ? b.s : "{NULL}");
    tnb_buf_free(&b);
    return s;
}

static const char *
scalars(const writer *w, const tnb_vm_insn *in, uint32_t from)
{
    tnb_buf b = {0};
    tnb_buf_puts(&b, "{");
    for (uint32_t i = from; i < in->aux; i++)
        tnb_buf_printf(&b, "%ss[%u]", i > from ? ", " : "", TNB_VM_OPERAND_INDEX(listed(w, in, i)));
    tnb_buf_puts(&b, in->aux > from ? "}" : "0}");
    const char *s = tnb_strdup(w->g->arena, b.s ? b.s : "{0}");
    tnb_buf_free(&b);
    return s;
}

static const char *
dtype(const writer *w, tnb_dtype d)
{
    return tnb_printf(w->g->arena, "{%u, %u, %u}", d.code, d.bits, d.lanes);
}

#define put(w, ...) tnb_buf_printf((w)->out, __VA_ARGS__)

static uint32_t
here(const writer *w)
{
    return aot_place(w->g, tnb_printf(w->g->arena, "function '%s'", w->g->p.text + w->t->name));
}

/* The text of an assertion without numbers. */
static const char *
without_numbers(const writer *w, const char *text)
{
    tnb_buf b = {0};
    for (const char *c = text; *c; c++)
        if ((c[0] == '{' && c[1] == '}') || (c[0] == '}' && c[1] == '}') ||
            (c[0] == '{' && c[1] == '{')) {
            tnb_buf_puts(&b, c[0] == '{' && c[1] == '}' ? "..." : (char[]){c[0], 0});
            c++;
        } else {
            tnb_buf_putc(&b, *c);
        }
    const char *s = tnb_strdup(w->g->arena, b.s ? b.s : "");
    tnb_buf_free(&b);
    return s;
}

/* ---- scalars ---- */

static const char *const int_ops[TNB_VM_N_OPS] = {
    [TNB_VM_ADD] = "(int64_t)((uint64_t)%s + (uint64_t)%s)",
    [TNB_VM_SUB] = "(int64_t)((uint64_t)%s - (uint64_t)%s)",
    [TNB_VM_MUL] = "(int64_t)((uint64_t)%s * (uint64_t)%s)",
    [TNB_VM_DIV] = "tenon_div(%s, %s)",
    [TNB_VM_MOD] = "tenon_mod(%s, %s)",
    [TNB_VM_FLOORDIV] = "tenon_floordiv(%s, %s)",
    [TNB_VM_FLOORMOD] = "tenon_floormod(%s, %s)",
    [TNB_VM_DIVU] = "(int64_t)((uint64_t)%s / (uint64_t)%s)",
    [TNB_VM_MODU] = "(int64_t)((uint64_t)%s %% (uint64_t)%s)",
    [TNB_VM_AND] = "(%s & %s)",
    [TNB_VM_OR] = "(%s | %s)",
    [TNB_VM_XOR] = "(%s ^ %s)",
    [TNB_VM_SHL] = "(int64_t)((uint64_t)%s << (%s & 63))",
    [TNB_VM_SHR] = "(%s >> (%s & 63))",
    [TNB_VM_SHRU] = "(int64_t)((uint64_t)%s >> (%s & 63))",
    [TNB_VM_EQ] = "(%s == %s)",
    [TNB_VM_NE] = "(%s != %s)",
    [TNB_VM_LT] = "(%s < %s)",
    [TNB_VM_LE] = "(%s <= %s)",
    [TNB_VM_LTU] = "((uint64_t)%s < (uint64_t)%s)",
    [TNB_VM_LEU] = "((uint64_t)%s <= (uint64_t)%s)",
    [TNB_VM_FADD] = "tenon_bits(tenon_f(%s) + tenon_f(%s))",
    [TNB_VM_FSUB] = "tenon_bits(tenon_f(%s) - tenon_f(%s))",
    [TNB_VM_FMUL] = "tenon_bits(tenon_f(%s) * tenon_f(%s))",
    [TNB_VM_FDIV] = "tenon_bits(tenon_f(%s) / tenon_f(%s))",
    [TNB_VM_FEQ] = "(tenon_f(%s) == tenon_f(%s))",
    [TNB_VM_FNE] = "(tenon_f(%s) != tenon_f(%s))",
    [TNB_VM_FLT] = "(tenon_f(%s) < tenon_f(%s))",
    [TNB_VM_FLE] = "(tenon_f(%s) <= tenon_f(%s))",
};
/* of which either operand is the result */
static const char *const choices[TNB_VM_N_OPS] = {
    [TNB_VM_MIN] = "s[%u] < s[%u]",
    [TNB_VM_MAX] = "s[%u] > s[%u]",
    [TNB_VM_MINU] = "(uint64_t)s[%u] < (uint64_t)s[%u]",
    [TNB_VM_MAXU] = "(uint64_t)s[%u] > (uint64_t)s[%u]",
    [TNB_VM_FMIN] = "tenon_f(s[%u]) < tenon_f(s[%u])",
    [TNB_VM_FMAX] = "tenon_f(s[%u]) > tenon_f(s[%u])",
};
static const char *const fits[TNB_VM_N_OPS] = {
    [TNB_VM_ADDFIT] = "add",
    [TNB_VM_SUBFIT] = "sub",
    [TNB_VM_MULFIT] = "mul",
};
static const char *const maths[] = {
#define X(name, n) [TNB_VM_MATH_##name] = #name,
    TNB_VM_MATHS(X)
#undef X
};

static const char *
math_name(uint32_t id)
{
    switch (id) {
    case TNB_VM_MATH_rsqrt:
        return "tenon_rsqrt";
    case TNB_VM_MATH_sigmoid:
        return "tenon_sigmoid";
    case TNB_VM_MATH_ldexp:
        return "tenon_ldexp";
    case TNB_VM_MATH_exp10:
        return "pow(10, ";
    case TNB_VM_MATH_isnan:
        return "0 != isnan";
    case TNB_VM_MATH_isinf:
        return "0 != isinf";
    case TNB_VM_MATH_isfinite:
        return "0 != isfinite";
    default:
        return maths[id];
    }
}

static const char *
reg(const writer *w, uint32_t i)
{
    return tnb_printf(w->g->arena, "s[%u]", i);
}

/* Divisions fail for a divisor of 0; in a dry run one that is not known gives 0. */
static void
divisor(writer *w, const tnb_vm_insn *in)
{
    if (in->op != TNB_VM_DIV && in->op != TNB_VM_MOD && in->op != TNB_VM_FLOORDIV &&
        in->op != TNB_VM_FLOORMOD && in->op != TNB_VM_DIVU && in->op != TNB_VM_MODU)
        return;
    if (w->marked)
        put(w, "if (r->dry && !s[%u]) { s[%u] = 1; } ", in->c, in->c);
    put(w, "if (!s[%u]) { TENON_TRY(%u, TENON_INVALID); } ", in->c, here(w));
}

static void
rounded(writer *w, const tnb_vm_insn *in)
{
    tnb_dtype d = tnb_vm_to_dtype(in->aux);
    if (d.code == TNB_FLOAT && d.bits == 32)
        put(w, "s[%u] = tenon_bits((float)tenon_f(s[%u]));", in->a, in->b);
    else if (d.code == TNB_FLOAT && d.bits == 64)
        put(w, "s[%u] = s[%u];", in->a, in->b);
    else
        aot_error(w->g, w->function, w->at, TNB_UNSUPPORTED,
                  "a scalar of the host is rounded to %s, which has no form in C",
                  tnb_dtype_print((tnb_dtype){d.code, d.bits, 1}).s);
}

/* False: it is no instruction on scalars alone. */
static bool
scalar(writer *w, const tnb_vm_insn *in)
{
    if (int_ops[in->op]) {
        divisor(w, in);
        put(w, "s[%u] = ", in->a);
        const char *b = reg(w, in->b), *c = reg(w, in->c), *f = int_ops[in->op];
        for (int k = 0; *f; f++) /* "%s" twice */
            if (f[0] == '%' && f[1] == 's') {
                put(w, "%s", k++ ? c : b);
                f++;
            } else if (f[0] == '%') {
                put(w, "%%");
                f++;
            } else {
                put(w, "%c", *f);
            }
        put(w, ";");
        return true;
    }
    if (choices[in->op]) {
        put(w, "s[%u] = ", in->a);
        const char *f = choices[in->op];
        for (int k = 0; *f; f++)
            if (f[0] == '%') {
                put(w, "%u", k++ ? in->c : in->b);
                f++;
            } else {
                put(w, "%c", *f);
            }
        if (in->op == TNB_VM_FMIN || in->op == TNB_VM_FMAX)
            put(w, " || isnan(tenon_f(s[%u]))", in->b);
        put(w, " ? s[%u] : s[%u];", in->b, in->c);
        return true;
    }
    if (fits[in->op]) {
        put(w, "if (__builtin_%s_overflow(s[%u], s[%u], &t)) ", fits[in->op], in->b, in->c);
        if (in->aux)
            put(w, "{ goto L%u; } ", w->at + in->aux);
        else
            put(w, "{ TENON_TRY(%u, TENON_SHAPE); } ", here(w));
        put(w, "s[%u] = t;", in->a);
        return true;
    }
    switch (in->op) {
    case TNB_VM_NOP:
        put(w, ";");
        return true;
    case TNB_VM_LDI: {
        int64_t v = (int64_t)((uint64_t)in->c << 32 | in->b);
        if (v == INT64_MIN)
            put(w, "s[%u] = INT64_MIN;", in->a);
        else
            put(w, "s[%u] = %" PRId64 ";", in->a, v);
        return true;
    }
    case TNB_VM_MOVS:
        put(w, "s[%u] = s[%u];", in->a, in->b);
        return true;
    case TNB_VM_NOT:
        put(w, "s[%u] = s[%u] == 0;", in->a, in->b);
        return true;
    case TNB_VM_EXT:
        put(w, "s[%u] = tenon_extend(s[%u], %u, %d);", in->a, in->b, in->aux & 255u,
            in->aux >> 8 & 1);
        return true;
    case TNB_VM_FROUND:
        rounded(w, in);
        return true;
    case TNB_VM_I2F:
        put(w, "s[%u] = tenon_bits((double)s[%u]);", in->a, in->b);
        return true;
    case TNB_VM_U2F:
        put(w, "s[%u] = tenon_bits((double)(uint64_t)s[%u]);", in->a, in->b);
        return true;
    case TNB_VM_F2I:
        put(w, "s[%u] = tenon_f2i(tenon_f(s[%u]));", in->a, in->b);
        return true;
    case TNB_VM_F2U:
        put(w, "s[%u] = tenon_f2u(tenon_f(s[%u]));", in->a, in->b);
        return true;
    case TNB_VM_FMATH1:
        put(w,
            in->aux == TNB_VM_MATH_exp10 ? "s[%u] = tenon_bits(%stenon_f(s[%u])));"
                                         : "s[%u] = tenon_bits(%s(tenon_f(s[%u])));",
            in->a, math_name(in->aux), in->b);
        return true;
    case TNB_VM_FMATH2:
        put(w, "s[%u] = tenon_bits(%s(tenon_f(s[%u]), tenon_f(s[%u])));", in->a, math_name(in->aux),
            in->b, in->c);
        return true;
    case TNB_VM_SEL:
        put(w, "s[%u] = s[%u] ? s[%u] : s[%u];", in->a, in->a, in->b, in->c);
        return true;
    case TNB_VM_FIT:
        put(w, "if (tenon_extend(s[%u], %u, 1) != s[%u]) ", in->b, in->aux, in->b);
        if (in->c)
            put(w, "{ goto L%u; } ", w->at + in->c);
        else
            put(w, "{ TENON_TRY(%u, TENON_SHAPE); } ", here(w));
        put(w, "s[%u] = s[%u];", in->a, in->b);
        return true;
    default:
        return false;
    }
}

/* ---- control ---- */

/* Whether the instruction at `i` is a branch of which a dry run goes through both sides. */
static bool
is_fork(const writer *w, uint32_t i)
{
    const tnb_vm_insn *in = &w->code[i];
    return in->op == TNB_VM_JZ && w->f->marks[i] && w->f->sites[aot_target(in, i)] == i + 1;
}

/* Where the sides of a fork meet; the function's end where the first one returns. */
static uint32_t
meeting(const writer *w, uint32_t fork)
{
    const tnb_vm_insn *end = &w->code[aot_target(&w->code[fork], fork) - 1];
    return end->op == TNB_VM_JMP ? end->a : w->n;
}

/* Behind the last instruction of a side. */
static uint32_t
end_of(const writer *w, uint32_t side)
{
    uint32_t fork = (side - 1) / 2;
    return side ? side % 2 ? aot_target(&w->code[fork], fork) : w->ends[fork] : w->n;
}

/* The number of the innermost side that the instruction belongs to: twice the fork + 1, or + 2 for its second side; 0: none. */
static uint32_t
side_of(const writer *w, uint32_t at)
{
    for (uint32_t i = at; i-- > 0;)
        if (at < w->ends[i])
            return 2 * i + (at < aot_target(&w->code[i], i) ? 1 : 2);
    return 0;
}

/* w->ends, in order, as those of the forks around a fork have to be known. */
static void
find_ends(writer *w)
{
    w->ends = TNB_NEW_N(w->g->arena, uint32_t, w->n + 1);
    for (uint32_t i = 0; i < w->n; i++) {
        if (!is_fork(w, i))
            continue;
        /* the first side may go straight to where the sides around meet */
        uint32_t around = end_of(w, side_of(w, i)), meet = meeting(w, i);
        w->ends[i] = meet < around ? meet : around;
    }
}

/* How the first side of a fork ended in a dry run. */
enum { FAILED, JUMPED, RETURNED };

/* Behind the first side of a fork in a dry run: what was in the registers before. */
static bool
restores(writer *w, int ended)
{
    if (!w->f->sites[w->at + 1])
        return false;
    uint32_t fork = w->f->sites[w->at + 1] - 1, n = w->t->n_values;
    if (ended == JUMPED)
        put(w, "tenon_save(r, v, after%u, %u); ", fork, n);
    put(w, "tenon_restore(r, v, saved%u, %u); ended%u = %d; side = %u;", fork, n, fork, ended,
        2 * fork + 2);
    return true;
}

/* Where sides meet. */
static void
joins(writer *w)
{
    for (uint32_t i = 0; i < w->at; i++)
        if (is_fork(w, i) && meeting(w, i) == w->at)
            put(w, "    if (r->dry) { tenon_drop_all(r, after%u, %u); side = %u; }\n", i,
                w->t->n_values, side_of(w, w->at));
}

/* What a dry run does behind a fork of which the first side ended so, and the second one failed: with what the first side left. */
static void
goes_on(writer *w, uint32_t fork, int ended)
{
    uint32_t n = w->t->n_values, meet = ended == JUMPED ? meeting(w, fork) : w->n,
             side = side_of(w, fork);
    if (ended == JUMPED)
        put(w, "tenon_restore(r, v, after%u, %u); ", fork, n);
    while (side && meet >= end_of(w, side) && side % 2 == 0)
        side = side_of(w, side / 2 - 1);
    if (side && meet >= end_of(w, side)) { /* the first side of another fork ends here */
        uint32_t outer = side / 2;
        if (ended == JUMPED)
            put(w, "tenon_save(r, v, after%u, %u); ", outer, n);
        put(w, "tenon_restore(r, v, saved%u, %u); ended%u = %d; side = %u; goto L%u;", outer, n,
            outer, ended, 2 * outer + 2, aot_target(&w->code[outer], outer));
    } else if (meet < w->n) {
        put(w, "side = %u; goto L%u;", side, meet);
    } else {
        put(w, "goto done;");
    }
}

/* A side that fails in a dry run may be the one that is not taken: the other one counts. Where both fail, so does what is around. */
static void
failures(writer *w)
{
    uint32_t n = w->t->n_values;
    put(w, "failed:\n    __attribute__((unused));\n");
    if (w->forks)
        put(w, "    switch (r->dry ? side : 0) {\n");
    for (uint32_t i = 0; i < w->n; i++) {
        if (!is_fork(w, i))
            continue;
        put(w,
            "    case %u:\n        tenon_restore(r, v, saved%u, %u);\n        ended%u = %d;\n"
            "        side = %u;\n        goto L%u;\n",
            2 * i + 1, i, n, i, FAILED, 2 * i + 2, aot_target(&w->code[i], i));
        int ended = meeting(w, i) < w->n ? JUMPED : RETURNED;
        put(w, "    case %u:\n        if (ended%u == %d) { ", 2 * i + 2, i, ended);
        goes_on(w, i, ended);
        put(w, " }\n        side = %u;\n        goto failed;\n", side_of(w, i));
    }
    if (w->forks)
        put(w, "    }\n");
    put(w, "    return code;\n}\n\n");
}

static void
jump_if(writer *w, const tnb_vm_insn *in)
{
    uint32_t to = aot_target(in, w->at);
    if (is_fork(w, w->at))
        put(w, "if (r->dry) { tenon_save(r, v, saved%u, %u); side = %u; } else ", w->at,
            w->t->n_values, 2 * w->at + 1);
    else if (w->marked)
        put(w, "if (!r->dry) ");
    switch (in->op) {
    case TNB_VM_JZ:
        put(w, "{ if (!s[%u]) goto L%u; }", in->a, to);
        return;
    case TNB_VM_JNZ:
        put(w, "{ if (s[%u]) goto L%u; }", in->a, to);
        return;
    case TNB_VM_JLT:
        put(w, "{ if (s[%u] < s[%u]) goto L%u; }", in->a, in->b, to);
        return;
    default:
        put(w, "{ if (s[%u] >= s[%u]) goto L%u; }", in->a, in->b, to);
    }
}

static void
jump(writer *w, const tnb_vm_insn *in)
{
    if (!w->marked) {
        put(w, "goto L%u;", in->a);
        return;
    }
    put(w, "if (!r->dry) { goto L%u; } ", in->a);
    (void)restores(w, JUMPED);
}

static void
give_back(writer *w, const tnb_vm_insn *in)
{
    put(w, "tenon_set(r, ret, v[%u]); v[%u].tag = TV_NULL; v[%u].block = 0; ", in->a, in->a, in->a);
    if (w->f->sites[w->at + 1]) {
        put(w, "if (!r->dry) { goto done; } ");
        (void)restores(w, RETURNED);
    } else {
        put(w, "goto done;");
    }
}

/* A dry run takes a loop whose end is not known three times: what a turn leaves in memory is there in the next one. */
static void
tail(writer *w, const tnb_vm_insn *in)
{
    uint32_t n = w->t->n_params;
    if (w->marked)
        put(w, "if (!r->dry || turns%u++ < 2) ", w->at);
    put(w, "{ tenon_value a[%u]; ", n ? n : 1);
    for (uint32_t i = 0; i < n; i++)
        put(w, "a[%u] = tenon_keep(r, %s); ", i, operand(w, listed(w, in, i)));
    if (w->marked)
        put(w, "if (r->dry && turns%u > 1) { TENON_TRY(%u, tenon_grows(v, a, %u)); } ", w->at,
            here(w), n);
    put(w, "tenon_drop_all(r, v, %u); memcpy(v, a, %u * sizeof *v); %sgoto L0; } ", w->t->n_values,
        n, w->forks ? "side = 0; " : "");
    if (!w->marked)
        return;
    if (!restores(w, FAILED))
        put(w, "goto done;");
}

static void
assertion(writer *w, const tnb_vm_insn *in)
{
    uint32_t place = aot_place(w->g, without_numbers(w, w->g->p.text + in->b));
    put(w, "if (%s!s[%u]) { TENON_TRY(%u, TENON_INVALID); }", w->marked ? "!r->dry && " : "", in->a,
        place);
}

/* ---- values ---- */

static void
launch(writer *w, const tnb_vm_insn *in)
{
    const tnb_tno_kernel *k = &w->g->p.kernels[in->b];
    const uint32_t *list = w->g->p.operands + in->c;
    const char *name = w->g->p.text + k->name;
    tnb_buf params = {0}, args = {0}, numbers = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->n_params; i++) {
        const tnb_tno_param *p = &w->g->p.params[k->first_param + i];
        if (p->kind == TNB_PARAM_BUFFER) {
            tnb_buf_printf(&params, "%s{%d, %d, %s}", n ? ", " : "", p->ndim,
                           p->flags & TNB_TNO_WRITTEN, dtype(w, p->dtype));
            tnb_buf_printf(&args, "%s%s", n++ ? ", " : "", operand(w, *list));
        } else if (p->kind == TNB_PARAM_SCALAR) {
            tnb_buf_printf(&numbers, "%s{.i = s[%u]}", numbers.n ? ", " : "",
                           TNB_VM_OPERAND_INDEX(*list));
        }
        list += tnb_tno_operands(p);
    }
    const char *checks = k->checks ? w->g->p.text + k->checks : "";
    uint32_t place =
        aot_place(w->g, *checks ? tnb_printf(w->g->arena, "kernel '%s': one of: %s", name, checks)
                                : tnb_printf(w->g->arena, "kernel '%s'", name));
    tnb_buf *o = w->out;
    tnb_buf_printf(o,
                   "{ static const tenon_param p[] = {%s}; const tenon_value *const a[] = {%s}; ",
                   n ? params.s : "{0}", n ? args.s : "NULL");
    tnb_buf_printf(o, "void *b[%u]; const tnb_kernel_scalar c[] = {%s}; ", n ? n : 1,
                   numbers.n ? numbers.s : "{0}");
    tnb_buf_printf(o, "TENON_TRY(%u, tenon_launch(r, %s, a, p, %u, b, c, %u)); }", place, name, n,
                   aot_asks(w->g, name));
    w->out->failed |= params.failed || args.failed || numbers.failed;
    tnb_buf_free(&params);
    tnb_buf_free(&args);
    tnb_buf_free(&numbers);
}

static void
call_packed(writer *w, const tnb_vm_insn *in)
{
    const aot_packed *p = aot_packed_find(w->g->p.text + w->g->p.packed[in->b]);
    uint32_t place = here(w), last = in->aux ? listed(w, in, in->aux - 1u) : 0;
    const tnb_tno_constant *c = in->aux && TNB_VM_OPERAND_KIND(last) == TNB_VM_CONST_
                                    ? &w->g->p.constants[TNB_VM_OPERAND_INDEX(last)]
                                    : NULL;
    if (c && c->kind == TNB_TNO_STRING) /* what it checks */
        place = aot_place(w->g, without_numbers(w, w->g->p.text + c->data));
    tnb_buf_printf(
        w->out, "{ const tenon_value *const a[] = %s; TENON_TRY(%u, %s(r, &v[%u], a, %u, %s)); }",
        pointers(w, in), place, p->function, in->a, in->aux, w->marked ? "r->dry" : "0");
}

static void
call(writer *w, const tnb_vm_insn *in)
{
    put(w, "{ tenon_value x = {0}, a[%u]; ", in->aux ? in->aux : 1u);
    for (uint32_t i = 0; i < in->aux; i++)
        put(w, "a[%u] = *%s; ", i, operand(w, listed(w, in, i)));
    put(w, "%sTENON_TRY(0, f%u(r, a, &x)); tenon_set(r, &v[%u], x); }", in->aux ? "" : "(void)a; ",
        in->b, in->a);
}

static void
alloc_tensor(writer *w, const tnb_vm_insn *in)
{
    uint32_t offset = TNB_VM_OPERAND_INDEX(listed(w, in, 1));
    const char *d = dtype(w, tnb_vm_to_dtype(in->b)), *storage = operand(w, listed(w, in, 0));
    if (in->aux == 3 && TNB_VM_OPERAND_KIND(listed(w, in, 2)) != TNB_VM_INT) {
        const char *shape = operand(w, listed(w, in, 2));
        put(w,
            "TENON_TRY(%u, tenon_alloc_tensor(r, &v[%u], %s, s[%u], (%s)->dims, (%s)->ndim, "
            "(tenon_dtype)%s));",
            here(w), in->a, storage, offset, shape, shape, d);
        return;
    }
    tnb_buf_printf(
        w->out,
        "{ const int64_t d[] = %s; TENON_TRY(%u, tenon_alloc_tensor(r, &v[%u], %s, s[%u], d, %d, "
        "(tenon_dtype)%s)); }",
        scalars(w, in, 2), here(w), in->a, storage, offset, in->aux - 2, d);
}

/* In a dry run an element that is not known reads as 0; nothing is stored. */
static void
element(writer *w, const tnb_vm_insn *in, const char *function, bool stores)
{
    tnb_dtype d = tnb_vm_to_dtype(in->aux);
    d.lanes = 1;
    if (w->marked && stores)
        put(w, "if (!r->dry) ");
    else if (w->marked)
        put(w, "if (r->dry) s[%u] = 0; else ", in->a);
    put(w, "TENON_TRY(%u, %s(&v[%u], s[%u], (tenon_dtype)%s, %ss[%u]));", here(w), function, in->b,
        in->c, dtype(w, d), stores ? "" : "&", in->a);
}

static void
unbox(writer *w, const tnb_vm_insn *in, const char *function)
{
    if (w->marked)
        put(w, "if (r->dry) s[%u] = 0; else ", in->a);
    put(w, "TENON_TRY(%u, %s(&v[%u], &s[%u]));", here(w), function, in->b, in->a);
}

static void
value(writer *w, const tnb_vm_insn *in)
{
    switch (in->op) {
    case TNB_VM_KILL:
        put(w, "tenon_drop(r, &v[%u]);", in->a);
        break;
    case TNB_VM_MOVV:
        put(w, "tenon_set(r, &v[%u], tenon_keep(r, &v[%u]));", in->a, in->b);
        break;
    case TNB_VM_CONST:
        put(w, "tenon_set(r, &v[%u], k[%u]);", in->a, in->b);
        break;
    case TNB_VM_BOXI:
    case TNB_VM_BOXF:
    case TNB_VM_BOXB:
        put(w, "tenon_set(r, &v[%u], tenon_boxed(TV_%s, s[%u]%s));", in->a,
            in->op == TNB_VM_BOXI   ? "INT"
            : in->op == TNB_VM_BOXF ? "FLOAT"
                                    : "BOOL",
            in->b, in->op == TNB_VM_BOXB ? " != 0" : "");
        break;
    case TNB_VM_UNBOXI:
        unbox(w, in, "tenon_unboxi");
        break;
    case TNB_VM_UNBOXF:
        unbox(w, in, "tenon_unboxf");
        break;
    case TNB_VM_TRUTH:
        unbox(w, in, "tenon_truth");
        break;
    case TNB_VM_SHAPE:
        tnb_buf_printf(w->out,
                       "{ const int64_t d[] = %s; TENON_TRY(%u, tenon_shape(r, &v[%u], d, %u)); }",
                       scalars(w, in, 0), here(w), in->a, in->aux);
        break;
    case TNB_VM_DIM:
        put(w, "TENON_TRY(%u, tenon_dim(&v[%u], %u, &s[%u]));", here(w), in->b, in->c, in->a);
        break;
    case TNB_VM_STRIDE:
        put(w, "TENON_TRY(%u, tenon_stride(&v[%u], %u, &s[%u]));", here(w), in->b, in->c, in->a);
        break;
    case TNB_VM_TUPLE:
        tnb_buf_printf(w->out,
                       "{ const tenon_value *const a[] = %s; TENON_TRY(%u, tenon_make_tuple(r, "
                       "&v[%u], a, %u)); }",
                       pointers(w, in), here(w), in->a, in->aux);
        break;
    case TNB_VM_GET:
        put(w, "TENON_TRY(%u, tenon_get(r, &v[%u], &v[%u], %u));", here(w), in->a, in->b, in->c);
        break;
    case TNB_VM_LOADI:
        element(w, in, "tenon_loadi", false);
        break;
    case TNB_VM_LOADF:
        element(w, in, "tenon_loadf", false);
        break;
    case TNB_VM_STOREI:
        element(w, in, "tenon_storei", true);
        break;
    case TNB_VM_STOREF:
        element(w, in, "tenon_storef", true);
        break;
    case TNB_VM_ALLOCS:
        put(w, "TENON_TRY(%u, tenon_alloc_storage(r, &v[%u], s[%u]));", here(w), in->a, in->b);
        break;
    case TNB_VM_ALLOCT:
        alloc_tensor(w, in);
        break;
    case TNB_VM_HOSTT:
        tnb_buf_printf(
            w->out,
            "{ const int64_t d[] = %s; TENON_TRY(%u, tenon_host_tensor(r, &v[%u], d, %u, "
            "(tenon_dtype)%s)); }",
            scalars(w, in, 0), here(w), in->a, in->aux, dtype(w, tnb_vm_to_dtype(in->b)));
        break;
    default:
        aot_error(w->g, w->function, w->at, TNB_UNSUPPORTED, "it has no form in C");
    }
}

static void
instruction(writer *w)
{
    const tnb_vm_insn *in = &w->code[w->at];
    switch (in->op) {
    case TNB_VM_JMP:
        jump(w, in);
        break;
    case TNB_VM_JZ:
    case TNB_VM_JNZ:
    case TNB_VM_JLT:
    case TNB_VM_JGE:
        jump_if(w, in);
        break;
    case TNB_VM_ASSERT:
        assertion(w, in);
        break;
    case TNB_VM_TAIL:
        tail(w, in);
        break;
    case TNB_VM_RET:
        give_back(w, in);
        break;
    case TNB_VM_CALL:
        call(w, in);
        break;
    case TNB_VM_CALLP:
        call_packed(w, in);
        break;
    case TNB_VM_LAUNCH:
        launch(w, in);
        break;
    default:
        if (!scalar(w, in))
            value(w, in);
    }
}

static void
locals(writer *w)
{
    uint32_t n = w->t->n_params;
    put(w, "    tenon_value v[%u] = {0};\n    int64_t s[%u] = {0}, t = 0;\n    int code = 0;\n",
        w->t->n_values ? w->t->n_values : 1, w->t->n_scalars ? w->t->n_scalars : 1);
    for (uint32_t i = 0; i < w->n; i++) {
        const tnb_vm_insn *in = &w->code[i];
        uint32_t values = w->t->n_values ? w->t->n_values : 1;
        if (is_fork(w, i))
            put(w,
                "    %stenon_value saved%u[%u] = {0};\n    TENON_UNUSED tenon_value after%u[%u] = "
                "{0};\n    int ended%u = 0;\n",
                w->forks++ ? "" : "uint32_t side = 0;\n    ", i, values, i, values, i);
        if (in->op == TNB_VM_TAIL && w->f->marks[i])
            put(w, "    int turns%u = 0;\n", i);
    }
    put(w, "    (void)s, (void)t, (void)args, (void)ret%s;\n", w->forks ? ", (void)side" : "");
    for (uint32_t i = 0; i < n; i++)
        put(w, "    v[%u] = tenon_keep(r, &args[%u]);\n", i, i);
}

void
aot_write_function(aot_program *g, uint32_t function, tnb_buf *out)
{
    const tnb_tno_function *t = &g->p.functions[function];
    writer w = {.g = g,
                .out = out,
                .function = function,
                .n = t->n_insns,
                .f = &g->functions[function],
                .t = t,
                .code = g->p.insns + t->first_insn};
    bool *labels = TNB_NEW_N(g->arena, bool, t->n_insns + 1);
    for (uint32_t i = 0; i < t->n_insns; i++) {
        uint32_t to = aot_target(&w.code[i], i);
        if (to != UINT32_MAX)
            labels[to] = true;
    }
    put(&w,
        "/* %s */\nstatic int\nf%u(tenon_run *r, const tenon_value *args, tenon_value *ret)\n{\n",
        tnk_aot_identifier(g->ctx, g->p.text + t->name), function);
    find_ends(&w);
    locals(&w);
    for (w.at = 0; w.at < t->n_insns; w.at++) {
        w.marked = w.f->marks[w.at];
        if (labels[w.at]) {
            put(&w, "L%u:\n", w.at);
            joins(&w);
        }
        put(&w, "    ");
        instruction(&w);
        put(&w, "\n");
    }
    put(&w,
        "done:\n    __attribute__((unused));\n    tenon_drop_all(r, v, %u);\n    return "
        "TENON_OK;\n",
        t->n_values);
    failures(&w);
}
