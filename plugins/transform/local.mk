# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/transform/transform.la
PLUGIN_MANIFESTS += plugins/transform/transform.plugin
noinst_LTLIBRARIES += plugins/transform/transform.la
plugins_transform_transform_la_SOURCES = \
	plugins/transform/attach_global_symbol.c \
	plugins/transform/compute_prim_value.c \
	plugins/transform/fold_constant.c \
	plugins/transform/fuse_graph.c \
	plugins/transform/fuse_graph.h \
	plugins/transform/fuse_ops.c \
	plugins/transform/fuse_tir.c \
	plugins/transform/kill_after_last_use.c \
	plugins/transform/memory_plan.c \
	plugins/transform/memory_plan.h \
	plugins/transform/memory_tokens.c \
	plugins/transform/passes.def \
	plugins/transform/plugin.c \
	plugins/transform/reachable.c \
	plugins/transform/remove_purity_checking.c \
	plugins/transform/static_plan_block_memory.c \
	plugins/transform/to_non_dataflow.c \
	plugins/transform/transform.h \
plugins_transform_transform_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/plugins/transform
plugins_transform_transform_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_transform_transform_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
