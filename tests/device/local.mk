# SPDX-License-Identifier: Apache-2.0
# The device conformance suite.
check_PROGRAMS += tests/device/conformance
tests_device_conformance_SOURCES = tests/device/conformance.c
tests_device_conformance_LDADD = $(RT_LIB) $(BASE_LIB)

check_LTLIBRARIES += tests/device/kernels.la
tests_device_kernels_la_SOURCES = tests/device/kernels.c
tests_device_kernels_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere

if BUILD_CPU
TESTS += tests/device/cpu.sh
endif
TESTS += tests/device/null.sh
EXTRA_DIST += tests/device/cpu.sh tests/device/null.sh
