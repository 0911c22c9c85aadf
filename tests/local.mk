# SPDX-License-Identifier: Apache-2.0
# Tests run in parallel under automake's harness. A unit test is a cmocka program:
#
#     check_PROGRAMS += tests/AREA/t_name
#     TESTS += tests/AREA/t_name
#     tests_AREA_t_name_SOURCES = tests/AREA/t_name.c
#     tests_AREA_t_name_CPPFLAGS = $(TEST_CPPFLAGS)
#     tests_AREA_t_name_LDADD = $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS)
#
# inside `if HAVE_CMOCKA`. A test that takes minutes goes to LONG_TESTS (make check-long), or looks at TENON_LONG
# and SHARD; scripts end in .sh or .py, are listed in TESTS and EXTRA_DIST, and exit
# with 77 to skip.
TEST_EXTENSIONS = .sh .py
SH_LOG_COMPILER = $(SHELL)
PY_LOG_COMPILER = $(PYTHON)
TEST_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(CMOCKA_CFLAGS)

# Seconds that one run of tenon may take in a test; with the sanitizers, or beside other work, all is slower.
if ASAN
TESTS_TIMEOUT = 1800
else
TESTS_TIMEOUT = 300
endif

AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	TENON='$(abs_top_builddir)/tools/tenon'; export TENON; \
	TENON_PLUGIN_PATH='$(abs_top_builddir)/plugins-stage'; export TENON_PLUGIN_PATH; \
	TENON_SYSCONFDIR='$(abs_top_srcdir)/conf'; export TENON_SYSCONFDIR; \
	TENON_DATADIR='$(abs_top_srcdir)/conf/data'; export TENON_DATADIR; \
	XDG_CONFIG_HOME='$(abs_top_builddir)/tests/home/config'; export XDG_CONFIG_HOME; \
	XDG_DATA_HOME='$(abs_top_builddir)/tests/home/data'; export XDG_DATA_HOME; \
	XDG_CACHE_HOME='$(abs_top_builddir)/tests/home/cache'; export XDG_CACHE_HOME; \
	LD_LIBRARY_PATH='$(LIBRARY_DIRS)'"$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}"; export LD_LIBRARY_PATH; \
	TENON_LONG='$(TENON_LONG)'; export TENON_LONG; SHARD='$(SHARD)'; export SHARD; \
	CC='$(CC)'; export CC; CXX17='$(CXX17)'; export CXX17; MAKE='$(MAKE)'; export MAKE; \
	BLESS='$(BLESS)'; export BLESS; TESTS_TIMEOUT='$(TESTS_TIMEOUT)'; export TESTS_TIMEOUT; \
	ASAN_OPTIONS="allocator_may_return_null=1$${ASAN_OPTIONS:+:$$ASAN_OPTIONS}"; export ASAN_OPTIONS; \
	UBSAN_OPTIONS="print_stacktrace=1$${UBSAN_OPTIONS:+:$$UBSAN_OPTIONS}"; export UBSAN_OPTIONS; \
	LSAN_OPTIONS="suppressions=$(abs_top_srcdir)/tests/leaks.txt:print_suppressions=0$${LSAN_OPTIONS:+:$$LSAN_OPTIONS}"; \
	export LSAN_OPTIONS; \
	TESTS_PYTHON='$(PYTHON)'; export TESTS_PYTHON; $(TESTS_PRELOAD)

include tests/base/local.mk
include tests/core/local.mk
include tests/text/local.mk
include tests/fuzz/local.mk
include tests/arith/local.mk
include tests/kit/local.mk
include tests/runtime/local.mk
include tests/ops/local.mk
include tests/oracle/local.mk
include tests/abi/local.mk
include tests/transform/local.mk
include tests/interp/local.mk
include tests/onnx/local.mk
include tests/broken/local.mk
include tests/clml/local.mk
include tests/dnnl/local.mk
include tests/models/local.mk
include tests/tools/local.mk
include tests/device/local.mk
include tests/cuda/local.mk
include tests/cuda/sim/local.mk
include tests/cuda/record/local.mk
include tests/gpu_generic/local.mk
include tests/opencl/local.mk
include tests/aot/local.mk
include tests/llm/local.mk
include tests/lm/local.mk
include tests/pass/local.mk
include tests/firsthour/local.mk
include tests/tree/local.mk
include tests/vendor/local.mk
EXTRA_DIST += tests/README.md tests/leaks.txt
