# SPDX-License-Identifier: Apache-2.0
# Tests of the passes for large language models. Their golden cases lie in tests/pass.
LLM_TESTS = \
	tests/llm/attached.py \
	tests/llm/codes.py \
	tests/llm/few_rows.py \
	tests/llm/profile.py \
	tests/llm/random_stages.py \
	tests/llm/stages.py
TESTS += $(LLM_TESTS)
EXTRA_DIST += $(LLM_TESTS) \
	tests/llm/llama.py \
	tests/llm/functions/attention.py tests/llm/functions/latent.py \
	tests/llm/functions/broken.py \
	tests/llm/functions/copy.py \
	tests/llm/functions/graph.py \
	tests/llm/functions/kv.py \
	tests/llm/functions/scale.py \
	tests/llm/functions/scale_again.py \
	tests/llm/functions/served.py
if HAVE_CMOCKA
check_PROGRAMS += tests/llm/t_workers
TESTS += tests/llm/t_workers
tests_llm_t_workers_SOURCES = tests/llm/t_workers.c $(INTERP_HARNESS)
tests_llm_t_workers_CPPFLAGS = $(TEST_CPPFLAGS)
tests_llm_t_workers_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(CMOCKA_LIBS) -lm
endif

# Random operations on the paged cache.
check_PROGRAMS += tests/llm/kv
tests_llm_kv_SOURCES = tests/llm/kv.c
tests_llm_kv_CPPFLAGS = $(TEST_CPPFLAGS)
tests_llm_kv_LDADD = $(RT_LIB) $(BASE_LIB) -lm
TESTS += tests/llm/kv.py tests/llm/rotary.py
EXTRA_DIST += tests/llm/kv.py tests/llm/kv_module.py tests/llm/rotary.py

# Latent attention on it.
check_PROGRAMS += tests/llm/latent
tests_llm_latent_SOURCES = tests/llm/latent.c
tests_llm_latent_CPPFLAGS = $(TEST_CPPFLAGS)
tests_llm_latent_LDADD = $(RT_LIB) $(BASE_LIB) -lm
TESTS += tests/llm/latent.py
EXTRA_DIST += tests/llm/latent.py

# The state of recurrent models.
check_PROGRAMS += tests/llm/recurrent
tests_llm_recurrent_SOURCES = tests/llm/recurrent.c
tests_llm_recurrent_CPPFLAGS = $(TEST_CPPFLAGS)
tests_llm_recurrent_LDADD = $(RT_LIB) $(BASE_LIB)
TESTS += tests/llm/recurrent.py
EXTRA_DIST += tests/llm/recurrent.py

# Checkpoints of all architectures against a reference.
check_PROGRAMS += tests/llm/logits
tests_llm_logits_SOURCES = tests/llm/logits.c
tests_llm_logits_CPPFLAGS = $(TEST_CPPFLAGS)
tests_llm_logits_LDADD = $(RT_LIB) $(BASE_LIB) -lm
TESTS += tests/llm/checkpoints.py tests/llm/block_product.py tests/llm/kept_logits.py tests/llm/quantized.py tests/llm/same_bits.py
LONG_TESTS += tests/llm/divergence.py tests/llm/families.py tests/llm/mlc_modules.py tests/llm/mlc_passes.py tests/llm/mlc_sweep.py
EXTRA_DIST += \
	tests/llm/checkpoints.py \
	tests/llm/block_product.py \
	tests/llm/compare.py \
	tests/llm/divergence.py \
	tests/llm/drawn_weights.py \
	tests/llm/families.py \
	tests/llm/kept_logits.json \
	tests/llm/kept_logits.py \
	tests/llm/mlc_export.py \
	tests/llm/mlc_modules.py \
	tests/llm/mlc_passes.py \
	tests/llm/mlc_steps.py \
	tests/llm/mlc_sweep.py \
	tests/llm/quantized.py \
	tests/llm/same_bits.py \
	tests/llm/small_model.py

# Damaged and harmful ones.
if BUILD_LM
TESTS += tests/llm/hostile.py
endif
EXTRA_DIST += tests/llm/hostile.py
