# SPDX-License-Identifier: Apache-2.0
# Every module at every stage of a compilation equals what is read from its text. `make check` takes
# small models, `make check-long` all that compile for the cpu target.
. "$top_srcdir/tests/models/models.sh"
set -eu
short="mnist cifar_image_classifier light_squeezenet tfl_helloworld_sine"
long="$short mnist_mlp_bn_pytorch cnn_mnist_pytorch wonnx_opt_mnist super_resolution squeezenet_fp16
    ultraface_rfb-320 ultraface_rfb-320_simplified ultraface_rfb-320_without_postprocessing
    ultraface_rfb-640 ultraface_slim-320 yunet_n_320_320 yunet_n_640_640 yunet_s_320_320
    yunet_n_dynamic yunet_s_dynamic nanodet nanodet_sim light_bvlc_alexnet light_inception_v1
    light_resnet50 light_vgg19 light_zfnet512"
[ -n "${TENON_LONG:-}" ] && names=$long || names=$short
set -- "$digits"
for m in $names; do
    if [ -n "$models" ] && [ -f "$models/$m/model.onnx" ] && mine; then
        set -- "$@" "$models/$m/model.onnx"
    fi
done
exec "$top_builddir/tests/models/stages" cpu "$@"
