# SPDX-License-Identifier: Apache-2.0
# Models on the opencl target and the first OpenCL device (gpu_models.sh).
. "$top_srcdir/tests/models/models.sh"
if [ -z "$models" ]; then
    echo "no models here (set TENON_MODELS to a folder of ONNX test cases)"
    exit 77
fi
"$TENON" list devices | grep -A 1 '^opencl ' | grep -q '^    0: .* / .*, driver ' || { echo "no OpenCL device"; exit 77; }
set -eu
. "$top_srcdir/tests/models/gpu_models.sh"
gpu_models opencl
gpu_random opencl
exit $failed
