/* SPDX-License-Identifier: Apache-2.0 */
/* Which handler an instruction has, by its text: first those whose modifiers decide on how they are decoded, then the tables of
 * forms. */
#include "config.h"

#include "decode.h"

/* ORDER SIM_TYPE */
static const struct {
    const char *name;
    uint32_t bytes;
} types[SIM_N_TYPES] = {{"b8", 1},  {"b16", 2}, {"b32", 4},   {"b64", 8},    {"b128", 16},
                        {"u8", 1},  {"u16", 2}, {"u32", 4},   {"u64", 8},    {"s8", 1},
                        {"s16", 2}, {"s32", 4}, {"s64", 8},   {"f16", 2},    {"bf16", 2},
                        {"f32", 4}, {"f64", 8}, {"f16x2", 4}, {"bf16x2", 4}, {"tf32", 4}};

sim_type
sim_type_of(const char *name)
{
    int t = 0;
    while (t < SIM_N_TYPES && strcmp(types[t].name, name) != 0)
        t++;
    return (sim_type)t;
}

uint32_t
sim_type_bytes(sim_type t)
{
    return types[t].bytes;
}

_Noreturn static void
unknown(sim_decoder *d)
{
    sim_decode_fail(d, TNB_UNSUPPORTED, "instruction '%s' is not known to the simulated device",
                    d->ptx->text);
}

static bool
is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool
one_of(const char *word, const char *list) /* words, a space behind each */
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ' ') && at[n] == ' ')
            return true;
    return false;
}

/* Notes a modifier that many instructions have; false if it is none. */
static bool
modifier(const char *word, sim_insn *i)
{
    static const struct {
        const char *word;
        uint32_t flag;
        sim_round round;
    } words[] = {{"rn", SIM_ROUNDED, SIM_NEAREST},
                 {"rz", SIM_ROUNDED, SIM_ZERO},
                 {"rm", SIM_ROUNDED, SIM_DOWN},
                 {"rp", SIM_ROUNDED, SIM_UP},
                 {"rna", SIM_ROUNDED, SIM_AWAY},
                 {"rni", SIM_INTEGRAL, SIM_NEAREST},
                 {"rzi", SIM_INTEGRAL, SIM_ZERO},
                 {"rmi", SIM_INTEGRAL, SIM_DOWN},
                 {"rpi", SIM_INTEGRAL, SIM_UP},
                 {"ftz", SIM_FTZ, 0},
                 {"sat", SIM_SAT, 0},
                 {"satfinite", SIM_SAT, 0},
                 {"approx", SIM_APPROX, 0},
                 {"full", SIM_APPROX, 0},
                 {"NaN", SIM_NAN, 0},
                 {"aligned", SIM_ALIGNED, 0},
                 {"relu", SIM_RELU, 0}};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (is(words[w].word, word)) {
            i->flags |= words[w].flag;
            if (words[w].flag & (SIM_ROUNDED | SIM_INTEGRAL))
                i->round = (uint8_t)words[w].round;
            return true;
        }
    if (one_of(word, "relaxed acquire release acq_rel volatile mmio "))
        i->flags |= SIM_STRONG;
    if (one_of(word,
               "relaxed acquire release acq_rel sc cta gpu sys cluster volatile mmio weak nc uni "
               "noftz ") ||
        strncmp(word, "L1::", 4) == 0 || strncmp(word, "L2::", 4) == 0) {
        i->flags |= SIM_ORDER;
        return true;
    }
    return false;
}

static bool
space(const char *word, uint8_t *out)
{
    static const char *const names[] = {"", "global", "shared", "const", "local", "param"};
    for (uint8_t s = PTX_GLOBAL; s <= PTX_PARAM; s++) {
        size_t n = strlen(names[s]);
        if (strncmp(names[s], word, n) == 0 &&
            (!word[n] || is(word + n, "::cta") || is(word + n, "::entry") ||
             is(word + n, "::func"))) {
            *out = s;
            return true;
        }
    }
    return false;
}

static void
expect_operands(sim_decoder *d, uint32_t least, uint32_t most)
{
    if (d->ptx->n_operands < least || d->ptx->n_operands > most)
        sim_decode_fail(d, TNB_FORMAT, "'%s' has %u operands", d->ptx->text, d->ptx->n_operands);
}

/* ---- loads and stores ---- */

