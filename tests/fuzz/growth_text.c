/* SPDX-License-Identifier: Apache-2.0 */
/* The time of reading grows no faster than the text: texts made of n equal pieces and of 2 n are
 * read (and verified and printed, where they are modules) in at most about twice the time, whatever
 * the pieces are; nesting ends in an error at a bounded depth. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* `piece` and `last` hold two %u for the piece's number and the next, or none. */
typedef struct shape {
    const char *name, *head, *piece, *tail;
    uint32_t n;
} shape;

#define MODULE "@I.ir_module\nclass Module:\n"
#define GRAPH MODULE "    @R.function\n    def main(x: R.Tensor((4,), \"float32\")):\n"
#define TENSOR                                                                              \
    MODULE "    @T.prim_func(private=True)\n    def f(A: T.Buffer((16,), \"float32\"), B: " \
           "T.Buffer((16,), \"float32\")):\n"

static const shape shapes[] = {
    {"parentheses", GRAPH "        y = ", "(", "\n        return x\n", 20000},
    {"brackets of constants", GRAPH "        y = R.const(", "[", ")\n        return x\n", 20000},
    {"nested tuple types", MODULE "    @R.function\n    def main(x: ", "R.Tuple(",
     "):\n        return x\n", 20000},
    {"a sum", TENSOR "        B[0] = A[0]", " + A[1]", "\n", 500},
    {"a tuple", GRAPH "        y = (", "x, ", ")\n        return x\n", 20000},
    {"unary operators", GRAPH "        y = ", "-", "x\n        return x\n", 20000},
    {"fields of fields", GRAPH "        y = x", "[0]", "\n        return x\n", 20000},
    {"bindings", GRAPH, "        v%u = x\n", "        return x\n", 10000},
    {"a name bound again", GRAPH, "        x = x\n", "        return x\n", 10000},
    {"dataflow blocks", GRAPH,
     "        with R.dataflow():\n            v%u = x\n            R.output(v%1$u)\n",
     "        return x\n", 4000},
    {"branches", GRAPH,
     "        if R.const(True):\n            y = x\n        else:\n            y = (x, x)\n",
     "        return x\n", 2000},
    {"local functions", GRAPH,
     "        @R.function\n        def g%u(z: R.Tensor) -> R.Tensor:\n            return z\n",
     "        return x\n", 2000},
    {"functions that call the next", MODULE,
     "    @R.function\n    def f%u(x: R.Tensor((4,), \"float32\")):\n        return "
     "Module.f%u(x)\n",
     "", 1000},
    {"functions with wrong result types", MODULE,
     "    @R.function\n    def f%u(x: R.Tensor((4,), \"float32\")) -> R.Tensor((5,), "
     "\"float32\"):\n        return x\n",
     "", 2000},
    {"parameters", MODULE "    @R.function\n    def main(",
     "x%u: R.Tensor((\"n%1$u\",), \"int8\"), ", "):\n        return x0\n", 4000},
    {"scalar parameters", MODULE "    @R.function\n    def main(", "x%u: R.Prim(\"int64\"), ",
     "):\n        return x0\n", 4000},
    {"handles", MODULE "    @T.prim_func(private=True)\n    def f(", "a%u: T.handle, ",
     "):\n        T.evaluate(0)\n", 4000},
    {"dimensions", MODULE "    @R.function\n    def main(x: R.Tensor((", "\"n%u\", ",
     "), \"int8\")):\n        return x\n", 4000},
    {"attributes", GRAPH "        R.func_attr({", "\"k%u\": 1, ", "})\n        return x\n", 4000},
    {"attributes one by one", GRAPH, "        R.func_attr({\"k%u\": 1})\n", "        return x\n",
     4000},
    {"attributes of programs", TENSOR, "        T.func_attr({\"k%u\": 1})\n",
     "        B[0] = A[0]\n", 4000},
    {"stores", TENSOR, "        B[0] = A[0]\n", "", 10000},
    {"a block of stores", TENSOR "        with T.sblock(\"b\"):\n", "            B[0] = A[1]\n", "",
     5000},
    {"bound names", TENSOR "        v0: T.let[T.float32] = A[0]\n",
     "        v%2$u: T.let[T.float32] = v%1$u + v%1$u\n", "        B[0] = v0\n", 4000},
    {"shared values", GRAPH "        k0 = I.meta_var(R.prim_value(1))\n",
     "        k%2$u = I.meta_var(k%1$u)\n", "        return x\n", 4000},
    {"undefined names", GRAPH, "        v%u = u%1$u\n", "        return x\n", 8000},
    {"unknown operators", GRAPH, "        v%u = R.exq%1$u(x)\n", "        return x\n", 2000},
    {"broken lines", GRAPH, "        v%u = = x\n", "        return x\n", 8000},
    {"strange bytes", MODULE, "$?!\x01 ", "", 20000},
    {"empty lines", "", "\n", GRAPH "        return x\n", 100000},
    {"blanks", GRAPH "        y = x", " ", "\n        return x\n", 100000},
    {"digits", GRAPH "        y = R.const(", "9", ", \"float32\")\n        return x\n", 50000},
    {"a text", GRAPH "        y = R.str(\"", "\\n", "\")\n        return x\n", 50000},
    {"elements of a constant", GRAPH "        y = R.const([", "1.5, ",
     "], \"float32\")\n        return x\n", 20000},
    {"metadata", "metadata = tvm.ir.load_json(\"\"\"[", "1, ",
     "1]\"\"\")\n" GRAPH "        return x\n", 20000},
    {"nested metadata", "metadata = tvm.ir.load_json(\"\"\"", "[",
     "\"\"\")\n" GRAPH "        return x\n", 20000},
    {"modules", "",
     "@I.ir_module\nclass M%u:\n    @R.function\n    def main(x: R.Tensor):\n        return x\n",
     "", 2000},
    {"casts", GRAPH,
     "        s%u = T.int64()\n        v%1$u = R.match_cast(x, R.Tensor((s%1$u,), \"float32\"))\n",
     "        return x\n", 2000},
};

