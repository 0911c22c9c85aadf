# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# ONNX's own cases: with fallback all pass that pass on the cpu target; without it they pass, or are refused by name.
# A sample of them; all where TENON_LONG is set.
data=${ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}/node
[ -d "$data" ] || { echo "onnx.sh: no cases in $data"; exit 0; }
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
cases="add_bcast and4d argmax_default_axis_random averagepool_2d_pads basic_conv_with_padding cast_FLOAT_to_FLOAT16 clip compress_0
    concat_3d_axis_1 convtranspose_with_kernel cumsum_2d_axis_1 equal erf gather_elements_0 gemm_all_attributes gru_defaults
    layer_normalization_4d_axis1 lstm_with_peepholes matmul_3d matmulinteger maxpool_2d_strides mod_mixed_sign_int8 nonzero_example
    range_int32_type_negative_delta_expanded reduce_l2_keep_dims_random resize_upsample_sizes_cubic scatternd_add
    sigmoid softmax_axis_1 top_k transpose_all_permutations_3 unique_sorted_with_axis where_example"
mkdir "$out/cases"
if [ -n "$TENON_LONG" ]; then
    ls -d "$data"/*
else
    for c in $cases; do echo "$data/test_$c"; done
fi | awk -v shard="$SHARD" 'BEGIN { if (split(shard, s, "/") != 2) s[2] = 1 } NR % s[2] == s[1] % s[2]' |
    while read -r d; do
        [ ! -d "$d" ] || ln -s "$d" "$out/cases/"
    done
run() { "$TENON" onnx-test "$out/cases" -j 2 --batch 10 --timeout 300 --config simacc.ini "$@" >"$out/log" 2>&1; }
passed() { sed -n 's/^PASS \([^ :]*\).*/\1/p' "$out/log" | sort; }
run -t cpu
passed >"$out/cpu"
run -t simacc
echo "onnx.sh: $(tail -n 1 "$out/log")"
passed >"$out/simacc"
comm -23 "$out/cpu" "$out/simacc" | grep . && { grep '^FAIL' "$out/log"; echo "onnx.sh: these pass on the cpu target only"; exit 1; }
[ -s "$out/simacc" ] || { echo "onnx.sh: nothing passes"; exit 1; }
run -t simacc --set tenon.fallback=false
passed >"$out/alone"
echo "onnx.sh: without fallback $(wc -l <"$out/alone") pass, $(grep -c "does not take the tensor program" "$out/log") are refused by name"
grep '^FAIL' "$out/log" | grep -v "the target 'simacc' does not take the tensor program" && exit 1
[ "$(wc -l <"$out/alone")" -ge $(($(wc -l <"$out/simacc") / 3)) ] || { echo "onnx.sh: too few of them pass"; exit 1; }
