# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += backends/cuda/cuda.la
PLUGIN_MANIFESTS += backends/cuda/cuda.plugin
noinst_LTLIBRARIES += backends/cuda/cuda.la
backends_cuda_cuda_la_SOURCES = \
	backends/cuda/codegen.c \
	backends/cuda/cuda.c \
	backends/cuda/cuda.h \
	backends/cuda/dialect.c \
	backends/cuda/nvrtc.c \
	backends/cuda/nvrtc.h \
	backends/cuda/payload.h \
	backends/cuda/pipeline.c \
	backends/cuda/vectors.c
backends_cuda_cuda_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_cuda_cuda_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += backends/cuda/README.md backends/cuda/cuda.plugin
