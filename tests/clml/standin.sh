#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The stand-in's own test, under the layer.
builddir=${top_builddir:?run by make check}
OPENCL_LAYERS=$builddir/tests/clml/.libs/clml_layer.so
export OPENCL_LAYERS
exec "$builddir/tests/clml/t_standin"