static void
memory_modifiers(sim_decoder *d, sim_insn *i)
{
    const ptx_instruction *p = d->ptx;
    i->space = SIM_GENERIC;
    i->n_vector = 1;
    for (uint32_t k = 1; k + 1 < p->n_parts; k++) {
        const char *word = p->part[k];
        if (space(word, &i->space) || modifier(word, i))
            continue;
        if (one_of(word, "v2 v4 v8 "))
            i->n_vector = (uint8_t)(word[1] - '0');
        else if (!one_of(word, "ca cg cs lu cv wb wt unified mmio "))
            unknown(d);
    }
    i->type = (uint8_t)sim_type_of(p->part[p->n_parts - 1]);
    if (i->type == SIM_N_TYPES)
        unknown(d);
    i->bytes = (uint8_t)sim_type_bytes(i->type);
}

static void
push_vector(sim_decoder *d, sim_insn *i, const ptx_operand *o)
{
    uint32_t n = o->kind == PTX_VECTOR ? o->n_items : 1;
    if (n != i->n_vector)
        sim_decode_fail(d, TNB_FORMAT, "'%s' has a vector of %u", d->ptx->text, n);
    for (uint32_t k = 0; k < n; k++) {
        sim_push(d, i, o->kind == PTX_VECTOR ? &o->items[k] : o, 0, i->bytes < 2 ? 2 : i->bytes);
        if (i->width[i->n_ref - 1] < i->bytes)
            sim_decode_fail(d, TNB_FORMAT, "'%s': a register is too narrow", d->ptx->text);
    }
}

static void
load(sim_decoder *d)
{
    sim_insn *i = sim_new_insn(d, sim_op_load, SIM_PLAIN);
    expect_operands(d, 2, 3);
    memory_modifiers(d, i);
    push_vector(d, i, &d->ptx->operands[0]);
    i->n_out = i->n_vector;
    sim_push_address(d, i, &d->ptx->operands[1]);
    if (i->space == PTX_PARAM && i->address == SIM_NONE)
        i->run = sim_op_load_param;
    sim_append(d, i);
}

static void
store(sim_decoder *d)
{
    sim_insn *i = sim_new_insn(d, sim_op_store, SIM_PLAIN);
    expect_operands(d, 2, 3);
    memory_modifiers(d, i);
    push_vector(d, i, &d->ptx->operands[1]);
    sim_push_address(d, i, &d->ptx->operands[0]);
    sim_append(d, i);
}

/* ORDER ATOMIC */
static const char *const atomic_words = "add and or xor exch cas min max inc dec ";

/* atom.….op.type d, [a], b{, c}; red.….op.type [a], b */
static void
atomic(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    const ptx_operand *o = p->operands;
    bool red = is(p->part[0], "red");
    sim_insn *i = sim_new_insn(d, sim_op_atomic, SIM_PLAIN);
    i->space = SIM_GENERIC;
    i->n_out = 1;
    i->from = UINT8_MAX;
    i->flags |= SIM_STRONG;
    for (uint32_t k = 1; k + 1 < p->n_parts; k++) {
        if (space(p->part[k], &i->space) || modifier(p->part[k], i))
            continue;
        if (!one_of(p->part[k], atomic_words))
            unknown(d);
        i->from = 0;
        for (const char *at = atomic_words; strncmp(at, p->part[k], strlen(p->part[k])) != 0;
             at = strchr(at, ' ') + 1)
            i->from++;
    }
    i->type = (uint8_t)sim_type_of(p->part[p->n_parts - 1]);
    if (i->from == UINT8_MAX || i->type >= SIM_N_TYPES)
        unknown(d);
    i->bytes = (uint8_t)sim_type_bytes(i->type);
    bool cas = is(p->part[p->n_parts - 2], "cas");
    if (i->bytes > 8 || i->bytes < 2)
        unknown(d);
    expect_operands(d, 3 - red + cas, 3 - red + cas);
    if (red)
        sim_push_ref(d, i, d->sink, i->bytes);
    else
        sim_push(d, i, &o[0], i->bytes, i->bytes);
    sim_push(d, i, &o[2 - red], i->bytes, i->bytes);
    if (cas)
        sim_push(d, i, &o[3], i->bytes, i->bytes);
    sim_push_address(d, i, &o[1 - red]);
    sim_append(d, i);
}

/* ---- moves ---- */

