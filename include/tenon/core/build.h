/* SPDX-License-Identifier: Apache-2.0 */
/* Constructors of nodes.
 *
 * All take the context first, give the new node the context's current location (tn_at), and return
 * the error node after recording one diagnostic when operands are bad; an operand that is the error
 * node gives the error node silently. Types of expressions are inferred here, so a module under
 * construction is always typed.
 *
 * Names:
 *     tn_KIND_of    a node of that kind of nodes.def, always: nothing is folded (tn_select_of, tn_if_stmt_of, tn_for_of). Operands
 *                   are brought to the dtypes that the kind wants; a Seq and a SeqExpr come in their normal form.
 *     tn_raw_...    likewise, of operands whose dtypes match already.
 *     tn_X_new      an identity, which no other node equals (a variable, a buffer), or an object.
 *     any other     what the language calls the operation: it matches dtypes and folds, and may give another kind of node (tn_add,
 *                   tn_and, tn_cast_to, tn_tuple_item); or a short form for what is written often (tn_i64, tn_string, tn_seqv,
 *                   tn_region_full).
 * Functions that take no context read: tn_type_dims(type), tn_dict_int(dict, key).
 */
#ifndef TENON_CORE_BUILD_H
#define TENON_CORE_BUILD_H

#include "tenon/core/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types (without symbolic parts: interned) ---- */
TNB_EXPORT const tn_type *
tn_ty_any(tn_ctx *ctx);
TNB_EXPORT const tn_type *
tn_ty_prim_of(tn_ctx *ctx, tnb_dtype d);
TNB_EXPORT const tn_type *
tn_ty_ptr_of(tn_ctx *ctx, tnb_dtype elem, const char *scope);
TNB_EXPORT const tn_type *
tn_ty_shape_of(tn_ctx *ctx, tn_list values); /* extents known */
TNB_EXPORT const tn_type *
tn_ty_shape_rank(tn_ctx *ctx, int64_t ndim); /* -1: rank unknown */
/* A tensor type. `shape`: ShapeExpr, Var of Shape type, or NULL (then ndim counts, -1 unknown). */
TNB_EXPORT const tn_type *
tn_ty_tensor_of(tn_ctx *ctx, const tn_expr *shape, tnb_dtype d, int64_t ndim,
                const tn_node *vdevice);
/* Where a distributed tensor lies: takes the place of the virtual device. A GlobalInfo "placement" of
 * the mesh, a GlobalInfo "mesh" of a shape and device numbers, and upstream's text: "S[0], R". */
TNB_EXPORT const tn_node *
tn_mesh_new(tn_ctx *ctx, tn_list shape, tn_list devices);
TNB_EXPORT const tn_node *
tn_placement_new(tn_ctx *ctx, const tn_node *mesh, const char *spec);
/* The text of a placement and its mesh (may be NULL); NULL: the node is none. */
TNB_EXPORT const char *
tn_placement_spec(const tn_node *n);
TNB_EXPORT const tn_node *
tn_placement_mesh(const tn_node *n);
/* Shortcut: tensor with the extents `dims` (int64 scalar expressions). */
TNB_EXPORT const tn_type *
tn_ty_tensor_dims(tn_ctx *ctx, tn_list dims, tnb_dtype d);
/* An error when tuples in tuples have more than 131072 fields, each place counted where one type stands in several. */
TNB_EXPORT const tn_type *
tn_ty_tuple_of(tn_ctx *ctx, tn_list fields);
TNB_EXPORT const tn_type *
tn_ty_func_of(tn_ctx *ctx, tn_list params, const tn_type *ret, bool pure);
TNB_EXPORT const tn_type *
tn_ty_func_opaque(tn_ctx *ctx, const tn_type *ret, bool pure, const char *derive);
/* Extents of a Tensor or Shape type: true and the list if known. */
TNB_EXPORT bool
tn_type_dims(const tn_type *t, tn_list *dims);
TNB_EXPORT int64_t
tn_type_ndim(const tn_type *t); /* of Tensor or Shape; -1 unknown */
TNB_EXPORT tnb_dtype
tn_type_dtype(const tn_type *t); /* of Tensor or Prim; void unknown */

