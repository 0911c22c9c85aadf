# SPDX-License-Identifier: Apache-2.0
# The device half of gpu_generic, on any Vulkan device; lavapipe (mesa-vulkan-drivers) is one.
if BUILD_VULKAN
TESTS += tests/gpu_generic/auto.py tests/gpu_generic/barriers.py tests/gpu_generic/counters.py tests/gpu_generic/device.py tests/gpu_generic/divisions.py tests/gpu_generic/large.py tests/gpu_generic/many.py tests/gpu_generic/matrices.py tests/gpu_generic/probe.py tests/gpu_generic/quotients.py tests/gpu_generic/scalars.py tests/gpu_generic/turns.py tests/gpu_generic/validation.py tests/gpu_generic/words.py
check_PROGRAMS += tests/gpu_generic/shapes
tests_gpu_generic_shapes_SOURCES = tests/gpu_generic/shapes.c
tests_gpu_generic_shapes_LDADD = $(RT_LIB) $(BASE_LIB)
check_LTLIBRARIES += tests/gpu_generic/vk_layer.la
tests_gpu_generic_vk_layer_la_SOURCES = tests/gpu_generic/vk_layer.c
tests_gpu_generic_vk_layer_la_CPPFLAGS = $(AM_CPPFLAGS) $(VULKAN_CFLAGS)
tests_gpu_generic_vk_layer_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_LTLIBRARIES += tests/gpu_generic/vk_broken.la
tests_gpu_generic_vk_broken_la_SOURCES = tests/gpu_generic/vk_broken.c
tests_gpu_generic_vk_broken_la_CPPFLAGS = $(AM_CPPFLAGS) $(VULKAN_CFLAGS)
tests_gpu_generic_vk_broken_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_LTLIBRARIES += tests/gpu_generic/vk_inexact.la
tests_gpu_generic_vk_inexact_la_SOURCES = tests/gpu_generic/vk_inexact.c
tests_gpu_generic_vk_inexact_la_CPPFLAGS = $(AM_CPPFLAGS) $(VULKAN_CFLAGS)
tests_gpu_generic_vk_inexact_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
if HAVE_CMOCKA
check_PROGRAMS += tests/gpu_generic/t_reader
TESTS += tests/gpu_generic/t_reader
tests_gpu_generic_t_reader_SOURCES = tests/gpu_generic/t_reader.c backends/gpu_generic/reader.c backends/gpu_generic/device.h
tests_gpu_generic_t_reader_CPPFLAGS = $(TEST_CPPFLAGS) $(VULKAN_CFLAGS)
tests_gpu_generic_t_reader_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
check_PROGRAMS += tests/gpu_generic/t_vulkan
TESTS += tests/gpu_generic/t_vulkan
tests_gpu_generic_t_vulkan_SOURCES = tests/gpu_generic/t_vulkan.c
tests_gpu_generic_t_vulkan_CPPFLAGS = $(TEST_CPPFLAGS)
tests_gpu_generic_t_vulkan_LDADD = $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
endif
# Both halves: ONNX models.
if BUILD_VULKAN
if BUILD_SPIRV
if BUILD_ONNX
TESTS += tests/gpu_generic/onnx.sh
endif
endif
endif
EXTRA_DIST += tests/gpu_generic/onnx.sh tests/gpu_generic/targets.ini tests/gpu_generic/schedules.sh
# The compiler half: SPIR-V as spirv-val sees it.
EXTRA_DIST += tests/gpu_generic/cost.py tests/gpu_generic/validate.py
if BUILD_SPIRV
TESTS += tests/gpu_generic/cost.py
if BUILD_ONNX
TESTS += tests/gpu_generic/validate.py
endif
endif
if HAVE_CMOCKA
if BUILD_SPIRV
if BUILD_CPU
check_PROGRAMS += tests/gpu_generic/t_spirv
TESTS += tests/gpu_generic/t_spirv
tests_gpu_generic_t_spirv_SOURCES = tests/gpu_generic/t_spirv.c tests/kit/draw.h tests/kit/gpu_programs.c tests/kit/gpu_programs.h \
	tests/kit/krun.c tests/kit/krun.h tests/kit/programs.c tests/kit/programs.h
tests_gpu_generic_t_spirv_CPPFLAGS = $(TEST_CPPFLAGS)
tests_gpu_generic_t_spirv_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
endif
endif
EXTRA_DIST += tests/gpu_generic/auto.py tests/gpu_generic/barriers.py tests/gpu_generic/counters.py tests/gpu_generic/device.py tests/gpu_generic/divisions.py tests/gpu_generic/large.py tests/gpu_generic/many.py tests/gpu_generic/matrices.py tests/gpu_generic/probe.py tests/gpu_generic/quotients.py tests/gpu_generic/scalars.py tests/gpu_generic/turns.py tests/gpu_generic/validation.py tests/gpu_generic/words.py tests/gpu_generic/kernels.py
