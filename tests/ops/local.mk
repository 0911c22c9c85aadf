# SPDX-License-Identifier: Apache-2.0
# Tests of operators.
SELECTION = \
	tests/ops/selection_draws.c \
	tests/ops/selection.h \
	tests/ops/selection_reference.c \
	tests/ops/tops.c \
	tests/ops/tops.h
check_PROGRAMS += tests/ops/write_selection
tests_ops_write_selection_SOURCES = tests/ops/write_selection.c $(SELECTION)
tests_ops_write_selection_LDADD = $(CORE_LIB) $(BASE_LIB) -lm
TESTS += tests/ops/selection.sh tests/ops/symbolic.sh tests/ops/indices.py tests/ops/packed.py
EXTRA_DIST += tests/ops/selection.sh tests/ops/symbolic.sh tests/ops/indices.py tests/ops/packed.py
if HAVE_CMOCKA
OPS_TESTS = \
	tests/ops/t_infer \
	tests/ops/t_legalize \
	tests/ops/t_random_calls \
	tests/ops/t_selection \
	tests/ops/t_values
check_PROGRAMS += $(OPS_TESTS)
TESTS += $(OPS_TESTS)
tests_ops_t_infer_SOURCES = tests/ops/t_infer.c tests/ops/tops.c tests/ops/tops.h
tests_ops_t_infer_CPPFLAGS = $(TEST_CPPFLAGS)
tests_ops_t_infer_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_ops_t_legalize_SOURCES = tests/ops/t_legalize.c tests/ops/tops.c tests/ops/tops.h
tests_ops_t_legalize_CPPFLAGS = $(TEST_CPPFLAGS)
tests_ops_t_legalize_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_ops_t_random_calls_SOURCES = tests/ops/t_random_calls.c tests/ops/tops.c tests/ops/tops.h tests/fuzz/random_graph.c tests/fuzz/random_flow.c \
	tests/fuzz/random_graph.h
tests_ops_t_random_calls_CPPFLAGS = $(TEST_CPPFLAGS)
tests_ops_t_random_calls_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_ops_t_values_SOURCES = tests/ops/t_values.c tests/ops/tops.c tests/ops/tops.h
tests_ops_t_values_CPPFLAGS = $(TEST_CPPFLAGS)
tests_ops_t_values_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS) -lm
tests_ops_t_selection_SOURCES = tests/ops/t_selection.c $(SELECTION)
tests_ops_t_selection_CPPFLAGS = $(TEST_CPPFLAGS)
tests_ops_t_selection_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS) -lm
endif
