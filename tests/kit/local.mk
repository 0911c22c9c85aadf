# SPDX-License-Identifier: Apache-2.0
# Tests of kit. Kernels run on the processor through the plugins cpu and tir.
if HAVE_CMOCKA
check_PROGRAMS += tests/kit/t_pattern
TESTS += tests/kit/t_pattern
tests_kit_t_pattern_SOURCES = tests/kit/t_pattern.c
tests_kit_t_pattern_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_pattern_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
check_PROGRAMS += tests/kit/t_tuning
TESTS += tests/kit/t_tuning
tests_kit_t_tuning_SOURCES = tests/kit/t_tuning.c
tests_kit_t_tuning_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_tuning_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
if BUILD_CPU
KIT_KERNEL_TESTS = tests/kit/t_kernels tests/kit/t_random tests/kit/t_rows tests/kit/t_schedule tests/kit/t_source \
	tests/kit/t_codegen tests/kit/t_launch tests/kit/t_common_subexpr tests/kit/t_team_cost tests/kit/t_math tests/kit/t_shapes \
	tests/kit/t_schedule_random tests/kit/t_gpu_rules tests/kit/t_schedule_gpu tests/kit/t_trace tests/kit/t_small tests/kit/t_tensorize \
	tests/kit/t_lower_math tests/kit/t_narrow tests/kit/t_transpose tests/kit/t_vectors tests/kit/t_dot_bytes
check_PROGRAMS += $(KIT_KERNEL_TESTS)
TESTS += $(KIT_KERNEL_TESTS)
tests_kit_t_kernels_SOURCES = tests/kit/t_kernels.c tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_kernels_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_kernels_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_random_SOURCES = tests/kit/t_random.c tests/kit/draw.h tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_random_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_random_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_rows_SOURCES = tests/kit/t_rows.c tests/kit/draw.h tests/kit/krun.c tests/kit/krun.h
tests_kit_t_rows_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_rows_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_schedule_SOURCES = tests/kit/t_schedule.c tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_schedule_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_schedule_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_source_SOURCES = tests/kit/t_source.c tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_source_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_source_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_launch_SOURCES = tests/kit/t_launch.c tests/kit/krun.c tests/kit/krun.h
tests_kit_t_launch_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_launch_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_codegen_SOURCES = tests/kit/t_codegen.c tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_codegen_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_codegen_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_common_subexpr_SOURCES = tests/kit/t_common_subexpr.c tests/kit/draw.h tests/kit/krun.c tests/kit/krun.h
tests_kit_t_common_subexpr_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_common_subexpr_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_math_SOURCES = tests/kit/t_math.c tests/kit/draw.h tests/kit/krun.c tests/kit/krun.h
tests_kit_t_math_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_math_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_schedule_random_SOURCES = tests/kit/t_schedule_random.c tests/kit/draw.h tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_schedule_random_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_schedule_random_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_schedule_gpu_SOURCES = tests/kit/t_schedule_gpu.c tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_schedule_gpu_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_schedule_gpu_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_team_cost_SOURCES = tests/kit/t_team_cost.c tests/kit/krun.c tests/kit/krun.h
tests_kit_t_team_cost_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_team_cost_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_small_SOURCES = tests/kit/t_small.c tests/kit/krun.c tests/kit/krun.h
tests_kit_t_small_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_small_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_gpu_rules_SOURCES = tests/kit/t_gpu_rules.c tests/kit/gpu_programs.c tests/kit/draw.h tests/kit/gpu_programs.h tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_gpu_rules_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_gpu_rules_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_trace_SOURCES = tests/kit/t_trace.c tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_trace_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_trace_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_dot_bytes_SOURCES = tests/kit/t_dot_bytes.c tests/kit/krun.c tests/kit/krun.h
tests_kit_t_dot_bytes_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_dot_bytes_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_tensorize_SOURCES = tests/kit/t_tensorize.c tests/kit/draw.h tests/kit/krun.c tests/kit/krun.h
tests_kit_t_tensorize_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_tensorize_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_transpose_SOURCES = tests/kit/t_transpose.c tests/kit/draw.h tests/kit/krun.c tests/kit/krun.h
tests_kit_t_transpose_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_transpose_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_lower_math_SOURCES = tests/kit/t_lower_math.c tests/kit/draw.h tests/kit/krun.c tests/kit/krun.h
tests_kit_t_lower_math_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_lower_math_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_narrow_SOURCES = tests/kit/t_narrow.c tests/kit/narrow_c.c tests/kit/narrow_c.h tests/kit/gpu_programs.c tests/kit/draw.h tests/kit/gpu_programs.h tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_narrow_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_narrow_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_vectors_SOURCES = tests/kit/t_vectors.c tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_kit_t_vectors_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_vectors_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_kit_t_shapes_SOURCES = tests/kit/t_shapes.c tests/kit/draw.h
tests_kit_t_shapes_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_shapes_LDADD = $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
TESTS += tests/kit/features.sh
EXTRA_DIST += tests/kit/features.sh tests/kit/cuda_words.h
check_PROGRAMS += tests/kit/t_gpu_run
tests_kit_t_gpu_run_SOURCES = tests/kit/t_gpu_run.c tests/kit/gpu_programs.c tests/kit/draw.h tests/kit/gpu_programs.h \
	tests/kit/programs.c tests/kit/programs.h
tests_kit_t_gpu_run_CPPFLAGS = $(TEST_CPPFLAGS)
tests_kit_t_gpu_run_LDADD = $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
if BUILD_OPENCL
TESTS += tests/kit/t_gpu_run tests/kit/gpu_sub_groups.sh
LONG_TESTS += tests/kit/gpu_races.sh
endif
if BUILD_VULKAN
if BUILD_SPIRV
TESTS += tests/gpu_generic/schedules.sh
endif
endif
endif
endif
EXTRA_DIST += tests/kit/gpu_sub_groups.sh tests/kit/gpu_races.sh tests/kit/faulty/bounds.py tests/kit/faulty/race.py tests/kit/faulty/unset.py

# Whole compilations without memory.
if !ASAN
check_PROGRAMS += tests/kit/compile_faults
tests_kit_compile_faults_SOURCES = tests/kit/compile_faults.c tests/failing_memory.h
tests_kit_compile_faults_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_kit_compile_faults_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
TESTS += tests/kit/compile_faults.sh
endif
EXTRA_DIST += tests/kit/compile_faults.sh
