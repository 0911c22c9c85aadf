# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of GPU targets over models, behind models.sh: gpu_models TARGET compares what the models give with their reference
# outputs, within what the cpu target is held to, also from the artifact that another command made; gpu_random those with random weights
# with the cpu target, which random_weights.sh compares with the interpreter. `make check` takes small ones, `make check-long` all. `failed` is 1 then
# if something differs.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
limit=${TESTS_TIMEOUT:-300}
[ -z "${TENON_LONG:-}" ] || limit=1800
fail() { # model way
    echo "FAIL $1: $2"
    cat "$tmp/log"
    failed=1
}
reference() { # tolerance models...
    tolerance=$1
    shift
    for m in "$@"; do
        if [ ! -f "$models/$m/model.onnx" ] || ! mine; then
            continue
        fi
        # shellcheck disable=SC2086
        "$TENON" onnx-test "$models/$m" -t "$target" $tolerance --threads 2 --timeout "$limit" > "$tmp/log" 2>&1 ||
            fail "$target: $m" "its reference outputs"
        grep -q "^1 passed, 0 failed, 0 skipped" "$tmp/log" || fail "$target: $m" "onnx-test skipped it"
        echo "$target: $m"
    done
}
random() { # model arguments...
    m=$1
    shift
    if [ -f "$models/$m/model.onnx" ] && mine; then
        "$top_builddir/tests/models/random_weights" "$models/$m/model.onnx" --target "$target" --against cpu "$@" || failed=1
    fi
}
run() { # model arguments...: from an artifact made before; false: not in this run
    m=$1
    shift
    if [ ! -f "$models/$m/model.onnx" ] || ! mine; then
        return 1
    fi
    "$TENON" compile "$models/$m/model.onnx" -t "$target" -o "$tmp/$m.tno" > "$tmp/log" 2>&1 || fail "$target: $m" "compile"
    timeout "$limit" "$TENON" run "$tmp/$m.tno" "$@" > "$tmp/log" 2>&1 || fail "$target: $m" "run from the artifact"
}
short="mnist tfl_helloworld_sine mnist_mlp_bn_pytorch"
long="$short super_resolution ultraface_rfb-320 ultraface_rfb-320_simplified ultraface_rfb-320_without_postprocessing
    ultraface_rfb-640 ultraface_slim-320 yunet_n_320_320 yunet_n_640_640 yunet_s_320_320 yunet_n_dynamic yunet_s_dynamic
    nanodet nanodet_sim silero_vad_openvino_16k silero_vad_op18_ifless dtln_model_1 dtln_model_2 bert_squad gpt2
    cifar_image_classifier cnn_mnist_pytorch wonnx_opt_mnist light_bvlc_alexnet
    light_densenet121 light_inception_v1 light_inception_v2 light_resnet50 light_shufflenet light_squeezenet light_vgg19
    light_zfnet512"
gpu_models() { # target
    target=$1
    # shellcheck disable=SC2086
    if [ -z "${TENON_LONG:-}" ]; then
        reference "--rtol 1e-3 --atol 1e-4" $short
        return
    fi
    # shellcheck disable=SC2086
    reference "--rtol 1e-3 --atol 1e-4" $long
    reference "--rtol 1e-2 --atol 1e-3" squeezenet_fp16
    # Sums in another order may round a quantized value to its neighbour: a few results are then off by one step, here of 0.34 or 0.37.
    reference "--rtol 1e-3 --atol 0.38" qdq_mobilenet_edge_block
    if [ -f "$models/qdq_mobilenet_edge_block/model.onnx" ] && mine; then
        "$TENON" onnx-test "$models/qdq_mobilenet_edge_block" -t "$target" --rtol 1e-3 --atol 1e-4 --timeout "$limit" > "$tmp/log" 2>&1 || true
        differ=$(sed -n 's/^FAIL .*; \([0-9]*\) of 100352 elements differ.*/\1/p' "$tmp/log")
        grep -q '^1 passed' "$tmp/log" || [ "${differ:-1000}" -lt 100 ] ||
            fail qdq_mobilenet_edge_block "more than a few results are off by a step"
    fi
    run mnist -i "#0=$models/mnist/test_data_set_0/input_0.pb" --expect "#0=$models/mnist/test_data_set_0/output_0.pb" || true
    run byte_sb_bilstm -i "input=$models/byte_sb_bilstm/input.npy" --expect "#0=$models/byte_sb_bilstm/Add_26.npy" || true
    # the outputs of a classifier are small beside the absolute tolerance: its best class is looked at
    run squeezenet_fp16 -i "#0=$models/squeezenet_fp16/test_data_set_0/input_0.pb" &&
        { grep -q "; top \[281\]" "$tmp/log" || fail squeezenet_fp16 "the best class is not 281"; }
    if mine; then
        (
            TENON_LONG=
            MAGIKA_TARGET=$target
            export TENON_LONG MAGIKA_TARGET
            "${SHELL:-/bin/sh}" "$top_srcdir/tests/models/magika.sh"
        ) || [ $? -eq 77 ] || failed=1
    fi
}
gpu_random() { # target of that name: models with random weights, in check-long
    target=$1
    [ -n "${TENON_LONG:-}" ] || return 0
    random light_squeezenet --size 48
    random light_bvlc_alexnet --size 67 --value 9216=256 --value 4096=64
    random light_zfnet512 --size 67 --value 18432=512 --value 4096=64
    random light_inception_v1 --size 64 --kernel 7=2
    random light_resnet50 --size 32 --kernel 7=1
    random light_vgg19 --size 32 --value 25088=512 --value 4096=64
}
