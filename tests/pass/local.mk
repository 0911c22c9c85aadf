# SPDX-License-Identifier: Apache-2.0
# Golden cases of passes. A new case is a file tests/pass/PassName/what_holds.py; nothing is listed here.
check_PROGRAMS += tests/pass/run_cases
tests_pass_run_cases_SOURCES = tests/pass/run_cases.c tests/transform/external/testext.c
tests_pass_run_cases_CPPFLAGS = $(AM_CPPFLAGS)
tests_pass_run_cases_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
TESTS += tests/pass/cases.sh tests/pass/long_blocks.sh tests/pass/options.py
EXTRA_DIST += tests/pass/cases.sh tests/pass/long_blocks.sh tests/pass/options.py
dist-hook: dist-pass-cases
.PHONY: dist-pass-cases
dist-pass-cases:
	for d in $(top_srcdir)/tests/pass/*/; do \
	    $(MKDIR_P) $(distdir)/tests/pass/`basename $$d` && cp $$d*.* $(distdir)/tests/pass/`basename $$d`/ || exit 1; \
	done
