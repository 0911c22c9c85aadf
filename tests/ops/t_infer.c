/* SPDX-License-Identifier: Apache-2.0 */
/* Types of operator calls, with symbolic extents, and the errors of wrong uses. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "tenon/core/text.h"
#include "tops.h"

#define VAR(...) tops_var(t, TNB_F32, (const int64_t[]){__VA_ARGS__, TOPS_END})
#define VARD(d, ...) tops_var(t, d, (const int64_t[]){__VA_ARGS__, TOPS_END})
#define ATTRS(...) tn_dictv(t->ctx, __VA_ARGS__, NULL)
#define INTS(...) \
    tn_int_array(t->ctx, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)
#define INT(v) tn_i64(t->ctx, v)
#define STR(v) tn_string(t->ctx, v)
#define DIMS(...) tn_shape_expr_of(t->ctx, tn_listv(t->ctx, __VA_ARGS__, NULL))
#define TUPLE(...) tn_tuple_of(t->ctx, tn_listv(t->ctx, __VA_ARGS__, NULL))
#define ARGS(...) \
    (const tn_expr *[]){__VA_ARGS__}, sizeof((const tn_expr *[]){__VA_ARGS__}) / sizeof(void *)

static void
expect_type(tops *t, const char *wanted, const char *op, const tn_node *attrs,
            const tn_expr *const *args, uint32_t n)
{
    const tn_expr *call = tn_call_op(t->ctx, op, tn_list_of(t->ctx, args, n), attrs);
    const char *got = tn_is_error(call) ? "an error" : tn_text(t->ctx, call->type);
    if (strcmp(got, wanted))
        tops_print_errors(t);
    assert_string_equal(got, wanted);
}

static void
expect_error(tops *t, const char *part, const char *op, const tn_node *attrs,
             const tn_expr *const *args, uint32_t n)
{
    tnb_buf b = {0};
    const tn_expr *call = tn_call_op(t->ctx, op, tn_list_of(t->ctx, args, n), attrs);
    assert_true(tn_is_error(call));
    assert_int_equal(tnb_diags_errors(tn_diags(t->ctx)), 1);
    tnb_diags_print(tn_diags(t->ctx), &b);
    if (!strstr(b.s, part) || !strstr(b.s, op))
        fail_msg("%s: wanted \"%s\" in:\n%s", op, part, b.s);
    tnb_buf_free(&b);
    tnb_diags_clear(tn_diags(t->ctx));
}

static void
shapes_follow_the_operands(void **state)
{
    tops *t = *state;
    expect_type(t, "R.Tensor((2, 4, 3), dtype=\"float32\")", "add", NULL,
                ARGS(VAR(2, 1, 3), VAR(4, 1)));
    expect_type(t, "R.Tensor((2, 3), dtype=\"bool\")", "less", NULL, ARGS(VAR(2, 3), VAR(3)));
    expect_type(t, "R.Tensor((5, 2, 4), dtype=\"float32\")", "matmul", NULL,
                ARGS(VAR(2, 3), VAR(5, 3, 4)));
    expect_type(t, "R.Tensor((2, 1), dtype=\"float32\")", "sum",
                ATTRS("axis", INTS(-1), "keepdims", tn_bool(t->ctx, true)), ARGS(VAR(2, 3)));
    expect_type(t, "R.Tensor((), dtype=\"int64\")", "argmax", NULL, ARGS(VAR(2, 3)));
    expect_type(t, "R.Tensor((3, 4), dtype=\"float32\")", "reshape", NULL,
                ARGS(VAR(2, 6), DIMS(INT(3), INT(-1))));
    expect_type(t, "R.Tensor((1, 8, 3, 5), dtype=\"float32\")", "nn.conv2d",
                ATTRS("strides", INTS(2, 1), "padding", INTS(1)),
                ARGS(VAR(1, 4, 5, 5), VAR(8, 4, 3, 3)));
    expect_type(t, "R.Tensor((1, 3, 7), dtype=\"float32\")", "nn.conv1d_transpose",
                ATTRS("strides", INTS(2)), ARGS(VAR(1, 2, 3), VAR(2, 3, 3)));
    expect_type(t, "R.Tensor((1, 2, 3, 3), dtype=\"float32\")", "nn.max_pool2d",
                ATTRS("pool_size", INTS(2), "strides", INTS(2), "ceil_mode", tn_bool(t->ctx, true)),
                ARGS(VAR(1, 2, 5, 5)));
    expect_type(t,
                "R.Tuple(R.Tensor((2, 3), dtype=\"float32\"), R.Tensor((2, 3), dtype=\"float32\"), "
                "R.Tensor((2, 1), dtype=\"float32\"))",
                "split", ATTRS("indices_or_sections", INT(3), "axis", INT(1)), ARGS(VAR(2, 7)));
    expect_type(t, "R.Tensor((2, 2), dtype=\"float32\")", "strided_slice", NULL,
                ARGS(VAR(2, 5), TUPLE(INT(1)), TUPLE(INT(-1)), TUPLE(INT(0)), TUPLE(INT(-2))));
}

static void
symbols_stay_in_types(void **state)
{
    tops *t = *state;
    expect_type(t, "R.Tensor((n, 4), dtype=\"float32\")", "add", NULL, ARGS(VAR(-1, 1), VAR(4)));
    expect_type(t, "R.Tensor((n,), dtype=\"float32\")", "max", ATTRS("axis", INTS(1)),
                ARGS(VAR(-1, -2)));
    expect_type(t, "R.Tensor((n, 12), dtype=\"float32\")", "reshape", NULL,
                ARGS(VAR(-1, 3, 4), DIMS(INT(-1), INT(12))));
    expect_type(t, "R.Tensor((n, 8, 5, 5), dtype=\"float32\")", "nn.conv2d",
                ATTRS("padding", INTS(1)), ARGS(VAR(-1, 4, 5, 5), VAR(8, 4, 3, 3)));
    expect_type(t, "R.Tensor((4, n), dtype=\"float32\")", "permute_dims", NULL, ARGS(VAR(-1, 4)));
}

static void
wrong_uses_are_told(void **state)
{
    tops *t = *state;
    expect_error(t, "cannot be broadcast", "add", NULL, ARGS(VAR(2, 3), VAR(4)));
    expect_error(t, "float32 and int64", "multiply", NULL, ARGS(VAR(2), VARD(TNB_I64, 2)));
    expect_error(t, "must be bool", "logical_and", NULL, ARGS(VAR(2), VAR(2)));
    expect_error(t, "float type", "exp", NULL, ARGS(VARD(TNB_I64, 2)));
    expect_error(t, "must be a tensor", "nn.relu", NULL, ARGS(INT(1)));
    expect_error(t, "summed extents differ: 3", "matmul", NULL, ARGS(VAR(2, 3), VAR(4, 2)));
    expect_error(t, "multiple", "nn.conv2d", ATTRS("groups", INT(3)),
                 ARGS(VAR(1, 12, 5, 5), VAR(16, 4, 3, 3)));
    expect_error(t, "has 4 channels", "nn.conv2d", NULL, ARGS(VAR(1, 4, 5, 5), VAR(8, 3, 3, 3)));
    expect_error(t, "its layout NCHW has 4", "nn.conv2d", NULL,
                 ARGS(VAR(4, 5, 5), VAR(8, 4, 3, 3)));
    expect_error(t, "no order of the axes NCHW", "nn.conv2d", ATTRS("data_layout", STR("NCWW")),
                 ARGS(VAR(1, 4, 5, 5), VAR(8, 4, 3, 3)));
    expect_error(t, "larger than the padded data", "nn.max_pool2d", ATTRS("pool_size", INTS(9)),
                 ARGS(VAR(1, 4, 5, 5)));
    expect_error(t, "expected at least 1", "nn.max_pool2d", ATTRS("strides", INTS(0)),
                 ARGS(VAR(1, 4, 5, 5)));
    expect_error(t, "out of range", "nn.softmax", ATTRS("axis", INT(2)), ARGS(VAR(2, 3)));
    expect_error(t, "twice", "sum", ATTRS("axis", INTS(0, -2)), ARGS(VAR(2, 3)));
    expect_error(t, "cannot be arranged", "reshape", NULL, ARGS(VAR(2, 3), DIMS(INT(4), INT(-1))));
    expect_error(t, "more than one -1", "reshape", NULL, ARGS(VAR(2, 3), DIMS(INT(-1), INT(-1))));
    expect_error(t, "differ along axis 1", "concat", NULL, ARGS(TUPLE(VAR(2, 3), VAR(2, 4))));
    expect_error(t, "a stride of 0", "strided_slice", NULL,
                 ARGS(VAR(2, 5), TUPLE(INT(1)), TUPLE(INT(0)), TUPLE(INT(4)), TUPLE(INT(0))));
    expect_type(t, "R.Tensor((2, 3), dtype=\"float32\")", "squeeze", ATTRS("axis", INTS(0)),
                ARGS(VAR(2, 3)));
    expect_error(t, "cannot be broadcast", "index_put", NULL,
                 ARGS(VAR(4, 4), TUPLE(VARD(TNB_I64, 2, 1), VARD(TNB_I64, 3, 2)), VAR(1)));
    expect_error(t, "expected at least 1", "nn.max_pool2d", ATTRS("pool_size", INTS(0)),
                 ARGS(VAR(1, 4, 5, 5)));
    expect_error(t, "'sample_ratio' is 1025, expected at most 1024", "vision.roi_align",
                 ATTRS("pooled_size", INTS(1), "spatial_scale", tn_float_imm_of(t->ctx, TNB_F64, 1),
                       "sample_ratio", INT(1025)),
                 ARGS(VAR(1, 1, 2, 2), VAR(1, 5)));
    expect_error(t, "expected fast, wrap, clip or nan", "take",
                 ATTRS("mode", STR("x"), "axis", INT(0)), ARGS(VAR(2), VARD(TNB_I64, 2)));
    expect_error(t, "must be integers", "take", ATTRS("axis", INT(0)), ARGS(VAR(2), VAR(2)));
    expect_error(t, "two an axis", "nn.pad", ATTRS("pad_width", INTS(1)), ARGS(VAR(2)));
    expect_error(t, "does not fit", "einsum", ATTRS("subscripts", STR("ijk->i")),
                 ARGS(TUPLE(VAR(2, 3))));
    expect_error(t, "expected nearest_neighbor, linear or cubic", "image.resize2d",
                 ATTRS("method", STR("best")), ARGS(VAR(1, 1, 2, 2), DIMS(INT(4), INT(4))));
    for (int i = 0; i < 3; i++) { /* no fraction of integers comes near */
        static const double far[] = {1e300, 1e-300, INFINITY};
        const tn_expr *scale = tn_float_imm_of(t->ctx, TNB_F64, far[i]);
        expect_error(t, "attribute 'scales' holds", "image.resize1d",
                     ATTRS("scales", tn_array_of(t->ctx, tn_listv(t->ctx, scale, NULL))),
                     ARGS(VAR(1, 1, 2), DIMS(INT(4))));
    }
    expect_error(t, "has 4 entries", "nn.batch_norm", ATTRS("axis", INT(1)),
                 ARGS(VAR(2, 3), VAR(4), VAR(3), VAR(3), VAR(3)));
    expect_error(t, "has no attribute 'stride'", "nn.conv2d", ATTRS("stride", INTS(1)),
                 ARGS(VAR(1, 4, 5, 5), VAR(8, 4, 3, 3)));
}

