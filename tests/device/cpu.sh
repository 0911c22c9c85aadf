#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite on the cpu device, with a module of kernels.
exec "$top_builddir/tests/device/conformance" cpu --module elf "$top_builddir/tests/device/.libs/kernels.so"
