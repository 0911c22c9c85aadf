# SPDX-License-Identifier: Apache-2.0
# Tests of base.
if HAVE_CMOCKA
BASE_TESTS = \
	tests/base/t_mem \
	tests/base/t_dtype \
	tests/base/t_diag \
	tests/base/t_json \
	tests/base/t_num \
	tests/base/t_scalar \
	tests/base/t_file \
	tests/base/t_npy \
	tests/base/t_gguf \
	tests/base/t_safetensors \
	tests/base/t_conf \
	tests/base/t_plugin
check_PROGRAMS += $(BASE_TESTS)
TESTS += $(BASE_TESTS)
tests_base_t_mem_SOURCES = tests/base/t_mem.c tests/base/harness.h tests/base/scratch.h
tests_base_t_mem_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_mem_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_dtype_SOURCES = tests/base/t_dtype.c tests/base/harness.h tests/base/scratch.h
tests_base_t_dtype_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_dtype_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_diag_SOURCES = tests/base/t_diag.c tests/base/harness.h tests/base/scratch.h
tests_base_t_diag_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_diag_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_json_SOURCES = tests/base/t_json.c tests/base/harness.h
tests_base_t_json_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
tests_base_t_json_LDADD = $(BASE_LIB) $(JANSSON_LIBS) $(CMOCKA_LIBS)
tests_base_t_num_SOURCES = tests/base/t_num.c tests/base/harness.h tests/base/scratch.h
tests_base_t_num_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_num_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_scalar_SOURCES = tests/base/t_scalar.c tests/base/harness.h
tests_base_t_scalar_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_scalar_LDADD = $(BASE_LIB) $(CMOCKA_LIBS) -lm
tests_base_t_file_SOURCES = tests/base/t_file.c tests/base/harness.h tests/base/scratch.h
tests_base_t_file_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_file_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_npy_SOURCES = tests/base/t_npy.c tests/base/harness.h tests/base/scratch.h
tests_base_t_npy_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_npy_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_gguf_SOURCES = tests/base/t_gguf.c tests/base/harness.h tests/base/scratch.h
tests_base_t_gguf_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_gguf_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_safetensors_SOURCES = tests/base/t_safetensors.c tests/base/harness.h tests/base/scratch.h
tests_base_t_safetensors_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_safetensors_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_conf_SOURCES = tests/base/t_conf.c tests/base/harness.h tests/base/scratch.h
tests_base_t_conf_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_conf_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
tests_base_t_plugin_SOURCES = tests/base/t_plugin.c tests/base/harness.h tests/base/scratch.h
tests_base_t_plugin_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_t_plugin_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)

# Modules for t_plugin: one good, the others each with one fault.
TEST_MODULE_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_LTLIBRARIES += tests/base/module_good.la
tests_base_module_good_la_SOURCES = tests/base/module.c
tests_base_module_good_la_CPPFLAGS = $(AM_CPPFLAGS)
tests_base_module_good_la_LDFLAGS = $(TEST_MODULE_LDFLAGS)
check_LTLIBRARIES += tests/base/module_abi.la
tests_base_module_abi_la_SOURCES = tests/base/module.c
tests_base_module_abi_la_CPPFLAGS = $(AM_CPPFLAGS) -DMODULE_NEW_ABI
tests_base_module_abi_la_LDFLAGS = $(TEST_MODULE_LDFLAGS)
check_LTLIBRARIES += tests/base/module_minor.la
tests_base_module_minor_la_SOURCES = tests/base/module.c
tests_base_module_minor_la_CPPFLAGS = $(AM_CPPFLAGS) -DMODULE_NEW_MINOR
tests_base_module_minor_la_LDFLAGS = $(TEST_MODULE_LDFLAGS)
check_LTLIBRARIES += tests/base/module_nonote.la
tests_base_module_nonote_la_SOURCES = tests/base/module.c
tests_base_module_nonote_la_CPPFLAGS = $(AM_CPPFLAGS) -DMODULE_NO_NOTE
tests_base_module_nonote_la_LDFLAGS = $(TEST_MODULE_LDFLAGS)
check_LTLIBRARIES += tests/base/module_nosymbol.la
tests_base_module_nosymbol_la_SOURCES = tests/base/module.c
tests_base_module_nosymbol_la_CPPFLAGS = $(AM_CPPFLAGS) -DMODULE_NO_SYMBOL
tests_base_module_nosymbol_la_LDFLAGS = $(TEST_MODULE_LDFLAGS)
check_LTLIBRARIES += tests/base/module_unresolved.la
tests_base_module_unresolved_la_SOURCES = tests/base/module.c
tests_base_module_unresolved_la_CPPFLAGS = $(AM_CPPFLAGS) -DMODULE_UNRESOLVED
tests_base_module_unresolved_la_LDFLAGS = $(TEST_MODULE_LDFLAGS)
endif
