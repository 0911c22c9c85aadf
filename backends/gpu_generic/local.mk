# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += backends/gpu_generic/gpu_generic.la
PLUGIN_MANIFESTS += backends/gpu_generic/gpu_generic.plugin
noinst_LTLIBRARIES += backends/gpu_generic/gpu_generic.la
backends_gpu_generic_gpu_generic_la_SOURCES = \
	backends/gpu_generic/gpu_generic.c \
	backends/gpu_generic/gpu_generic.h \
	backends/gpu_generic/payload.h \
	backends/gpu_generic/pipeline.c
backends_gpu_generic_gpu_generic_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_gpu_generic_gpu_generic_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += backends/gpu_generic/README.md backends/gpu_generic/copy.ini backends/gpu_generic/gpu_generic.plugin
