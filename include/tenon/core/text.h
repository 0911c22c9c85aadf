/* SPDX-License-Identifier: Apache-2.0 */
/* TVMScript: reading and printing modules and their parts.
 *
 * The reader takes today's and the older spellings; the printer writes today's. Printing and
 * reading again gives a structurally equal module, and printing that gives the same text. Reading
 * is bounded in depth (200 levels of nesting, sums of 1000 terms) and linear in length.
 *
 * What TVMScript has no words for is written in forms of Tenon's own, which stay readable Python:
 *
 *     R.const([[1, 2], [3, 4]], "int32")          a small constant
 *     R.const(0, "float32", shape=[1024, 1024])   one value everywhere; read back as such
 *     R.const([], "float32", shape=[0, 3])        no elements
 *     R.const(bytes="00c0ff7f", dtype="float32", shape=[1])
 *                                                 bits that decimals would not give back
 *     @R.function(name="a.b")                     a function whose name is no identifier
 *     @T.prim_func(s_tir=False)                   blocks, but no implicit root and no s_tir
 *     I.Range.from_min_extent(a, n)               bounds whose extent would be simplified
 *     T.call_intrin("float32", "tirx.exp", x)     a call that T.exp(x) would fold or type otherwise
 *     R.emit_with_ty("relax.op", (x,), (T,))      a call whose type is not what its operator infers
 */
#ifndef TENON_CORE_TEXT_H
#define TENON_CORE_TEXT_H

#include "tenon/core/build.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a module (or a file with one bare function, which becomes a module). `file` is for
 * messages; sidecar constants ("FILE.consts", see tn_print) are looked for beside it when it
 * exists. NULL after recording located errors. The text may be freed afterwards. */
TNB_EXPORT const tn_module *
tn_read_module(tn_ctx *ctx, const char *file, const char *text, size_t n);
/* As above, from a file. */
TNB_EXPORT const tn_module *
tn_read_module_file(tn_ctx *ctx, const char *path);
/* The same with values for names that the file assigns above its functions, as `heads = 8`: a dictionary from names to numbers,
 * truths or texts that stand in place of the file's own; a name that it does not assign is an error. So one file has the kernels for
 * many sizes. `given` NULL: none. */
TNB_EXPORT const tn_module *
tn_read_module_file_with(tn_ctx *ctx, const char *path, const tn_node *given);
/* All module classes of a file that holds several (test cases with Before and Expected): names and
 * modules. */
typedef struct tn_named_module {
    const char *name;
    const tn_module *module; /* NULL: had errors */
} tn_named_module;
TNB_EXPORT tn_named_module *
tn_read_modules(tn_ctx *ctx, const char *file, const char *text, size_t n, uint32_t *count);

/* A scalar expression as tensor programs hold it, "n * 2 + 1" or "T.min(n, 8)", in which numbers are int64 and `vars` are the
 * names. `at`: where the text stands, for messages; all zero: nowhere. NULL after recording located errors. */
TNB_EXPORT const tn_expr *
tn_read_expr(tn_ctx *ctx, tnb_place at, const char *text, size_t n, tn_list vars);
/* Likewise an index map, "lambda i, j: (j, i // 4, i % 4)". */
TNB_EXPORT const tn_node *
tn_read_index_map(tn_ctx *ctx, tnb_place at, const char *text, size_t n);

typedef struct tn_print_options {
    uint32_t size;         /* sizeof, or 0 */
    bool hide_types;       /* omit annotations that inference gives again */
    bool inline_constants; /* print all constants in the text, however large */
    const char *sidecar;   /* NULL: large constants print as metadata[...] placeholders with their
                              hash only */
    const char *name;      /* of the module class; NULL: "Module" */
} tn_print_options;

/* Appends the text of a module, function, expression, type or statement. opt may be NULL. Constants
 * above 64 elements print as metadata["relax.expr.Constant"][i] with a table of hashes; with
 * `sidecar` their bytes are written to that file. */
TNB_EXPORT tnb_status
tn_print(tn_ctx *ctx, const tn_node *n, const tn_print_options *opt, tnb_buf *out);
/* A short one-line text for messages, in the scratch arena. */
TNB_EXPORT const char *
tn_text(tn_ctx *ctx, const tn_node *n);

/* The attribute value that the text begins with, as options are written: a number, "text", True, False, None, a list, {"key":
 * value} or a word, which is text. *used: bytes that it takes, or up to the mistake. NULL: there is none; nothing is recorded. */
TNB_EXPORT const tn_node *
tn_read_value(tn_ctx *ctx, const char *text, size_t n, size_t *used);
/* Appends the text from which tn_read_value makes the value again. */
TNB_EXPORT void
tn_write_value(const tn_node *v, tnb_buf *out);

/* Attribute values as JSON and back (pass options, targets, metadata). */
TNB_EXPORT const tn_node *
tn_value_from_json(tn_ctx *ctx, const char *json, size_t n, tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tn_value_to_json(const tn_node *v, tnb_buf *out);
/* A text as a JSON string, quotes included; bytes that are no UTF-8 become the replacement character. */
TNB_EXPORT void
tn_json_text(tnb_buf *out, const char *s);

#ifdef __cplusplus
}
#endif
#endif
