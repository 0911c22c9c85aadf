# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += backends/cuda/cuda.la
PLUGIN_MANIFESTS += backends/cuda/cuda.plugin
noinst_LTLIBRARIES += backends/cuda/cuda.la
backends_cuda_cuda_la_SOURCES = \
	backends/cuda/barriers.c \
	backends/cuda/codegen.c \
	backends/cuda/cuda.c \
	backends/cuda/cuda.h \
	backends/cuda/dialect.c \
	backends/cuda/matrix.c \
	backends/cuda/nvrtc.c \
	backends/cuda/nvrtc.h \
	backends/cuda/occupancy.c \
	backends/cuda/payload.h \
	backends/cuda/pipeline.c \
	backends/cuda/vectors.c
backends_cuda_cuda_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_cuda_cuda_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)

# The device half. The driver is opened by name, nothing is needed to build it.
PLUGIN_MODULES += backends/cuda/cuda_rt.la
PLUGIN_MANIFESTS += backends/cuda/cuda_rt.plugin
noinst_LTLIBRARIES += backends/cuda/cuda_rt.la
backends_cuda_cuda_rt_la_SOURCES = \
	backends/cuda/api.c \
	backends/cuda/api.h \
	backends/cuda/device.c \
	backends/cuda/device.h \
	backends/cuda/error.c \
	backends/cuda/graph.c \
	backends/cuda/info.c \
	backends/cuda/launch.c \
	backends/cuda/memory.c \
	backends/cuda/payload.h \
	backends/cuda/program.c \
	backends/cuda/queue.c \
	backends/cuda/reader.c
backends_cuda_cuda_rt_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_cuda_cuda_rt_la_LIBADD = $(RT_LIB) $(BASE_LIB)
EXTRA_DIST += backends/cuda/README.md backends/cuda/cuda.plugin backends/cuda/cuda_rt.plugin
