# SPDX-License-Identifier: Apache-2.0
# The ONNX backend cases of the system package on the opencl target and the first OpenCL device: some of each kind of kernel, all
# in check-long (SHARD splits them). None fails, crashes or hangs, and as many pass as on the cpu target.
. "$top_srcdir/tests/onnx/gpu_cases.sh"
"$TENON" list devices | grep -A 1 '^opencl ' | grep -q '^    0: .* / .*, driver ' || { echo "no OpenCL device"; exit 77; }
set -eu
short="node/test_add_bcast node/test_and4d node/test_argmax_default_axis_random node/test_averagepool_2d_pads
    node/test_basic_conv_with_padding node/test_bitshift_right_uint8 node/test_cast_FLOAT_to_FLOAT16 node/test_cast_DOUBLE_to_FLOAT
    node/test_compress_0 node/test_concat_3d_axis_1 node/test_convtranspose_with_kernel node/test_cumsum_2d_axis_1 node/test_einsum_batch_matmul
    node/test_gather_elements_0 node/test_gemm_all_attributes node/test_layer_normalization_4d_axis1 node/test_lstm_with_peepholes
    node/test_matmul_3d node/test_maxpool_2d_strides node/test_mod_mixed_sign_int8 node/test_nonzero_example
    node/test_nonmaxsuppression_two_batches node/test_qlinearconv node/test_reduce_l2_keep_dims_random node/test_reduce_log_sum_exp_default_axes_keepdims_random
    node/test_resize_upsample_sizes_cubic node/test_scatternd_add node/test_softmax_axis_1 node/test_top_k node/test_transpose_all_permutations_3
    node/test_where_example simple/test_expand_shape_model1 pytorch-operator/test_operator_repeat
    pytorch-converted/test_BatchNorm2d_eval pytorch-converted/test_Conv3d_dilated_strided pytorch-converted/test_Linear"
# own cases whose kernels a GPU has in another form
link_cases "scatter*" "quantize*" "dequantize*" "qlinear*" "dynamic_quantize*"
onnx_run cpu
onnx_run opencl
passes_as_cpu opencl
