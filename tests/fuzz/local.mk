# SPDX-License-Identifier: Apache-2.0
# Fuzzers of readers. Each replays its corpus under `make check`; `make check-fuzz T=60` runs them for T
# seconds each (configure with --enable-asan for the most of it), SEED chooses another course.
check_PROGRAMS += tests/fuzz/fuzz_text
tests_fuzz_fuzz_text_SOURCES = tests/fuzz/fuzz_text.c
tests_fuzz_fuzz_text_LDADD = $(CORE_LIB) $(BASE_LIB)
TESTS += tests/fuzz/fuzz_text.sh
check_PROGRAMS += tests/fuzz/growth_text
tests_fuzz_growth_text_SOURCES = tests/fuzz/growth_text.c
tests_fuzz_growth_text_LDADD = $(CORE_LIB) $(BASE_LIB)
TESTS += tests/fuzz/growth_text
EXTRA_DIST += tests/fuzz/fuzz_text.sh tests/fuzz/text/branches.py tests/fuzz/text/scopes.py \
	tests/fuzz/text/types.py

T = 60
SEED = 1
.PHONY: check-fuzz
check-fuzz: tests/fuzz/fuzz_text
	$(LIBTOOL) --mode=execute tests/fuzz/fuzz_text -t $(T) -s $(SEED) $(srcdir)/tests/text/cases \
	    $(srcdir)/tests/fuzz/text

# Passes over random graphs.
check_PROGRAMS += tests/fuzz/fuzz_passes
tests_fuzz_fuzz_passes_SOURCES = tests/fuzz/fuzz_passes.c tests/fuzz/random_flow.c tests/fuzz/random_graph.c \
	tests/fuzz/random_graph.h tests/broken/broken.c tests/broken/signature.c tests/broken/broken.h
tests_fuzz_fuzz_passes_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_fuzz_fuzz_passes_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
TESTS += tests/fuzz/fuzz_passes.sh
EXTRA_DIST += tests/fuzz/fuzz_passes.sh
