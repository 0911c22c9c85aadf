# SPDX-License-Identifier: Apache-2.0
# Tests of base.
if HAVE_CMOCKA
BASE_TESTS = \
	tests/base/t_mem \
	tests/base/t_dtype \
	tests/base/t_diag \
	tests/base/t_num \
	tests/base/t_file \
	tests/base/t_npy
check_PROGRAMS += $(BASE_TESTS)
TESTS += $(BASE_TESTS)
tests_base_t_mem_SOURCES = tests/base/t_mem.c tests/base/harness.h tests/base/scratch.h
tests_base_t_mem_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_mem_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_dtype_SOURCES = tests/base/t_dtype.c tests/base/harness.h tests/base/scratch.h
tests_base_t_dtype_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_dtype_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_diag_SOURCES = tests/base/t_diag.c tests/base/harness.h tests/base/scratch.h
tests_base_t_diag_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_diag_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_num_SOURCES = tests/base/t_num.c tests/base/harness.h tests/base/scratch.h
tests_base_t_num_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_num_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_file_SOURCES = tests/base/t_file.c tests/base/harness.h tests/base/scratch.h
tests_base_t_file_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_file_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_npy_SOURCES = tests/base/t_npy.c tests/base/harness.h tests/base/scratch.h
tests_base_t_npy_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_npy_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
endif
