# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += core/libtenon.la
core_libtenon_la_SOURCES = \
	core/version.c
core_libtenon_la_LDFLAGS = $(LIBRARY_LDFLAGS)
core_libtenon_la_LIBADD = $(BASE_LIB)

tenoncore_HEADERS +=
