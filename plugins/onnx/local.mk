# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += plugins/onnx/README.md plugins/onnx/onnx.plugin plugins/onnx/onnx.proto
if BUILD_ONNX
PLUGIN_MODULES += plugins/onnx/onnx.la
PLUGIN_MANIFESTS += plugins/onnx/onnx.plugin
noinst_LTLIBRARIES += plugins/onnx/onnx.la
plugins_onnx_onnx_la_SOURCES = \
	plugins/onnx/attention.c \
	plugins/onnx/attr.c \
	plugins/onnx/check.c \
	plugins/onnx/control.c \
	plugins/onnx/conv_pool.c \
	plugins/onnx/declared.c \
	plugins/onnx/detect.c \
	plugins/onnx/dynamic.c \
	plugins/onnx/dynamic.h \
	plugins/onnx/dynamic_ops.c \
	plugins/onnx/elementwise.c \
	plugins/onnx/emit.c \
	plugins/onnx/fold.c \
	plugins/onnx/fold.h \
	plugins/onnx/fork.c \
	plugins/onnx/graph.c \
	plugins/onnx/import.c \
	plugins/onnx/import.h \
	plugins/onnx/index.c \
	plugins/onnx/linear.c \
	plugins/onnx/loop.c \
	plugins/onnx/loop.h \
	plugins/onnx/loss.c \
	plugins/onnx/manipulate.c \
	plugins/onnx/message.c \
	plugins/onnx/model.c \
	plugins/onnx/model.h \
	plugins/onnx/normalize.c \
	plugins/onnx/onnx.c \
	plugins/onnx/onnx.h \
	plugins/onnx/programs.c \
	plugins/onnx/quant.c \
	plugins/onnx/recurrence.c \
	plugins/onnx/reduce.c \
	plugins/onnx/resize.c \
	plugins/onnx/rnn.c \
	plugins/onnx/select.c \
	plugins/onnx/shape.c \
	plugins/onnx/signal.c \
	plugins/onnx/subgraph.c \
	plugins/onnx/subgraph.h \
	plugins/onnx/table.c \
	plugins/onnx/terms.c \
	plugins/onnx/terms.h \
	plugins/onnx/text.c \
	plugins/onnx/value.c
plugins_onnx_onnx_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_onnx_onnx_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(PROTOBUF_C_LIBS)
plugins_onnx_onnx_la_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_C_CFLAGS) -Iplugins/onnx
nodist_plugins_onnx_onnx_la_SOURCES = \
	plugins/onnx/onnx.pb-c.c \
	plugins/onnx/onnx.pb-c.h
BUILT_SOURCES += plugins/onnx/onnx.pb-c.c plugins/onnx/onnx.pb-c.h
CLEANFILES += plugins/onnx/onnx.pb-c.c plugins/onnx/onnx.pb-c.h

plugins/onnx/onnx.pb-c.c: plugins/onnx/onnx.proto
	$(AM_V_GEN)$(MKDIR_P) plugins/onnx && \
	$(PROTOC) --c_out=plugins/onnx -I$(top_srcdir)/plugins/onnx $(top_srcdir)/plugins/onnx/onnx.proto
plugins/onnx/onnx.pb-c.h: plugins/onnx/onnx.pb-c.c
endif
