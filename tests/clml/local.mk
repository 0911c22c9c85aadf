# SPDX-License-Identifier: Apache-2.0
# A stand-in for Qualcomm's machine-learning extension, as a layer over any OpenCL device.
if BUILD_OPENCL
CLML_CPPFLAGS = -I$(srcdir)/tests/clml $(OPENCL_CFLAGS)
CLML_LAYER_CPPFLAGS = $(CLML_CPPFLAGS) -DCL_TARGET_OPENCL_VERSION=300 -DCL_USE_DEPRECATED_OPENCL_1_2_APIS
check_LTLIBRARIES += tests/clml/clml_layer.la
tests_clml_clml_layer_la_SOURCES = tests/clml/layer.c tests/clml/objects.c tests/clml/ops.c \
	tests/clml/run.c tests/clml/tensors.c tests/clml/kernels.h tests/clml/standin.h \
	tests/clml/tables.h tests/clml/CL/cl_qcom_ml_ops.h
tests_clml_clml_layer_la_CPPFLAGS = $(CLML_LAYER_CPPFLAGS)
tests_clml_clml_layer_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
# The device half as a user with the vendor's SDK builds it, with the stand-in for that.
check_LTLIBRARIES += tests/clml/opencl_clml_rt.la
tests_clml_opencl_clml_rt_la_SOURCES = $(OPENCL_RT_SOURCES) $(CLML_RT_SOURCES)
tests_clml_opencl_clml_rt_la_CPPFLAGS = $(AM_CPPFLAGS) $(CLML_CPPFLAGS) $(JANSSON_CFLAGS) -DOPENCL_CLML
tests_clml_opencl_clml_rt_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_clml_opencl_clml_rt_la_LIBADD = $(RT_LIB) $(BASE_LIB) $(OPENCL_LIBS) $(JANSSON_LIBS)
# And as one with an older SDK builds it.
check_LTLIBRARIES += tests/clml/opencl_clml3_rt.la tests/clml/opencl_clml4_rt.la
tests_clml_opencl_clml3_rt_la_SOURCES = $(tests_clml_opencl_clml_rt_la_SOURCES)
tests_clml_opencl_clml3_rt_la_CPPFLAGS = $(tests_clml_opencl_clml_rt_la_CPPFLAGS) -DCL_QCOM_ML_OPS_H_MAJOR_VERSION=3
tests_clml_opencl_clml3_rt_la_LDFLAGS = $(tests_clml_opencl_clml_rt_la_LDFLAGS)
tests_clml_opencl_clml3_rt_la_LIBADD = $(tests_clml_opencl_clml_rt_la_LIBADD)
tests_clml_opencl_clml4_rt_la_SOURCES = $(tests_clml_opencl_clml_rt_la_SOURCES)
tests_clml_opencl_clml4_rt_la_CPPFLAGS = $(tests_clml_opencl_clml_rt_la_CPPFLAGS) -DCL_QCOM_ML_OPS_H_MAJOR_VERSION=4
tests_clml_opencl_clml4_rt_la_LDFLAGS = $(tests_clml_opencl_clml_rt_la_LDFLAGS)
tests_clml_opencl_clml4_rt_la_LIBADD = $(tests_clml_opencl_clml_rt_la_LIBADD)
TESTS += tests/clml/hostile.py tests/clml/dispatch.py tests/clml/decode.py tests/clml/operators.py tests/clml/tuning.py
if HAVE_CMOCKA
check_PROGRAMS += tests/clml/t_standin
tests_clml_t_standin_SOURCES = tests/clml/t_standin.c tests/clml/CL/cl_qcom_ml_ops.h
tests_clml_t_standin_CPPFLAGS = $(CLML_LAYER_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_clml_t_standin_LDADD = $(OPENCL_LIBS) $(CMOCKA_LIBS) -lm
TESTS += tests/clml/standin.sh
endif
endif
EXTRA_DIST += tests/clml/hostile.py tests/clml/README.md tests/clml/standin.sh tests/clml/dispatch.py \
	tests/clml/clmlnet.py tests/clml/clmltest.py tests/clml/operators.py tests/clml/decode.py tests/clml/llm_step.py tests/clml/tuning.py
