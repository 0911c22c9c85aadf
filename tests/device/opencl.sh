#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite on the first OpenCL device.
exec "$top_builddir/tests/device/conformance" opencl --module opencl-c "$top_srcdir/tests/device/add.cl"
