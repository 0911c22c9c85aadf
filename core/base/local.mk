# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += core/base/libtenon-base.la
core_base_libtenon_base_la_SOURCES = \
	core/base/arena.c \
	core/base/buf.c \
	core/base/cache.c \
	core/base/call.c \
	core/base/child.c \
	core/base/conf.c \
	core/base/conf_private.h \
	core/base/confget.c \
	core/base/diag.c \
	core/base/dtype.c \
	core/base/elf.c \
	core/base/entry.c \
	core/base/file.c \
	core/base/format.c \
	core/base/gguf.c \
	core/base/hash.c \
	core/base/ini.c \
	core/base/json.c \
	core/base/loader.c \
	core/base/loader.h \
	core/base/log.c \
	core/base/map.c \
	core/base/mem_private.h \
	core/base/nearest.c \
	core/base/new_file.h \
	core/base/npy.c \
	core/base/num.c \
	core/base/out.c \
	core/base/path.c \
	core/base/places.c \
	core/base/plugin.c \
	core/base/plugin_private.h \
	core/base/pluginload.c \
	core/base/probe.c \
	core/base/program.c \
	core/base/progress.c \
	core/base/safetensors.c \
	core/base/scalar.c \
	core/base/schema.c \
	core/base/status.c \
	core/base/temporary.c \
	core/base/threads.c \
	core/base/trust.c
core_base_libtenon_base_la_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS) $(JANSSON_CFLAGS) $(XXHASH_CFLAGS)
core_base_libtenon_base_la_LDFLAGS = $(LIBRARY_LDFLAGS) -Wl,--version-script=$(srcdir)/core/base/libtenon-base.map
EXTRA_core_base_libtenon_base_la_DEPENDENCIES = core/base/libtenon-base.map
EXTRA_DIST += core/base/libtenon-base.map
core_base_libtenon_base_la_LIBADD = $(INIH_LIBS) $(JANSSON_LIBS) $(LTDL_LIBS)


# TensorProto files
core_base_libtenon_base_la_SOURCES += core/base/tensor_pb.c core/base/wire.c
