/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a warp, here a sub-group, do together.
 *
 * OpenCL lets an implementation choose how large sub-groups are, for each kernel, and which work item is which lane. So a kernel
 * that is written for sub-groups of 32 finds out as it runs, and its threads are numbered by sub-groups then:
 *
 *     const int tk_full = get_max_sub_group_size() == 32 && get_num_sub_groups() == 8;
 *     const int tk_thread = tk_full ? (int)(get_sub_group_id() * 32 + get_sub_group_local_id()) : (int)get_local_id(0);
 *
 * T.warp_size_is(32) is tk_full, which is the same for all threads of a block; threadIdx.x is made of tk_thread.
 */
#include "dialect.h"

/* The warps that a kernel is written for. */
typedef struct warps {
    int64_t size;     /* threads of one */
    int64_t block[3]; /* threads of a block */
} warps;

/* The first of these features that the target has, or an error about the first; up to NULL. */
static const char *
choose(tnk_emitter *e, const char *const *features)
{
    for (int i = 0; features[i]; i++)
        if (tnk_allows(e, features[i])) {
            tnk_need(e, features[i]);
            return features[i];
        }
    tnk_need(e, features[0]);
    return features[0];
}

/* ---- the kernel ---- */

typedef struct search {
    int64_t size;
    bool asked, calls, several;
} search;

static void
note_size(search *s, const tn_expr *size)
{
    int64_t n;
    if (!tn_int_value(size, &n) || n < 2 || (s->size && s->size != n))
        s->several = true;
    else
        s->size = n;
}

static tn_walk_step
find_calls(void *user, const tn_node *n)
{
    search *s = user;
    const tn_call *c = tn_as_call(n);
    if (c && tn_is_intrin(n, TN_INTRIN_warp_size_is)) {
        s->asked = true;
        note_size(s, c->args.at[0]);
    } else if (c && tnk_is_warp_call(n)) {
        s->calls = true;
        note_size(s, c->args.at[c->args.n - 1]);
    }
    return TN_WALK_ON;
}

void
opencl_warp_begin(tnk_emitter *e)
{
    const tnk_kernel *k = e->kernel;
    search s = {0};
    tn_walk(tn_as_prim_func(k->func)->body, TN_WALK_ONCE, find_calls, NULL, &s);
    if (!s.asked && !s.calls)
        return;
    if (s.several) {
        tnk_emit_fail(e, k->func->loc, "it is written for warps of different sizes");
        return;
    }
    if (!s.asked) {
        tnk_emit_fail(e, k->func->loc,
                      "threads of a warp exchange values, but no T.warp_size_is(%lld) asks whether "
                      "warps are so large",
                      (long long)s.size);
        return;
    }
    warps *w = TNB_NEW(tn_scratch(e->ctx), warps);
    for (int i = 0; i < 3; i++) {
        w->block[i] = 1;
        if (k->block[i] && !tn_int_value(k->block[i], &w->block[i]))
            tnk_emit_fail(e, k->func->loc,
                          "it is written for warps, but how many threads a block has is not known");
    }
    w->size = s.size;
    e->state = w;
}

const char *
opencl_warp_attribute(tnk_emitter *e)
{
    const warps *w = e->state;
    if (!w)
        return "";
    if (tnk_allowed(e) && tnk_allows(e, "cl_intel_required_subgroup_size")) {
        tnk_need(e, "cl_intel_required_subgroup_size");
        return tn_strf(e->ctx, " __attribute__((intel_reqd_sub_group_size(%lld)))",
                       (long long)w->size);
    }
    bool full = w->size == 128;
    if (tnk_allowed(e) && tnk_allows(e, "cl_qcom_reqd_sub_group_size") && (full || w->size == 64)) {
        tnk_need(e, "cl_qcom_reqd_sub_group_size");
        return full ? " __attribute__((qcom_reqd_sub_group_size(\"full\")))"
                    : " __attribute__((qcom_reqd_sub_group_size(\"half\")))";
    }
    return "";
}

