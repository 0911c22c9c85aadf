# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += runtime/libtenon-rt.la
runtime_libtenon_rt_la_SOURCES = \
	runtime/artifact.c \
	runtime/builtin.c \
	runtime/device.c \
	runtime/frame.h \
	runtime/graph.c \
	runtime/host.c \
	runtime/internal.h \
	runtime/kv_attention.c \
	runtime/kv_latent.c \
	runtime/kv_create.c \
	runtime/kv_packed.c \
	runtime/kv_pages.c \
	runtime/kv_private.h \
	runtime/kv_recurrent.c \
	runtime/kv_state.c \
	runtime/kv_step.c \
	runtime/kv_tree.c \
	runtime/launch.c \
	runtime/machine.c \
	runtime/metadata.c \
	runtime/params.c \
	runtime/params_file.c \
	runtime/params_private.h \
	runtime/pick.c \
	runtime/queue.c \
	runtime/refusal.c \
	runtime/runtime.c \
	runtime/session.c \
	runtime/tensor.c \
	runtime/quantize.c \
	runtime/transform.c \
	runtime/transform.h \
	runtime/transform_kinds.h \
	runtime/value.c \
	runtime/version.c \
	runtime/vm.c
runtime_libtenon_rt_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
runtime_libtenon_rt_la_LDFLAGS = $(LIBRARY_LDFLAGS) -Wl,--version-script=$(srcdir)/runtime/libtenon-rt.map
EXTRA_runtime_libtenon_rt_la_DEPENDENCIES = runtime/libtenon-rt.map
EXTRA_DIST += runtime/libtenon-rt.map
runtime_libtenon_rt_la_LIBADD = $(BASE_LIB) $(JANSSON_LIBS)
EXTRA_DIST += runtime/README.md

# All that a program needs which runs models on the processor alone, in one static library: base, runtime and the device half of cpu.
if BUILD_CPU
lib_LIBRARIES += runtime/libtenon-rt-cpu.a
runtime_libtenon_rt_cpu_a_SOURCES = $(core_base_libtenon_base_la_SOURCES) $(runtime_libtenon_rt_la_SOURCES) $(backends_cpu_cpu_rt_la_SOURCES)
runtime_libtenon_rt_cpu_a_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS) $(JANSSON_CFLAGS) $(XXHASH_CFLAGS) -DTNB_STATIC_PLUGINS
runtime_libtenon_rt_cpu_a_CFLAGS = $(AM_CFLAGS) -ffunction-sections -fdata-sections
endif
