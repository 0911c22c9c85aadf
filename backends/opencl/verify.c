/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel's text asks of a device, read back from the text itself and compared with what the target says: features
 * beyond OpenCL C 1.2, and local memory. Emission and the passes before it keep to both on their own; this finds where they
 * do not, before a customer's driver does.
 *
 *     in the text                                    allowed with the feature
 *     half, but for `half *` of vload_half           fp16
 *     double, 1.0 without f                          fp64
 *     sub_group_reduce_add and the like              subgroups, or cl_intel_subgroups
 *     sub_group_shuffle_xor and the like             cl_khr_subgroup_shuffle, and such extensions for others
 *     atom_add and the like (64 bits)                cl_khr_int64_base_atomics
 *     image2d_t, read_imagef and the like            images
 *     __local float tile[1024];                      4096 of max_shared_memory_per_block
 */
#include <ctype.h>
#include <stdlib.h>

#include "opencl.h"

#include "tenon/core/walk.h"

/* A word is that identifier, or it and a number of lanes; a call is of a function whose name begins so. */
typedef enum kind { WORD, CALL } kind;
static const struct {
    const char *text;
    kind kind;
    const char *feature;
} words[] = {
    {"half", WORD, "fp16"},
    {"as_half", CALL, "fp16"},
    {"convert_half", CALL, "fp16"},
    {"cl_khr_fp16", WORD, "fp16"},
    {"double", WORD, "fp64"},
    {"as_double", CALL, "fp64"},
    {"convert_double", CALL, "fp64"},
    {"cl_khr_fp64", WORD, "fp64"},
    {"sub_group_", CALL, "subgroups"},
    {"sub_group_shuffle", CALL, "cl_khr_subgroup_shuffle"},
    {"sub_group_clustered_", CALL, "cl_khr_subgroup_clustered_reduce"},
    {"intel_sub_group_", CALL, "cl_intel_subgroups"},
    {"qcom_sub_group_shuffle_", CALL, "cl_qcom_subgroup_shuffle"},
    {"intel_reqd_sub_group_size", CALL, "cl_intel_required_subgroup_size"},
    {"qcom_reqd_sub_group_size", CALL, "cl_qcom_reqd_sub_group_size"},
    {"get_sub_group_", CALL, "subgroups"},
    {"get_max_sub_group_", CALL, "subgroups"},
    {"get_num_sub_groups", CALL, "subgroups"},
    {"get_enqueued_num_sub_groups", CALL, "subgroups"},
    {"cl_khr_subgroups", WORD, "subgroups"},
    {"atom_", CALL, "cl_khr_int64_base_atomics"},
    {"image1d_t", WORD, "images"},
    {"image2d_t", WORD, "images"},
    {"image2d_array_t", WORD, "images"},
    {"image3d_t", WORD, "images"},
    {"sampler_t", WORD, "images"},
    {"read_image", CALL, "images"},
    {"write_image", CALL, "images"},
};

enum { MAX_LOCAL = 64 };

typedef struct reader {
    const opencl_limits *limits;
    const char *kernel, *at;
    tn_ctx *ctx;
    tn_loc loc;
    int64_t local; /* bytes declared so far */
    const char *arrays[MAX_LOCAL];
    uint32_t n_arrays;
    bool failed;
} reader;

static bool
allows(const opencl_limits *l, const char *feature)
{
    for (const char *const *f = l->features; f && *f; f++)
        if (!strcmp(*f, feature) ||
            (!strcmp(feature, "subgroups") && !strcmp(*f, "cl_intel_subgroups")))
            return true;
    return false;
}

static void
refuse(reader *r, const char *what, size_t n, const char *feature)
{
    if (r->failed || allows(r->limits, feature))
        return;
    r->failed = true;
    tn_error(r->ctx, r->loc, TNB_UNSUPPORTED,
             "kernel '%s': its text has '%.*s', which needs the feature '%s'; the target does not "
             "have it",
             r->kernel, (int)(n < 40 ? n : 40), what, feature);
    tnb_diag_hint(tn_diags(r->ctx), "tenon show kernel prints the text; features of the target are "
                                    "the key `features` of its section");
}

static const char *
skip_blanks(const char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

static const char *
word_end(const char *s)
{
    while (isalnum((unsigned char)*s) || *s == '_')
        s++;
    return s;
}

static bool
is_word(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && !memcmp(s, word, n);
}

static void
check_word(reader *r, const char *s, size_t n)
{
    const char *behind = skip_blanks(s + n);
    if (is_word(s, n, "half") && *behind == '*')
        return; /* memory that vload_half and vstore_half go to */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t p = strlen(words[i].text);
        if (n < p || memcmp(s, words[i].text, p))
            continue;
        if (words[i].kind == CALL ? *behind == '(' : p + strspn(s + p, "0123456789") == n)
            refuse(r, s, n, words[i].feature);
    }
}

