/* SPDX-License-Identifier: Apache-2.0 */
/* Writes SPIR-V modules (spirv.h). */
#include "spirv.h"

#include <string.h>

#include "tenon/base/dtype.h"
#include "tenon/base/hash.h"

/* ---- instructions ---- */

static void
put(spirv *m, spirv_words *w, uint32_t word)
{
    TNB_PUSH(m->arena, *w, word);
}

static void
put_all(spirv *m, spirv_words *w, const uint32_t *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        put(m, w, at[i]);
}

void
spirv_put(spirv *m, spirv_words *w, SpvOp op, const uint32_t *operands, uint32_t n)
{
    put(m, w, (n + 1) << SpvWordCountShift | (uint32_t)op);
    put_all(m, w, operands, n);
}

uint32_t
spirv_result(spirv *m, spirv_words *w, SpvOp op, uint32_t type, const uint32_t *operands,
             uint32_t n)
{
    uint32_t id = m->next++;
    put(m, w, (n + 3) << SpvWordCountShift | (uint32_t)op);
    put(m, w, type);
    put(m, w, id);
    put_all(m, w, operands, n);
    return id;
}

/* A text, zero-terminated, in whole words, the first byte the lowest. */
static void
put_text(spirv *m, spirv_words *w, const char *s)
{
    for (size_t n = strlen(s) + 1, i = 0; i < n; i += 4) {
        uint32_t word = 0;
        for (size_t k = i; k < n && k < i + 4; k++)
            word |= (uint32_t)(unsigned char)s[k] << 8 * (k - i);
        put(m, w, word);
    }
}

static uint32_t
text_words(const char *s)
{
    return (uint32_t)(strlen(s) / 4 + 1);
}

/* ---- what is written once ---- */

enum { FIRST_SLOTS = 64 };

/* Of a type its operands behind the id, of a constant its type and its operands. */
static uint64_t
hash_of(SpvOp op, uint32_t type, const uint32_t *operands, uint32_t n)
{
    return tnb_hash64(operands, n * sizeof *operands, (uint64_t)op << 32 | type);
}

static bool
is_at(const uint32_t *at, SpvOp op, uint32_t type, const uint32_t *operands, uint32_t n)
{
    uint32_t head = type ? 3 : 2;
    return at[0] == ((n + head) << SpvWordCountShift | (uint32_t)op) && (!type || at[1] == type) &&
           (n == 0 || !memcmp(at + head, operands, n * sizeof *operands));
}

static void
insert(spirv *m, uint64_t hash, uint32_t place)
{
    uint32_t i = (uint32_t)hash & (m->n_slots - 1);
    while (m->slots[i])
        i = (i + 1) & (m->n_slots - 1);
    m->slots[i] = place + 1;
}

static void
grow(spirv *m)
{
    uint32_t *old = m->slots, n = m->n_slots;
    m->n_slots = n ? n * 2 : FIRST_SLOTS;
    m->slots = TNB_NEW_N(m->arena, uint32_t, m->n_slots);
    for (uint32_t i = 0; i < n; i++) {
        if (!old[i])
            continue;
        const uint32_t *at = &m->globals.at[old[i] - 1];
        SpvOp op = (SpvOp)(at[0] & SpvOpCodeMask);
        bool is_type = (op >= SpvOpTypeVoid && op <= SpvOpTypeFunction) || op == SPIRV_TYPE_MATRIX;
        uint32_t head = is_type ? 2 : 3, words = at[0] >> SpvWordCountShift;
        insert(m, hash_of(op, is_type ? 0 : at[1], at + head, words - head), old[i] - 1);
    }
}

