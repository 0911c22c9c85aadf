# SPDX-License-Identifier: Apache-2.0
# Models on the simulated device of cuda, with all its checks (gpu_models.sh, tests/cuda/sim); in check-long also with streams, blocks and
# warps that take turns at random, and with copies and work that come as late as they may.
. "$top_srcdir/tests/models/models.sh"
if [ -z "$models" ]; then
    echo "no models here (set TENON_MODELS to a folder of ONNX test cases)"
    exit 77
fi
sim=$top_builddir/tests/cuda/sim/.libs
test -f "$sim/libcuda.so.1" || { echo "no simulated device"; exit 77; }
LD_LIBRARY_PATH=$sim:${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH
set -eu
. "$top_srcdir/tests/models/gpu_models.sh"
if ! "$TENON" compile "$digits" -q -t cuda -o "$tmp/digits.tno" 2> "$tmp/log"; then
    grep -q 'NVRTC, which compiles CUDA kernels, cannot be opened' "$tmp/log" && { echo "no NVRTC"; exit 77; }
    fail digits "compile"
fi
gpu_models cuda
[ -z "${TENON_LONG:-}" ] || CUDASIM_SEED=1 CUDASIM_LATE=1 gpu_models cuda
exit $failed
