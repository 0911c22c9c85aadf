# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/llm/llm.la
PLUGIN_MANIFESTS += plugins/llm/llm.plugin
noinst_LTLIBRARIES += plugins/llm/llm.la
# One pass a file; passes.def lists them too.
LLM_PASSES = \
	plugins/llm/attach_additional_prim_funcs.c \
	plugins/llm/attach_alloc_embedding_tensor_func.c \
	plugins/llm/attach_cuda_graph_symbolic_capture_hints.c \
	plugins/llm/attach_gpu_sampling_func.c \
	plugins/llm/attach_logit_process_func.c \
	plugins/llm/attach_memory_plan_attr.c \
	plugins/llm/attach_metadata_with_memory_usage.c \
	plugins/llm/attach_pipeline_parallel_stages.c \
	plugins/llm/attach_sequence_length_padding_factor.c \
	plugins/llm/attach_softmax_with_temperature.c \
	plugins/llm/attach_spec_decode_aux_funcs.c \
	plugins/llm/attach_variable_bounds.c \
	plugins/llm/bind_target.c \
	plugins/llm/clean_up_tir_attrs.c \
	plugins/llm/dispatch_kv_cache_creation.c \
	plugins/llm/dispatch_triton_kernel.c \
	plugins/llm/force_narrow_index_to_int32.c \
	plugins/llm/fuse_add_rms_norm.c \
	plugins/llm/fuse_dequantize_matmul_ewise.c \
	plugins/llm/fuse_dequantize_take.c \
	plugins/llm/fuse_dequantize_transpose.c \
	plugins/llm/fuse_transpose_matmul.c \
	plugins/llm/lift_tir_global_buffer_alloc.c \
	plugins/llm/low_batch_gemv_specialize.c \
	plugins/llm/pipeline_parallel_rewrite.c \
	plugins/llm/scatter_tuple_get_item.c
plugins_llm_llm_la_SOURCES = \
	$(LLM_PASSES) \
	plugins/llm/attach.c \
	plugins/llm/dequantize.c \
	plugins/llm/dequantize.h \
	plugins/llm/each_function.c \
	plugins/llm/llm.h \
	plugins/llm/passes.def \
	plugins/llm/pipeline.h \
	plugins/llm/pipeline_check.c \
	plugins/llm/pipeline_cut.c \
	plugins/llm/pipeline_stage.c \
	plugins/llm/plugin.c \
	plugins/llm/rope.c \
	plugins/llm/rope.h
plugins_llm_llm_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/plugins/llm
plugins_llm_llm_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_llm_llm_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += plugins/llm/llm.plugin.in plugins/llm/README.md

# The manifest promises what the pass files hold.
plugins/llm/llm.plugin: plugins/llm/llm.plugin.in plugins/provides.sh $(LLM_PASSES) Makefile
	$(AM_V_GEN)$(MKDIR_P) plugins/llm && { cat $(srcdir)/plugins/llm/llm.plugin.in && \
	SED='$(SED)' $(SHELL) $(srcdir)/plugins/provides.sh '$(srcdir)' 's|^    \.base\.name = "\([A-Z].*\)",$$|    pass:\1|p;s|^    \.base\.name = "\([a-z].*\)",$$|    pattern:\1|p;s|^    \.alias = "\(.*\)",$$|    pass_alias:\1|p' $(LLM_PASSES); } > $@.tmp && \
	mv $@.tmp $@
CLEANFILES += plugins/llm/llm.plugin
