# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/ops/ops.la
PLUGIN_MANIFESTS += plugins/ops/ops.plugin
noinst_LTLIBRARIES += plugins/ops/ops.la
plugins_ops_ops_la_SOURCES = \
	plugins/ops/ops.c
plugins_ops_ops_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_ops_ops_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
