# SPDX-License-Identifier: Apache-2.0
# Tests of the runtime.
if HAVE_CMOCKA
check_PROGRAMS += tests/runtime/t_vm
TESTS += tests/runtime/t_vm
tests_runtime_t_vm_SOURCES = tests/runtime/t_vm.c tests/runtime/assemble.h
tests_runtime_t_vm_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_vm_LDADD = $(KIT_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)

check_PROGRAMS += tests/runtime/t_artifact
TESTS += tests/runtime/t_artifact
tests_runtime_t_artifact_SOURCES = tests/runtime/t_artifact.c tests/runtime/assemble.h
tests_runtime_t_artifact_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_artifact_LDADD = $(KIT_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