static void
text_of(const shape *s, uint32_t n, tnb_buf *out)
{
    tnb_buf_puts(out, s->head);
    bool numbered = strchr(s->piece, '%') != NULL;
    for (uint32_t i = 0; i < n; i++) {
        char piece[400];
        int k = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        if (numbered)
            k = snprintf(piece, sizeof piece, s->piece, i, i + 1);
#pragma GCC diagnostic pop
        tnb_buf_put(out, numbered ? piece : s->piece, numbered ? (size_t)k : strlen(s->piece));
    }
    tnb_buf_puts(out, s->tail);
}

/* The least of a few runs, in seconds of the processor. */
static double
time_to_read(tn_registry *registry, const tnb_buf *text)
{
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        tn_ctx *ctx = tn_ctx_new(registry);
        clock_t start = clock();
        uint32_t count;
        tn_named_module *m = tn_read_modules(ctx, "grown", text->s, text->n, &count);
        for (uint32_t k = 0; m && k < count; k++) {
            tnb_buf printed = {0};
            if (m[k].module && !tn_verify(ctx, m[k].module))
                (void)tn_print(ctx, TN_NODE(m[k].module), NULL, &printed);
            tnb_buf_free(&printed);
        }
        double took = (double)(clock() - start) / CLOCKS_PER_SEC;
        best = took < best ? took : best;
        tn_ctx_free(ctx);
    }
    return best;
}

int
main(int argc, char **argv)
{
    tn_registry *registry = tn_registry_new(NULL);
    int failed = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        tnb_buf once = {0}, twice = {0};
        if (argc > 1 && !strstr(s->name, argv[1]))
            continue;
        text_of(s, s->n, &once);
        text_of(s, 2 * s->n, &twice);
        double a = time_to_read(registry, &once), b = time_to_read(registry, &twice);
        bool ok = b < 3 * a + 0.02;
        if (!ok) { /* another program may have been in the way */
            a = time_to_read(registry, &once);
            b = time_to_read(registry, &twice);
            ok = b < 3 * a + 0.02;
        }
        printf("%s %-34s %7u pieces %.4f s, twice as many %.4f s\n", ok ? "ok  " : "FAIL", s->name,
               s->n, a, b);
        failed += !ok;
        tnb_buf_free(&once);
        tnb_buf_free(&twice);
    }
    tn_registry_free(registry);
    printf("%d failed\n", failed);
    return failed != 0;
}
