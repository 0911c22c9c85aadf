/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: reads payloads (payload.h). Nothing in one is trusted: a driver that is given a module of
 * another structure than it expects may end the process.
 */
#include "device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_KERNELS = 1 << 16,
    MAX_MODULE_WORDS = 1 << 24,
    MAX_BLOCK_BYTES = GPU_GENERIC_MAX_PARAMS * 8 + 16,
    MAX_GROUP = 65536,
    /* of SPIR-V */
    SPIRV_MAGIC = 0x07230203,
    SPIRV_HEAD = 5,
    OP_MEMORY_MODEL = 14,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_FUNCTION = 54,
    OP_FUNCTION_END = 56,
    MODEL_GL_COMPUTE = 5,
    MODE_LOCAL_SIZE = 17
};

struct reader {
    const unsigned char *at;
    size_t words; /* left */
};

/* The next words; NULL: there are not so many. */
static const unsigned char *
words(struct reader *r, size_t n)
{
    const unsigned char *at = r->at;
    if (n > r->words)
        return NULL;
    r->at += 4 * n;
    r->words -= n;
    return at;
}

/* ---- modules ---- */

/* "main" and its zero as words. */
static bool
is_main(const unsigned char *at, uint32_t n)
{
    return n >= 2 && memcmp(at, "main\0\0\0", 8) == 0;
}

/* What the walk over a module finds. */
struct found {
    uint32_t entries, sizes, functions, ends, models;
    uint32_t size[3];
};

static const char *
look(const unsigned char *in, uint32_t op, uint32_t n, struct found *f)
{
    switch (op) {
    case OP_CAPABILITY:
        return n == 2 ? NULL : "a capability of another length";
    case OP_MEMORY_MODEL:
        f->models++;
        return n == 3 ? NULL : "a memory model of another length";
    case OP_ENTRY_POINT:
        f->entries++;
        if (n < 5)
            return "an entry point that is too short";
        if (gpu_generic_word(in, 1) != MODEL_GL_COMPUTE)
            return "an entry point that is not for compute";
        return is_main(in + 12, n - 3) ? NULL : "an entry point of another name than 'main'";
    case OP_EXECUTION_MODE:
        if (n < 3)
            return "an execution mode that is too short";
        if (gpu_generic_word(in, 2) != MODE_LOCAL_SIZE)
            return NULL;
        if (n != 6)
            return "a group's size of another length";
        f->sizes++;
        for (uint32_t i = 0; i < 3; i++)
            f->size[i] = gpu_generic_word(in, 3 + i);
        return NULL;
    case OP_FUNCTION:
        f->functions++;
        return n == 5 ? NULL : "a function of another length";
    case OP_FUNCTION_END:
        f->ends++;
        return NULL;
    default:
        return NULL;
    }
}

/* NULL, or what is wrong with the module. */
static const char *
check_module(const struct gpu_generic_entry *e)
{
    uint32_t n = e->head.module_words;
    struct found f = {0};
    if (n < SPIRV_HEAD || gpu_generic_word(e->module, 0) != SPIRV_MAGIC)
        return "it does not begin as SPIR-V does";
    uint32_t version = gpu_generic_word(e->module, 1), bound = gpu_generic_word(e->module, 3);
    if (version < 0x00010000 || version > 0x00010600 || version & 0xff0000ff)
        return "it is of an unknown version of SPIR-V";
    if (bound == 0 || bound > 4 * (uint32_t)MAX_MODULE_WORDS)
        return "its bound of numbers is out of range";
    for (uint32_t i = SPIRV_HEAD, k; i < n; i += k) {
        uint32_t w = gpu_generic_word(e->module, i);
        k = w >> 16;
        if (k == 0 || k > n - i)
            return "an instruction reaches beyond its end";
        const char *wrong = look(e->module + 4 * (size_t)i, w & 0xffff, k, &f);
        if (wrong)
            return wrong;
    }
    if (f.models != 1 || f.entries != 1)
        return "it has not one memory model and one entry point";
    if (f.functions == 0 || f.functions != f.ends)
        return "it has a function without an end, or none";
    uint32_t group[3];
    gpu_generic_group(e->head.local_size, e->head.subgroup_size, group);
    if (f.sizes != 1 || memcmp(f.size, group, sizeof group) != 0)
        return "its group's size is not the record's";
    return NULL;
}

void
gpu_generic_capabilities(const struct gpu_generic_entry *e,
                         void (*take)(void *user, uint32_t capability), void *user)
{
    for (uint32_t i = SPIRV_HEAD, k; i < e->head.module_words; i += k) {
        uint32_t w = gpu_generic_word(e->module, i);
        k = w >> 16;
        if ((w & 0xffff) == OP_CAPABILITY)
            take(user, gpu_generic_word(e->module, i + 1));
    }
}

/* ---- records ---- */

