# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += backends/opencl/opencl.la
PLUGIN_MANIFESTS += backends/opencl/opencl.plugin
noinst_LTLIBRARIES += backends/opencl/opencl.la
backends_opencl_opencl_la_SOURCES = \
	backends/opencl/codegen.c \
	backends/opencl/opencl.c \
	backends/opencl/opencl.h \
	backends/opencl/pipeline.c
backends_opencl_opencl_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_opencl_opencl_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += backends/opencl/README.md backends/opencl/opencl.plugin