void
opencl_warp_declare(tnk_emitter *e)
{
    static const char *const names[] = {"subgroups", "cl_intel_subgroups", NULL};
    const warps *k = e->state;
    if (!k)
        return;
    (void)choose(e, names);
    long long w = k->size, x = k->block[0], y = k->block[1],
              threads = (long long)(k->block[0] * k->block[1] * k->block[2]);
    if (threads % w) {
        tnb_buf_printf(e->out, "    const int tk_full = 0;\n");
    } else {
        tnb_buf_printf(e->out,
                       "    const int tk_full = get_max_sub_group_size() == %lld && "
                       "get_num_sub_groups() == %lld;\n",
                       w, threads / w);
    }
    tnb_buf_printf(e->out,
                   "    const int tk_thread = tk_full ? (int)(get_sub_group_id() * %lld + "
                   "get_sub_group_local_id())\n"
                   "                                  : (int)get_local_id(0) + %lld * "
                   "((int)get_local_id(1) + %lld * (int)get_local_id(2));\n",
                   w, x, y);
}

const char *
opencl_warp_thread(tnk_emitter *e, const char *tag)
{
    const warps *w = e->state;
    bool is_block;
    int dim;
    if (!w || !tnk_thread_tag(tag, &is_block, &dim) || is_block)
        return NULL;
    long long below = 1, above = 1, n = w->block[dim];
    for (int i = 0; i < 3; i++)
        *(i < dim ? &below : &above) *= i == dim ? 1 : w->block[i];
    if (n == 1)
        return "0";
    const char *s = "tk_thread";
    if (below > 1)
        s = tn_strf(e->ctx, "%s / %lld", s, below);
    if (above > 1)
        s = tn_strf(e->ctx, "%s %% %lld", s, n);
    return s;
}

/* ---- calls ---- */

/* The C type that a value travels as: no narrower than 32 bits. */
static tnb_dtype
travels_as(tnb_dtype d)
{
    d = tnk_compute_dtype(d);
    if (tnb_dtype_is_int(d) && d.bits < 32)
        d.bits = 32;
    return d;
}

static void
fail(tnk_emitter *e, const tn_call *c, const char *why)
{
    tnk_emit_fail(e, TN_NODE(c)->loc, "%s of %s: %s", tn_call_op_of(c)->base.name,
                  tnb_dtype_print(tn_dtype_of(TN_NODE(c))).s, why);
}

static void
cast_value(tnk_emitter *e, const tn_expr *v)
{
    tnb_buf_printf(e->out, "(%s)(", tnk_c_type(e, travels_as(tn_dtype_of(v))));
    tnk_emit_expr(e, v);
    tnb_buf_puts(e->out, ")");
}

static void
reduce(tnk_emitter *e, const tn_call *c)
{
    static const char *const whole[] = {"subgroups", "cl_intel_subgroups", NULL},
                             *const part[] = {"cl_khr_subgroup_clustered_reduce", NULL};
    const tn_string_imm *op = tn_as_string_imm(c->args.at[1]);
    const warps *w = e->state;
    int64_t width;
    if (!w || !op || !tn_int_value(c->args.at[2], &width) || width < 1 || width > w->size ||
        width & (width - 1)) {
        fail(e, c, "it has no form in source");
        return;
    }
    (void)choose(e, width == w->size ? whole : part);
    tnb_buf_printf(e->out,
                   width == w->size ? "sub_group_reduce_%s(" : "sub_group_clustered_reduce_%s(",
                   op->value);
    cast_value(e, c->args.at[0]);
    if (width < w->size)
        tnb_buf_printf(e->out, ", %lld", (long long)width);
    tnb_buf_puts(e->out, ")");
}

