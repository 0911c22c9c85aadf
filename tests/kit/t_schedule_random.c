/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedules: primitives with random operands are tried on the programs of the collection;
 * those that are legal keep what the program computes, by the interpreter, and the verifier's
 * invariants. The seed is printed; TENON_SEED sets it, TENON_ROUNDS the number of schedules (100; thousands in check-long).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "draw.h"
#include "krun.h"
#include "programs.h"
#include "tenon/core/walk.h"
#include "tenon/kit/schedule.h"

enum { STEPS = 7, BLOCKS = 16, LOOPS = 16 };

static krun k;
static tnk_item *blocks[BLOCKS], *loops[LOOPS], *part[2];
static uint32_t n_blocks, n_loops;
static int legal, refused;

static uint32_t
below(uint32_t n)
{
    return (uint32_t)(draw_next() % n);
}

static int
open_all(void **state)
{
    (void)state;
    draw_seed(20240229);
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

/* A block, and the loops around it. */
static tnk_item *
pick_block(tnk_sch *s)
{
    n_blocks = tnk_sch_blocks(s, blocks, BLOCKS);
    n_blocks = n_blocks < BLOCKS ? n_blocks : BLOCKS;
    tnk_item *b = blocks[below(n_blocks)];
    n_loops = tnk_sch_loops(s, b, loops, LOOPS);
    n_loops = n_loops < LOOPS ? n_loops : LOOPS;
    return b;
}

static void
shuffle(void)
{
    for (uint32_t i = n_loops; i > 1; i--) {
        uint32_t at = below(i);
        tnk_item *other = loops[i - 1];
        loops[i - 1] = loops[at];
        loops[at] = other;
    }
}

/* lambda i0, i1, i2: (i2, i1, i0) */
static const tn_node *
reversed(uint32_t n)
{
    tn_index_map m = {0};
    for (uint32_t i = 0; i < n; i++)
        m.vars =
            tn_list_append(k.ctx, m.vars, tn_var_dtype(k.ctx, tn_strf(k.ctx, "i%u", i), TNB_I64));
    for (uint32_t i = n; i-- > 0;)
        m.result = tn_list_append(k.ctx, m.result, m.vars.at[i]);
    return tn_rebuild(k.ctx, TN_KIND_INDEX_MAP, &m, NULL);
}

static void
one_primitive(tnk_sch *s)
{
    static const int64_t factors[] = {1, 2, 3, 4, 5, 8, 16};
    static const tn_for_kind kinds[] = {TN_FOR_PARALLEL, TN_FOR_VECTORIZED, TN_FOR_UNROLLED,
                                        TN_FOR_SERIAL};
    tnk_item *b = pick_block(s);
    uint32_t what = below(22);
    if (n_loops == 0 && (what < 7 || (what >= 11 && what <= 14) || what == 20))
        return;
    tnk_item *l = n_loops ? loops[below(n_loops)] : NULL;
    switch (what) {
    case 0:
        (void)tnk_split(s, l, factors[below(7)], part);
        break;
    case 1:
        (void)tnk_split_overlap(s, l, factors[below(7)], part);
        break;
    case 2:
        if (n_loops >= 2) {
            uint32_t at = below(n_loops - 1);
            (void)tnk_fuse(s, loops[at], loops[at + 1]);
        }
        break;
    case 3:
        if (n_loops >= 2) {
            shuffle();
            (void)tnk_reorder(s, loops, 2 + below(n_loops - 1));
        }
        break;
    case 4:
        (void)tnk_set_kind(s, l, kinds[below(4)]);
        break;
    case 5:
        (void)tnk_decompose_reduction(s, b, l);
        break;
    case 6:
        (void)tnk_compute_at(s, blocks[below(n_blocks)], l);
        break;
    case 7:
        (void)tnk_compute_inline(s, b);
        break;
    case 8:
        (void)tnk_cache_write(s, b, below(2) ? "local" : "global");
        break;
    case 9: {
        tn_list reads = tnk_item_block(b)->reads;
        if (reads.n)
            (void)tnk_cache_read(s, b, tn_as_buffer_region(reads.at[below(reads.n)])->buffer,
                                 "global", NULL);
        break;
    }
    case 10:
        (void)tnk_add_unit_loop(s, b);
        break;
    case 11: {
        static const char *const tags[] = {"blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y",
                                           "vthread.x"};
        (void)tnk_bind(s, l, tags[below(5)]);
        break;
    }
    case 12:
        (void)tnk_reverse_compute_at(s, blocks[below(n_blocks)], l);
        break;
    case 13:
        (void)tnk_rfactor(s, l, (int)below(3));
        break;
    case 14: {
        static const int64_t shapes[][3] = {{-1, 2, 3}, {2, -1, 4}, {3, 2, -1}, {4, 4, 40}};
        tnk_item *three[3];
        (void)tnk_split_n(s, l, shapes[below(4)], 3, three);
        break;
    }
    case 15: {
        const tn_block *blk = tnk_item_block(b);
        uint32_t at = below(blk->reads.n + blk->writes.n);
        const tn_node *r =
            at < blk->reads.n ? blk->reads.at[at] : blk->writes.at[at - blk->reads.n];
        (void)tnk_reindex(s, b, tn_as_buffer_region(r)->buffer);
        break;
    }
    case 16: {
        static const int64_t multiples[] = {1, 4, 7, 16};
        int64_t padding[16];
        uint32_t n = tnk_item_block(b)->iters.n;
        for (uint32_t i = 0; i < n && i < 16; i++)
            padding[i] = multiples[below(4)];
        (void)tnk_pad_einsum(s, b, padding, n < 16 ? n : 16);
        break;
    }
    case 17: {
        const tn_node *out = tnk_block_output(b);
        if (out)
            (void)tnk_transform_layout(s, b, out, reversed(tn_as_buffer(out)->shape.n));
        break;
    }
    case 18:
        (void)tnk_transform_block_layout(s, b, reversed(tnk_item_block(b)->iters.n));
        break;
    case 19:
        (void)tnk_annotate_block(s, b, "note",
                                 below(2) ? tn_int_array(k.ctx, (int64_t[]){1, -2}, 2)
                                          : tn_string(k.ctx, "a \"b\""));
        break;
    case 20:
        (void)tnk_blockize(s, l);
        break;
    default:
        (void)tnk_reverse_compute_inline(s, b);
    }
}

static bool
same(const tn_node *before, const tn_node *after, const tn_node *dims)
{
    tnb_err err = {0};
    const tn_evaluator *eval = tn_find_evaluator(k.reg, "interp", &err);
    assert_non_null(eval);
    tn_list a;
    assert_true(tn_random_args(k.ctx, before, 5, dims, &a));
    tn_list b = krun_copy(&k, a);
    const tn_node *funcs[2] = {before, after};
    tn_list args[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        tn_eval_options opt = {0};
        const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", funcs[i]);
        if (!eval->run(eval->self, k.ctx, m, "f", args[i].at, args[i].n, &opt)) {
            krun_print_errors(&k);
            return false;
        }
    }
    for (uint32_t i = 0; i < a.n; i++) {
        tnb_buf why = {0};
        bool ok = tn_values_close(k.ctx, b.at[i], a.at[i], 1e-3, 1e-4, &why);
        if (!ok)
            fprintf(stderr, "argument %u: %s\n", i, why.s ? why.s : "");
        tnb_buf_free(&why);
        if (!ok)
            return false;
    }
    return true;
}

/* The trace, applied to the same function, gives an equal one, and the same trace. */
static void
read_again(const tn_node *before, const tn_node *after, const char *trace)
{
    tnk_sch *s = tnk_sch_new(k.ctx, before);
    const tn_node *again = tnk_sch_apply(s, trace, "trace", 1) ? tnk_sch_finish(s) : NULL;
    if (!again || !tn_equal(k.ctx, after, again, true, NULL)) {
        krun_print_errors(&k);
        fail_msg("read again it is another function:\n%s", trace);
    }
    assert_string_equal(tnk_sch_trace(s), trace);
}

static void
legal_schedules_keep_the_meaning(void **state)
{
    (void)state;
    const char *r = getenv("TENON_ROUNDS");
    for (int round = 0; round < (r ? atoi(r) : draw_long() ? 2000 : 100); round++) {
        const char *name;
        const tn_node *dims,
            *f = program_get(k.ctx, (int)below((uint32_t)program_count()), &name, &dims);
        if (strstr(name, "half") || !strcmp(name, "int"))
            continue; /* sums in float16 differ with the order of additions; "int" divides by its
                         data */
        const tn_node *now = f;
        tnb_buf trace = {0};
        for (int step = 0; step < STEPS; step++) {
            tnk_sch *s = tnk_sch_new(k.ctx, now);
            assert_non_null(s);
            tnk_sch_quiet(s);
            one_primitive(s);
            const tn_node *next = tnk_sch_finish(s);
            if (!next && tnk_sch_ok(s)) {
                krun_print_errors(&k);
                fail_msg("%s%sround %d, program %s: no function", trace.s ? trace.s : "",
                         tnk_sch_trace(s), round, name);
            }
            legal += next != NULL && next != now;
            refused += next == NULL;
            if (next) {
                read_again(now, next, tnk_sch_trace(s));
                tnb_buf_puts(&trace, tnk_sch_trace(s));
            }
            now = next ? next : now;
        }
        const tn_module *m = tn_module_set(k.ctx, tn_module_new(k.ctx), "f", now);
        uint32_t faults = tn_verify(k.ctx, m);
        if (faults)
            krun_print_errors(&k);
        if (trace.s)
            read_again(f, now, trace.s); /* all steps in one schedule */
        if (faults || !same(f, now, dims)) {
            fprintf(stderr, "%s", trace.s ? trace.s : "");
            fail_msg("round %d, program %s", round, name);
        }
        tnb_buf_free(&trace);
    }
    printf("%d primitives were legal, %d refused\n", legal, refused);
    assert_true(legal > refused / 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_schedules_keep_the_meaning),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
