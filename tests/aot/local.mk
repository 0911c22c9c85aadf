# SPDX-License-Identifier: Apache-2.0
# What tenon compile --emit writes, compiled and run.
EXTRA_DIST += tests/aot/aot.py tests/aot/call.c
if BUILD_CPU
if BUILD_ONNX
TESTS += tests/aot/aot.py
endif
endif
