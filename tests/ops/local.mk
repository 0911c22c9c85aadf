# SPDX-License-Identifier: Apache-2.0
# Tests of operators.
if HAVE_CMOCKA
OPS_TESTS = \
	tests/ops/t_infer \
	tests/ops/t_legalize \
	tests/ops/t_values
check_PROGRAMS += $(OPS_TESTS)
TESTS += $(OPS_TESTS)
tests_ops_t_infer_SOURCES = tests/ops/t_infer.c tests/ops/tops.c tests/ops/tops.h
tests_ops_t_infer_CPPFLAGS = $(TEST_CPPFLAGS)
tests_ops_t_infer_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_ops_t_legalize_SOURCES = tests/ops/t_legalize.c tests/ops/tops.c tests/ops/tops.h
tests_ops_t_legalize_CPPFLAGS = $(TEST_CPPFLAGS)
tests_ops_t_legalize_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_ops_t_values_SOURCES = tests/ops/t_values.c tests/ops/tops.c tests/ops/tops.h
tests_ops_t_values_CPPFLAGS = $(TEST_CPPFLAGS)
tests_ops_t_values_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS) -lm
endif
