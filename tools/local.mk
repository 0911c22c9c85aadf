# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += tools/tenon
tools_tenon_SOURCES = \
	tools/main.c
tools_tenon_LDFLAGS = $(AM_LDFLAGS) '-Wl,-rpath,$$ORIGIN/@TENON_LIB_FROM_BIN@'
tools_tenon_LDADD = $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB)
