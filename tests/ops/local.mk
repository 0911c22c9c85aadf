# SPDX-License-Identifier: Apache-2.0
# Tests of operators.
if HAVE_CMOCKA
OPS_TESTS = \
	tests/ops/t_legalize
check_PROGRAMS += $(OPS_TESTS)
TESTS += $(OPS_TESTS)
tests_ops_t_legalize_SOURCES = tests/ops/t_legalize.c tests/ops/tops.c tests/ops/tops.h
tests_ops_t_legalize_CPPFLAGS = $(TEST_CPPFLAGS)
tests_ops_t_legalize_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
