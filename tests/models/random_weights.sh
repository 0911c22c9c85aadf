# SPDX-License-Identifier: Apache-2.0
# The light_* models with random weights, at a reduced size, on the cpu target and the interpreter.
# What follows from the size (extents of the first dense layer, the window of the last pooling) is
# reduced with it; dense layers of 4096 are cut to 64.
. "$top_srcdir/tests/models/models.sh"
if [ -z "$models" ]; then
    echo "no models here (set TENON_MODELS to a folder of ONNX test cases)"
    exit 77
fi
failed=0
compare() { # model arguments...
    m=$1
    shift
    if [ -f "$models/$m/model.onnx" ] && mine; then
        "$top_builddir/tests/models/random_weights" "$models/$m/model.onnx" "$@" || failed=1
    fi
}
compare light_squeezenet --size 48
if [ -n "${TENON_LONG:-}" ]; then
    compare light_squeezenet --size 96 --seed 2
    compare light_bvlc_alexnet --size 67 --value 9216=256 --value 4096=64
    compare light_zfnet512 --size 67 --value 18432=512 --value 4096=64
    compare light_inception_v1 --size 64 --kernel 7=2
    compare light_resnet50 --size 32 --kernel 7=1
    compare light_vgg19 --size 32 --value 25088=512 --value 4096=64
fi
exit $failed
