#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the digits network and classifies the test images.
#     run.sh BUILD_DIR      with the programs of a build tree
#     run.sh                with the installed ones
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tenon=tenon digits=tenon-digits
if [ $# -gt 0 ]; then
    tenon=$1/tools/tenon digits=$1/examples/digits/digits
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tenon" compile "$here/digits.onnx" -o "$work/digits.tno" --timing
echo
"$digits" "$work/digits.tno" "$here"/digit*.npy
