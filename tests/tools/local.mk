# SPDX-License-Identifier: Apache-2.0
# Tests of the command line: Python's standard library only.
TOOLS_TESTS = \
	tests/tools/administration.py \
	tests/tools/broken_inputs.py tests/tools/caches.py tests/tools/calls.py \
	tests/tools/careless.py \
	tests/tools/check_config.py tests/tools/check_fields.py tests/tools/check_plugin.py \
	tests/tools/check_tables.py \
	tests/tools/entries.py \
	tests/tools/completion.py tests/tools/configuration.py \
	tests/tools/doctor.py \
	tests/tools/expect.py tests/tools/extents.py tests/tools/full_disk.py \
	tests/tools/limits.py tests/tools/locks.py \
	tests/tools/new_plugin.py tests/tools/options.py \
	tests/tools/pages.py tests/tools/pass_config.py tests/tools/pipes.py tests/tools/plain_words.py tests/tools/plugins.py \
	tests/tools/reproducible.py \
	tests/tools/seeing.py tests/tools/settings.py tests/tools/shells.py \
	tests/tools/tune.py \
	tests/tools/twice.py \
	tests/tools/usage.py tests/tools/variants.py tests/tools/text.py \
	tests/tools/vendors.py
TESTS += $(TOOLS_TESTS) tests/tools/models.sh tests/tools/onnx_suite.sh
EXTRA_DIST += tests/tools/candidate.c tests/tools/candidate_fields.c tests/tools/candidate_tables.c tests/tools/careless.c tests/tools/twice.c tests/tools/clitest.py tests/tools/models.sh tests/tools/onnx_suite.sh $(TOOLS_TESTS)

# The sanitizers have an allocator of their own.
EXTRA_DIST += tests/tools/no_memory.py tests/tools/memory_limits.py tests/tools/growth.py
if !ASAN
TESTS += tests/tools/no_memory.py tests/tools/memory_limits.py tests/tools/growth.py
check_LTLIBRARIES += tests/tools/refuse.la
tests_tools_refuse_la_SOURCES = tests/tools/refuse.c
tests_tools_refuse_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
endif
