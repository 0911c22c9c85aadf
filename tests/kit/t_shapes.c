/* SPDX-License-Identifier: Apache-2.0 */
/* Random shapes: operators on tensors without elements, of one element, broadcast against each
 * other, of symbolic extents, compiled for the cpu, against the interpreter on the uncompiled
 * module, where all extents are constants. The seed is printed; TENON_SEED sets it, TENON_ROUNDS
 * the number of modules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "draw.h"
#include "tenon/base/conf.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"
#include "tenon/kit/driver.h"
#include "tenon/rt/vm.h"

/* One operator on up to three operands. A shape is a word: a letter is an extent drawn at random,
 * the same for all operands of the call; a digit is itself. {ab} in the call is the product of
 * extents. */
enum {
    SPREADS = 1, /* extents of single operands may become 1: broadcasting */
    FILLED = 2,  /* no meaning without elements */
    FIXED = 4    /* extents are constants only */
};
typedef struct form {
    const char *call;
    const char *in[3];
    unsigned flags;
} form;

static const form forms[] = {
    {"R.add(x, y)", {"abc", "abc"}, SPREADS},
    {"R.subtract(x, y)", {"abc", "bc"}, SPREADS},
    {"R.multiply(x, y)", {"c", "abc"}, SPREADS},
    {"R.maximum(x, R.const(0.25, \"float32\"))", {"ab"}, 0},
    {"R.where(R.greater(x, y), y, z)", {"ab", "ab", "b"}, SPREADS},
    {"R.sum(x)", {"abc"}, 0},
    {"R.sum(x, axis=[1])", {"abc"}, 0},
    {"R.sum(x, axis=[0, 2], keepdims=True)", {"abc"}, 0},
    {"R.mean(x, axis=[2])", {"abc"}, FILLED},
    {"R.max(x, axis=[0])", {"abc"}, FILLED},
    {"R.min(x, axis=[1, 2])", {"abc"}, FILLED},
    {"R.prod(x, axis=[1])", {"abc"}, 0},
    {"R.argmax(x, axis=1)", {"ab"}, FILLED},
    {"R.matmul(x, y)", {"ak", "kb"}, 0},
    {"R.matmul(x, y)", {"nak", "nkb"}, 0},
    {"R.matmul(x, R.permute_dims(y, axes=[1, 0]))", {"ak", "bk"}, 0},
    {"R.matmul(x, y)", {"nak", "k"}, 0},
    {"R.permute_dims(x, axes=[2, 0, 1])", {"abc"}, 0},
    {"R.reshape(x, R.shape([{b}, {ac}]))", {"abc"}, 0},
    {"R.reshape(x, R.shape([{abc}]))", {"abc"}, 0},
    {"R.reshape(x, R.shape([{c}, 1, {a}, {b}]))", {"abc"}, 0},
    {"R.flatten(x)", {"abc"}, 0},
    {"R.broadcast_to(x, R.shape([{a}, {b}, {c}]))", {"b1"}, FIXED},
    {"R.expand_dims(x, axis=[0, 2])", {"ab"}, 0},
    {"R.concat((x, y, z), axis=1)", {"ab", "ac", "ad"}, 0},
    {"R.stack((x, y), axis=1)", {"ab", "ab"}, 0},
    {"R.split(x, 2, axis=1)[1]", {"a4c"}, 0},
    {"R.strided_slice(x, (R.prim_value(0),), (R.prim_value(1),), (R.prim_value(3),))", {"ab"}, 0},
    {"R.flip(x, axis=1)", {"ab"}, 0},
    {"R.tile(x, repeats=[2, 3])", {"ab"}, 0},
    {"R.repeat(x, repeats=2, axis=1)", {"ab"}, 0},
    {"R.tril(x, 1)", {"abc"}, 0},
    {"R.triu(x, 1)", {"abc"}, 0},
    {"R.cumsum(x, axis=1)", {"ab"}, 0},
    {"R.take(x, R.const([1, 0], \"int64\"), axis=1)", {"a2c"}, 0},
    {"R.nn.softmax(x, axis=-1)", {"abc"}, 0},
    {"R.nn.log_softmax(x, axis=1)", {"abc"}, 0},
    {"R.nn.layer_norm(x, y, z, axes=[-1])", {"abc", "c", "c"}, 0},
    {"R.nn.pad(x, pad_width=[1, 0, 0, 2])", {"ab"}, 0},
    {"R.nn.conv2d(x, y, padding=[1, 1, 1, 1])", {"nc67", "ac33"}, FIXED},
    {"R.nn.conv2d(x, y)", {"1cab", "5c11"}, FIXED | FILLED},
    {"R.nn.max_pool2d(x, pool_size=[2, 2])", {"ab45"}, FIXED},
    {"R.nn.avg_pool2d(x, pool_size=[2, 2], strides=[2, 2])", {"ab45"}, FIXED},
    {"R.nn.adaptive_avg_pool2d(x, output_size=[2, 3])", {"ab57"}, FIXED},
    {"R.astype(R.multiply(x, R.const(10, \"float32\")), \"int32\")", {"ab"}, 0},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

/* What may follow, in the same kernel when operators are fused. */
static const char *const tails[] = {
    "R.negative(%)", "R.add(%, %)", "R.abs(%)", "R.permute_dims(%)", "R.flatten(%)",
};

static tnb_conf *conf;
static tnb_plugins *plugins;
static tn_registry *registry;
static tnr_runtime *rt;
static tnb_err err;

static int
open_all(void **state)
{
    (void)state;
    draw_seed(20240229);
    tnb_diags *diags = tnb_diags_new();
    conf = tnb_conf_load(NULL, diags);
    tnb_diags_free(diags);
    if (!conf || tnb_plugins_open(conf, NULL, &plugins, &err) != TNB_OK)
        return -1;
    registry = tn_registry_new(plugins);
    tnr_runtime_options opt = {.plugins = plugins, .conf = conf, .threads = 2};
    return tnr_runtime_new(&opt, &rt, &err) == TNB_OK ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    tnr_runtime_free(rt);
    tn_registry_free(registry);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    return 0;
}

/* ---- making modules ---- */

typedef struct draw {
    int64_t extent[26];
    bool symbolic;
} draw;

static void
put_extent(tnb_buf *b, const draw *d, char c, bool quoted)
{
    if (c >= '0' && c <= '9')
        tnb_buf_printf(b, "%c", c);
    else if (d->symbolic)
        tnb_buf_printf(b, quoted ? "\"%c\"" : "%c", c);
    else
        tnb_buf_printf(b, "%d", (int)d->extent[c - 'a']);
}

static void
put_call(tnb_buf *b, const draw *d, const char *call)
{
    for (const char *p = call; *p; p++) {
        if (*p != '{') {
            tnb_buf_putc(b, *p);
            continue;
        }
        for (p++; *p != '}'; p++) {
            put_extent(b, d, *p, false);
            if (p[1] != '}')
                tnb_buf_puts(b, " * ");
        }
    }
}

static void
put_function(tnb_buf *b, int number, const form *f, const draw *d)
{
    tnb_buf_printf(b, "    @R.function\n    def f%d(", number);
    bool seen[26] = {false};
    for (int i = 0; i < 3 && f->in[i]; i++) {
        tnb_buf_printf(b, "%s%c: R.Tensor((", i ? ", " : "", "xyz"[i]);
        for (const char *p = f->in[i]; *p; p++) {
            bool one = (f->flags & SPREADS) && between(0, 4) == 0;
            put_extent(b, d, one ? '1' : *p, true);
            tnb_buf_puts(b, ",");
            seen[*p >= 'a' ? *p - 'a' : 0] |= *p >= 'a' && !one;
        }
        tnb_buf_puts(b, "), \"float32\")");
    }
    tnb_buf_puts(b, "):\n");
    for (int i = 0; d->symbolic && i < 26; i++)
        if (seen[i])
            tnb_buf_printf(b, "        %c = T.int64()\n", 'a' + i);
    tnb_buf_puts(b, "        with R.dataflow():\n            v = ");
    put_call(b, d, f->call);
    tnb_buf_puts(b, "\n");
    const char *last = "v";
    if (between(0, 1)) {
        tnb_buf_puts(b, "            w = ");
        const char *t = tails[between(0, sizeof tails / sizeof *tails - 1)];
        for (const char *p = t; *p; p++)
            tnb_buf_putc(b, *p == '%' ? 'v' : *p);
        tnb_buf_puts(b, "\n");
        last = "w";
    }
    tnb_buf_printf(b, "            R.output(%s)\n        return %s\n\n", last, last);
}

/* The same functions for the same state of the generator; `constant`: without symbolic extents. */
static void
put_module(tnb_buf *b, draw *draws, const form **chosen, int n, bool constant)
{
    static const int64_t extents[] = {0, 0, 1, 1, 2, 3, 5, 8, 19};
    tnb_buf_puts(b, "@I.ir_module\nclass Module:\n");
    for (int i = 0; i < n; i++) {
        const form *f = chosen[i] = &forms[between(0, N_FORMS - 1)];
        draws[i].symbolic = between(0, 2) == 0 && !(f->flags & FIXED) && !constant;
        for (int k = 0; k < 26; k++) {
            do
                draws[i].extent[k] = extents[between(0, sizeof extents / sizeof *extents - 1)];
            while ((f->flags & FILLED) && draws[i].extent[k] == 0);
        }
        put_function(b, i, f, &draws[i]);
    }
}

/* ---- running them ---- */

static void
print_errors(tn_ctx *ctx)
{
    tnb_buf b = {0};
    tnb_diags_print(tn_diags(ctx), &b);
    fprintf(stderr, "%s\n", b.s ? b.s : "no diagnostics");
    tnb_buf_free(&b);
}

static tnr_vm *
compiled(tn_ctx *ctx, const tn_module *m, tnr_artifact **a)
{
    static const char *const target = "cpu";
    tnk_model model = {.module = m};
    tnk_compile_options opt = {.conf = conf, .targets = &target, .n_targets = 1, .jobs = 2};
    tnk_compile_result result;
    tnr_vm *vm = NULL;
    uint32_t variant;
    if (tnk_compile(ctx, &model, &opt, &result) != TNB_OK) {
        print_errors(ctx);
        return NULL;
    }
    tnb_status st = tnr_artifact_open_fd(result.fd, "compiled", a, &err);
    close(result.fd);
    if (st == TNB_OK)
        st = tnr_artifact_pick(rt, *a, NULL, &variant, NULL, &err);
    if (st == TNB_OK)
        st = tnr_vm_new(rt, *a, variant, &vm, &err);
    if (st != TNB_OK)
        fprintf(stderr, "%s\n", err.message);
    return vm;
}

/* The result of the compiled function; NULL after printing why there is none. */
static const tn_expr *
call(tn_ctx *ctx, tnr_vm *vm, const char *name, tn_list args)
{
    tnr_value values[4] = {{0}}, ret = tnr_null();
    const tn_expr *out = NULL;
    tnb_status st = TNB_OK;
    for (uint32_t i = 0; i < args.n && st == TNB_OK; i++) {
        const tn_data *d = tn_as_constant(args.at[i])->data;
        st = tnr_tensor_from(tnr_vm_device(vm), tn_data_get(ctx, d), d->shape, (uint32_t)d->ndim,
                             d->dtype, &values[i], &err);
    }
    if (st == TNB_OK)
        st = tnr_vm_call(vm, name, values, args.n, &ret, &err);
    if (st == TNB_OK && ret.tag == TNR_TENSOR) {
        void *bytes;
        const tnr_tensor *t = ret.u.tensor;
        const tn_data *d = tn_data_new(ctx, t->dl.dtype, t->dl.ndim, t->dl.shape, &bytes);
        st = tnr_tensor_read(t, bytes, t->n_bytes, &err);
        out = st == TNB_OK ? tn_constant_of(ctx, d) : NULL;
    }
    for (uint32_t i = 0; i < args.n; i++)
        tnr_release(&values[i]);
    tnr_release(&ret);
    if (!out)
        fprintf(stderr, "%s: %s\n", name, st == TNB_OK ? "the result is no tensor" : err.message);
    return out;
}

static void
compiled_equals_interpreted(void **state)
{
    (void)state;
    enum { FUNCTIONS = 60 };
    const char *r = getenv("TENON_ROUNDS");
    for (int round = 0; round < (r ? atoi(r) : 2); round++) {
        tn_ctx *ctx = tn_ctx_new(registry);
        draw draws[FUNCTIONS];
        const form *chosen[FUNCTIONS];
        tnb_buf text = {0}, reference = {0};
        uint64_t start = draw_state;
        put_module(&reference, draws, chosen, FUNCTIONS, true);
        draw_state = start;
        put_module(&text, draws, chosen, FUNCTIONS, false);
        const tn_module *m = tn_read_module(ctx, "random.py", text.s, text.n);
        const tn_module *ref = tn_read_module(ctx, "reference.py", reference.s, reference.n);
        tnr_artifact *a = NULL;
        if (!m || !ref)
            print_errors(ctx);
        tnr_vm *vm = m && ref ? compiled(ctx, m, &a) : NULL;
        if (!vm) {
            fputs(text.s, stderr);
            fail_msg("a module of random functions cannot be compiled");
        }
        const tn_evaluator *eval = tn_find_evaluator(registry, "interp", &err);
        assert_non_null(eval);
        int wrong = 0;
        for (int i = 0; i < FUNCTIONS; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%d", i);
            tn_list args;
            tn_eval_options opt = {0};
            assert_true(
                tn_random_args(ctx, tn_module_get(ref, name), (uint64_t)i + 1, NULL, &args));
            const tn_expr *want = eval->run(eval->self, ctx, ref, name, args.at, args.n, &opt);
            if (!want)
                print_errors(ctx);
            const tn_expr *is = want ? call(ctx, vm, name, args) : NULL;
            tnb_buf why = {0};
            if (!is || !tn_values_close(ctx, is, want, 1e-4, 1e-5, &why)) {
                fprintf(stderr, "%s: %s: %s\n", name, chosen[i]->call,
                        why.s ? why.s : "did not run");
                wrong++;
            }
            tnb_buf_free(&why);
        }
        if (wrong) {
            fputs(text.s, stderr);
            fail_msg("%d of %d functions differ", wrong, FUNCTIONS);
        }
        tnb_buf_free(&text);
        tnb_buf_free(&reference);
        tnr_vm_free(vm);
        tnr_artifact_close(a);
        tn_ctx_free(ctx);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_equals_interpreted),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
