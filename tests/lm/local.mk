# SPDX-License-Identifier: Apache-2.0
# Text of language models: tokenizers, templates, sampling.
LM_TEST_FILES = tests/lm/compare_tokenizers.py tests/lm/chat.py tests/lm/compare_templates.py tests/lm/generate.py tests/lm/stories.py tests/lm/mlc.py tests/lm/written.py
EXTRA_DIST += $(LM_TEST_FILES) tests/lm/lmtest.py tests/lm/words.txt
if BUILD_LM
TESTS += $(LM_TEST_FILES)
check_PROGRAMS += tests/lm/render tests/lm/tokenize
tests_lm_render_SOURCES = tests/lm/render.c
tests_lm_render_LDADD = $(LM_LIB) $(RT_LIB) $(BASE_LIB)
tests_lm_tokenize_SOURCES = tests/lm/tokenize.c
tests_lm_tokenize_LDADD = $(LM_LIB) $(RT_LIB) $(BASE_LIB)
if HAVE_CMOCKA
LM_UNIT_TESTS = tests/lm/t_sample tests/lm/t_template tests/lm/t_tokenizer
check_PROGRAMS += $(LM_UNIT_TESTS)
TESTS += $(LM_UNIT_TESTS)
tests_lm_t_sample_SOURCES = tests/lm/t_sample.c
tests_lm_t_sample_CPPFLAGS = $(TEST_CPPFLAGS)
tests_lm_t_sample_LDADD = $(LM_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS) -lm
tests_lm_t_template_SOURCES = tests/lm/t_template.c
tests_lm_t_template_CPPFLAGS = $(TEST_CPPFLAGS)
tests_lm_t_template_LDADD = $(LM_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
tests_lm_t_tokenizer_SOURCES = tests/lm/t_tokenizer.c
tests_lm_t_tokenizer_CPPFLAGS = $(TEST_CPPFLAGS)
tests_lm_t_tokenizer_LDADD = $(LM_LIB) $(RT_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
endif
