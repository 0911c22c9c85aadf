/* SPDX-License-Identifier: Apache-2.0 */
/* The printer's insides. Private to core/text.
 *
 * A line is put together in `line` and ended by pr_end_line; what an expression needs declared
 * first (a symbolic variable, the variable of a T.Let) goes as a line of its own in front of it.
 */
#ifndef TENON_TEXT_PRINTER_H
#define TENON_TEXT_PRINTER_H

#include "tenon/base/num.h"
#include "tenon/core/arith.h"
#include "tenon/core/op.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* Binding strength of operators, weakest first. ORDER PRECEDENCE: Python's. */
enum {
    PREC_TEST,
    PREC_OR,
    PREC_AND,
    PREC_NOT,
    PREC_COMPARE,
    PREC_SUM = 9,
    PREC_TERM,
    PREC_UNARY,
    PREC_ATOM = 13
};

typedef struct printed_constant {
    const tn_data *data;
    char hash[40];
    uint64_t offset;
} printed_constant;

typedef struct printer {
    tn_ctx *ctx;   /* the caller's */
    tn_ctx *child; /* for trial constructions: its nodes and diagnostics are thrown away */
    tnb_arena *arena;
    const tn_print_options *opt;
    const tn_module *module;
    const char *module_name;
    tnb_buf out, line;
    int indent;
    bool tensor;            /* in a tensor program: bare integers are int32 */
    bool quote;             /* dimensions as strings (a signature) */
    bool one_line;          /* no lines in front: messages */
    bool in_function;       /* declarations may stand in front of the line */
    tnb_ptrmap names;       /* node -> text */
    tnb_strmap taken;       /* names in use -> next suffix */
    tnb_ptrmap uses;        /* variables used in the function at hand */
    tnb_ptrmap loops;       /* loop Var -> For, while inside */
    tnb_ptrmap func_names;  /* GlobalVar name (interned) -> identifier */
    const char *module_ref; /* "cls" or the module's name */
    TNB_VEC(printed_constant) constants;
    tnb_strmap constant_index; /* hash -> index + 1 */
    tnb_status status;
} printer;

/* ---- print.c ---- */
void
pr_puts(printer *p, const char *s);
void
pr_printf(printer *p, const char *fmt, ...) TNB_PRINTF(2, 3);
void
pr_end_line(printer *p);
void
pr_line(printer *p, const char *fmt, ...) TNB_PRINTF(2, 3); /* a line in front of the one at hand */
void
pr_string(printer *p, const char *s);
/* A name for a node that gets defined here; unique in the function. */
const char *
pr_define(printer *p, const tn_node *n, const char *hint);
void
pr_alias(printer *p, const tn_node *n, const char *text); /* the node is known by this text */
const char *
pr_name(printer *p, const tn_node *var); /* of a use; declared in front if need be */
bool
pr_known(printer *p, const tn_node *n);
const char *
pr_clean(printer *p, const char *hint); /* an identifier */
bool
pr_is_identifier(const char *s);
void
pr_begin_function(printer *p, const tn_node *func); /* fresh names */
const char *
pr_function_name(printer *p, const char *name);

/* ---- print_scalar.c ---- */
void
pr_expr(printer *p, const tn_expr *e, int prec);
void
pr_exprs(printer *p, tn_list l); /* separated by commas */
void
pr_int(printer *p, const tn_expr *e, tnb_dtype bare); /* bare where its dtype is `bare` */
void
pr_float(printer *p, const tn_expr *e, bool bare_f64);
void
pr_dtype(printer *p, tnb_dtype d); /* T.float32 */
void
pr_index_tuple(printer *p, tn_list l); /* (a,), (a, b), () */
/* [begin, end) written out reads back as this very range. */
bool
pr_range_bounds(printer *p, const tn_node *range, const tn_expr **end);
void
pr_range_node(printer *p, const tn_node *range); /* I.Range.from_min_extent(...) */

/* ---- print_value.c ---- */
void
pr_attr(printer *p, const tn_node *v); /* an attribute value */
void
pr_dict(printer *p, const tn_node *dict,
        const char *skip); /* without the keys in `skip` (separated by spaces) */
void
pr_type(printer *p, const tn_type *t);
void
pr_dim(printer *p, const tn_expr *d);
void
pr_vdevice(printer *p, const tn_node *v, bool quoted);
void
pr_target(printer *p, const tn_node *t);
uint32_t
pr_dict_count(const tn_node *dict, const char *skip);

/* ---- print_const.c ---- */
void
pr_constant(printer *p, const tn_data *d);
void
pr_metadata(printer *p, tnb_buf *out);

/* ---- print_graph.c, print_tensor.c ---- */
void
pr_graph_function(printer *p, const tn_function *f, const char *name, const char *decorator_name,
                  bool local);
void
pr_value(printer *p, const tn_expr *e); /* a graph expression */
void
pr_binding(printer *p, const tn_node *b);
void
pr_prim_func(printer *p, const tn_prim_func *f, const char *name, const char *decorator_name);
void
pr_stmt(printer *p, const tn_stmt *s);
void
pr_buffer_type(printer *p, const tn_node *buffer); /* the arguments that describe a buffer */
void
pr_region(printer *p, const tn_node *region);

#endif