static const char *
check_params(const struct gpu_generic_entry *e)
{
    const gpu_generic_kernel *h = &e->head;
    uint32_t end = h->flags & GPU_GENERIC_BASE && !(h->flags & GPU_GENERIC_BLOCK) ? 12 : 0;
    for (uint32_t i = 0; i < h->n_params; i++) {
        uint32_t word = gpu_generic_word(e->params, i);
        gpu_generic_param p = gpu_generic_param_of(word);
        if (p.kind != TNB_PARAM_BUFFER && p.kind != TNB_PARAM_SCALAR &&
            p.kind != TNB_PARAM_REFUSED && p.kind != TNB_PARAM_TAG)
            return "a parameter of a kind that kernels of this device do not take";
        if (gpu_generic_param_word(p) != word)
            return "a parameter with unknown bits";
        bool power = p.bytes && !(p.bytes & (p.bytes - 1));
        if (!power || p.bytes > (gpu_generic_is_memory(p) ? 64u : 8u))
            return "a parameter of a size that is no power of two, or too large";
        if (p.more && (p.kind != TNB_PARAM_BUFFER || h->flags & GPU_GENERIC_ADDRESSES))
            return "a parameter in several bindings that is no memory, or has an address";
        (void)gpu_generic_place(h->flags, p, &end);
    }
    return end == h->block_bytes ? NULL : "a block of parameters of another size than theirs";
}

/* ---- turns ---- */

static const char *
check_turns(const struct gpu_generic_entry *e)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < e->head.turns_words; i++) {
        uint32_t word = gpu_generic_word(e->turns, i), step = word & 15, n = word >> 4;
        bool leaf = step == GPU_GENERIC_STEP_NUMBER || step == GPU_GENERIC_STEP_PARAM;
        if (step >= GPU_GENERIC_STEP_END || (!leaf && n))
            return "a number of turns with an unknown step";
        if (step == GPU_GENERIC_STEP_PARAM &&
            (n >= e->head.n_params ||
             gpu_generic_param_of(gpu_generic_word(e->params, n)).kind != TNB_PARAM_SCALAR))
            return "a number of turns by a parameter that is no scalar";
        if (leaf ? depth == GPU_GENERIC_MAX_TURNS_DEPTH : depth < 2)
            return "a number of turns with too many or too few operands";
        depth += leaf ? 1 : UINT32_MAX;
    }
    return e->head.turns_words && depth != 1 ? "a number of turns that is not one number" : NULL;
}

static double
rounded_down(double n)
{
    if (!(n > -0x1p62 && n < 0x1p62))
        return n;
    int64_t i = (int64_t)n;
    return (double)(i - ((double)i > n));
}

