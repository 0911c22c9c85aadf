# SPDX-License-Identifier: Apache-2.0
# Tests of scalar operators and symbolic arithmetic.
if HAVE_CMOCKA
ARITH_TESTS = tests/arith/t_scalar tests/arith/t_arith
check_PROGRAMS += $(ARITH_TESTS)
TESTS += $(ARITH_TESTS)
tests_arith_t_scalar_SOURCES = tests/arith/t_scalar.c
tests_arith_t_scalar_CPPFLAGS = $(TEST_CPPFLAGS)
tests_arith_t_scalar_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_arith_t_arith_SOURCES = tests/arith/t_arith.c tests/arith/scalar_eval.c tests/arith/scalar_eval.h
tests_arith_t_arith_CPPFLAGS = $(TEST_CPPFLAGS)
tests_arith_t_arith_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