uint32_t
spirv_global(spirv *m, SpvOp op, uint32_t type, const uint32_t *operands, uint32_t n, bool *fresh)
{
    if (m->n_known * 2 >= m->n_slots)
        grow(m);
    uint64_t hash = hash_of(op, type, operands, n);
    if (fresh)
        *fresh = false;
    for (uint32_t i = (uint32_t)hash & (m->n_slots - 1); m->slots[i];
         i = (i + 1) & (m->n_slots - 1)) {
        const uint32_t *at = &m->globals.at[m->slots[i] - 1];
        if (is_at(at, op, type, operands, n))
            return at[type ? 2 : 1];
    }
    uint32_t place = m->globals.n, id = m->next++;
    put(m, &m->globals, (n + (type ? 3 : 2)) << SpvWordCountShift | (uint32_t)op);
    if (type)
        put(m, &m->globals, type);
    put(m, &m->globals, id);
    put_all(m, &m->globals, operands, n);
    insert(m, hash, place);
    m->n_known++;
    if (fresh)
        *fresh = true;
    return id;
}

void
spirv_capability(spirv *m, SpvCapability c)
{
    for (uint32_t i = 1; i < m->capabilities.n; i += 2)
        if (m->capabilities.at[i] == (uint32_t)c)
            return;
    SPIRV(m, &m->capabilities, OpCapability, (uint32_t)c);
}

void
spirv_extension(spirv *m, const char *name)
{
    uint32_t n = text_words(name);
    for (uint32_t i = 0; i < m->extensions.n; i += m->extensions.at[i] >> SpvWordCountShift)
        if (!strcmp((const char *)&m->extensions.at[i + 1], name))
            return;
    put(m, &m->extensions, (n + 1) << SpvWordCountShift | SpvOpExtension);
    put_text(m, &m->extensions, name);
}

uint32_t
spirv_builtin(spirv *m, SpvBuiltIn which, uint32_t type)
{
    for (uint32_t i = 0; i + 1 < m->interface.n; i += 2)
        if (m->interface.at[i + 1] == (uint32_t)which)
            return m->interface.at[i];
    uint32_t pointer = SPIRV_TYPE(m, OpTypePointer, SpvStorageClassInput, type), id = m->next++;
    SPIRV(m, &m->globals, OpVariable, pointer, id, SpvStorageClassInput);
    SPIRV(m, &m->marks, OpDecorate, id, SpvDecorationBuiltIn, (uint32_t)which);
    put(m, &m->interface, id);
    put(m, &m->interface, (uint32_t)which);
    return id;
}

/* ---- types and constants ---- */

static uint32_t
lanes_of(spirv *m, uint32_t type, uint32_t lanes)
{
    return lanes == 1 ? type : SPIRV_TYPE(m, OpTypeVector, type, lanes);
}

uint32_t
spirv_bool(spirv *m, uint32_t lanes)
{
    return lanes_of(m, SPIRV_TYPE(m, OpTypeBool), lanes);
}

uint32_t
spirv_int(spirv *m, uint32_t bits, uint32_t lanes)
{
    return lanes_of(m, SPIRV_TYPE(m, OpTypeInt, bits, 0), lanes);
}

uint32_t
spirv_float(spirv *m, uint32_t bits, uint32_t lanes)
{
    return lanes_of(m, SPIRV_TYPE(m, OpTypeFloat, bits), lanes);
}

static uint32_t
in_lanes(spirv *m, uint32_t type, uint32_t id, uint32_t lanes)
{
    const uint32_t all[4] = {id, id, id, id};
    return lanes == 1 ? id : spirv_global(m, SpvOpConstantComposite, type, all, lanes, NULL);
}

uint32_t
spirv_const_bool(spirv *m, bool v, uint32_t lanes)
{
    uint32_t id = spirv_global(m, v ? SpvOpConstantTrue : SpvOpConstantFalse, spirv_bool(m, 1),
                               NULL, 0, NULL);
    return in_lanes(m, spirv_bool(m, lanes), id, lanes);
}

uint32_t
spirv_const_int(spirv *m, uint32_t bits, uint64_t v, uint32_t lanes)
{
    uint32_t words[2] = {(uint32_t)v, (uint32_t)(v >> 32)};
    if (bits < 32)
        words[0] &= (1u << bits) - 1;
    uint32_t id =
        spirv_global(m, SpvOpConstant, spirv_int(m, bits, 1), words, bits == 64 ? 2 : 1, NULL);
    return in_lanes(m, spirv_int(m, bits, lanes), id, lanes);
}

