# SPDX-License-Identifier: Apache-2.0
# The device conformance suite.
check_PROGRAMS += tests/device/conformance
tests_device_conformance_SOURCES = tests/device/conformance.c tests/device/conformance.h tests/device/conformance_memory.c \
	tests/device/conformance_modules.c tests/device/conformance_streams.c
tests_device_conformance_LDADD = $(RT_LIB) $(BASE_LIB)

check_LTLIBRARIES += tests/device/kernels.la
tests_device_kernels_la_SOURCES = tests/device/kernels.c
tests_device_kernels_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere

check_LTLIBRARIES += tests/device/faulty.la
tests_device_faulty_la_SOURCES = tests/device/faulty.c tests/vendor/simacc/queue.c tests/vendor/simacc/queue.h
tests_device_faulty_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_device_faulty_la_LIBADD = $(RT_LIB) $(BASE_LIB)
TESTS += tests/device/faults.py
EXTRA_DIST += tests/device/faults.py

if HAVE_CMOCKA
check_PROGRAMS += tests/device/t_null
TESTS += tests/device/t_null
tests_device_t_null_SOURCES = tests/device/t_null.c
tests_device_t_null_CPPFLAGS = $(TEST_CPPFLAGS)
tests_device_t_null_LDADD = $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
if BUILD_CPU
check_PROGRAMS += tests/device/t_team
TESTS += tests/device/t_team
tests_device_t_team_SOURCES = tests/device/t_team.c backends/cpu/team.c backends/cpu/team.h
tests_device_t_team_CPPFLAGS = $(TEST_CPPFLAGS)
tests_device_t_team_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
endif
endif

if BUILD_CPU
TESTS += tests/device/cpu.sh
endif
TESTS += tests/device/null.sh
EXTRA_DIST += tests/device/cpu.sh tests/device/null.sh

if BUILD_OPENCL
TESTS += tests/device/opencl.sh
check_LTLIBRARIES += tests/device/cl_layer.la
tests_device_cl_layer_la_SOURCES = tests/device/cl_layer.c
tests_device_cl_layer_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tests_device_cl_layer_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_LTLIBRARIES += tests/device/sub_group_layer.la
tests_device_sub_group_layer_la_SOURCES = tests/device/sub_group_layer.c
tests_device_sub_group_layer_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS) -D_GNU_SOURCE
tests_device_sub_group_layer_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
TESTS += tests/device/images.py tests/device/probe.py tests/device/profile.py
check_LTLIBRARIES += tests/device/cl_broken.la
tests_device_cl_broken_la_SOURCES = tests/device/cl_broken.c
tests_device_cl_broken_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tests_device_cl_broken_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
if HAVE_CMOCKA
check_PROGRAMS += tests/device/t_opencl
TESTS += tests/device/t_opencl
FAULTS_OPENCL = tests/device/t_opencl
tests_device_t_opencl_SOURCES = tests/device/t_opencl.c
tests_device_t_opencl_CPPFLAGS = $(TEST_CPPFLAGS)
tests_device_t_opencl_LDADD = $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
endif
EXTRA_DIST += tests/device/images.py tests/device/probe.py tests/device/profile.py tests/device/opencl.sh tests/device/add.cl
if BUILD_CPU
TESTS += tests/device/threads.py
endif
TESTS += tests/device/native.py
EXTRA_DIST += tests/device/threads.py tests/device/native.py