/* Paddings for one side or all axes, lone numbers and a missing out_layout become the full form. */
static void
detection_choice_and_collectives_have_types(void **state)
{
    tops *t = *state;
    expect_type(t, "R.Tuple(R.Tensor((2, 5), dtype=\"int32\"), R.Tensor((2, 1), dtype=\"int32\"))",
                "vision.non_max_suppression", NULL,
                ARGS(VAR(2, 5, 6), VARD(TNB_I32, 2), VARD(TNB_I32, 2, 5)));
    expect_type(t, "R.Tensor((2, 5, 6), dtype=\"float32\")", "vision.non_max_suppression",
                ATTRS("return_indices", tn_bool(t->ctx, false)),
                ARGS(VAR(2, 5, 6), VARD(TNB_I32, 2), VARD(TNB_I32, 2, 5)));
    expect_error(t, "has 2 axes, expected 3", "vision.non_max_suppression", NULL,
                 ARGS(VAR(2, 5), VARD(TNB_I32, 2), VARD(TNB_I32, 2, 5)));
    expect_type(t, "R.Tensor((3, 2, 4, 4), dtype=\"float32\")", "vision.roi_align",
                ATTRS("pooled_size", INTS(4), "spatial_scale", tn_literal(t->ctx, TNB_F64, 1)),
                ARGS(VAR(1, 2, 8, 8), VAR(3, 5)));
    expect_error(t, "regions have 4 elements", "vision.roi_align",
                 ATTRS("pooled_size", INTS(4), "spatial_scale", tn_literal(t->ctx, TNB_F64, 1)),
                 ARGS(VAR(1, 2, 8, 8), VAR(3, 4)));
    expect_error(t, "expected 0 to 5", "vision.get_valid_counts", ATTRS("score_index", INT(6)),
                 ARGS(VAR(2, 5, 6)));
    expect_error(t, "not a multiple of 4", "vision.multibox_transform_loc", NULL,
                 ARGS(VAR(1, 3, 5), VAR(1, 19), VAR(1, 5, 4)));
    expect_type(t,
                "R.Tuple(R.Tensor((2, 1), dtype=\"float32\"), R.Tensor((2, 1), dtype=\"int64\"))",
                "median", ATTRS("axis", INTS(-1), "keepdims", tn_bool(t->ctx, true)),
                ARGS(VAR(2, 3)));
    expect_type(t, "R.Tensor((), dtype=\"float32\")", "median", NULL, ARGS(VAR(2, 3)));
    expect_type(t, "R.Tensor((4, 1), dtype=\"int64\")", "multinomial_from_uniform", NULL,
                ARGS(VAR(2, 8), VAR(4, 1), VARD(TNB_I64, 4, 1)));
    expect_error(t, "4 uniform samples for 3", "multinomial_from_uniform", NULL,
                 ARGS(VAR(2, 8), VAR(4, 1), VARD(TNB_I64, 3, 1)));
    expect_type(t, "R.Tensor((6, 3), dtype=\"float32\")", "ccl.allgather",
                ATTRS("num_workers", INT(3)), ARGS(VAR(2, 3)));
    expect_type(t, "R.Tensor((2, 2), dtype=\"float32\")", "ccl.scatter_from_worker0",
                ATTRS("num_workers", INT(3), "axis", INT(-1)), ARGS(VAR(2, 6)));
    expect_error(t, "cannot share evenly", "ccl.scatter_from_worker0",
                 ATTRS("num_workers", INT(4), "axis", INT(1)), ARGS(VAR(2, 6)));
    expect_error(t, "expected sum, prod, min, max or avg", "ccl.allreduce",
                 ATTRS("op_type", STR("mean")), ARGS(VAR(2)));
    expect_type(t, "R.Tensor((2, 2, 7, 9), dtype=\"float32\")", "image.affine_grid", NULL,
                ARGS(VAR(2, 2, 3), DIMS(INT(7), INT(9))));
    expect_error(t, "expected (N, 3, 4)", "image.affine_grid", NULL,
                 ARGS(VAR(2, 2, 3), DIMS(INT(7), INT(9), INT(5))));
    expect_type(t, "R.Tensor((2, 3, 7, 9), dtype=\"float32\")", "image.grid_sample", NULL,
                ARGS(VAR(2, 3, 4, 4), VAR(2, 2, 7, 9)));
    expect_error(t, "a grid of R.shape([2, 7, 9, 2]) does not fit data of R.shape([2, 3, 4, 4])",
                 "image.grid_sample", NULL, ARGS(VAR(2, 3, 4, 4), VAR(2, 7, 9, 2)));
    expect_type(t, "R.Tensor((2, 3), dtype=\"int32\")", "full_like", NULL,
                ARGS(VARD(TNB_I32, 2, 3), tops_var(t, TNB_F32, (const int64_t[]){TOPS_END})));
    expect_type(t,
                "R.Tuple(R.Tensor((0, 2), dtype=\"float32\"), R.Tensor((4, 2), dtype=\"float32\"), "
                "R.Tensor((0, 2), dtype=\"float32\"), R.Tensor((3, 2), dtype=\"float32\"))",
                "split", ATTRS("indices_or_sections", INTS(-2, 4, 2)), ARGS(VAR(5, 2)));
}

