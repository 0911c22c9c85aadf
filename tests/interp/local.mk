# SPDX-License-Identifier: Apache-2.0
# Tests of the interpreter, with the plugins of the build.
if HAVE_CMOCKA
INTERP_TESTS = tests/interp/t_graph tests/interp/t_prim
INTERP_HARNESS = tests/interp/tinterp.c tests/interp/tinterp.h
check_PROGRAMS += $(INTERP_TESTS)
TESTS += $(INTERP_TESTS)
tests_interp_t_prim_SOURCES = tests/interp/t_prim.c $(INTERP_HARNESS)
tests_interp_t_prim_CPPFLAGS = $(TEST_CPPFLAGS)
tests_interp_t_prim_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS) -lm
tests_interp_t_graph_SOURCES = tests/interp/t_graph.c $(INTERP_HARNESS)
tests_interp_t_graph_CPPFLAGS = $(TEST_CPPFLAGS)
tests_interp_t_graph_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS) -lm
endif