static double
step_of(gpu_generic_step step, double a, double b)
{
    switch (step) {
    case GPU_GENERIC_STEP_ADD:
        return a + b;
    case GPU_GENERIC_STEP_SUB:
        return a - b;
    case GPU_GENERIC_STEP_MUL:
        return a * b;
    case GPU_GENERIC_STEP_DIV:
        return b != 0 ? rounded_down(a / b) : 0;
    case GPU_GENERIC_STEP_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

double
gpu_generic_turns(const unsigned char *words, uint32_t n, const tnr_param *params)
{
    double stack[GPU_GENERIC_MAX_TURNS_DEPTH + 1] = {0};
    uint32_t depth = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t word = gpu_generic_word(words, i), step = word & 15;
        if (step == GPU_GENERIC_STEP_NUMBER)
            stack[depth++] = (double)(word >> 4);
        else if (step == GPU_GENERIC_STEP_PARAM)
            stack[depth++] = (double)params[word >> 4].u.scalar.i;
        else
            depth--,
                stack[depth - 1] = step_of((gpu_generic_step)step, stack[depth - 1], stack[depth]);
    }
    return stack[0];
}

static const char *
check_head(const gpu_generic_kernel *h)
{
    uint64_t group = 1;
    const uint32_t known =
        GPU_GENERIC_ADDRESSES | GPU_GENERIC_BASE | GPU_GENERIC_BLOCK | GPU_GENERIC_PARTS;
    if (h->flags & ~known)
        return "unknown flags";
    if (h->name_words == 0 || h->name_words > GPU_GENERIC_MAX_NAME_WORDS)
        return "a name that is empty or too long";
    if (h->n_params > GPU_GENERIC_MAX_PARAMS)
        return "too many parameters";
    if (h->turns_words > GPU_GENERIC_MAX_TURNS_WORDS)
        return "a number of turns of too many steps";
    if (h->module_words > MAX_MODULE_WORDS)
        return "a module that is too large";
    for (int i = 0; i < 3; i++) {
        if (h->local_size[i] == 0 || h->local_size[i] > MAX_GROUP)
            return "a group of no or too many threads";
        group *= h->local_size[i];
    }
    if (group > MAX_GROUP)
        return "a group of too many threads";
    if (h->block_bytes > MAX_BLOCK_BYTES)
        return "a block of parameters that is too large";
    if (h->subgroup_size > 128 || h->subgroup_size & (h->subgroup_size - 1))
        return "a sub-group's size that is no power of two, or too large";
    return NULL;
}

static const char *
check_name(const struct gpu_generic_entry *e)
{
    size_t room = 4 * (size_t)e->head.name_words, n = strnlen(e->name, room);
    if (n == 0 || n == room || n + 4 < room)
        return "a name of another length than the record says";
    for (size_t i = 0; i < room; i++)
        if (i < n ? (unsigned char)e->name[i] <= ' ' || (unsigned char)e->name[i] > '~'
                  : e->name[i] != '\0')
            return "a name that is no text";
    return NULL;
}

/* A second form is that of the kernel before it. */
static const char *
check_form(const struct gpu_generic_entry *e, const struct gpu_generic_entry *before)
{
    if (!(e->head.flags & GPU_GENERIC_PARTS))
        return NULL;
    if (!before || e->head.flags & GPU_GENERIC_ADDRESSES ||
        before->head.flags != (e->head.flags & ~(uint32_t)GPU_GENERIC_PARTS) ||
        before->head.n_params != e->head.n_params || strcmp(before->name, e->name) != 0 ||
        memcmp(before->head.local_size, e->head.local_size, sizeof e->head.local_size) != 0)
        return "a second form that is not of the kernel before it";
    for (uint32_t i = 0; i < e->head.n_params; i++) {
        gpu_generic_param p = gpu_generic_param_of(gpu_generic_word(e->params, i)),
                          q = gpu_generic_param_of(gpu_generic_word(before->params, i));
        p.more = q.more;
        if (gpu_generic_param_word(p) != gpu_generic_param_word(q))
            return "a second form with other parameters";
    }
    return NULL;
}

static const char *
read_entry(struct reader *r, struct gpu_generic_entry *e)
{
    const size_t head = sizeof e->head / 4;
    const unsigned char *at = words(r, head);
    uint32_t h[sizeof e->head / 4];
    if (!at)
        return "a record that reaches beyond the end";
    for (size_t i = 0; i < head; i++)
        h[i] = gpu_generic_word(at, i);
    memcpy(&e->head, h, sizeof h);
    const char *wrong = check_head(&e->head);
    if (wrong)
        return wrong;
    e->name = (const char *)words(r, e->head.name_words);
    if (!e->name)
        return "a name that reaches beyond the end";
    if ((wrong = check_name(e)))
        return wrong;
    e->params = words(r, e->head.n_params);
    if (!e->params)
        return "parameters that reach beyond the end";
    e->turns = words(r, e->head.turns_words);
    if (!e->turns)
        return "a number of turns that reaches beyond the end";
    if ((wrong = check_turns(e)))
        return wrong;
    e->module = words(r, e->head.module_words);
    if (!e->module)
        return "a module that reaches beyond the end";
    return check_params(e);
}

tnb_status
gpu_generic_payload_read(const void *code, size_t size, struct gpu_generic_entry **out, uint32_t *n,
                         tnb_err *err)
{
    struct reader r = {code, size / 4};
    const unsigned char *head = size % 4 ? NULL : words(&r, sizeof(gpu_generic_payload) / 4);
    *out = NULL;
    *n = 0;
    if (!head || gpu_generic_word(head, 0) != GPU_GENERIC_MAGIC)
        return tnb_fail(err, TNB_FORMAT, "%zu bytes that are no kernels of format '%s'", size,
                        GPU_GENERIC_FORMAT);
    if (gpu_generic_word(head, 1) != GPU_GENERIC_VERSION) {
        (void)tnb_fail(err, TNB_FORMAT, "kernels in version %" PRIu32 " of '%s'; this is %d",
                       gpu_generic_word(head, 1), GPU_GENERIC_FORMAT, GPU_GENERIC_VERSION);
        tnb_hint(err, "compile the model again with this Tenon");
        return TNB_FORMAT;
    }
    uint32_t count = gpu_generic_word(head, 2);
    if (gpu_generic_word(head, 3) != 0)
        return tnb_fail(err, TNB_FORMAT, "a reserved word that is not zero");
    /* each takes more than its record */
    if (count == 0 || count > MAX_KERNELS || count > r.words / (sizeof(gpu_generic_kernel) / 4))
        return tnb_fail(err, TNB_FORMAT, "%" PRIu32 " kernels in %zu bytes", count, size);
    struct gpu_generic_entry *all = calloc(count, sizeof *all);
    if (!all)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    for (uint32_t i = 0; i < count; i++) {
        const char *wrong = read_entry(&r, &all[i]);
        if (!wrong)
            wrong = check_form(&all[i], i ? &all[i - 1] : NULL);
        bool module = !wrong && (wrong = check_module(&all[i]));
        if (wrong) {
            const char *name = all[i].params ? all[i].name : "?"; /* a name that was checked */
            (void)tnb_fail(err, TNB_FORMAT, "kernel %" PRIu32 " ('%.80s')%s%s", i, name,
                           module ? ": its module cannot be used: " : " has ", wrong);
            free(all);
            return TNB_FORMAT;
        }
    }
    if (r.words) {
        free(all);
        return tnb_fail(err, TNB_FORMAT, "%zu bytes behind the last of %" PRIu32 " kernels",
                        4 * r.words, count);
    }
    *out = all;
    *n = count;
    return TNB_OK;
}
