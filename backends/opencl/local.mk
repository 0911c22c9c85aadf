# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += backends/opencl/opencl.la
PLUGIN_MANIFESTS += backends/opencl/opencl.plugin
noinst_LTLIBRARIES += backends/opencl/opencl.la
backends_opencl_opencl_la_SOURCES = \
	backends/opencl/clml.c \
	backends/opencl/clml.h \
	backends/opencl/clml_cost.c \
	backends/opencl/clml_payload.c \
	backends/opencl/clml_quant.c \
	backends/opencl/clml_why.c \
	backends/opencl/codegen.c \
	backends/opencl/codegen_image.c \
	backends/opencl/dialect.c \
	backends/opencl/dialect.h \
	backends/opencl/emit_image.c \
	backends/opencl/opencl.c \
	backends/opencl/opencl.h \
	backends/opencl/pipeline.c \
	backends/opencl/sub_groups.c \
	backends/opencl/texture.h \
	backends/opencl/texture_layout.c \
	backends/opencl/texture_rule.c \
	backends/opencl/texture_scopes.c \
	backends/opencl/verify.c
backends_opencl_opencl_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_opencl_opencl_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)

# The device half; also built for tests/clml.
OPENCL_RT_SOURCES = \
	backends/opencl/device.c \
	backends/opencl/device.h \
	backends/opencl/error.c \
	backends/opencl/image.c \
	backends/opencl/info.c \
	backends/opencl/launch.c \
	backends/opencl/memory.c \
	backends/opencl/probe.c \
	backends/opencl/program.c \
	backends/opencl/queue.c
# Only with the header of the extension; also built for tests/clml.
CLML_RT_SOURCES = \
	backends/opencl/clml_api.c \
	backends/opencl/clml_memory.c \
	backends/opencl/clml_ops.c \
	backends/opencl/clml_rt.c \
	backends/opencl/clml_rt.h \
	backends/opencl/clml_tuning.c
OPENCL_RT_MANIFEST = $(top_srcdir)/backends/opencl/opencl_rt.plugin.in
if BUILD_OPENCL
PLUGIN_MODULES += backends/opencl/opencl_rt.la
PLUGIN_MANIFESTS += backends/opencl/opencl_rt.plugin
noinst_LTLIBRARIES += backends/opencl/opencl_rt.la
backends_opencl_opencl_rt_la_SOURCES = $(OPENCL_RT_SOURCES)
backends_opencl_opencl_rt_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS) $(CLML_CFLAGS)
backends_opencl_opencl_rt_la_LDFLAGS = $(PLUGIN_LDFLAGS)
backends_opencl_opencl_rt_la_LIBADD = $(RT_LIB) $(BASE_LIB) $(OPENCL_LIBS)
PLUGIN_HELPERS += backends/opencl/opencl_probe
noinst_PROGRAMS += backends/opencl/opencl_probe
backends_opencl_opencl_probe_SOURCES = backends/opencl/probe_main.c
backends_opencl_opencl_probe_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
backends_opencl_opencl_probe_LDADD = $(OPENCL_LIBS)
if BUILD_CLML
backends_opencl_opencl_rt_la_SOURCES += $(CLML_RT_SOURCES)
backends_opencl_opencl_rt_la_LIBADD += $(JANSSON_LIBS)
endif
backends/opencl/opencl_rt.plugin: backends/opencl/opencl_rt.plugin.in Makefile
	$(AM_V_GEN)$(MKDIR_P) backends/opencl && $(SED) '$(CLML_MANIFEST)' $(OPENCL_RT_MANIFEST) > $@.tmp && mv $@.tmp $@
CLEANFILES += backends/opencl/opencl_rt.plugin
endif
EXTRA_DIST += backends/opencl/README.md backends/opencl/copy.ini backends/opencl/opencl.plugin backends/opencl/opencl_rt.plugin.in \
	$(CLML_RT_SOURCES)