/* Extents that values decide are left open; what is known besides stays. */
static void
results_that_depend_on_values(void **state)
{
    tops *t = *state;
    const tn_expr *no = tn_bool(t->ctx, false), *yes = tn_bool(t->ctx, true);
    const tn_expr *boxes = VAR(2, 6, 4), *scores = VAR(2, 3, 6);
    const tn_expr *most = VARD(TNB_I64, 1), *limit = VAR(1);
    const char *nms = "vision.all_class_non_max_suppression";
    expect_type(t, "R.Tensor(dtype=\"int64\", ndim=2)", "nonzero", NULL, ARGS(VAR(2, 3)));
    expect_error(t, "must be a tensor", "nonzero", NULL, ARGS(INT(1)));
    expect_type(t, "R.Tensor(dtype=\"float32\", ndim=1)", "unique", NULL,
                ARGS(VAR(2, 3), yes, no, no, no));
    expect_type(t,
                "R.Tuple(R.Tensor(dtype=\"float32\", ndim=2), R.Tensor(dtype=\"int64\", ndim=1))",
                "unique", NULL, ARGS(VAR(2, 3), yes, no, yes, no, INT(1)));
    expect_error(t, "out of range", "unique", NULL, ARGS(VAR(2, 3), yes, no, no, no, INT(2)));
    expect_error(t, "must be True or False", "unique", NULL,
                 ARGS(VAR(2, 3), yes, tn_var_dtype(t->ctx, "b", TNB_DTYPE(TNB_BOOL, 8)), no, no));
    expect_type(t, "R.Tuple(R.Tensor((36, 3), dtype=\"int64\"), R.Tensor((1,), dtype=\"int64\"))",
                nms, NULL, ARGS(boxes, scores, most, limit, limit));
    expect_type(t, "R.Tensor(dtype=\"int64\", ndim=2)", nms,
                ATTRS("output_format", STR("selected")), ARGS(boxes, scores, most, limit, limit));
    expect_type(t,
                "R.Tuple(R.Tensor((2, 18, 2), dtype=\"int64\"), R.Tensor((2, 18), "
                "dtype=\"float32\"), R.Tensor((2,), dtype=\"int64\"))",
                nms, ATTRS("output_format", STR("tensorflow")),
                ARGS(boxes, scores, most, limit, limit));
    expect_error(t, "attribute 'output_format'", nms, ATTRS("output_format", STR("coco")),
                 ARGS(boxes, scores, most, limit, limit));
    expect_error(t, "differ in batch or boxes", nms, NULL,
                 ARGS(boxes, VAR(2, 3, 5), most, limit, limit));
    expect_error(t, "5 coordinates, expected 4", nms, NULL,
                 ARGS(VAR(2, 6, 5), scores, most, limit, limit));
    expect_error(t, "must have one element", nms, NULL, ARGS(boxes, scores, most, VAR(2), limit));
}

