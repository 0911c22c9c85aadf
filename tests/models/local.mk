# SPDX-License-Identifier: Apache-2.0
# Tests over whole models. models.sh says where they are.
if BUILD_CPU
check_PROGRAMS += tests/models/stages
tests_models_stages_SOURCES = tests/models/stages.c
tests_models_stages_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
TESTS += tests/models/stages.sh tests/models/verify.sh tests/models/convolutions.py tests/models/quantized.py \
	tests/models/dot_instructions.py tests/models/winograd.py tests/models/attention.py tests/models/pointwise.py tests/models/pools.py tests/models/one_pass_variance.py \
	tests/models/bench_cpu.py
if BUILD_ONNX
check_PROGRAMS += tests/models/random_weights
tests_models_random_weights_SOURCES = tests/models/random_weights.c
nodist_tests_models_random_weights_SOURCES = plugins/onnx/onnx.pb-c.c plugins/onnx/onnx.pb-c.h
tests_models_random_weights_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_C_CFLAGS) -Iplugins/onnx
tests_models_random_weights_LDADD = $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB) $(PROTOBUF_C_LIBS)
TESTS += tests/models/random_weights.sh tests/models/magika.sh
if BUILD_OPENCL
TESTS += tests/models/opencl.sh
endif
if HAVE_CMOCKA
TESTS += tests/models/cuda.sh
endif
if BUILD_VULKAN
if BUILD_SPIRV
TESTS += tests/models/gpu_generic.sh
endif
endif
endif
endif
EXTRA_DIST += tests/models/models.sh tests/models/stages.sh tests/models/verify.sh tests/models/random_weights.sh \
	tests/models/magika.sh tests/models/gpu_generic.sh tests/models/gpu_models.sh tests/models/opencl.sh tests/models/cuda.sh tests/models/conv_chains.py tests/models/convolutions.py tests/models/quantized.py \
	tests/models/dot_instructions.py tests/models/winograd.py tests/models/attention.py tests/models/pointwise.py tests/models/pools.py tests/models/one_pass_variance.py \
	tests/models/bench_cpu.py
