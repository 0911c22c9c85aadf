#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite on the null device.
exec "$top_builddir/tests/device/conformance" null