static void
regions_boxes_and_sequences(void **state)
{
    tops *t = *state;
    const tn_node *one = tn_literal(t->ctx, TNB_F64, 1);
    const tn_expr *rows = VAR(2, 5, 6), *valid = VARD(TNB_I32, 2), *index = VARD(TNB_I32, 2, 5);
    expect_error(t, "expected 0 to 2", "vision.non_max_suppression", ATTRS("coord_start", INT(3)),
                 ARGS(rows, valid, index));
    expect_error(t, "expected -1 to 5", "vision.non_max_suppression", ATTRS("id_index", INT(-2)),
                 ARGS(rows, valid, index));
    expect_error(t, "3 counts of valid boxes for 2", "vision.non_max_suppression", NULL,
                 ARGS(rows, VARD(TNB_I32, 3), index));
    expect_error(t, "the indices have the shape", "vision.non_max_suppression", NULL,
                 ARGS(rows, valid, VARD(TNB_I32, 2, 4)));
    expect_type(t, "R.Tensor((n, 4, 2, 2), dtype=\"float32\")", "vision.roi_pool",
                ATTRS("pooled_size", INTS(2), "spatial_scale", one),
                ARGS(VAR(1, 4, 8, 8), VAR(-1, 5)));
    expect_error(t, "attribute 'layout'", "vision.roi_pool",
                 ATTRS("pooled_size", INTS(2), "spatial_scale", one, "layout", STR("NHWC")),
                 ARGS(VAR(1, 8, 8, 4), VAR(-1, 5)));
    expect_error(t, "attribute 'mode'", "vision.roi_align",
                 ATTRS("pooled_size", INTS(2), "spatial_scale", one, "mode", STR("min")),
                 ARGS(VAR(1, 4, 8, 8), VAR(-1, 5)));
    expect_error(t, "at least 1", "vision.roi_align",
                 ATTRS("pooled_size", INTS(2, 0), "spatial_scale", one),
                 ARGS(VAR(1, 4, 8, 8), VAR(-1, 5)));
    const tn_expr *q = VAR(1, -1, 4, 8), *k = VAR(1, -2, 4, 8), *n = VARD(TNB_I32, 1);
    expect_type(t, "R.Tensor((1, n, 4, 8), dtype=\"float32\")", "nn.attention_var_len", NULL,
                ARGS(q, k, k, VARD(TNB_I32, 3), VARD(TNB_I32, 3), n, n));
    expect_error(t, "3 starts of queries, but 4 of keys", "nn.attention_var_len", NULL,
                 ARGS(q, k, k, VARD(TNB_I32, 3), VARD(TNB_I32, 4), n, n));
    expect_type(t, "R.Tensor((), dtype=\"int64\")", "size", NULL, ARGS(VAR(-1, 3)));
    expect_type(t, "R.Prim(\"int64\")", "inspect.tensor_shape_i", NULL, ARGS(VAR(2, 3), INT(1)));
    expect_error(t, "no axis 2", "inspect.tensor_stride_i", NULL, ARGS(VAR(2, 3), INT(2)));
}