/* A number; a floating-point literal without f is a double. */
static const char *
number(reader *r, const char *s)
{
    const char *e = s;
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X'), real = false;
    for (; isalnum((unsigned char)*e) || *e == '.' ||
           ((*e == '+' || *e == '-') && strchr(hex ? "pP" : "eE", e[-1]));
         e++)
        real |= *e == '.' || strchr(hex ? "pP" : "eE", *e);
    if (real && e[-1] != 'f' && e[-1] != 'F')
        refuse(r, s, (size_t)(e - s), "fp64");
    return e;
}

static int64_t
size_of_type(const char *s, size_t n)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = {{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"half", 2},  {"int", 4},
                 {"uint", 4}, {"float", 4}, {"long", 8},  {"ulong", 8},  {"double", 8}};
    size_t name = n;
    while (name > 0 && isdigit((unsigned char)s[name - 1]))
        name--;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_word(s, name, types[i].name)) {
            int64_t lanes = name < n ? atoi(s + name) : 1;
            return types[i].bytes * (lanes == 3 ? 4 : lanes);
        }
    return 0;
}

/* Behind `__local`: TYPE NAME[COUNT]; or TYPE NAME; anything else declares nothing. */
static void
local_array(reader *r, const char *s)
{
    const char *type = skip_blanks(s), *type_end = word_end(type), *name = skip_blanks(type_end),
               *name_end = word_end(name), *p = skip_blanks(name_end);
    int64_t bytes = size_of_type(type, (size_t)(type_end - type)), count = 1;
    if (bytes == 0 || name == name_end || (*p != '[' && *p != ';'))
        return;
    if (*p == '[') {
        char *end;
        long long n = strtoll(p + 1, &end, 10);
        if (end == p + 1 || *skip_blanks(end) != ']' || n < 0)
            return;
        count = n;
    }
    if (__builtin_mul_overflow(bytes, count, &bytes) ||
        __builtin_add_overflow(r->local, bytes, &r->local))
        r->local = INT64_MAX;
    if (r->n_arrays < MAX_LOCAL)
        r->arrays[r->n_arrays++] =
            tn_strf(r->ctx, "'%.*s': %lld bytes", (int)(name_end - name), name, (long long)bytes);
}

static void
check_local(reader *r)
{
    if (r->failed || r->local <= r->limits->local_bytes)
        return;
    r->failed = true;
    tn_error(r->ctx, r->loc, TNB_UNSUPPORTED,
             "kernel '%s': it declares %lld bytes of local memory, the target allows %lld",
             r->kernel, (long long)r->local, (long long)r->limits->local_bytes);
    for (uint32_t i = 0; i < r->n_arrays; i++)
        tnb_diag_note(tn_diags(r->ctx), "%s", r->arrays[i]);
    tnb_diag_hint(tn_diags(r->ctx), "smaller tiles, or set max_shared_memory_per_block in the "
                                    "target's section to what the device has");
}

static tn_walk_step
find_place(void *user, const tn_node *n)
{
    tn_loc *at = user;
    *at = n->loc;
    return n->loc ? TN_WALK_STOP : TN_WALK_ON;
}

/* The function's place, else that of the first part of it that has one. */
static tn_loc
place_of(const tn_node *func)
{
    tn_loc at = func ? func->loc : 0;
    if (func && !at)
        tn_walk(tn_as_prim_func(func)->body, 0, find_place, NULL, &at);
    return at;
}

bool
opencl_verify(tn_ctx *ctx, const tn_node *func, const char *kernel, const char *text,
              const opencl_limits *limits, int64_t *local_bytes)
{
    reader r = {.limits = limits, .kernel = kernel, .ctx = ctx, .loc = place_of(func)};
    for (const char *s = text; *s && !r.failed;) {
        const char *end;
        if (s[0] == '/' && s[1] == '*') {
            end = strstr(s + 2, "*/");
            s = end ? end + 2 : s + strlen(s);
        } else if (s[0] == '/' && s[1] == '/') {
            s += strcspn(s, "\n");
        } else if (*s == '"') {
            end = strchr(s + 1, '"');
            s = end ? end + 1 : s + strlen(s);
        } else if (isalpha((unsigned char)*s) || *s == '_') {
            end = word_end(s);
            check_word(&r, s, (size_t)(end - s));
            if (is_word(s, (size_t)(end - s), "__local") || is_word(s, (size_t)(end - s), "local"))
                local_array(&r, end);
            s = end;
        } else if (isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]))) {
            s = number(&r, s);
        } else {
            s++;
        }
    }
    check_local(&r);
    if (local_bytes)
        *local_bytes = r.local;
    return !r.failed;
}
