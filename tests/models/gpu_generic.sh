# SPDX-License-Identifier: Apache-2.0
# Models on the first Vulkan device (gpu_models.sh), for three targets: with device addresses, with descriptors, and with what Vulkan 1.1
# promises (tests/gpu_generic/targets.ini).
. "$top_srcdir/tests/models/models.sh"
if [ -z "$models" ]; then
    echo "no models here (set TENON_MODELS to a folder of ONNX test cases)"
    exit 77
fi
"$TENON" list devices | grep -A 1 '^gpu_generic ' | grep -q '^    0: ' || { echo "no Vulkan device"; exit 77; }
set -eu
TENON_CONFIG=$top_srcdir/tests/gpu_generic/targets.ini
export TENON_CONFIG
. "$top_srcdir/tests/models/gpu_models.sh"
for t in addresses descriptors plain; do
    gpu_models "$t"
done
gpu_random gpu_generic
exit $failed
