/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Lane C as a dialect: names in a table, and hooks for its pragma, its indices of threads and the size of its warps.
 *
 *     for k in T.serial(4, annotations={"lanec.pipeline": 2}): ...   =>   #pragma lanec pipeline(2)
 *                                                                         for (i32 k = 0; k < 4; k++) ...
 */
#include "lanec.h"

#include "tenon/core/build.h"
#include "tenon/kit/emit_hooks.h"

static const char *const threads[] = {
    "threadIdx.x", "lane_id(0)", "blockIdx.x", "group_id(0)", NULL,
};

static const char *const reserved[] = {"far", "near", "meet", "LANES", NULL};

static const char prologue[] = "#include <lanec.h>\n";

/* A feature by which kernels say that they use pipelines: it stands in front of the source. */
static const char pipelines[] = "pipelines";

static void
header(const tnk_source *s, tnb_buf *out)
{
    if (tnk_source_uses(s, pipelines))
        tnb_buf_puts(out, "#pragma lanec enable(pipelines)\n");
}

/* The device has two indices: the lower half of the second is y, its upper half z. */
static const char *
thread(tnk_emitter *e, const char *tag)
{
    bool is_block;
    int dim;
    if (!tnk_thread_tag(tag, &is_block, &dim) || dim == 0)
        return NULL;
    return tn_strf(e->ctx, dim == 1 ? "(%s(1) & 0xffff)" : "(%s(1) >> 16)",
                   is_block ? "group_id" : "lane_id");
}

static bool
stmt(tnk_emitter *e, const tn_stmt *s)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    int64_t depth = f ? tn_dict_int(f->annotations, "lanec.pipeline", 0) : 0;
    if (depth == 0)
        return false;
    /* Loops that are bound to threads come here too, and no loop is written for them. */
    if (f->for_kind != TN_FOR_SERIAL) {
        tnk_emit_fail(e, s->loc, "a pipeline of a loop that is not serial");
        return true;
    }
    if (depth < 0 || depth > 8) {
        tnk_emit_fail(e, s->loc, "a pipeline of depth %lld; lanec has 1 to 8", (long long)depth);
        return true;
    }
    tnk_need(e, pipelines);
    tnk_emit_line(e);
    tnb_buf_printf(e->out, "#pragma lanec pipeline(%lld)\n", (long long)depth);
    tnk_emit_plain_stmt(e, s);
    return true;
}

static bool
expr(tnk_emitter *e, const tn_expr *x)
{
    if (!tn_is_intrin(x, TN_INTRIN_warp_size_is))
        return false;
    tnb_buf_puts(e->out, "(LANES == ");
    tnk_emit_expr(e, tn_as_call(x)->args.at[0]);
    tnb_buf_puts(e->out, ")");
    return true;
}

const tnk_dialect lanec_dialect = {
    .base.size = sizeof(tnk_dialect),
    .base.name = "lanec",
    .base.doc = "Lane C",
    .calling = TNK_CALL_DIRECT,
    .kernel = "lane_kernel",
    .global_ptr = "far ",
    .shared = "near ",
    .barrier = "meet();",
    .inline_ = "static inline",
    .threads = threads,
    .int64 = "i64",
    .uint64 = "u64",
    .int32 = "i32",
    .uint32 = "u32",
    .int16 = "i16",
    .uint16 = "u16",
    .int8 = "i8",
    .uint8 = "u8",
    .compare_exchange = "exchange_if(&r->state, 0, 1)",
    .float_suffix = "f",
    .reserved = reserved,
    .prologue = prologue,
    .signed_wraps = true,
    .header = header,
    .thread = thread,
    .stmt = stmt,
    .expr = expr,
};
