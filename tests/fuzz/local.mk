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

# The other readers, and payloads of artifacts.
if BUILD_CPU
check_PROGRAMS += tests/fuzz/fuzz_readers
FUZZ_READERS_SOURCES = tests/fuzz/fuzz_readers.c tests/fuzz/mutate_text.c tests/fuzz/read_checkpoints.c tests/fuzz/read_folders.c tests/fuzz/read_language.c tests/fuzz/read_models.c tests/fuzz/read_payloads.c tests/fuzz/readers.c \
	tests/fuzz/readers.h backends/cpu/produced.c tests/onnx/fuzz_seeds.c tests/onnx/fuzz_seeds.h tests/onnx/model_writer.c \
	tests/onnx/mutate.c tests/onnx/mutate.h
tests_fuzz_fuzz_readers_SOURCES = $(FUZZ_READERS_SOURCES)
tests_fuzz_fuzz_readers_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(JANSSON_CFLAGS)
tests_fuzz_fuzz_readers_LDADD = $(LM_LINK) $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB) $(JANSSON_LIBS)
TESTS += tests/fuzz/fuzz_readers.sh
EXTRA_PROGRAMS += tests/fuzz/fuzz_readers_lf
tests_fuzz_fuzz_readers_lf_SOURCES = $(FUZZ_READERS_SOURCES)
tests_fuzz_fuzz_readers_lf_CPPFLAGS = $(tests_fuzz_fuzz_readers_CPPFLAGS) -DTENON_LIBFUZZER
tests_fuzz_fuzz_readers_lf_LDFLAGS = -fsanitize=fuzzer
tests_fuzz_fuzz_readers_lf_LDADD = $(tests_fuzz_fuzz_readers_LDADD)
endif
EXTRA_DIST += tests/fuzz/dictionaries/chat_template.dict tests/fuzz/dictionaries/compile_text.dict \
	tests/fuzz/dictionaries/dnnl.dict tests/fuzz/dictionaries/gguf.dict tests/fuzz/dictionaries/huggingface.dict \
	tests/fuzz/dictionaries/ini.dict tests/fuzz/dictionaries/json.dict tests/fuzz/dictionaries/llama_gguf.dict \
	tests/fuzz/dictionaries/manifest.dict tests/fuzz/dictionaries/mlc.dict tests/fuzz/dictionaries/safetensors.dict \
	tests/fuzz/dictionaries/tokenizer_folder.dict tests/fuzz/dictionaries/tokenizer_gguf.dict tests/fuzz/dictionaries/tokenizer_json.dict \
	tests/fuzz/dictionaries/tuning.dict
EXTRA_DIST += tests/fuzz/fuzz_readers.sh tests/fuzz/cover.sh tests/fuzz/readers/dnnl/wide_result.json tests/fuzz/readers/dnnl/joined_ranks.json tests/fuzz/readers/dnnl/changed_rank.json tests/fuzz/readers/tokenizer_json/hole.json \
	tests/fuzz/readers/tokenizer_json/largest_id.json

# Each for T seconds: by mutations of the seeds alone, and, where clang has libFuzzer, guided by what
# of the code they reach, in a build of its own below this one (EXECUTIONS=N T=0: so many of each; FUZZ_TARGETS:
# of these only).
T = 60
SEED = 1
.PHONY: check-fuzz check-fuzz-cover
check-fuzz: tests/fuzz/fuzz_text tests/fuzz/fuzz_readers
	$(LIBTOOL) --mode=execute tests/fuzz/fuzz_text -t $(T) -s $(SEED) $(srcdir)/tests/text/cases \
	    $(srcdir)/tests/fuzz/text
	$(MAKE) check TESTS=tests/fuzz/fuzz_readers.sh T='$(T)' SEED='$(SEED)' TESTS_PRELOAD='T=$(T); export T; SEED=$(SEED); export SEED;'
	cat tests/fuzz/fuzz_readers.log
# The targets compile_* are 2.4 times as fast where comparisons are not traced:
# FUZZ_CFLAGS=-fno-sanitize-coverage=trace-cmp for the first build.
FUZZ_CLANG = clang
FUZZ_CFLAGS =
FUZZ_TARGETS =
check-fuzz-cover:
	$(MKDIR_P) fuzz-build && cd fuzz-build && { test -f config.status || $(abs_top_srcdir)/configure -q \
	    CC='$(FUZZ_CLANG)' CFLAGS='-O1 -g -fsanitize=fuzzer-no-link $(FUZZ_CFLAGS)' --enable-asan; } && $(MAKE) && \
	    $(MAKE) tests/fuzz/fuzz_readers tests/fuzz/fuzz_readers_lf tests/onnx/write_cases && \
	    EXECUTIONS='$(EXECUTIONS)' $(SHELL) $(abs_top_srcdir)/tests/fuzz/cover.sh '$(T)' '$(abs_top_srcdir)' $(FUZZ_TARGETS)

# Of the readers of language models' files in `make check-long`.
LONG_TESTS += tests/fuzz/cover_language.sh
EXTRA_DIST += tests/fuzz/cover_language.sh
# The same on a machine of many cores that has neither this tree nor a compiler.
EXTRA_DIST += tests/fuzz/farm/bundle.sh tests/fuzz/farm/run.sh

# Passes over random graphs.
check_PROGRAMS += tests/fuzz/fuzz_passes
tests_fuzz_fuzz_passes_SOURCES = tests/fuzz/fuzz_passes.c tests/fuzz/random_flow.c tests/fuzz/random_graph.c \
	tests/fuzz/random_graph.h tests/broken/broken.c tests/broken/signature.c tests/broken/broken.h
tests_fuzz_fuzz_passes_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_fuzz_fuzz_passes_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
TESTS += tests/fuzz/fuzz_passes.sh
EXTRA_DIST += tests/fuzz/fuzz_passes.sh

# Random models, compiled in many ways, against the interpreter.
if BUILD_CPU
check_PROGRAMS += tests/fuzz/fuzz_models
tests_fuzz_fuzz_models_SOURCES = tests/fuzz/fuzz_models.c tests/fuzz/model_graph.c tests/fuzz/model_graph.h \
	tests/fuzz/model_steps.c tests/fuzz/random_graph.c tests/fuzz/random_flow.c tests/fuzz/random_graph.h
tests_fuzz_fuzz_models_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_fuzz_fuzz_models_LDADD = $(KIT_LIB) $(RT_LIB) $(CORE_LIB) $(BASE_LIB) -lm
TESTS += tests/fuzz/fuzz_models.sh
endif
EXTRA_DIST += tests/fuzz/fuzz_models.sh
