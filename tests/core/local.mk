# SPDX-License-Identifier: Apache-2.0
# Tests of core.
if HAVE_CMOCKA
core_tests = \
	tests/core/t_nodes \
	tests/core/t_pass \
	tests/core/t_verify \
	tests/core/t_walk
check_PROGRAMS += $(core_tests)
TESTS += $(core_tests)

tests_core_t_nodes_SOURCES = tests/core/t_nodes.c tests/core/tcore.h
tests_core_t_nodes_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_t_nodes_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_core_t_pass_SOURCES = tests/core/t_pass.c tests/core/tcore.h
tests_core_t_pass_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_t_pass_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_core_t_verify_SOURCES = tests/core/t_verify.c tests/core/tcore.h
tests_core_t_verify_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_t_verify_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_core_t_walk_SOURCES = tests/core/t_walk.c tests/core/tcore.h
tests_core_t_walk_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_t_walk_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
