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

check_PROGRAMS += tests/runtime/t_variants
TESTS += tests/runtime/t_variants
tests_runtime_t_variants_SOURCES = tests/runtime/t_variants.c tests/runtime/assemble.h
tests_runtime_t_variants_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_variants_LDADD = $(KIT_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)

check_PROGRAMS += tests/runtime/t_hostile
TESTS += tests/runtime/t_hostile
tests_runtime_t_hostile_SOURCES = tests/runtime/t_hostile.c tests/runtime/assemble.h
tests_runtime_t_hostile_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_hostile_LDADD = $(KIT_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)

check_PROGRAMS += tests/runtime/t_arguments
TESTS += tests/runtime/t_arguments
tests_runtime_t_arguments_SOURCES = tests/runtime/t_arguments.c tests/runtime/assemble.h
tests_runtime_t_arguments_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_arguments_LDADD = $(KIT_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)

check_PROGRAMS += tests/runtime/t_params
TESTS += tests/runtime/t_params
tests_runtime_t_params_SOURCES = tests/runtime/t_params.c tests/runtime/assemble.h
tests_runtime_t_params_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_params_LDADD = $(KIT_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)

check_PROGRAMS += tests/runtime/t_queue
TESTS += tests/runtime/t_queue
tests_runtime_t_queue_SOURCES = tests/runtime/t_queue.c tests/runtime/assemble.h tests/vendor/simacc/queue.c tests/vendor/simacc/queue.h
tests_runtime_t_queue_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_queue_LDADD = $(KIT_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)

check_PROGRAMS += tests/runtime/t_fallback
TESTS += tests/runtime/t_fallback
tests_runtime_t_fallback_SOURCES = tests/runtime/t_fallback.c tests/runtime/assemble.h
tests_runtime_t_fallback_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_fallback_LDADD = $(KIT_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif

# From a module's text to results, on the null and the cpu target.
RUNTIME_MODULES = \
	tests/runtime/modules/branch.py \
	tests/runtime/modules/constants.py \
	tests/runtime/modules/elementwise.py \
	tests/runtime/modules/host_scalars.py \
	tests/runtime/modules/long_names.py \
	tests/runtime/modules/loop.py \
	tests/runtime/modules/matmul.py \
	tests/runtime/modules/symbolic.py \
	tests/runtime/modules/tuples.py
EXTRA_DIST += $(RUNTIME_MODULES)
if HAVE_CMOCKA
if BUILD_CPU
check_PROGRAMS += tests/runtime/t_session
TESTS += tests/runtime/t_session
tests_runtime_t_session_SOURCES = tests/runtime/t_session.c tests/base/harness.h tests/base/scratch.h
tests_runtime_t_session_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_session_LDADD = $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
check_PROGRAMS += tests/runtime/t_weights
TESTS += tests/runtime/t_weights
tests_runtime_t_weights_SOURCES = tests/runtime/t_weights.c tests/base/harness.h tests/base/scratch.h
tests_runtime_t_weights_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_weights_LDADD = $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
check_PROGRAMS += tests/runtime/t_compile
TESTS += tests/runtime/t_compile
tests_runtime_t_compile_SOURCES = tests/runtime/t_compile.c tests/runtime/assemble.h
tests_runtime_t_compile_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_compile_LDADD = $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)

check_PROGRAMS += tests/runtime/t_constants
TESTS += tests/runtime/t_constants
tests_runtime_t_constants_SOURCES = tests/runtime/t_constants.c tests/runtime/assemble.h
tests_runtime_t_constants_CPPFLAGS = $(TEST_CPPFLAGS)
tests_runtime_t_constants_LDADD = $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
endif
check_PROGRAMS += tests/runtime/faults
tests_runtime_faults_SOURCES = tests/runtime/faults.c tests/failing_memory.h
tests_runtime_faults_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_runtime_faults_LDADD = $(RT_LIB) $(BASE_LIB)
TESTS += tests/runtime/faults.sh
EXTRA_DIST += tests/runtime/faults.sh

# Artifacts of earlier versions of the format.
EXTRA_DIST += tests/runtime/kept.py tests/runtime/kept/2.0 tests/runtime/kept/model.py
if BUILD_CPU
TESTS += tests/runtime/kept.py
endif
