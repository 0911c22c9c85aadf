# SPDX-License-Identifier: Apache-2.0 OR MIT-0
PLUGIN_MODULES += backends/null/null.la
PLUGIN_MANIFESTS += backends/null/null.plugin
noinst_LTLIBRARIES += backends/null/null.la
backends_null_null_la_SOURCES = \
	backends/null/code.h \
	backends/null/codegen.c \
	backends/null/null.c \
	backends/null/null.h \
	backends/null/pipeline.c
backends_null_null_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_null_null_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)

PLUGIN_MODULES += backends/null/null_rt.la
PLUGIN_MANIFESTS += backends/null/null_rt.plugin
noinst_LTLIBRARIES += backends/null/null_rt.la
backends_null_null_rt_la_SOURCES = \
	backends/null/code.h \
	backends/null/device.c
backends_null_null_rt_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_null_null_rt_la_LIBADD = $(RT_LIB) $(BASE_LIB)
EXTRA_DIST += backends/null/README.md backends/null/null.plugin backends/null/null_rt.plugin