static void
move(sim_decoder *d)
{
    const ptx_operand *o = d->ptx->operands;
    const char *type = d->ptx->part[d->ptx->n_parts - 1];
    uint32_t bytes = ptx_type_bytes(type);
    sim_insn *i;
    expect_operands(d, 2, 2);
    if (!bytes || d->ptx->n_parts != 2)
        unknown(d);
    if (o[0].kind == PTX_VECTOR || o[1].kind == PTX_VECTOR) {
        const ptx_operand *v = o[0].kind == PTX_VECTOR ? &o[0] : &o[1];
        if (v->n_items < 2 || bytes % v->n_items || (o[0].kind == o[1].kind))
            sim_decode_fail(d, TNB_FORMAT, "'%s': parts do not fit", d->ptx->text);
        i = sim_new_insn(d, v == &o[0] ? sim_op_unpack : sim_op_pack, SIM_PLAIN);
        uint32_t part = bytes / v->n_items;
        i->bytes = (uint8_t)part;
        i->out = v == &o[0] ? 1 : 0;
        i->n_out = v == &o[0] ? (uint8_t)v->n_items : 1;
        sim_push(d, i, v == &o[0] ? &o[1] : &o[0], bytes, bytes);
        for (uint32_t k = 0; k < v->n_items; k++) {
            sim_push(d, i, &v->items[k], part == 1 ? 0 : part, 2);
        }
    } else {
        i = sim_new_insn(d, sim_op_move, SIM_PLAIN);
        sim_push(d, i, &o[0], bytes, bytes);
        sim_push(d, i, &o[1], bytes, bytes);
        i->bytes = (uint8_t)bytes;
        i->n_out = 1;
    }
    sim_append(d, i);
}

/* cvta{.to}.space.u64: shared and local addresses are offsets of a window. */
static void
convert_address(sim_decoder *d)
{
    bool to = d->ptx->n_parts > 1 && is(d->ptx->part[1], "to");
    sim_insn *i = sim_new_insn(d, sim_op_shift_window, SIM_PLAIN);
    expect_operands(d, 2, 2);
    if (d->ptx->n_parts != 3u + to || !space(d->ptx->part[1 + to], &i->space))
        unknown(d);
    uint64_t base = i->space == PTX_SHARED  ? SIM_SHARED_BASE
                    : i->space == PTX_LOCAL ? SIM_LOCAL_BASE
                    : i->space == PTX_PARAM ? SIM_PARAM_BASE
                                            : 0;
    i->offset = (int64_t)(to ? 0 - base : base);
    i->n_out = 1;
    sim_push(d, i, &d->ptx->operands[0], 8, 8);
    sim_push(d, i, &d->ptx->operands[1], 8, 8);
    sim_append(d, i);
}

static void
is_space(sim_decoder *d)
{
    sim_insn *i = sim_new_insn(d, sim_op_is_space, SIM_PLAIN);
    i->n_out = 1;
    expect_operands(d, 2, 2);
    if (d->ptx->n_parts != 2 || !space(d->ptx->part[1], &i->space))
        unknown(d);
    sim_push(d, i, &d->ptx->operands[0], 1, 1);
    sim_push(d, i, &d->ptx->operands[1], 8, 8);
    sim_append(d, i);
}

/* ---- conversions and comparisons ---- */

static void
convert(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    sim_insn *i = sim_new_insn(d, sim_op_convert, SIM_PLAIN);
    i->n_out = 1;
    expect_operands(d, 2, 3);
    if (p->n_parts < 3)
        unknown(d);
    for (uint32_t k = 1; k + 2 < p->n_parts; k++)
        if (!modifier(p->part[k], i))
            unknown(d);
    i->type = (uint8_t)sim_type_of(p->part[p->n_parts - 2]);
    i->from = (uint8_t)sim_type_of(p->part[p->n_parts - 1]);
    if (i->type >= SIM_N_TYPES || i->from >= SIM_N_TYPES)
        unknown(d);
    bool two = i->type == SIM_F16X2 || i->type == SIM_BF16X2;
    if (two != (p->n_operands == 3) || (two && i->from != SIM_F32))
        unknown(d);
    for (uint32_t k = 0; k < p->n_operands; k++) {
        uint32_t least = sim_type_bytes(k ? i->from : i->type);
        sim_push(d, i, &p->operands[k], 0, least < 2 ? 2 : least);
        if (i->width[k] < least)
            sim_decode_fail(d, TNB_FORMAT, "'%s': a register is too narrow", p->text);
    }
    sim_append(d, i);
}

static const char *const comparisons =
    "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ";

