# SPDX-License-Identifier: Apache-2.0
# The ONNX backend cases of the system package on the opencl target and the first OpenCL device: some of each kind of kernel, all
# in check-long (SHARD splits them). None fails, crashes or hangs, and as many pass as on the cpu target.
data=${ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
test -d "$data/node" || exit 77
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
"$TENON" list devices | grep -A 1 '^opencl ' | grep -q '^    0: .* / .*, driver ' || { echo "no OpenCL device"; exit 77; }
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
short="node/test_add_bcast node/test_and4d node/test_argmax_default_axis_random node/test_averagepool_2d_pads
    node/test_basic_conv_with_padding node/test_bitshift_right_uint8 node/test_cast_FLOAT_to_FLOAT16 node/test_cast_DOUBLE_to_FLOAT
    node/test_compress_0 node/test_concat_3d_axis_1 node/test_convtranspose_with_kernel node/test_cumsum_2d_axis_1 node/test_einsum_batch_matmul
    node/test_gather_elements_0 node/test_gemm_all_attributes node/test_layer_normalization_4d_axis1 node/test_lstm_with_peepholes
    node/test_matmul_3d node/test_maxpool_2d_strides node/test_mod_mixed_sign_int8 node/test_nonzero_example
    node/test_nonmaxsuppression_two_batches node/test_qlinearconv node/test_reduce_l2_keep_dims_random node/test_reduce_log_sum_exp_default_axes_keepdims_random
    node/test_resize_upsample_sizes_cubic node/test_scatternd_add node/test_softmax_axis_1 node/test_top_k node/test_transpose_all_permutations_3
    node/test_where_example simple/test_expand_shape_model1 pytorch-operator/test_operator_repeat
    pytorch-converted/test_BatchNorm2d_eval pytorch-converted/test_Conv3d_dilated_strided pytorch-converted/test_Linear"
cases() { # the cases of this run, one a line
    if [ -n "${TENON_LONG:-}" ]; then
        ls -d "$data"/node/* "$data"/simple/* "$data"/pytorch-operator/* "$data"/pytorch-converted/*
    else
        for c in $short; do echo "$data/$c"; done
    fi
}
mkdir "$work/cases"
cases | awk -v shard="${SHARD:-}" 'BEGIN { if (split(shard, s, "/") != 2) s[2] = 1 } NR % s[2] == s[1] % s[2]' |
    while read -r d; do
        [ ! -d "$d" ] || ln -s "$d" "$work/cases/$(basename "$(dirname "$d")")-$(basename "$d")"
    done
# of the project's own cases those whose kernels a GPU has in another form, all in check-long
mkdir "$work/own"
"$top_builddir/tests/onnx/write_cases" "$top_srcdir/tests/onnx/cases.txt" "$work/own"
for d in "$work"/own/*; do
    case $(basename "$d") in
    scatter* | quantize* | dequantize* | qlinear* | dynamic_quantize*) ln -s "$d" "$work/cases/" ;;
    *) [ -z "${TENON_LONG:-}" ] || ln -s "$d" "$work/cases/" ;;
    esac
done
run() { # target options...
    "$TENON" onnx-test "$work/cases" -j 2 --batch 25 --timeout "${TESTS_TIMEOUT:-300}" -t "$@" > "$work/out" || true
    echo "$1: $(tail -n 1 "$work/out")"
    grep '^FAIL' "$work/out" && exit 1
    sed -n 's/^PASS \([^ :]*\).*/\1/p' "$work/out" > "$work/passed-$1"
}
run cpu
run opencl
test "$(wc -l < "$work/passed-cpu")" -gt 20
if ! diff "$work/passed-cpu" "$work/passed-opencl"; then
    echo "these pass on one of the targets alone"
    exit 1
fi