static void
attributes_become_canonical(void **state)
{
    tops *t = *state;
    const tn_expr *args[] = {VAR(1, 4, 5, 5), VAR(8, 4, 3, 3)};
    const tn_expr *call = tn_call_op(t->ctx, "nn.conv2d", tn_list_of(t->ctx, args, 2),
                                     ATTRS("padding", INTS(1, 2), "strides", INTS(2)));
    int64_t v[8];
    const tn_call *c = tn_as_call(call);
    assert_int_equal(tn_call_ints(c, "padding", v, 8), 4);
    assert_int_equal(v[0] * 1000 + v[1] * 100 + v[2] * 10 + v[3], 1212);
    assert_int_equal(tn_call_ints(c, "strides", v, 8), 2);
    assert_string_equal(tn_call_str(c, "out_layout"), "NCHW");
}

static tops shared;

static int
open_all(void **state)
{
    *state = &shared;
    return tops_open(&shared) ? 0 : -1;
}

static int
close_all(void **state)
{
    tops_close(*state);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_follow_the_operands),
        cmocka_unit_test(symbols_stay_in_types),
        cmocka_unit_test(wrong_uses_are_told),
        cmocka_unit_test(detection_choice_and_collectives_have_types),
        cmocka_unit_test(results_that_depend_on_values),
        cmocka_unit_test(regions_boxes_and_sequences),
        cmocka_unit_test(attributes_become_canonical),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