/* setp.CMP{.BOOL}{.ftz}.type p{|q}, a, b{, c}; set.CMP.dtype.type d, a, b; slct and selp are forms. */
static void
compare(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    const ptx_operand *o = p->operands;
    bool is_set = is(p->part[0], "set");
    sim_insn *i = sim_new_insn(d, sim_op_compare, SIM_PLAIN);
    uint32_t k = 2, bytes;
    expect_operands(d, 3, 4);
    if (p->n_parts < 3 || !one_of(p->part[1], comparisons))
        unknown(d);
    i->n_vector = 0; /* the comparison's number in the list */
    for (const char *at = comparisons;
         strncmp(at, p->part[1], strlen(p->part[1])) != 0 || at[strlen(p->part[1])] != ' ';
         at = strchr(at, ' ') + 1)
        i->n_vector++;
    i->n_out = 2;
    i->bytes = 0;          /* no combination */
    i->from = SIM_N_TYPES; /* of a result that is no predicate */
    for (; k + 1 < p->n_parts; k++) {
        const char *word = p->part[k];
        if (one_of(word, "and or xor "))
            i->bytes = (uint8_t)*word;
        else if (is_set && k + 2 == p->n_parts)
            i->from = (uint8_t)sim_type_of(word);
        else if (!modifier(word, i))
            unknown(d);
    }
    i->type = (uint8_t)sim_type_of(p->part[k]);
    if (i->type == SIM_N_TYPES || is_set != (i->from != SIM_N_TYPES) ||
        (i->bytes != 0) != (p->n_operands == 4) || i->type == SIM_BF16X2 || i->type == SIM_F16X2)
        unknown(d);
    bytes = sim_type_bytes(i->type);
    if (is_set) {
        sim_push(d, i, &o[0], sim_type_bytes(i->from), 4);
        sim_push_ref(d, i, d->sink, 1);
    } else {
        ptx_operand second = {.kind = o[0].second ? PTX_NAME : PTX_SINK, .name = o[0].second};
        sim_push(d, i, &o[0], 1, 1);
        sim_push(d, i, &second, 1, 1);
    }
    sim_push(d, i, &o[1], bytes, bytes);
    sim_push(d, i, &o[2], bytes, bytes);
    if (i->bytes)
        sim_push(d, i, &o[3], 1, 1);
    sim_append(d, i);
}

/* ---- barriers ---- */

/* bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, p; barrier.cta.… the same. bar.warp.sync is a form. */
static void
barrier(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    const ptx_operand *o = p->operands;
    sim_insn *i = sim_new_insn(d, sim_op_barrier, SIM_BARRIER);
    i->n_out = 1;
    uint32_t k = 1, at = 0;
    i->flags |= is(p->part[0], "bar") ? SIM_ALIGNED : 0;
    if (k < p->n_parts && is(p->part[k], "cta"))
        k++;
    if (k == p->n_parts)
        unknown(d);
    const char *what = p->part[k++];
    i->type = (uint8_t)*what; /* 's'ync, 'a'rrive, 'r'ed */
    i->from = 0;
    if (!one_of(what, "sync arrive red "))
        unknown(d);
    for (; k < p->n_parts; k++) {
        if (one_of(p->part[k], "popc and or "))
            i->from = (uint8_t)*p->part[k];
        else if (!modifier(p->part[k], i) && !one_of(p->part[k], "u32 pred "))
            unknown(d);
    }
    bool red = i->type == 'r';
    expect_operands(d, red ? 3 : 1, red ? 4 : 2);
    if (red)
        sim_push(d, i, &o[at++], i->from == 'p' ? 4 : 1, 4);
    else
        sim_push_ref(d, i, d->sink, 4);
    sim_push(d, i, &o[at++], 4, 4);
    if (at + red < p->n_operands)
        sim_push(d, i, &o[at++], 4, 4);
    else
        sim_push_ref(d, i, sim_constant(d, 0, 4), 4);
    if (red)
        sim_push(d, i, &o[at], 1, 1);
    sim_append(d, i);
}

/* ---- forms ---- */

static void
fill_forms(sim_machine *m)
{
    static const sim_form *const tables[] = {sim_integer_forms, sim_bit_forms,  sim_carry_forms,
                                             sim_float_forms,   sim_half_forms, sim_warp_forms};
    if (m->forms.n)
        return;
    tnb_strmap_init(&m->forms, m->arena);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const sim_form *f = tables[t]; f->name; f++)
            tnb_strmap_set(&m->forms, f->name, f);
}

