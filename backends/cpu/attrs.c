/* SPDX-License-Identifier: Apache-2.0 */
/* What a target's attributes say about the processor: a level of the x86-64 psABI, an explicit list
 * of features, or this machine.
 *
 * Features are called as compilers call them (-mavx2 is "avx2"; features.c). An artifact never says
 * "native": it carries the list.
 */
#include "cpu.h"
#include "features.h"

/* ORDER LEVEL: the features that levels 2, 3 and 4 add. */
static const char *const level_features[3][9] = {
    {"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2", NULL},
    {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", NULL},
    {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", NULL},
};

static int
level_of(const char *mcpu)
{
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(levels[i], mcpu))
            return i + 1;
    return 0;
}

static bool
says_native(const tn_node *attrs)
{
    const tn_array *a = tn_as_array(tn_dict_get(attrs, "features"));
    for (uint32_t i = 0; a && i < a->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(a->items.at[i]);
        if (s && !strcmp(s->value, "native"))
            return true;
    }
    return !strcmp(tn_dict_str(attrs, "mcpu", ""), "native");
}

#if defined(__x86_64__)
static const char base_cpu[] = "x86-64", usual_cpu[] = "x86-64-v3";
#else
static const char base_cpu[] = "generic", usual_cpu[] = "generic";
#endif

/* Whether the target is an x86: by its triple, or as this machine is one. */
static bool
is_x86(const tn_node *attrs)
{
    const char *triple = tn_dict_str(attrs, "mtriple", "");
    if (!*triple)
        return strcmp(base_cpu, "x86-64") == 0;
    return !strncmp(triple, "x86_64", 6) || !strncmp(triple, "amd64", 5);
}

bool
cpu_machine_is_here(const tn_node *attrs)
{
    const char *triple = tn_dict_str(attrs, "mtriple", "");
#if defined(__x86_64__)
    return !*triple || is_x86(attrs);
#elif defined(__aarch64__)
    return !*triple || !strncmp(triple, "aarch64-", 8) || !strncmp(triple, "arm64-", 6);
#else
    (void)triple;
    return true; /* what the compiler makes is looked at (produced.c) */
#endif
}

static const char *const cache_names[3] = {"l1_bytes", "l2_bytes", "l3_bytes"};

static const tn_node *
resolve(tn_ctx *ctx, const tn_node *attrs)
{
    if (says_native(attrs)) {
        const char *names[CPU_MAX_FEATURES];
        const tn_node *list[CPU_MAX_FEATURES];
        uint32_t n = cpu_features(names, CPU_MAX_FEATURES);
        for (uint32_t i = 0; i < n; i++)
            list[i] = tn_string(ctx, names[i]);
        attrs = tn_dict_set(ctx, attrs, "features", tn_array_of(ctx, tn_list_of(ctx, list, n)));
        for (int level = 1; level <= 3; level++) {
            const char *name = cache_names[level - 1];
            int64_t bytes = tn_dict_int(attrs, name, 0) > 0 ? 0 : cpu_host_cache(level);
            if (bytes > 0)
                attrs = tn_dict_set(ctx, attrs, name, tn_i64(ctx, bytes));
        }
        return tn_dict_set(ctx, attrs, "mcpu", tn_string(ctx, base_cpu));
    }
    if (!*tn_dict_str(attrs, "mcpu", ""))
        return tn_dict_set(ctx, attrs, "mcpu",
                           tn_string(ctx, !is_x86(attrs)                       ? "generic"
                                          : *tn_dict_str(attrs, "mtriple", "") ? "x86-64-v3"
                                                                               : usual_cpu));
    return attrs;
}

static void
add(const char **names, cpu_needs *out, const char *name)
{
    for (uint32_t i = 0; i < out->n; i++)
        if (!strcmp(names[i], name))
            return;
    names[out->n++] = name;
    if (!strcmp(name, "avx") && out->vector_bytes < 32)
        out->vector_bytes = 32;
    if (!strcmp(name, "avx512f"))
        out->vector_bytes = 64;
}

bool
cpu_needs_of(tn_ctx *ctx, const tn_node *attrs, cpu_needs *out)
{
    bool other = *tn_dict_str(attrs, "mtriple", "") && !is_x86(attrs);
    *out = (cpu_needs){.vector_bytes = 16};
    if (other && says_native(attrs)) {
        tn_error(ctx, 0, TNB_INVALID,
                 "target cpu: 'native' is this machine, and the mtriple is '%s'",
                 tn_dict_str(attrs, "mtriple", ""));
        return false;
    }
    attrs = resolve(ctx, attrs);
    const char *mcpu = tn_dict_str(attrs, "mcpu", "");
    int level = is_x86(attrs) ? level_of(mcpu) : 0;
    if (level == 0 && strcmp(mcpu, "generic") && !other) {
        tn_error(ctx, 0, TNB_INVALID, "target cpu: mcpu is '%s', which is not known", mcpu);
        tnb_diag_hint(tn_diags(ctx), "use x86-64, x86-64-v2, x86-64-v3, x86-64-v4, native or "
                                     "generic, and `features` for more");
        return false;
    }
    const tn_array *more = tn_as_array(tn_dict_get(attrs, "features"));
    if (level == 0 && more && more->items.n && (other || is_x86(attrs))) {
        tn_error(ctx, 0, TNB_INVALID, "target cpu: 'features' has no effect with the mcpu '%s'%s",
                 mcpu, other ? " of another machine" : "");
        tnb_diag_hint(tn_diags(ctx), other ? "name a processor that has them with mcpu"
                                           : "add them to a level: mcpu = x86-64");
        return false;
    }
    const char **names = TNB_NEW_N(tn_arena(ctx), const char *, 2 * CPU_MAX_FEATURES);
    for (int l = 2; l <= level; l++)
        for (const char *const *f = level_features[l - 2]; *f; f++)
            add(names, out, *f);
    for (uint32_t k = 0; more && k < more->items.n; k++) {
        const tn_string_imm *s = tn_as_string_imm(more->items.at[k]);
        if (!s || !cpu_feature_known(s->value)) {
            tn_error(ctx, 0, TNB_INVALID, "target cpu: the feature '%s' is not known",
                     s ? s->value : "?");
            tnb_diag_hint(tn_diags(ctx), "features are called as by the compiler's -m options: "
                                         "avx2, fma, f16c, avx512f ...");
            return false;
        }
        add(names, out, s->value);
    }
    out->names = names;
    out->march = level ? mcpu : NULL;
    out->cpu = other && strcmp(mcpu, "generic") ? mcpu : NULL;
    int64_t bytes = tn_dict_int(attrs, "vector_bytes", 0);
    if (bytes > 0)
        out->vector_bytes = (int)bytes;
    return true;
}

const tn_node *
cpu_probe(tn_ctx *ctx, const tn_node *attrs, void *self)
{
    (void)self;
    cpu_needs needs;
    return cpu_needs_of(ctx, attrs, &needs) && cpu_machine_check(ctx, attrs, needs.cpu)
               ? resolve(ctx, attrs)
               : NULL;
}

cpu_caches
cpu_caches_of(const tn_target *target)
{
    static const int64_t usual[3] = {32 << 10, 512 << 10, 32 << 20}, least = 4 << 10;
    int64_t bytes[3];
    for (int i = 0; i < 3; i++) {
        int64_t told = target ? tn_dict_int(target->attrs, cache_names[i], 0) : 0;
        bytes[i] = told <= 0 ? usual[i] : told < least ? least : told;
        if (i > 0 && bytes[i] < bytes[i - 1])
            bytes[i] = bytes[i - 1];
    }
    return (cpu_caches){bytes[0], bytes[1], bytes[2]};
}

int
cpu_vector_bytes(tn_ctx *ctx, const tn_target *target)
{
    cpu_needs f;
    return target && cpu_needs_of(ctx, target->attrs, &f) ? f.vector_bytes : 16;
}

bool
cpu_has_feature(tn_ctx *ctx, const tn_target *target, const char *name)
{
    cpu_needs f;
    if (!target || !cpu_needs_of(ctx, target->attrs, &f))
        return false;
    for (uint32_t i = 0; i < f.n; i++)
        if (!strcmp(f.names[i], name))
            return true;
    return false;
}

bool
cpu_takes_tiles(tn_ctx *ctx, const tn_target *target, bool floats, int64_t rows, int64_t columns,
                int64_t k)
{
    return rows > 0 && rows % 16 == 0 && columns > 0 && columns % 16 == 0 && k > 0 &&
           k % (floats ? 32 : 64) == 0 && cpu_vector_bytes(ctx, target) == 64 &&
           cpu_has_feature(ctx, target, "amx-tile") &&
           cpu_has_feature(ctx, target, floats ? "amx-bf16" : "amx-int8");
}
