# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/dnnl/dnnl.la
PLUGIN_MANIFESTS += plugins/dnnl/dnnl.plugin
noinst_LTLIBRARIES += plugins/dnnl/dnnl.la
plugins_dnnl_dnnl_la_SOURCES = \
	plugins/dnnl/dnnl.c \
	plugins/dnnl/dnnl.h \
	plugins/dnnl/dnnl_payload.c \
	plugins/dnnl/plugin.c
plugins_dnnl_dnnl_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_dnnl_dnnl_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)

DNNL_RT_SOURCES = \
	plugins/dnnl/dnnl_api.c \
	plugins/dnnl/dnnl_api.h \
	plugins/dnnl/dnnl_build.c \
	plugins/dnnl/dnnl_rt.c \
	plugins/dnnl/dnnl_rt.h
if BUILD_DNNL
PLUGIN_MODULES += plugins/dnnl/dnnl_rt.la
PLUGIN_MANIFESTS += plugins/dnnl/dnnl_rt.plugin
noinst_LTLIBRARIES += plugins/dnnl/dnnl_rt.la
plugins_dnnl_dnnl_rt_la_SOURCES = $(DNNL_RT_SOURCES)
plugins_dnnl_dnnl_rt_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
plugins_dnnl_dnnl_rt_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_dnnl_dnnl_rt_la_LIBADD = $(RT_LIB) $(BASE_LIB) $(DNNL_LIBS) $(JANSSON_LIBS)
endif
EXTRA_DIST += plugins/dnnl/README.md plugins/dnnl/dnnl.plugin plugins/dnnl/dnnl_rt.plugin $(DNNL_RT_SOURCES)
