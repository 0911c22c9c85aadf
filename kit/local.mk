# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += kit/libtenon-kit.la
kit_libtenon_kit_la_SOURCES = \
	kit/artifact.c \
	kit/convert_layouts.c \
	kit/layout.c \
	kit/program.c \
	kit/tables.c \
	kit/tables.h \
	kit/te/stage.c \
	kit/te/te.c \
	kit/te/te.h \
	kit/version.c \
	kit/weights.c
kit_libtenon_kit_la_LDFLAGS = $(LIBRARY_LDFLAGS) -Wl,--version-script=$(srcdir)/kit/libtenon-kit.map
EXTRA_kit_libtenon_kit_la_DEPENDENCIES = kit/libtenon-kit.map
EXTRA_DIST += kit/libtenon-kit.map
kit_libtenon_kit_la_LIBADD = $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += kit/README.md

include kit/lower/local.mk
include kit/emit/local.mk
include kit/pattern/local.mk
include kit/schedule/local.mk
include kit/rules/local.mk
include kit/tune/local.mk
include kit/vm/local.mk
include kit/aot/local.mk
include kit/driver/local.mk
