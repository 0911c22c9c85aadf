# SPDX-License-Identifier: Apache-2.0
# Tests of base.
if HAVE_CMOCKA
BASE_TESTS = \
	tests/base/t_mem \
	tests/base/t_dtype \
	tests/base/t_diag
check_PROGRAMS += $(BASE_TESTS)
TESTS += $(BASE_TESTS)
tests_base_t_mem_SOURCES = tests/base/t_mem.c tests/base/harness.h
tests_base_t_mem_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_mem_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_dtype_SOURCES = tests/base/t_dtype.c tests/base/harness.h
tests_base_t_dtype_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_dtype_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_diag_SOURCES = tests/base/t_diag.c tests/base/harness.h
tests_base_t_diag_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_diag_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
endif
