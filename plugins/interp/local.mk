# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/interp/interp.la
PLUGIN_MANIFESTS += plugins/interp/interp.plugin
noinst_LTLIBRARIES += plugins/interp/interp.la
plugins_interp_interp_la_SOURCES = \
	plugins/interp/interp.c
plugins_interp_interp_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_interp_interp_la_LIBADD = $(RT_LIB) $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