uint32_t
spirv_const_float(spirv *m, uint32_t bits, double v, uint32_t lanes)
{
    uint32_t words[2] = {0, 0};
    float f = (float)v;
    if (bits == 64)
        memcpy(words, &v, sizeof v);
    else if (bits == 32)
        memcpy(words, &f, sizeof f);
    else
        words[0] = tnb_double_to_half(v);
    uint32_t id =
        spirv_global(m, SpvOpConstant, spirv_float(m, bits, 1), words, bits == 64 ? 2 : 1, NULL);
    return in_lanes(m, spirv_float(m, bits, lanes), id, lanes);
}

/* ---- blocks ---- */

void
spirv_block(spirv *m, uint32_t label)
{
    SPIRV(m, &m->body, OpLabel, label);
    m->label = label;
    m->terminated = false;
}

void
spirv_branch(spirv *m, uint32_t to)
{
    if (!m->terminated)
        SPIRV(m, &m->body, OpBranch, to);
    m->terminated = true;
}

void
spirv_branch_if(spirv *m, uint32_t cond, uint32_t then, uint32_t otherwise)
{
    SPIRV(m, &m->body, OpBranchConditional, cond, then, otherwise);
    m->terminated = true;
}

uint32_t
spirv_glsl(spirv *m, uint32_t function, uint32_t type, const uint32_t *operands, uint32_t n)
{
    uint32_t all[5] = {m->glsl, function};
    memcpy(all + 2, operands, n * sizeof *operands);
    return spirv_result(m, &m->body, SpvOpExtInst, type, all, n + 2);
}

/* ---- the module ---- */

void
spirv_init(spirv *m, tnb_arena *arena)
{
    *m = (spirv){.arena = arena, .next = 1, .version = 0x00010300, .model = SpvMemoryModelGLSL450};
    m->glsl = m->next++;
    m->first = m->label = m->next++;
    spirv_capability(m, SpvCapabilityShader);
}

static void
append(spirv *m, spirv_words *to, const spirv_words *from)
{
    put_all(m, to, from->at, from->n);
}

spirv_words
spirv_finish(spirv *m, const uint32_t local_size[3], SpvAddressingModel addressing)
{
    static const char glsl[] = "GLSL.std.450", name[] = "main";
    spirv_words w = {0};
    uint32_t nothing = SPIRV_TYPE(m, OpTypeVoid), function = SPIRV_TYPE(m, OpTypeFunction, nothing),
             entry = m->next++;
    put_all(m, &w, (const uint32_t[]){SpvMagicNumber, m->version, 0, m->next, 0}, 5);
    append(m, &w, &m->capabilities);
    append(m, &w, &m->extensions);
    put(m, &w, (text_words(glsl) + 2) << SpvWordCountShift | SpvOpExtInstImport);
    put(m, &w, m->glsl);
    put_text(m, &w, glsl);
    SPIRV(m, &w, OpMemoryModel, (uint32_t)addressing, (uint32_t)m->model);
    put(m, &w, (text_words(name) + 3 + m->interface.n / 2) << SpvWordCountShift | SpvOpEntryPoint);
    put(m, &w, SpvExecutionModelGLCompute);
    put(m, &w, entry);
    put_text(m, &w, name);
    for (uint32_t i = 0; i < m->interface.n; i += 2)
        put(m, &w, m->interface.at[i]);
    SPIRV(m, &w, OpExecutionMode, entry, SpvExecutionModeLocalSize, local_size[0], local_size[1],
          local_size[2]);
    for (uint32_t i = 0; i + 1 < m->modes.n; i += 2)
        SPIRV(m, &w, OpExecutionMode, entry, m->modes.at[i], m->modes.at[i + 1]);
    append(m, &w, &m->marks);
    append(m, &w, &m->globals);
    SPIRV(m, &w, OpFunction, nothing, entry, SpvFunctionControlMaskNone, function);
    SPIRV(m, &w, OpLabel, m->first);
    append(m, &w, &m->locals);
    append(m, &w, &m->entry);
    append(m, &w, &m->body);
    if (!m->terminated)
        SPIRV(m, &w, OpReturn);
    SPIRV(m, &w, OpFunctionEnd);
    return w;
}
