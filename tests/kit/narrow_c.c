/* SPDX-License-Identifier: Apache-2.0 */
/* The dialect, and what compiles and runs its source. */
#include "narrow_c.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/base/file.h"
#include "tenon/core/build.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit_hooks.h"

static const char *const threads[] = {
    "threadIdx.x", "tk_lane[0]",  "threadIdx.y", "tk_lane[1]", "threadIdx.z",
    "tk_lane[2]",  "blockIdx.x",  "tk_group[0]", "blockIdx.y", "tk_group[1]",
    "blockIdx.z",  "tk_group[2]", NULL,
};

/* Nothing has 64 bits from here on. */
static const char prologue[] = "#include <math.h>\n"
                               "#include <stdint.h>\n"
                               "#pragma GCC poison int64_t uint64_t long\n"
                               "static int tk_lane[3], tk_group[3];\n"
                               "#define tk_and(place, x) ((place) &= (x))\n"
                               "#define tk_or(place, x) ((place) |= (x))\n";

static const tnk_function_name functions[] = {{TN_INTRIN_atomic_and, "tk_and"},
                                              {TN_INTRIN_atomic_or, "tk_or"},
                                              {0}};

/* Memory is a value that holds its elements; a type for each kind of them. */
static const char *
param(tnk_emitter *e, const tnk_param *p)
{
    tnb_dtype d = p->dtype, one = d;
    one.lanes = 1;
    tnb_dtype stored = tnk_storage_dtype(one);
    stored.lanes = d.lanes;
    const char *of = tnk_c_type(e, stored), *type = tn_strf(e->ctx, "memory_of_%s", of);
    if (tnk_once(e, type))
        tnb_buf_printf(tnk_helpers(e), "typedef struct {\n    %s *items;\n} %s;\n", of, type);
    return type;
}

static void
element(tnk_emitter *e, const tn_node *buffer, const tn_expr *at)
{
    const tnk_memory *m = tnk_memory_of(e, buffer);
    tnb_buf_printf(e->out, "%s%s[", m->name, m->given ? ".items" : "");
    tnk_emit_expr(e, at);
    tnb_buf_puts(e->out, "]");
}

static const tnk_dialect narrow_c = {
    .base = {sizeof(tnk_dialect), "narrow_c", "C without pointers and numbers of 64 bits"},
    .calling = TNK_CALL_DIRECT,
    .kernel = "static void",
    .threads = threads,
    .float_suffix = "f",
    .functions = functions,
    .prologue = prologue,
    .gnu_vectors = true,
    .no_int64 = true,
    .param = param,
    .element = element,
};

static tn_walk_step
find_barrier(void *user, const tn_node *n)
{
    (void)user;
    return tn_is_intrin(n, TN_INTRIN_tvm_storage_sync) ? TN_WALK_STOP : TN_WALK_ON;
}

bool
narrow_c_takes(const tnk_kernel *kernel)
{
    return tn_walk(tn_as_prim_func(kernel->func)->body, 0, find_barrier, NULL, NULL);
}

/* A function that runs all threads with these arguments. */
static void
add_entry(tn_ctx *ctx, const tnk_kernel *kernel, tn_list scalars, const int64_t grid[3],
          const int64_t block[3], tnb_buf *out)
{
    uint32_t memory = 0, scalar = 0;
    tnb_buf_puts(out, "void run(void *const *memory)\n{\n");
    for (int i = 0; i < 6; i++)
        tnb_buf_printf(out, "    for (tk_%s[%d] = 0; tk_%s[%d] < %lld; tk_%s[%d]++)\n",
                       i < 3 ? "group" : "lane", i % 3, i < 3 ? "group" : "lane", i % 3,
                       (long long)(i < 3 ? grid[i] : block[i - 3]), i < 3 ? "group" : "lane",
                       i % 3);
    tnb_buf_printf(out, "        %s(", kernel->name);
    for (uint32_t i = 0; i < kernel->n_params; i++) {
        const tnk_param *p = &kernel->params[i];
        tnb_buf_puts(out, i ? ", " : "");
        if (tnb_param_is_memory(p->kind)) {
            tnb_dtype d = p->dtype, one = d;
            one.lanes = 1;
            one = tnk_storage_dtype(one);
            const char *name = tnk_short_name(one);
            static const char *const plain[] = {"int8_t",  "int16_t",  "int32_t", "",
                                                "uint8_t", "uint16_t", "uint32_t"};
            int k = one.bits == 8 ? 0 : one.bits == 16 ? 1 : 2;
            const char *of = d.lanes > 1             ? tn_strf(ctx, "%sx%d", name, d.lanes)
                             : one.code == TNB_FLOAT ? "float"
                                                     : plain[k + (one.code == TNB_INT ? 0 : 4)];
            tnb_buf_printf(out, "(memory_of_%s){memory[%u]}", of, memory++);
        } else {
            int64_t v = 0;
            const tn_expr *x = scalars.at[scalar++];
            if (tn_int_value(x, &v))
                tnb_buf_printf(out, "(%lld)", (long long)v);
            else
                tnb_buf_printf(out, "%.9gf", tn_as_float_imm(x)->value);
        }
    }
    tnb_buf_puts(out, ");\n}\n");
}

static bool
compile_and_run(tn_ctx *ctx, const char *folder, const tnb_buf *text, void *const *memory)
{
    tnb_err err = {0};
    const char *cc = getenv("CC"), *c = tn_strf(ctx, "%s/k.c", folder),
               *so = tn_strf(ctx, "%s/k.so", folder);
    if (tnb_write_file(c, text->s, text->n, &err) != TNB_OK ||
        system(tn_strf(ctx,
                       "%s -std=gnu17 -O1 -Wall -Werror -Wno-unused -Wno-psabi "
                       "-Wno-maybe-uninitialized -Wno-tautological-compare -fPIC -shared -fwrapv "
                       "-ffp-contract=off -o %s %s -lm",
                       cc && *cc ? cc : "cc", so, c)) != 0) {
        fprintf(stderr, "%s\n%s\n", err.message, text->s);
        return false;
    }
    void *module = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    union {
        void *p;
        void (*f)(void *const *memory);
    } run = {module ? dlsym(module, "run") : NULL};
    if (run.p)
        run.f(memory);
    else
        fprintf(stderr, "%s\n", dlerror());
    if (module)
        dlclose(module);
    return run.p != NULL;
}

bool
narrow_c_run(tn_ctx *ctx, tnk_kernel *kernel, void *const *memory, const tn_list scalars,
             const int64_t grid[3], const int64_t block[3])
{
    tnk_source *s = tnk_source_new(ctx, &narrow_c);
    if (!tnk_source_add(s, kernel))
        return false;
    char folder[TNB_TEMPORARY_PATH];
    tnb_err err = {0};
    tnb_buf text = {0};
    tnk_source_text(s, &text);
    add_entry(ctx, kernel, scalars, grid, block, &text);
    bool ok =
        tnb_temporary_dir(folder, &err) == TNB_OK && compile_and_run(ctx, folder, &text, memory);
    tnb_temporary_remove(folder);
    tnb_buf_free(&text);
    return ok;
}
