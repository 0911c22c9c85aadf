#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernels that the rules for GPUs make of random programs (tests/kit/t_gpu_run.c) on the first Vulkan device.
"$TENON" list devices | grep -A 1 '^gpu_generic ' | grep -q '^    0: ' || { echo "no Vulkan device"; exit 77; }
TENON_TEST_DEVICE=gpu_generic
export TENON_TEST_DEVICE
exec "$top_builddir/tests/kit/t_gpu_run"
