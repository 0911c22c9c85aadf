# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/interp/interp.la
PLUGIN_MANIFESTS += plugins/interp/interp.plugin
noinst_LTLIBRARIES += plugins/interp/interp.la
INTERP_SOURCES = \
	plugins/interp/builtin.c \
	plugins/interp/casync.c \
	plugins/interp/cexpr.c \
	plugins/interp/code.h \
	plugins/interp/compile.h \
	plugins/interp/cstmt.c \
	plugins/interp/exec.c \
	plugins/interp/foreign.c \
	plugins/interp/graph.c \
	plugins/interp/interp.c \
	plugins/interp/interp.h \
	plugins/interp/late.c plugins/interp/mbarrier.c \
	plugins/interp/legal.c \
	plugins/interp/meaning.c \
	plugins/interp/memory.c \
	plugins/interp/prim.c \
	plugins/interp/structural.c \
	plugins/interp/value.c
plugins_interp_interp_la_SOURCES = $(INTERP_SOURCES)
plugins_interp_interp_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_interp_interp_la_LIBADD = $(CORE_LIB) $(BASE_LIB) -lm

EXTRA_DIST += plugins/interp/README.md plugins/interp/interp.plugin
