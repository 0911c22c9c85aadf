# SPDX-License-Identifier: Apache-2.0
# What a GPU says of instructions, beside the simulated device.
if HAVE_CMOCKA
check_PROGRAMS += tests/cuda/record/record tests/cuda/record/t_forms
TESTS += tests/cuda/record/t_forms tests/cuda/record/record.py
tests_cuda_record_record_SOURCES = tests/cuda/record/record.c tests/cuda/record/forms.c tests/cuda/record/forms.h backends/cuda/api.h
tests_cuda_record_record_LDADD = -ldl -lm
tests_cuda_record_t_forms_SOURCES = tests/cuda/record/t_forms.c tests/cuda/record/forms.c tests/cuda/record/forms.h
tests_cuda_record_t_forms_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_record_t_forms_LDADD = tests/cuda/sim/libsim.la $(BASE_LIB) $(CMOCKA_LIBS)
endif
EXTRA_DIST += tests/cuda/record/README.md tests/cuda/record/record.py tests/cuda/record/sm_90.record