/* The lane that T.tvm_warp_shuffle, _up and _down take the value of; outside of the `width` neighbours it is the own. */
static void
source_lane(tnk_emitter *e, const tn_call *c, char kind, int64_t width)
{
    long long w = width;
    const char *lane = "get_sub_group_local_id()";
    if (kind == 'u')
        tnb_buf_printf(e->out, "%s - (%s %% %lld >= (uint)(", lane, lane, w);
    else if (kind == 'd')
        tnb_buf_printf(e->out, "%s + (%s %% %lld + (uint)(", lane, lane, w);
    else
        tnb_buf_printf(e->out, "%s / %lld * %lld + (uint)(", lane, w, w);
    tnk_emit_expr(e, c->args.at[2]);
    if (kind == 's') {
        tnb_buf_printf(e->out, ") %% %lld", w);
        return;
    }
    tnb_buf_puts(e->out, kind == 'u' ? ") ? (uint)(" : tn_strf(e->ctx, ") < %lld ? (uint)(", w));
    tnk_emit_expr(e, c->args.at[2]);
    tnb_buf_puts(e->out, ") : 0u)");
}

static void
shuffle(tnk_emitter *e, const tn_call *c, char kind)
{
    static const char *const flips[] = {"cl_khr_subgroup_shuffle", "cl_intel_subgroups",
                                        "cl_qcom_subgroup_shuffle", NULL},
                             *const any[] = {"cl_khr_subgroup_shuffle", "cl_intel_subgroups", NULL};
    int64_t width;
    if (c->args.n != 5 || !tn_int_value(c->args.at[3], &width) || width < 1 ||
        width & (width - 1)) {
        fail(e, c, "the number of lanes is no power of two");
        return;
    }
    const char *feature = choose(e, kind == 'x' ? flips : any);
    bool qcom = !strcmp(feature, "cl_qcom_subgroup_shuffle");
    tnb_buf_printf(e->out, "%ssub_group_shuffle%s(",
                   qcom                                     ? "qcom_"
                   : !strcmp(feature, "cl_intel_subgroups") ? "intel_"
                                                            : "",
                   kind == 'x' ? "_xor" : "");
    cast_value(e, c->args.at[1]);
    tnb_buf_puts(e->out, ", ");
    if (kind == 'x') {
        tnb_buf_puts(e->out, "(uint)(");
        tnk_emit_expr(e, c->args.at[2]);
        tnb_buf_puts(e->out, ")");
    } else {
        source_lane(e, c, kind, width);
    }
    if (qcom)
        tnb_buf_printf(e->out, ", CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM, (%s)0",
                       tnk_c_type(e, travels_as(tn_dtype_of(c->args.at[1]))));
    tnb_buf_puts(e->out, ")");
}

bool
opencl_warp_call(tnk_emitter *e, const tn_call *c)
{
    const tn_expr *x = TN_NODE(c);
    if (tn_is_intrin(x, TN_INTRIN_warp_size_is)) {
        tnb_buf_puts(e->out, "tk_full");
        return true;
    }
    if (!tnk_is_warp_call(x))
        return false;
    tnb_dtype d = tnk_compute_dtype(tn_dtype_of(x));
    bool narrow = !tnb_dtype_eq(d, travels_as(d));
    tnb_buf_puts(e->out, narrow ? tn_strf(e->ctx, "((%s)", tnk_c_type(e, d)) : "");
    switch ((int)tn_intrin_of(x)) {
    case TN_INTRIN_tvm_warp_shuffle_up:
        shuffle(e, c, 'u');
        break;
    case TN_INTRIN_tvm_warp_shuffle_down:
        shuffle(e, c, 'd');
        break;
    case TN_INTRIN_tvm_warp_shuffle_xor:
        shuffle(e, c, 'x');
        break;
    case TN_INTRIN_tvm_warp_shuffle:
        shuffle(e, c, 's');
        break;
    default:
        reduce(e, c);
    }
    tnb_buf_puts(e->out, narrow ? ")" : "");
    return true;
}
