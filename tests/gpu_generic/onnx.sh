# SPDX-License-Identifier: Apache-2.0
# The ONNX backend cases of the system package on the first Vulkan device, for three targets: one with device addresses, sub-groups and
# all numbers, one with descriptors instead of addresses, and one that has no more than Vulkan 1.1 promises. Some of each kind of kernel,
# all in check-long (SHARD splits them). None fails, crashes or hangs, and as many pass as on the cpu target, which runs what the target
# has no numbers for.
. "$top_srcdir/tests/onnx/gpu_cases.sh"
"$TENON" list devices | grep -A 1 '^gpu_generic ' | grep -q '^    0: ' || { echo "no Vulkan device"; exit 77; }
set -eu
short="node/test_add_bcast node/test_argmax_default_axis_random node/test_averagepool_2d_pads node/test_basic_conv_with_padding
    node/test_cast_FLOAT_to_BFLOAT16 node/test_castlike_BFLOAT16_to_FLOAT node/test_cast_DOUBLE_to_FLOAT16 node/test_compress_0
    node/test_convtranspose_with_kernel node/test_cumsum_1d_exclusive node/test_cumsum_2d_negative_axis node/test_einsum_batch_matmul
    node/test_gemm_all_attributes node/test_layer_normalization_4d_axis1 node/test_lstm_with_peepholes node/test_matmul_3d
    node/test_melweightmatrix node/test_mod_mixed_sign_int8 node/test_nonmaxsuppression_two_batches node/test_qlinearconv
    node/test_range_int32_type_negative_delta node/test_reduce_l2_keep_dims_random node/test_resize_upsample_sizes_cubic
    node/test_scatternd_add node/test_softmax_axis_1 node/test_top_k pytorch-converted/test_BatchNorm2d_eval
    pytorch-converted/test_Linear"
# own cases whose kernels a GPU has in another form
link_cases dequantize_to_float16_beyond_its_range sums_of_many_float16_and_bfloat16 matmul_of_short_rows_and_a_vector scatter_elements_added_by_many_rows
for t in cpu addresses descriptors plain; do
    onnx_run "$t" --config "$top_srcdir/tests/gpu_generic/targets.ini"
done
passes_as_cpu addresses descriptors plain
