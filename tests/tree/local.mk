# SPDX-License-Identifier: Apache-2.0
# Tests of the tree itself: its layers, its headers, what it installs.
TREE_TESTS = tests/tree/docs.py tests/tree/figures.sh tests/tree/layers.py tests/tree/exports.py tests/tree/headers.sh tests/tree/doxygen.sh tests/tree/tarball.sh tests/tree/blank.sh tests/tree/lists.sh tests/tree/install.sh
TESTS += $(TREE_TESTS)
LONG_TESTS += tests/tree/reproducible.sh tests/tree/static.sh
EXTRA_DIST += $(TREE_TESTS) tests/tree/embedder.c tests/tree/embedder.py tests/tree/reproducible.sh tests/tree/static.sh tests/tree/installed.sh tests/tree/libraries.sh

# The headers that are installed, for headers.sh.
check_DATA = tests/tree/headers.list
tests/tree/headers.list: Makefile
	$(AM_V_GEN)$(MKDIR_P) tests/tree && \
	printf '%s\n' $(tenonbase_HEADERS) $(tenoncore_HEADERS) $(tenonkit_HEADERS) $(tenonrt_HEADERS) $(LM_INCLUDES) > $@
CLEANFILES += tests/tree/headers.list

# For make check-locale.
check_LTLIBRARIES += tests/tree/comma.la
tests_tree_comma_la_SOURCES = tests/tree/comma.c
tests_tree_comma_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere

# To install, libtool links the libraries anew in the build tree, where other tests would load a half-written file.
tests/tree/install.log: $(filter-out tests/tree/install.log,$(TEST_LOGS))

# Those who build plugins against an installed tree: make installcheck, make check-vendor.
EXTRA_DIST += tests/vendor/newcomer.sh tests/vendor/private.sh tests/vendor/tutorial.py tests/vendor/field.sh
