# SPDX-License-Identifier: Apache-2.0
# Tests of the ONNX importer, through the staged plugins.
EXTRA_DIST += tests/onnx/model_writer.h tests/onnx/import_fixture.h tests/onnx/suite.sh tests/onnx/suite_passes.sh \
	tests/onnx/plain.ini tests/onnx/cases.sh tests/onnx/cases.txt tests/onnx/make_cases.py \
	tests/onnx/select_cases.txt tests/onnx/make_select_cases.py tests/onnx/graph_cases.txt tests/onnx/stops.txt \
	tests/onnx/make_graph_cases.py tests/onnx/loops.py tests/onnx/dynamic.py tests/onnx/indices.py tests/onnx/integers.py tests/onnx/float_attributes.py tests/onnx/made.py tests/onnx/wire.py \
	tests/onnx/wrong.sh tests/onnx/wrong.txt tests/onnx/refused.sh tests/onnx/refused.txt tests/onnx/opencl.sh tests/onnx/gpu_cases.sh tests/onnx/fuzz_onnx.sh
EXTRA_DIST += tests/onnx/differential.sh tests/onnx/differential/README.md tests/onnx/differential/run \
	tests/onnx/differential/run.py tests/onnx/differential/graph.py tests/onnx/differential/operators.py \
	tests/onnx/differential/variants.py
if BUILD_ONNX
TESTS += tests/onnx/differential.sh tests/onnx/huge_extents.py
EXTRA_DIST += tests/onnx/huge_extents.py
TESTS += tests/onnx/suite.sh tests/onnx/suite_passes.sh tests/onnx/cases.sh \
	tests/onnx/loops.py tests/onnx/dynamic.py tests/onnx/indices.py tests/onnx/integers.py tests/onnx/float_attributes.py tests/onnx/made.py tests/onnx/wrong.sh tests/onnx/refused.sh tests/onnx/fuzz_onnx.sh
check_PROGRAMS += tests/onnx/write_cases
tests_onnx_write_cases_SOURCES = tests/onnx/write_cases.c tests/onnx/model_writer.c
tests_onnx_write_cases_LDADD = $(BASE_LIB)
if BUILD_OPENCL
TESTS += tests/onnx/opencl.sh
endif
check_PROGRAMS += tests/onnx/fuzz_onnx
tests_onnx_fuzz_onnx_SOURCES = tests/onnx/fuzz_onnx.c tests/onnx/fuzz_seeds.c tests/onnx/fuzz_seeds.h \
	tests/onnx/mutate.c tests/onnx/mutate.h tests/onnx/model_writer.c
tests_onnx_fuzz_onnx_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
endif
if HAVE_CMOCKA
check_PROGRAMS += tests/onnx/t_tensor_pb
TESTS += tests/onnx/t_tensor_pb
tests_onnx_t_tensor_pb_SOURCES = tests/onnx/t_tensor_pb.c
tests_onnx_t_tensor_pb_CPPFLAGS = $(TEST_CPPFLAGS)
tests_onnx_t_tensor_pb_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
if BUILD_ONNX
ONNX_TESTS = tests/onnx/t_broken tests/onnx/t_docs tests/onnx/t_import
ONNX_FIXTURE = tests/onnx/import_fixture.c tests/onnx/model_writer.c
ONNX_TEST_LIBS = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
check_PROGRAMS += $(ONNX_TESTS)
TESTS += $(ONNX_TESTS)
tests_onnx_t_broken_SOURCES = tests/onnx/t_broken.c $(ONNX_FIXTURE)
tests_onnx_t_broken_CPPFLAGS = $(TEST_CPPFLAGS)
tests_onnx_t_broken_LDADD = $(ONNX_TEST_LIBS)
tests_onnx_t_docs_SOURCES = tests/onnx/t_docs.c $(ONNX_FIXTURE)
tests_onnx_t_docs_CPPFLAGS = $(TEST_CPPFLAGS)
tests_onnx_t_docs_LDADD = $(ONNX_TEST_LIBS)
tests_onnx_t_import_SOURCES = tests/onnx/t_import.c $(ONNX_FIXTURE)
tests_onnx_t_import_CPPFLAGS = $(TEST_CPPFLAGS)
tests_onnx_t_import_LDADD = $(ONNX_TEST_LIBS)
endif
endif
