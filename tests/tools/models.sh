# SPDX-License-Identifier: Apache-2.0
# Real models, when a folder with them is given by TENON_MODELS or lies beside the checkout: all that the cpu target has to run give their reference outputs.
models=${TENON_MODELS:-$top_srcdir/../shared/models/onnx}
if [ ! -d "$models" ]; then
    echo "no models here (set TENON_MODELS to a folder of ONNX test cases)"
    exit 77
fi
set -eu
failed=0
run() { # tolerance models...
    tolerance=$1
    shift
    for m in "$@"; do
        [ -d "$models/$m" ] || continue
        # shellcheck disable=SC2086
        "$TENON" onnx-test "$models/$m" -t cpu $tolerance || failed=1
    done
}
run "--rtol 1e-3 --atol 1e-4" mnist super_resolution ultraface_rfb-320 ultraface_rfb-320_simplified \
    ultraface_rfb-320_without_postprocessing ultraface_rfb-640 ultraface_slim-320 yunet_n_320_320 yunet_n_640_640 \
    yunet_s_320_320 nanodet_sim cifar_image_classifier cnn_mnist_pytorch mnist_mlp_bn_pytorch tfl_helloworld_sine \
    wonnx_opt_mnist light_bvlc_alexnet light_inception_v1 light_resnet50 light_squeezenet light_vgg19 light_zfnet512
run "--rtol 1e-2 --atol 1e-3" squeezenet_fp16
exit $failed
