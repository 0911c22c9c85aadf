/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor programs written as TVMScript, for legalizations that are algorithms (selecting, grouping,
 * suppressing) rather than formulas.
 *
 *     program p = program_begin(b);
 *     program_extent(&p, "n", dims.at[0]);          $n$: a literal, or a symbol of that name
 *     program_dtype(&p, "D", TNB_F32);              $D$: float32
 *     return program_call(&p, "gather", text, tn_listv(ctx, x, NULL), out_type);
 *
 * $SYMBOLS$ stands for the lines that declare the symbols; each must be a bare extent of a buffer.
 */
#ifndef TENON_PLUGINS_OPS_PROGRAM_H
#define TENON_PLUGINS_OPS_PROGRAM_H

#include "infer.h"

#include "tenon/core/builder.h"

enum { PROGRAM_MAX_WORDS = 40 };

typedef struct program {
    tn_ctx *ctx;
    tn_builder *b;
    struct {
        const char *name, *text;
        bool symbol;
    } words[PROGRAM_MAX_WORDS];
    uint32_t n;
} program;

program
program_begin(tn_builder *b);
/* What $name$ stands for: a text, an element type, an extent, a number as int64 or of a float
 * type. */
void
program_text(program *p, const char *name, const char *text);
void
program_dtype(program *p, const char *name, tnb_dtype d);
void
program_extent(program *p, const char *name, const tn_expr *extent);
void
program_int(program *p, const char *name, int64_t v);
void
program_float(program *p, const char *name, tnb_dtype d, double v);
/* Statements that sort positions stably by merging runs, from the bottom up, at the depth of a
 * block within loops. $COUNT$ positions stand in work[$SLOT$0, ...]; state[1] is then the row of
 * `work` that holds them in order. $COMPARE$: statements that set which[0] to 1 when position
 * work[$SLOT$state[1], head[1]] must come before work[$SLOT$state[1], head[0]]. state, head, which:
 * local int64 buffers of 2 elements. */
extern const char program_merge_sort[];

/* Adds the program under `name` and calls it; the error node after an error. */
const tn_expr *
program_call(program *p, const char *name, const char *text, tn_list args, const tn_type *out);

#endif
