# SPDX-License-Identifier: Apache-2.0
if BUILD_CPU
PLUGIN_MODULES += backends/cpu/cpu.la
PLUGIN_MANIFESTS += backends/cpu/cpu.plugin
noinst_LTLIBRARIES += backends/cpu/cpu.la
backends_cpu_cpu_la_SOURCES = \
	backends/cpu/attention.c \
	backends/cpu/attention.h \
	backends/cpu/attrs.c \
	backends/cpu/block_layouts.c \
	backends/cpu/block_product.c \
	backends/cpu/block_product.h \
	backends/cpu/block_program.c \
	backends/cpu/codegen.c \
	backends/cpu/cpu.c \
	backends/cpu/cpu.h \
	backends/cpu/dot_intrin.c \
	backends/cpu/features.c \
	backends/cpu/features.h \
	backends/cpu/legalize_attention.c \
	backends/cpu/legalize_dot.c \
	backends/cpu/legalize_matmul.c \
	backends/cpu/machine.c \
	backends/cpu/native.c \
	backends/cpu/object.c \
	backends/cpu/object.h \
	backends/cpu/objects.c \
	backends/cpu/pipeline.c backends/cpu/produced.c \
	backends/cpu/row_product.c \
	backends/cpu/rules.def \
	backends/cpu/rules/axes.c \
	backends/cpu/rules/axes.h \
	backends/cpu/rules/choice.c \
	backends/cpu/rules/contraction.c \
	backends/cpu/rules/conv2d.c \
	backends/cpu/rules/dot.c \
	backends/cpu/rules/elementwise.c \
	backends/cpu/rules/fallback.c \
	backends/cpu/rules/finished.c \
	backends/cpu/rules/gemm.c \
	backends/cpu/rules/gemm.h \
	backends/cpu/rules/gemm_nest.c \
	backends/cpu/rules/gemv.c \
	backends/cpu/rules/gemv_nest.c \
	backends/cpu/rules/inline.c \
	backends/cpu/rules/matmul.c \
	backends/cpu/rules/nest.c \
	backends/cpu/rules/padding.c \
	backends/cpu/rules/pool.c \
	backends/cpu/rules/recurrent.c \
	backends/cpu/rules/reduction.c \
	backends/cpu/rules/rows.c \
	backends/cpu/rules/rules.h \
	backends/cpu/rules/softmax.c \
	backends/cpu/rules/squares.c \
	backends/cpu/rules/squares.h \
	backends/cpu/rules/tile_choice.c \
	backends/cpu/rules/transpose.c \
	backends/cpu/sub_pixel.c \
	backends/cpu/team.c \
	backends/cpu/team.h \
	backends/cpu/tile_intrin.c \
	backends/cpu/toolchain.c \
	backends/cpu/unfold.c \
	backends/cpu/value_range.c \
	backends/cpu/widen_choice.c \
	backends/cpu/widen_loop.c \
	backends/cpu/widen_loop.h \
	backends/cpu/winograd.c
backends_cpu_cpu_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_cpu_cpu_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)

PLUGIN_MODULES += backends/cpu/cpu_rt.la
PLUGIN_MANIFESTS += backends/cpu/cpu_rt.plugin
noinst_LTLIBRARIES += backends/cpu/cpu_rt.la
backends_cpu_cpu_rt_la_SOURCES = \
	backends/cpu/device.c \
	backends/cpu/features.c \
	backends/cpu/features.h \
	backends/cpu/object.c \
	backends/cpu/object.h \
	backends/cpu/team.c \
	backends/cpu/team.h \
	backends/cpu/tiles.c \
	backends/cpu/tiles.h
backends_cpu_cpu_rt_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_cpu_cpu_rt_la_LIBADD = $(RT_LIB) $(BASE_LIB)
endif
EXTRA_DIST += backends/cpu/README.md backends/cpu/copy.ini backends/cpu/rules/README.md backends/cpu/cpu.plugin backends/cpu/cpu_rt.plugin
