# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/tir/tir.la
PLUGIN_MANIFESTS += plugins/tir/tir.plugin
noinst_LTLIBRARIES += plugins/tir/tir.la
plugins_tir_tir_la_SOURCES = \
	plugins/tir/c.h \
	plugins/tir/c_cost.c \
	plugins/tir/c_dialect.c \
	plugins/tir/c_memory.c \
	plugins/tir/c_team.c \
	plugins/tir/c_x86.c \
	plugins/tir/tir.c
plugins_tir_tir_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_tir_tir_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += plugins/tir/tir.plugin
