# SPDX-License-Identifier: Apache-2.0
# Tests of the text reader and printer.
check_PROGRAMS += tests/text/text_check
tests_text_text_check_SOURCES = tests/text/text_check.c
tests_text_text_check_LDADD = $(CORE_LIB) $(BASE_LIB)
if HAVE_CMOCKA
check_PROGRAMS += tests/text/t_text
TESTS += tests/text/t_text
tests_text_t_text_SOURCES = tests/text/t_text.c
tests_text_t_text_CPPFLAGS = $(TEST_CPPFLAGS)
tests_text_t_text_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
endif
EXTRA_DIST += tests/text/errors.txt tests/text/cases/distributed.py tests/text/cases/graph.py tests/text/cases/tensor.py \
	tests/text/cases/lowered.py tests/text/cases/annotations.py \
	tests/text/cases/annotations.printed tests/text/cases/exported.py tests/text/cases/exported.printed tests/text/cases/old.py tests/text/cases/old.printed
