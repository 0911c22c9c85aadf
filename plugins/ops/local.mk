# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/ops/ops.la
PLUGIN_MANIFESTS += plugins/ops/ops.plugin
noinst_LTLIBRARIES += plugins/ops/ops.la
OPS_TABLES = \
	plugins/ops/table/choose.def \
	plugins/ops/table/collective.def \
	plugins/ops/table/create.def \
	plugins/ops/table/elementwise.def \
	plugins/ops/table/gradient.def \
	plugins/ops/table/image.def \
	plugins/ops/table/index.def \
	plugins/ops/table/inspect.def \
	plugins/ops/table/linalg.def \
	plugins/ops/table/matmul.def \
	plugins/ops/table/nn_activation.def \
	plugins/ops/table/nn_more.def \
	plugins/ops/table/nn_norm.def \
	plugins/ops/table/nn_window.def \
	plugins/ops/table/recurrent.def \
	plugins/ops/table/reduce.def \
	plugins/ops/table/scan_sort.def \
	plugins/ops/table/shape.def \
	plugins/ops/table/vision.def
plugins_ops_ops_la_SOURCES = \
	$(OPS_TABLES) \
	plugins/ops/activation.c \
	plugins/ops/binary.c \
	plugins/ops/choose.c \
	plugins/ops/collective.c \
	plugins/ops/complete.h \
	plugins/ops/create.c \
	plugins/ops/emit.c \
	plugins/ops/emit.h \
	plugins/ops/gradient.c \
	plugins/ops/grid_sample.c \
	plugins/ops/index.c \
	plugins/ops/infer.c \
	plugins/ops/infer.h \
	plugins/ops/inspect.c \
	plugins/ops/join.c \
	plugins/ops/layout.c \
	plugins/ops/layout.h \
	plugins/ops/layout_rules.c \
	plugins/ops/layout_rules.h \
	plugins/ops/scatter.h \
	plugins/ops/linalg.c \
	plugins/ops/loss.c \
	plugins/ops/matmul.c \
	plugins/ops/nn_conv.c \
	plugins/ops/nn_more.c \
	plugins/ops/nn_norm.c \
	plugins/ops/nn_pool.c \
	plugins/ops/nms.c \
	plugins/ops/nonzero.c \
	plugins/ops/ops.c \
	plugins/ops/program.c \
	plugins/ops/program.h \
	plugins/ops/quantize.c \
	plugins/ops/recurrent.c \
	plugins/ops/recurrent.h \
	plugins/ops/recurrent_type.c \
	plugins/ops/reduce.c \
	plugins/ops/repeat.c \
	plugins/ops/reshape.c \
	plugins/ops/resize.c \
	plugins/ops/roi.c \
	plugins/ops/scan.c \
	plugins/ops/scatter.c \
	plugins/ops/schema.h \
	plugins/ops/slice.c \
	plugins/ops/softmax.c \
	plugins/ops/sort.c \
	plugins/ops/unary.c \
	plugins/ops/unique.c \
	plugins/ops/vision.c \
	plugins/ops/results.def \
	plugins/ops/tables.def
plugins_ops_ops_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_ops_ops_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += plugins/ops/ops.plugin.in plugins/ops/README.md

# The manifest promises what the tables hold.
plugins/ops/ops.plugin: plugins/ops/ops.plugin.in plugins/provides.sh $(OPS_TABLES) Makefile
	$(AM_V_GEN)$(MKDIR_P) plugins/ops && { cat $(srcdir)/plugins/ops/ops.plugin.in && \
	SED='$(SED)' $(SHELL) $(srcdir)/plugins/provides.sh '$(srcdir)' 's|^OP([^,]*, "\([^"]*\)".*|    op:relax.\1|p' $(OPS_TABLES); } > $@.tmp && \
	mv $@.tmp $@
CLEANFILES += plugins/ops/ops.plugin
