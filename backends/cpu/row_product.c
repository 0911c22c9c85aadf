/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a turned matrix of a model's weights, R.matmul(x, R.permute_dims(w)), of which a row's bits depend on nothing beside it.
 *
 * A result is one sum for each lane of a vector, along the columns of w, added up by halves. This order is the same for one row and
 * for tiles of rows, whose weights are read once for all of them. w is read as it lies, float16 and bfloat16, too. A group of rows
 * of w stays in the second cache and a tile of x in the first while their products are computed. The program is TVMScript, written
 * for its extents. Cases: tests/llm/same_bits.py.
 */
#include "cpu.h"

#include <inttypes.h>
#include <string.h>
#include "tenon/core/builder.h"

/* Of w: rows N, columns K. C rows of it and R of x are multiplied together; a group has G such C. */
static const char tile_text[] =
    "            for t in range(FIRST):\n"
    "                for c in range(G):\n"
    "                    for i in T.unroll(HEIGHT * C):\n"
    "                        for v in T.vectorized(L):\n"
    "                            acc[i * L + v] = T.float32(0)\n"
    "                    for k in range(T.int64(K // L)):\n"
    "                        for j in T.unroll(C):\n"
    "                            for v in T.vectorized(L):\n"
    "                                four[j * L + v] = T.Cast(\"float32\", m[T.min((vg * G + c) * "
    "C + j, N - 1) * K + k * L + v])\n"
    "                        for i in T.unroll(HEIGHT):\n"
    "                            for v in T.vectorized(L):\n"
    "                                one[v] = x[(ROW) * K + k * L + v]\n"
    "                            for j in T.unroll(C):\n"
    "                                for v in T.vectorized(L):\n"
    "                                    acc[(i * C + j) * L + v] = acc[(i * C + j) * L + v] + "
    "one[v] * four[j * L + v]\n"
    "                    for i in T.unroll(HEIGHT):\n"
    "                        for j in T.unroll(C):\n"
    "HALVES"
    "REST"
    "                            y[(ROW) * N + T.min((vg * G + c) * C + j, N - 1)] = acc[(i * C + "
    "j) * L]\n";

/* Appends `text` with HEIGHT, ... replaced; those of `from` are words of capitals that no other one contains. */
static void
put(tnb_buf *b, const char *text, const char *const (*words)[2], int n)
{
    while (*text) {
        int i = 0;
        while (i < n && strncmp(text, words[i][0], strlen(words[i][0])) != 0)
            i++;
        if (i < n) {
            tnb_buf_puts(b, words[i][1]);
            text += strlen(words[i][0]);
        } else {
            tnb_buf_putc(b, *text++);
        }
    }
}

/* What adds up the lanes of acc[i * C + j], and the products of columns that fill no vector. */
static const char *
halves(tn_ctx *ctx, int64_t lanes)
{
    const char *out = "";
    for (int64_t h = lanes / 2; h >= 1; h /= 2)
        out = tn_strf(
            ctx,
            "%s                            for v in T.vectorized(%" PRId64 "):\n"
            "                                acc[(i * C + j) * L + v] = acc[(i * C + j) * L + v] + "
            "acc[(i * C + j) * L + %" PRId64 " + v]\n",
            out, h, h);
    return out;
}

static const char rest_text[] =
    "                            for r in range(T.int64(K % L)):\n"
    "                                acc[(i * C + j) * L] = acc[(i * C + j) * L] + x[(ROW) * K + K "
    "// L * L + r] * "
    "T.Cast(\"float32\", m[T.min((vg * G + c) * C + j, N - 1) * K + K // L * L + r])\n";

static void
put_tiles(tn_ctx *ctx, tnb_buf *b, const char *first, int64_t height, const char *row,
          int64_t lanes, bool rest)
{
    const char *h = tn_strf(ctx, "%" PRId64, height);
    tnb_buf text = {0};
    const char *const parts[][2] = {{"HALVES", halves(ctx, lanes)},
                                    {"REST", rest ? rest_text : ""}};
    put(&text, tile_text, parts, 2);
    const char *const words[][2] = {{"FIRST", first}, {"HEIGHT", h}, {"ROW", row}};
    put(b, text.s ? text.s : "", words, 3);
    tnb_buf_free(&text);
}