/* ---- leaves ---- */
/* A new variable (an identity). Scalar: type Prim; pointer: Ptr. */
TNB_EXPORT const tn_expr *
tn_var_new(tn_ctx *ctx, const char *name, const tn_type *type);
TNB_EXPORT const tn_expr *
tn_var_dtype(tn_ctx *ctx, const char *name, tnb_dtype d);
TNB_EXPORT const tn_expr *
tn_dataflow_var_new(tn_ctx *ctx, const char *name, const tn_type *type);
/* Same kind and location as `var`, another type; the name is kept. */
TNB_EXPORT const tn_expr *
tn_var_retyped(tn_ctx *ctx, const tn_expr *var, const tn_type *type);
TNB_EXPORT const char *
tn_var_name(const tn_expr *var);
TNB_EXPORT const tn_expr *
tn_int_imm_of(tn_ctx *ctx, tnb_dtype d, int64_t v); /* wraps to d */
TNB_EXPORT const tn_expr *
tn_i64(tn_ctx *ctx, int64_t v);
TNB_EXPORT const tn_expr *
tn_i32(tn_ctx *ctx, int32_t v);
TNB_EXPORT const tn_expr *
tn_bool(tn_ctx *ctx, bool v);
TNB_EXPORT const tn_expr *
tn_float_imm_of(tn_ctx *ctx, tnb_dtype d, double v); /* rounds to d */
/* A literal of any arithmetic dtype: v as that dtype. */
TNB_EXPORT const tn_expr *
tn_literal(tn_ctx *ctx, tnb_dtype d, double v);
TNB_EXPORT const tn_expr *
tn_min_value(tn_ctx *ctx, tnb_dtype d); /* least finite value */
TNB_EXPORT const tn_expr *
tn_max_value(tn_ctx *ctx, tnb_dtype d);
TNB_EXPORT const tn_expr *
tn_string(tn_ctx *ctx, const char *s);
TNB_EXPORT const tn_expr *
tn_dtype_imm_of(tn_ctx *ctx, tnb_dtype d);
TNB_EXPORT const tn_expr *
tn_global_var_of(tn_ctx *ctx, const char *name);
TNB_EXPORT const tn_expr *
tn_extern_func_of(tn_ctx *ctx, const char *name);
TNB_EXPORT const tn_node *
tn_none_value(tn_ctx *ctx);

/* ---- scalar expressions ---- */
/* The folding operators: match dtypes, fold literals and units exactly as upstream's operators do
 * while parsing. kind: a binary kind. Comparisons match dtypes
 * (a literal takes the other side's) and, like AND and OR, are not folded; see tn_cmp, tn_and,
 * tn_or. */