static void
push_by_letters(sim_decoder *d, sim_insn *i, const sim_form *f)
{
    const ptx_instruction *p = d->ptx;
    uint32_t k = 0;
    for (const char *c = f->operands; *c; c++, k++) {
        static const char letters[] = "phwdq";
        static const uint8_t bytes[] = {1, 2, 4, 8, 16};
        if (k == p->n_operands)
            sim_decode_fail(d, TNB_FORMAT, "'%s' has too few operands", p->text);
        const ptx_operand *o = &p->operands[k];
        uint32_t width = *c == 'x' ? 0 : bytes[strchr(letters, *c) - letters];
        if (c[1] >= '1' && c[1] <= '9') {
            uint32_t n = (uint32_t)(*++c - '0');
            if (n > 1 && (o->kind != PTX_VECTOR || o->n_items != n))
                sim_decode_fail(d, TNB_FORMAT, "'%s': operand %u is no vector of %u", p->text,
                                k + 1, n);
            for (uint32_t v = 0; v < n; v++)
                sim_push(d, i, o->kind == PTX_VECTOR ? &o->items[v] : o, width, 4);
            continue;
        }
        sim_push(d, i, o, width, 8);
        if (k == 0 && f->flags & SIM_SECOND) {
            ptx_operand second = {.kind = o->second ? PTX_NAME : PTX_SINK, .name = o->second};
            sim_push(d, i, &second, 1, 1);
        }
    }
    if (k != p->n_operands)
        sim_decode_fail(d, TNB_FORMAT, "'%s' has too many operands", p->text);
}

static void
form(sim_decoder *d)
{
    const ptx_instruction *p = d->ptx;
    sim_insn *i = sim_new_insn(d, NULL, SIM_PLAIN);
    char key[128];
    size_t n = 0;
    for (uint32_t k = 0; k < p->n_parts; k++) {
        if (k && modifier(p->part[k], i))
            continue;
        size_t length = strlen(p->part[k]);
        if (n + length + 2 > sizeof key)
            unknown(d);
        if (n)
            key[n++] = '.';
        memcpy(key + n, p->part[k], length);
        n += length;
    }
    key[n] = '\0';
    fill_forms(d->m);
    const sim_form *f = tnb_strmap_get(&d->m->forms, key);
    if (!f || i->flags & ~(f->allowed | SIM_ORDER | SIM_STRONG))
        unknown(d);
    i->run = f->run;
    i->flow = f->flow;
    i->flags |= f->flags;
    i->n_out = !f->run ? 0 : f->flags & SIM_SECOND ? 2 : 1;
    push_by_letters(d, i, f);
    if (f->flow == SIM_MEET && !(i->flags & SIM_ALIGNED))
        i->member = i->ref[i->n_ref - 1]; /* the mask comes last */
    sim_append(d, i);
}

/* Instructions that are decoded beside their handlers. */
static void
elsewhere(sim_decoder *d)
{
    const char *name = d->ptx->part[0];
    bool known = is(name, "mma")        ? sim_decode_mma(d)
                 : is(name, "cp")       ? sim_decode_async(d)
                 : is(name, "mbarrier") ? sim_decode_mbarrier(d)
                                        : sim_decode_matrix_copy(d);
    if (!known)
        unknown(d);
}

void
sim_decode_form(sim_decoder *d)
{
    static const struct {
        const char *name;
        void (*decode)(sim_decoder *d);
    } special[] = {{"ld", load},
                   {"ldu", load},
                   {"st", store},
                   {"atom", atomic},
                   {"red", atomic},
                   {"mov", move},
                   {"cvta", convert_address},
                   {"isspacep", is_space},
                   {"cvt", convert},
                   {"setp", compare},
                   {"set", compare},
                   {"barrier", barrier},
                   {"bar", barrier},
                   {"mma", elsewhere},
                   {"cp", elsewhere},
                   {"mbarrier", elsewhere},
                   {"ldmatrix", elsewhere},
                   {"stmatrix", elsewhere},
                   {"movmatrix", elsewhere}};
    const char *name = d->ptx->part[0];
    if (one_of(name, "membar fence prefetch prefetchu discard griddepcontrol setmaxnreg "))
        return;
    if (is(name, "exit") || is(name, "ret")) {
        sim_append(d, sim_new_insn(d, NULL, SIM_EXIT));
    } else if (is(name, "trap")) {
        sim_append(d, sim_new_insn(d, sim_op_trap, SIM_PLAIN));
    } else if (is(name, "nanosleep")) {
        sim_append(d, sim_new_insn(d, NULL, SIM_YIELD));
    } else if (is(d->ptx->text, "bar.warp.sync")) {
        form(d);
    } else {
        for (size_t s = 0; s < sizeof special / sizeof *special; s++)
            if (is(special[s].name, name)) {
                special[s].decode(d);
                return;
            }
        form(d);
    }
}