static const tn_node *
program(tn_builder *to, tn_list batch, int64_t n, int64_t k, int64_t lanes, const char *dtype)
{
    enum { GROUP = 32 /* rows of w */, LEAST_ROWS_FOR_GROUPS = 512 };
    tn_ctx *ctx = tn_builder_ctx(to);
    const char *dims = "", *count = "T.int64(1)", *extents = "";
    bool single = true;
    tnb_buf b = {0};
    for (uint32_t i = 0; i < batch.n; i++) {
        int64_t extent;
        const bool known = tn_int_value(batch.at[i], &extent);
        const char *d = known ? tn_strf(ctx, "%" PRId64, extent) : tn_strf(ctx, "n%u", i);
        if (!known)
            extents = tn_strf(ctx, "%s        %s = T.int64()\n", extents, d);
        single = single && known && extent == 1;
        dims = tn_strf(ctx, "%s%s, ", dims, d);
        count = tn_strf(ctx, "%s * %s", count, d);
    }
    /* with one row, memory is the limit: as many sums as hide the latency of addition */
    const int64_t columns = single ? 8 : 4,
                  height = single        ? 1
                           : lanes == 16 ? 4
                                         : 2,
                  group = n >= LEAST_ROWS_FOR_GROUPS ? GROUP / columns : 1;
    const int64_t tasks = (n + group * columns - 1) / (group * columns);
    tnb_buf_printf(&b,
                   "L = %" PRId64 "\nK = %" PRId64 "\nN = %" PRId64 "\nC = %" PRId64
                   "\nG = %" PRId64 "\nR = %" PRId64 "\n"
                   "@I.ir_module\nclass Module:\n    @T.prim_func\n"
                   "    def matmul_rows(x_: T.handle, w_: T.handle, y_: T.handle):\n"
                   "        T.func_attr({\"tirx.noalias\": True, \"op_pattern\": 8, "
                   "\"tirx.is_scheduled\": True})\n%s"
                   "        X = T.match_buffer(x_, (%sK), \"float32\")\n"
                   "        W = T.match_buffer(w_, (N, K), \"%s\")\n"
                   "        Y = T.match_buffer(y_, (%sN), \"float32\")\n"
                   "        for g in T.parallel(T.int64(%" PRId64 ")):\n"
                   "          with T.sblock(\"product\"):\n"
                   "            vg = T.axis.spatial(T.int64(%" PRId64 "), g)\n"
                   "            T.reads(X, W)\n            T.writes(Y)\n"
                   "            x = T.decl_buffer((%s * K,), \"float32\", data=X.data)\n"
                   "            m = T.decl_buffer((T.int64(N) * K,), \"%s\", data=W.data)\n"
                   "            y = T.decl_buffer((%s * N,), \"float32\", data=Y.data)\n"
                   "            acc = T.alloc_buffer((R * C * L,), \"float32\", scope=\"local\")\n"
                   "            four = T.alloc_buffer((C * L,), \"float32\", scope=\"local\")\n"
                   "            one = T.alloc_buffer((L,), \"float32\", scope=\"local\")\n",
                   lanes, k, n, columns, group, height, extents, dims, dtype, dims, tasks, tasks,
                   count, dtype, count);
    if (single) {
        put_tiles(ctx, &b, "1", 1, "T.int64(0)", lanes, k % lanes != 0);
    } else {
        put_tiles(ctx, &b, tn_strf(ctx, "%s // R", count), height, "t * R + i", lanes,
                  k % lanes != 0);
        put_tiles(ctx, &b, tn_strf(ctx, "%s %% R", count), 1,
                  tn_strf(ctx, "%s // R * R + t + i", count), lanes, k % lanes != 0);
    }
    tnb_buf_putc(&b, 0);
    const tn_node *f = b.failed ? NULL : tn_builder_read_function(to, "matmul_rows", b.s);
    tnb_buf_free(&b);
    return f ? f : tn_error(ctx, 0, TNB_INTERNAL, "a product of rows cannot be read");
}

const tn_expr *
cpu_row_product(tn_builder *b, const tn_call *call, const tn_expr *w, const tn_target *target)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *value = tn_is_var(w) ? tn_builder_find_value(b, w) : w, *x = call->args.at[0];
    const tnb_dtype d = tn_type_dtype(w->type);
    tn_list xd, wd;
    int64_t n, k;
    if (!value || !tn_as_tuple_get(value) || !tn_type_dims(x->type, &xd) || xd.n < 2 ||
        !tn_type_dims(w->type, &wd) || wd.n != 2 || !tn_int_value(wd.at[0], &n) ||
        !tn_int_value(wd.at[1], &k) || n < 1 || k < 1)
        return NULL;
    const tn_list batch = {xd.at, xd.n - 1};
    for (uint32_t i = 0; i < batch.n; i++) {
        int64_t extent;
        /* the program finds extents out by its arguments' shapes: numbers, or variables of their own */
        if (!tn_int_value(batch.at[i], &extent) && !tn_is_var(batch.at[i]))
            return NULL;
    }
    const tn_node *p =
        program(b, batch, n, k, cpu_vector_bytes(ctx, target) / 4, tnb_dtype_print(d).s);
    if (tn_is_error(p))
        return p;
    return tn_builder_call_tir(b, p, "matmul_rows", tn_listv(ctx, x, w, NULL), call->base.type);
}