TNB_EXPORT const tn_expr *
tn_bin(tn_ctx *ctx, tn_kind kind, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_add(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_sub(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_mul(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_floordiv(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_floormod(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
/* T.min, T.max: of floats NaN if either operand is. */
TNB_EXPORT const tn_expr *
tn_min(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_max(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_ceildiv(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_neg(tn_ctx *ctx, const tn_expr *a); /* a * -1; a negated literal is a literal */
TNB_EXPORT const tn_expr *
tn_not(tn_ctx *ctx, const tn_expr *a); /* folds literals */
/* Comparison, conjunction and disjunction that fold literals. tn_and and tn_or take NULL for an
 * absent operand. */
TNB_EXPORT const tn_expr *
tn_cmp(tn_ctx *ctx, tn_kind kind, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_and(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_or(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
/* Bits and shifts: calls of the intrinsics bitwise_and ... shift_right, dtypes matched, literals
 * folded. */
TNB_EXPORT const tn_expr *
tn_bitwise_and(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_bitwise_or(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_bitwise_xor(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_bitwise_not(tn_ctx *ctx, const tn_expr *a);
TNB_EXPORT const tn_expr *
tn_shift_left(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_shift_right(tn_ctx *ctx, const tn_expr *a, const tn_expr *b);
/* Brings both operands to one dtype and lane count by casts and broadcasts. False after recording
 * an error. */
TNB_EXPORT TNB_MUST_CHECK bool
tn_match_dtypes(tn_ctx *ctx, const tn_expr **a, const tn_expr **b);
TNB_EXPORT const tn_expr *
tn_cast_to(tn_ctx *ctx, tnb_dtype d, const tn_expr *v); /* folds literals; no node if same dtype */
TNB_EXPORT const tn_expr *
tn_if_then_else(tn_ctx *ctx, const tn_expr *c, const tn_expr *a, const tn_expr *b); /* guarded */
/* The node as is: dtypes must match already, nothing is folded. */
TNB_EXPORT const tn_expr *
tn_raw_binary(tn_ctx *ctx, tn_kind kind, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_raw_cast(tn_ctx *ctx, tnb_dtype d, const tn_expr *v);
TNB_EXPORT const tn_expr *
tn_raw_not(tn_ctx *ctx, const tn_expr *a);
TNB_EXPORT const tn_expr *
tn_select_of(tn_ctx *ctx, const tn_expr *c, const tn_expr *a, const tn_expr *b);
TNB_EXPORT const tn_expr *
tn_let_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *value, const tn_expr *body);
TNB_EXPORT const tn_expr *
tn_ramp_of(tn_ctx *ctx, const tn_expr *start, const tn_expr *stride, int64_t lanes);
TNB_EXPORT const tn_expr *
tn_broadcast_of(tn_ctx *ctx, const tn_expr *v, int64_t lanes);
TNB_EXPORT const tn_expr *
tn_shuffle_of(tn_ctx *ctx, tn_list vectors, tn_list indices);
TNB_EXPORT const tn_expr *
tn_buffer_load_of(tn_ctx *ctx, const tn_node *buffer, tn_list indices);
/* A call of a scalar intrinsic, which may be a plugin's, by name without prefix ("exp", "tirx.exp" also taken): type by the
 * intrinsic's rule. Those of the core have ids: tn_intrin (expr.h). */
TNB_EXPORT const tn_expr *
tn_intrin_named(tn_ctx *ctx, const char *name, tn_list args);
/* A scalar call with the result dtype given. op: OpRef, GlobalVar, ExternFunc. */
TNB_EXPORT const tn_expr *
tn_scalar_call(tn_ctx *ctx, tnb_dtype d, const tn_expr *op, tn_list args, const tn_node *attrs);

/* ---- graph expressions ---- */
TNB_EXPORT const tn_expr *
tn_constant_of(tn_ctx *ctx, const tn_data *d);
TNB_EXPORT const tn_expr *
tn_scalar_constant(tn_ctx *ctx, tnb_dtype d, double v); /* 0-d tensor */
TNB_EXPORT const tn_expr *
tn_shape_expr_of(tn_ctx *ctx, tn_list values); /* int64 scalars */
TNB_EXPORT const tn_expr *
tn_tuple_of(tn_ctx *ctx, tn_list fields);
TNB_EXPORT const tn_expr *
tn_tuple_item(tn_ctx *ctx, const tn_expr *t, int64_t index); /* folds on a Tuple */
/* A call of an operator by name ("relax.add" or "add"): defaults filled in, type inferred. `attrs`:
 * Dict or NULL. */
TNB_EXPORT const tn_expr *
tn_call_op(tn_ctx *ctx, const char *op, tn_list args, const tn_node *attrs);
TNB_EXPORT const tn_expr *
tn_call_opv(tn_ctx *ctx, const char *op, const tn_node *attrs, ...) __attribute__((sentinel));
/* Any call. op: OpRef, GlobalVar, ExternFunc, Var, Function. type NULL: inferred. */
TNB_EXPORT const tn_expr *
tn_call_of(tn_ctx *ctx, const tn_expr *op, tn_list args, const tn_node *attrs, tn_list ty_args,
           const tn_type *type);
/* R.call_tir(gv, args, out_ty=...): `args` tensors and scalars, `out` a Tensor type or a Tuple type
 * of such. */
TNB_EXPORT const tn_expr *
tn_call_tir(tn_ctx *ctx, const tn_expr *gv, tn_list args, const tn_type *out);
/* R.call_packed("name", args, ty_args=ret): impure. */
TNB_EXPORT const tn_expr *
tn_call_packed(tn_ctx *ctx, const char *name, tn_list args, const tn_type *ret);
TNB_EXPORT const tn_expr *
tn_op_ref_of(tn_ctx *ctx, const tn_op *op);
TNB_EXPORT const tn_expr *
tn_if_expr_of(tn_ctx *ctx, const tn_expr *cond, const tn_expr *then_branch,
              const tn_expr *else_branch);
/* Neighbouring ordinary blocks become one and empty ones go; dataflow blocks stay as they are. A
 * result that is a Var known to be empty becomes the empty tuple, as upstream's normal form has it.
 */
TNB_EXPORT const tn_expr *
tn_seq_expr_of(tn_ctx *ctx, tn_list blocks, const tn_expr *body);
TNB_EXPORT const tn_node *
tn_var_binding_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *value);
TNB_EXPORT const tn_node *
tn_match_cast_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *value, const tn_type *to);
TNB_EXPORT const tn_node *
tn_binding_block_of(tn_ctx *ctx, tn_list bindings, bool dataflow);
/* ret NULL: the body's type, with what the caller cannot know erased. */
TNB_EXPORT const tn_expr *
tn_function_of(tn_ctx *ctx, tn_list params, const tn_expr *body, const tn_type *ret, bool pure,
               const tn_node *attrs);
/* The Callable type of a Function, PrimFunc or ExternFunc. */
TNB_EXPORT const tn_type *
tn_func_type(tn_ctx *ctx, const tn_node *func);
/* What a call of something of type `callee` gives for these arguments: the result type with the
 * symbolic variables of the parameters replaced by what the arguments have there. `params`: the
 * callee's parameter variables where known (scalar parameters may occur in the result type), else
 * empty. For calls of GlobalVars. */
TNB_EXPORT const tn_type *
tn_call_result_type(tn_ctx *ctx, const tn_type *callee, tn_list params, tn_list args);
/* The Call behind `e` if it calls the operator `name` ("relax.call_tir"), else NULL. */
TNB_EXPORT const tn_call *
tn_is_call_to(const tn_expr *e, const char *name);

/* ---- attribute values ---- */
TNB_EXPORT const tn_node *
tn_array_of(tn_ctx *ctx, tn_list items);
TNB_EXPORT const tn_node *
tn_int_array(tn_ctx *ctx, const int64_t *v, uint32_t n);
/* A Dict from n keys and values; sorted here; a key twice is an error. */
TNB_EXPORT const tn_node *
tn_dict_of(tn_ctx *ctx, const char *const *keys, const tn_node *const *values, uint32_t n);
/* tn_dictv(ctx, "axis", tn_i64(ctx, 1), "keepdims", tn_bool(ctx, true), NULL) */
TNB_EXPORT const tn_node *
tn_dictv(tn_ctx *ctx, ...) __attribute__((sentinel));
TNB_EXPORT const tn_node *
tn_dict_get(const tn_node *dict, const char *key); /* NULL: absent (dict may be NULL) */
/* `dict` (NULL: empty) with the key set, or removed when value is NULL. */
TNB_EXPORT const tn_node *
tn_dict_set(tn_ctx *ctx, const tn_node *dict, const char *key, const tn_node *value);
TNB_EXPORT int64_t
tn_dict_int(const tn_node *dict, const char *key, int64_t otherwise);
TNB_EXPORT double
tn_dict_float(const tn_node *dict, const char *key, double otherwise);
TNB_EXPORT const char *
tn_dict_str(const tn_node *dict, const char *key, const char *otherwise);
/* An Array of integers, at most max of them; the count, or -1 if absent or of another kind. */
TNB_EXPORT int
tn_dict_ints(const tn_node *dict, const char *key, int64_t *out, int max);
TNB_EXPORT const tn_node *
tn_target_of(tn_ctx *ctx, const char *kind, const tn_node *attrs);
TNB_EXPORT const tn_node *
tn_vdevice_of(tn_ctx *ctx, const tn_node *target, int64_t id, const char *scope);

/* ---- tensor level ---- */
/* A compact buffer in scope "global" (scope NULL) with a fresh data pointer. */
TNB_EXPORT const tn_node *
tn_buffer_new(tn_ctx *ctx, const char *name, tn_list shape, tnb_dtype d, const char *scope);
/* Every field given; see nodes.def. data NULL: a fresh pointer. */
TNB_EXPORT const tn_node *
tn_buffer_of(tn_ctx *ctx, const tn_buffer *fields);
TNB_EXPORT const tn_node *
tn_range_of(tn_ctx *ctx, const tn_expr *min, const tn_expr *extent);
TNB_EXPORT const tn_node *
tn_buffer_region_of(tn_ctx *ctx, const tn_node *buffer, tn_list ranges);
TNB_EXPORT const tn_node *
tn_region_full(tn_ctx *ctx, const tn_node *buffer);
TNB_EXPORT const tn_node *
tn_region_point(tn_ctx *ctx, const tn_node *buffer, tn_list indices);
TNB_EXPORT const tn_node *
tn_match_buffer_of(tn_ctx *ctx, const tn_node *buffer, const tn_node *source_region);
TNB_EXPORT const tn_node *
tn_iter_var_of(tn_ctx *ctx, const tn_node *dom, const tn_expr *var, tn_iter_kind kind,
               const char *tag);
TNB_EXPORT const tn_stmt *
tn_buffer_store_of(tn_ctx *ctx, const tn_node *buffer, const tn_expr *value,
                   tn_list indices); /* casts the value */
TNB_EXPORT const tn_stmt *
tn_bind_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *value);
TNB_EXPORT const tn_stmt *
tn_alloc_buffer_of(tn_ctx *ctx, const tn_node *buffer, const tn_node *annotations);
TNB_EXPORT const tn_stmt *
tn_decl_buffer_of(tn_ctx *ctx, const tn_node *buffer);
TNB_EXPORT const tn_stmt *
tn_attr_stmt_of(tn_ctx *ctx, const tn_node *node, const char *key, const tn_expr *value,
                const tn_stmt *body);
TNB_EXPORT const tn_stmt *
tn_assert_of(tn_ctx *ctx, const tn_expr *cond, const tn_node *message);
TNB_EXPORT const tn_stmt *
tn_evaluate_of(tn_ctx *ctx, const tn_expr *value);
TNB_EXPORT const tn_stmt *
tn_return_of(tn_ctx *ctx, const tn_expr *value);
TNB_EXPORT const tn_stmt *
tn_seq_of(tn_ctx *ctx, tn_list stmts); /* flattens nested Seqs; one statement stands alone */
TNB_EXPORT const tn_stmt *
tn_seqv(tn_ctx *ctx, ...) __attribute__((sentinel));
TNB_EXPORT const tn_stmt *
tn_if_stmt_of(tn_ctx *ctx, const tn_expr *cond, const tn_stmt *then_case, const tn_stmt *else_case);
TNB_EXPORT const tn_stmt *
tn_for_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *min, const tn_expr *extent,
          tn_for_kind kind, const char *thread_tag, const tn_node *annotations,
          const tn_stmt *body);
TNB_EXPORT const tn_stmt *
tn_while_of(tn_ctx *ctx, const tn_expr *cond, const tn_stmt *body);
/* Every field given (base ignored); lists are copied. */
TNB_EXPORT const tn_node *
tn_block_of(tn_ctx *ctx, const tn_block *fields);
/* What a block reads and writes, found from its body (of blocks inside: from their regions): the hull
 * of all accesses over the loops inside, the whole buffer where that is not known. */
TNB_EXPORT void
tn_block_regions(tn_ctx *ctx, const tn_block *b, tn_list *reads, tn_list *writes);
TNB_EXPORT const tn_stmt *
tn_block_realize_of(tn_ctx *ctx, tn_list values, const tn_expr *predicate, const tn_node *block);
/* params: Vars; buffers parallel (NULL for scalars); attrs Dict or NULL; ret NULL: none. */
TNB_EXPORT const tn_node *
tn_prim_func_of(tn_ctx *ctx, tn_list params, tn_list buffers, const tn_stmt *body,
                const tn_type *ret, const tn_node *attrs);
/* A new node of n's kind with the given fields (a structure of the right type), type inferred
 * again. */
TNB_EXPORT const tn_node *
tn_rebuild(tn_ctx *ctx, tn_kind kind, const void *fields, const tn_type *type);

/* ---- modules (path copying; names are unique) ---- */
TNB_EXPORT const tn_module *
tn_module_new(tn_ctx *ctx);
TNB_EXPORT const tn_node *
tn_module_get(const tn_module *m,
              const char *name); /* Function, PrimFunc, ExternFunc; NULL: none */
TNB_EXPORT const tn_module *
tn_module_set(tn_ctx *ctx, const tn_module *m, const char *name,
              const tn_node *func); /* NULL func removes */
/* Many changes at once: for each i names[i] becomes funcs[i]. */
TNB_EXPORT const tn_module *
tn_module_set_all(tn_ctx *ctx, const tn_module *m, const char *const *names,
                  const tn_node *const *funcs, uint32_t n);
/* Changes that come one by one, put into the module together at the end: tn_module_set copies the
 * list of functions each time. In the scratch arena; `get` sees what was set. */
typedef struct tn_module_edit tn_module_edit;
TNB_EXPORT tn_module_edit *
tn_module_edit_new(tn_ctx *ctx, const tn_module *m);
TNB_EXPORT const tn_node *
tn_module_edit_get(const tn_module_edit *e, const char *name);
TNB_EXPORT void
tn_module_edit_set(tn_module_edit *e, const char *name, const tn_node *func); /* NULL removes */
TNB_EXPORT const tn_module *
tn_module_edit_end(tn_module_edit *e); /* NULL after recording an error */
TNB_EXPORT const tn_module *
tn_module_with_attrs(tn_ctx *ctx, const tn_module *m, const tn_node *attrs);
TNB_EXPORT const tn_module *
tn_module_with_infos(tn_ctx *ctx, const tn_module *m,
                     const tn_node *infos); /* Dict: kind -> Array */
TNB_EXPORT const char *
tn_module_name(const tn_module *m, uint32_t i);
/* Attributes of a Function or PrimFunc. */
TNB_EXPORT const tn_node *
tn_func_attr(const tn_node *func, const char *key);
TNB_EXPORT const tn_node *
tn_func_with_attr(tn_ctx *ctx, const tn_node *func, const char *key, const tn_node *value);

#ifdef __cplusplus
}
#endif
#endif
