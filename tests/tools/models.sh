# SPDX-License-Identifier: Apache-2.0
# Real models, when a folder with them is given by TENON_MODELS or lies beside the checkout: each
# gives its reference outputs on the cpu target in three ways: as an ONNX test case, compiled and
# run by one command, and run from the artifact that another command made.
. "$top_srcdir/tests/models/models.sh"
if [ -z "$models" ]; then
    echo "no models here (set TENON_MODELS to a folder of ONNX test cases)"
    exit 77
fi
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
compared=0
limit=${TESTS_TIMEOUT:-300}
fail() { # model way
    echo "FAIL $1: $2"
    cat "$tmp/log"
    failed=1
}
expected() { # model file way: each data set of the model, through `tenon run --expect`
    for set in "$models/$1"/test_data_set_*; do
        arguments=
        for f in "$set"/*.pb; do
            i=$(basename "$f" .pb)
            case $i in
            input_*) arguments="$arguments -i #${i#input_}=$f" ;;
            output_*) arguments="$arguments --expect #${i#output_}=$f" ;;
            esac
        done
        case $arguments in
        *--expect*) ;;
        *)
            fail "$1" "no expected outputs in $set"
            continue
            ;;
        esac
        # shellcheck disable=SC2086
        if timeout "$limit" "$TENON" run "$2" -t cpu $tolerance $arguments \
            > "$tmp/log" 2>&1; then
            compared=$((compared + 1))
        else
            fail "$1" "$3, $(basename "$set")"
        fi
    done
}
all() { # tolerance models...
    tolerance=$1
    shift
    for m in "$@"; do
        if [ ! -f "$models/$m/model.onnx" ] || ! mine; then
            continue
        fi
        # shellcheck disable=SC2086
        timeout "$limit" "$TENON" onnx-test "$models/$m" -t cpu $tolerance --timeout "$limit" \
            > "$tmp/log" 2>&1 ||
            fail "$m" onnx-test
        grep -q "^1 passed, 0 failed, 0 skipped" "$tmp/log" || fail "$m" "onnx-test skipped it"
        expected "$m" "$models/$m/model.onnx" "run from the model"
        if timeout "$limit" "$TENON" compile "$models/$m/model.onnx" -t cpu \
            -o "$tmp/model.tno" > "$tmp/log" 2>&1; then
            expected "$m" "$tmp/model.tno" "run from the artifact"
        else
            fail "$m" compile
        fi
        rm -f "$tmp/model.tno"
        echo "$m"
    done
}
# The outputs of a classifier are small beside the absolute tolerance: its best class is looked at.
best_class() { # model class
    [ -f "$models/$1/model.onnx" ] || return 0
    timeout "$limit" "$TENON" run "$models/$1/model.onnx" -t cpu \
        -i "#0=$models/$1/test_data_set_0/input_0.pb" > "$tmp/log" 2>&1 || fail "$1" "run without --expect"
    grep -q "; top \[$2\]" "$tmp/log" || fail "$1" "the best class is not $2"
}
all "--rtol 1e-3 --atol 1e-4" mnist super_resolution ultraface_rfb-320 ultraface_rfb-320_simplified \
    ultraface_rfb-320_without_postprocessing ultraface_rfb-640 ultraface_slim-320 \
    yunet_n_320_320 yunet_n_640_640 yunet_s_320_320 yunet_n_dynamic yunet_s_dynamic nanodet \
    nanodet_sim silero_vad_openvino_16k silero_vad_op18_ifless dtln_model_1 dtln_model_2 \
    bert_squad gpt2 qdq_mobilenet_edge_block cifar_image_classifier \
    cnn_mnist_pytorch mnist_mlp_bn_pytorch tfl_helloworld_sine wonnx_opt_mnist \
    light_bvlc_alexnet light_densenet121 light_inception_v1 light_inception_v2 light_resnet50 \
    light_shufflenet light_squeezenet light_vgg19 light_zfnet512
all "--rtol 1e-2 --atol 1e-3" squeezenet_fp16
best_class squeezenet_fp16 281
if [ -f "$models/byte_sb_bilstm/model.onnx" ] && mine; then
    if timeout "$limit" "$TENON" run "$models/byte_sb_bilstm/model.onnx" -t cpu \
        -i "input=$models/byte_sb_bilstm/input.npy" \
        --expect "#0=$models/byte_sb_bilstm/Add_26.npy" > "$tmp/log" 2>&1; then
        compared=$((compared + 1))
    else
        fail byte_sb_bilstm "run from the model"
    fi
fi
echo "$compared comparisons"
exit $failed
