# SPDX-License-Identifier: Apache-2.0
# Text of language models: tokenizers, templates, sampling.
if BUILD_LM
if HAVE_CMOCKA
LM_UNIT_TESTS = tests/lm/t_sample
check_PROGRAMS += $(LM_UNIT_TESTS)
TESTS += $(LM_UNIT_TESTS)
tests_lm_t_sample_SOURCES = tests/lm/t_sample.c
tests_lm_t_sample_CPPFLAGS = $(TEST_CPPFLAGS)
tests_lm_t_sample_LDADD = $(LM_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS) -lm
endif
endif
