# SPDX-License-Identifier: Apache-2.0
# What the opencl target makes of kernels.
if HAVE_CMOCKA
check_PROGRAMS += tests/opencl/t_verify
TESTS += tests/opencl/t_verify
tests_opencl_t_verify_SOURCES = tests/opencl/t_verify.c backends/opencl/verify.c backends/opencl/opencl.h
tests_opencl_t_verify_CPPFLAGS = $(TEST_CPPFLAGS)
tests_opencl_t_verify_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
if BUILD_OPENCL
TESTS += tests/opencl/half.py tests/opencl/small.py tests/opencl/sub_groups.py tests/opencl/copy.sh
endif
EXTRA_DIST += tests/opencl/half.py tests/opencl/small.py tests/opencl/sub_groups.py tests/opencl/copy.sh
