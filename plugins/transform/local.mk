# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/transform/transform.la
PLUGIN_MANIFESTS += plugins/transform/transform.plugin
noinst_LTLIBRARIES += plugins/transform/transform.la
plugins_transform_transform_la_SOURCES = \
	plugins/transform/transform.c
plugins_transform_transform_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_transform_transform_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
