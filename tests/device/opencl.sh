#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite on the first OpenCL device, and what `tenon list devices` shows of all.
"$top_builddir/tests/device/conformance" opencl --module opencl-c "$top_srcdir/tests/device/add.cl" || exit $?
fail() { echo "opencl.sh: $*"; exit 1; }
list() { "$TENON" list devices "$@" 2>&1 || fail "list devices ends with $?"; }
list | grep -A 1 '^opencl ' | grep -q '^    0: .* / .*, driver .*; OpenCL [1-9]' || fail "the device is not shown"
list --set device.opencl.platform=no-such | grep -q '^    0: not usable: .* is left out by \[device opencl\] platform = no-such' ||
    fail "a device that the settings leave out is not shown as such"
if list | grep -q 'Portable Computing Language'; then # which can show two
    POCL_DEVICES='pthread basic'
    export POCL_DEVICES
    list | grep -q '^    1: Portable Computing Language / ' || fail "the second device is not shown"
    unset POCL_DEVICES
fi
none=$(OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES='' "$TENON" list devices 2>&1) || fail "without a platform it fails"
case $none in
*"0: "*" / "*"driver"*) ;; # this loader finds its platforms elsewhere
*"none: "*) ;;
*) fail "without a platform no reason is given: $none" ;;
esac
