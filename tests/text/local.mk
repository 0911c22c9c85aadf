# SPDX-License-Identifier: Apache-2.0
# Tests of the text reader and printer.
check_PROGRAMS += tests/text/text_check
tests_text_text_check_SOURCES = tests/text/text_check.c
tests_text_text_check_LDADD = $(CORE_LIB) $(BASE_LIB)
