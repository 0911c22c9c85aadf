# SPDX-License-Identifier: Apache-2.0
# The ONNX backend cases of the system package on the simulated device: some of each kind of kernel, all in check-long (SHARD splits
# them), where streams, blocks and warps take turns at random besides. None fails, crashes or hangs, and as many pass as on the cpu target.
. "$top_srcdir/tests/onnx/gpu_cases.sh"
sim=$top_builddir/tests/cuda/sim/.libs
test -f "$sim/libcuda.so.1" || { echo "no simulated device"; exit 77; }
short="node/test_add_bcast node/test_argmax_default_axis_random node/test_averagepool_2d_pads node/test_basic_conv_with_padding
    node/test_cast_FLOAT_to_BFLOAT16 node/test_castlike_BFLOAT16_to_FLOAT node/test_cast_DOUBLE_to_FLOAT16 node/test_compress_0
    node/test_convtranspose_with_kernel node/test_cumsum_2d_negative_axis node/test_einsum_batch_matmul
    node/test_gemm_all_attributes node/test_layer_normalization_4d_axis1 node/test_lstm_with_peepholes node/test_matmul_3d
    node/test_mod_mixed_sign_int8 node/test_nonmaxsuppression_two_batches node/test_qlinearconv
    node/test_range_int32_type_negative_delta node/test_reduce_l2_keep_dims_random node/test_resize_upsample_sizes_cubic
    node/test_scatternd_add node/test_softmax_axis_1 node/test_top_k pytorch-converted/test_BatchNorm2d_eval
    pytorch-converted/test_Linear"
set -eu
LD_LIBRARY_PATH=$sim:${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH
if ! "$TENON" compile "$top_srcdir/examples/digits/digits.onnx" -q -t cuda -o "$work/digits.tno" 2> "$work/why"; then
    grep -q 'NVRTC, which compiles CUDA kernels, cannot be opened' "$work/why" && { echo "no NVRTC"; exit 77; }
    cat "$work/why"
    exit 1
fi
link_cases sums_of_many_float16_and_bfloat16 matmul_of_short_rows_and_a_vector scatter_elements_added_by_many_rows
onnx_run cpu
onnx_run cuda
passes_as_cpu cuda
[ -z "${TENON_LONG:-}" ] || { CUDASIM_SEED=1 CUDASIM_LATE=1 onnx_run cuda && passes_as_cpu cuda; }
