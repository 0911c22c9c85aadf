# SPDX-License-Identifier: Apache-2.0
# Tests of transform beside the golden cases (tests/pass).
check_LTLIBRARIES += tests/transform/testext.la
tests_transform_testext_la_SOURCES = tests/transform/external/testext.c
tests_transform_testext_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_transform_testext_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
check_LTLIBRARIES += tests/transform/testext_rt.la
tests_transform_testext_rt_la_SOURCES = tests/transform/external/testext_rt.c
tests_transform_testext_rt_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_transform_testext_rt_la_LIBADD = $(RT_LIB) $(BASE_LIB)
check_LTLIBRARIES += tests/transform/testrule.la
tests_transform_testrule_la_SOURCES = tests/transform/external/testrule.c
tests_transform_testrule_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_transform_testrule_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
TESTS += tests/transform/rules.py tests/transform/perilous.py
EXTRA_DIST += tests/transform/rules.py tests/transform/perilous.py tests/transform/external/testrule.plugin
TESTS += tests/transform/byoc.py
EXTRA_DIST += tests/transform/byoc.py tests/transform/external/testext.plugin tests/transform/external/testext_rt.plugin
TESTS += tests/transform/dispatch.py
EXTRA_DIST += tests/transform/dispatch.py
TESTS += tests/transform/pipelines.py
EXTRA_DIST += tests/transform/pipelines.py
TESTS += tests/transform/constants.py
EXTRA_DIST += tests/transform/constants.py
TESTS += tests/transform/verify.py
EXTRA_DIST += tests/transform/verify.py
TESTS += tests/transform/modules.py
EXTRA_DIST += tests/transform/modules.py tests/transform/modules/branch_and_nested_result.py \
	tests/transform/modules/branches_in_branches.py tests/transform/modules/empty_tensors.py tests/transform/modules/in_place.py \
	tests/transform/modules/loop.py tests/transform/modules/scalars.py
