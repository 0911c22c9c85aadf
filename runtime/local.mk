# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += runtime/libtenon-rt.la
runtime_libtenon_rt_la_SOURCES = \
	runtime/version.c
runtime_libtenon_rt_la_LDFLAGS = $(LIBRARY_LDFLAGS)
runtime_libtenon_rt_la_LIBADD = $(BASE_LIB)
runtime_libtenon_rt_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)

tenonrt_HEADERS += \
	include/tenon/rt/artifact.h \
	include/tenon/rt/device.h \
	include/tenon/rt/packed.h \
	include/tenon/rt/plugin.h \
	include/tenon/rt/tensor.h \
	include/tenon/rt/value.h \
	include/tenon/rt/vm.h
