# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += backends/gpu_generic/gpu_generic.la
PLUGIN_MANIFESTS += backends/gpu_generic/gpu_generic.plugin
noinst_LTLIBRARIES += backends/gpu_generic/gpu_generic.la
backends_gpu_generic_gpu_generic_la_SOURCES = \
	backends/gpu_generic/gpu_generic.c \
	backends/gpu_generic/gpu_generic.h \
	backends/gpu_generic/payload.h \
	backends/gpu_generic/pipeline.c
backends_gpu_generic_gpu_generic_la_CPPFLAGS = $(AM_CPPFLAGS) $(SPIRV_CPPFLAGS)
backends_gpu_generic_gpu_generic_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_gpu_generic_gpu_generic_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(SPIRV_TOOLS_LIBS)
# Only with the numbers of SPIR-V.
GPU_GENERIC_SPIRV_SOURCES = \
	backends/gpu_generic/codegen.c \
	backends/gpu_generic/disassembly.c \
	backends/gpu_generic/disassembly.h \
	backends/gpu_generic/spirv.c \
	backends/gpu_generic/spirv.h \
	backends/gpu_generic/spirv_call.c \
	backends/gpu_generic/spirv_float.c \
	backends/gpu_generic/spirv_kernel.c \
	backends/gpu_generic/spirv_kernel.h \
	backends/gpu_generic/spirv_matrix.c \
	backends/gpu_generic/spirv_subgroup.c \
	backends/gpu_generic/spirv_memory.c \
	backends/gpu_generic/spirv_value.c \
	backends/gpu_generic/turns.c
if BUILD_SPIRV
backends_gpu_generic_gpu_generic_la_SOURCES += $(GPU_GENERIC_SPIRV_SOURCES)
endif
EXTRA_DIST += $(GPU_GENERIC_SPIRV_SOURCES)

# The device half.
VULKAN_RT_SOURCES = \
	backends/gpu_generic/api.c \
	backends/gpu_generic/api.h \
	backends/gpu_generic/check.c \
	backends/gpu_generic/copy.c \
	backends/gpu_generic/device.c \
	backends/gpu_generic/device.h \
	backends/gpu_generic/error.c \
	backends/gpu_generic/event.c \
	backends/gpu_generic/facts.c \
	backends/gpu_generic/hazard.c \
	backends/gpu_generic/info.c \
	backends/gpu_generic/info.h \
	backends/gpu_generic/launch.c \
	backends/gpu_generic/memory.c \
	backends/gpu_generic/probe.c \
	backends/gpu_generic/program.c \
	backends/gpu_generic/queue.c \
	backends/gpu_generic/reader.c
if BUILD_VULKAN
PLUGIN_MODULES += backends/gpu_generic/gpu_generic_rt.la
PLUGIN_MANIFESTS += backends/gpu_generic/gpu_generic_rt.plugin
noinst_LTLIBRARIES += backends/gpu_generic/gpu_generic_rt.la
backends_gpu_generic_gpu_generic_rt_la_SOURCES = $(VULKAN_RT_SOURCES)
backends_gpu_generic_gpu_generic_rt_la_CPPFLAGS = $(AM_CPPFLAGS) $(VULKAN_CFLAGS)
backends_gpu_generic_gpu_generic_rt_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_gpu_generic_gpu_generic_rt_la_LIBADD = $(RT_LIB) $(BASE_LIB)
PLUGIN_HELPERS += backends/gpu_generic/gpu_generic_probe
noinst_PROGRAMS += backends/gpu_generic/gpu_generic_probe
backends_gpu_generic_gpu_generic_probe_SOURCES = backends/gpu_generic/probe_main.c
backends_gpu_generic_gpu_generic_probe_CPPFLAGS = $(AM_CPPFLAGS) $(VULKAN_CFLAGS)
endif
EXTRA_DIST += backends/gpu_generic/gpu_generic_rt.plugin $(VULKAN_RT_SOURCES) backends/gpu_generic/probe_main.c
EXTRA_DIST += backends/gpu_generic/README.md backends/gpu_generic/copy.ini backends/gpu_generic/gpu_generic.plugin
