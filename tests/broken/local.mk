# SPDX-License-Identifier: Apache-2.0
# Wrong passes, as a plugin of the tests: execution checking has to find them.
check_LTLIBRARIES += tests/broken/broken.la
tests_broken_broken_la_SOURCES = tests/broken/plugin.c tests/broken/broken.c tests/broken/signature.c tests/broken/broken.h
tests_broken_broken_la_CPPFLAGS = $(AM_CPPFLAGS)
tests_broken_broken_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_broken_broken_la_LIBADD = $(CORE_LIB) $(BASE_LIB)
TESTS += tests/broken/broken.sh
EXTRA_DIST += tests/broken/broken.sh tests/broken/broken.plugin.in tests/broken/module.py tests/broken/half.py \
	tests/broken/training.py tests/broken/inference.py tests/broken/sampling.py tests/broken/program.py
