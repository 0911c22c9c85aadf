# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests beside it: where the models are. $models is the folder of ONNX test cases
# that TENON_MODELS gives or that lies beside the checkout, or empty; $digits is our own model.
# Long runs (TENON_LONG) may be split: `mine` says whether a model belongs to this SHARD (i/n).
models=${TENON_MODELS:-$top_srcdir/../shared/models/onnx}
[ -d "$models" ] || models=
digits=$top_srcdir/examples/digits/digits.onnx
shard_number=0
mine() {
    [ -n "${SHARD:-}" ] || return 0
    shard_number=$((shard_number + 1))
    [ $((shard_number % ${SHARD#*/})) -eq $((${SHARD%/*} % ${SHARD#*/})) ]
}
