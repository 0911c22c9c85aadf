#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernels that the rules for GPUs make of random programs (t_gpu_run) for targets with sub-groups of 8 to 64, of several kinds, on a
# device whose sub-groups have 32 work items: a layer does what they do over local memory and barriers (tests/device/
# sub_group_layer.c). Kernels for another size find that out.
lib=$top_builddir/tests/device/.libs/sub_group_layer.so
test -f "$lib" || exit 77
dir=$(mktemp -d "${TMPDIR:-/tmp}/tenon-groups-XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
XDG_CACHE_HOME=$dir
OPENCL_LAYERS=$lib
TENON_TEST_SUB_GROUPS=32
TENON_TEST_SUB_GROUPS_NAMES='cl_khr_subgroups cl_khr_subgroup_shuffle cl_khr_subgroup_clustered_reduce cl_qcom_subgroup_shuffle cl_intel_subgroups cl_intel_required_subgroup_size'
TENON_ROUNDS=${TENON_ROUNDS:-8}
export XDG_CACHE_HOME OPENCL_LAYERS TENON_TEST_SUB_GROUPS TENON_TEST_SUB_GROUPS_NAMES TENON_ROUNDS
"$top_builddir/tests/kit/t_gpu_run" || exit 1
TENON_TEST_SUB_GROUPS=16 exec "$top_builddir/tests/kit/t_gpu_run"
