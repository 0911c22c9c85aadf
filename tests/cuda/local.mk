# SPDX-License-Identifier: Apache-2.0
# The compiler half of cuda, where NVRTC is: no GPU is needed.
TESTS += tests/cuda/choices.py tests/cuda/compile.py tests/cuda/cost.py tests/cuda/device.py tests/cuda/driver.py tests/cuda/large.py tests/cuda/matrix.py tests/cuda/panels.py tests/cuda/roles.py tests/cuda/spills.py
if BUILD_ONNX
TESTS += tests/cuda/onnx.sh
endif
if HAVE_CMOCKA
TESTS += tests/cuda/bundle.py tests/cuda/graphs.py
# The device half's reader of payloads.
check_PROGRAMS += tests/cuda/t_reader
TESTS += tests/cuda/t_reader
tests_cuda_t_reader_SOURCES = tests/cuda/t_reader.c backends/cuda/device.h backends/cuda/error.c backends/cuda/info.c backends/cuda/reader.c
tests_cuda_t_reader_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_t_reader_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
endif
EXTRA_DIST += tests/cuda/bundle.py tests/cuda/graphs.py tests/cuda/choices.py tests/cuda/compile.py tests/cuda/cost.py tests/cuda/device.py tests/cuda/driver.py tests/cuda/large.py tests/cuda/matrix.py tests/cuda/onnx.sh tests/cuda/panels.py tests/cuda/roles.py tests/cuda/spills.py
