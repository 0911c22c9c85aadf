# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/transform/transform.la
PLUGIN_MANIFESTS += plugins/transform/transform.plugin
noinst_LTLIBRARIES += plugins/transform/transform.la
# One pass a file; passes.def lists them too.
TRANSFORM_PASSES = \
	plugins/transform/annotate_custom_memory_scope.c \
	plugins/transform/annotate_tir_op_pattern.c \
	plugins/transform/attach_global_symbol.c \
	plugins/transform/bind_params.c \
	plugins/transform/bind_symbolic_vars.c \
	plugins/transform/call_tir_rewrite.c \
	plugins/transform/canonicalize_bindings.c \
	plugins/transform/combine_parallel_matmul.c \
	plugins/transform/compute_prim_value.c \
	plugins/transform/convert_layout.c \
	plugins/transform/dead_code_elimination.c \
	plugins/transform/decompose_ops_for_inference.c \
	plugins/transform/decompose_ops_for_training.c \
	plugins/transform/dispatch_sampling.c \
	plugins/transform/dispatch_sort_scan.c \
	plugins/transform/eliminate_common_subexpr.c \
	plugins/transform/fake_quantization_to_integer.c \
	plugins/transform/fold_batch_norm.c \
	plugins/transform/fold_constant.c \
	plugins/transform/fold_vdevice_scope_change.c \
	plugins/transform/fuse_ops.c \
	plugins/transform/fuse_ops_by_pattern.c \
	plugins/transform/fuse_tir.c \
	plugins/transform/insert_shape_checks.c \
	plugins/transform/kill_after_last_use.c \
	plugins/transform/lambda_lift.c \
	plugins/transform/legalize_ops.c \
	plugins/transform/lift_transform_params.c \
	plugins/transform/lower_alloc_tensor.c \
	plugins/transform/lower_runtime_builtin.c \
	plugins/transform/merge_composite_functions.c \
	plugins/transform/normalize.c \
	plugins/transform/remove_purity_checking.c \
	plugins/transform/rewrite_cuda_graph.c \
	plugins/transform/rewrite_dataflow_reshape.c \
	plugins/transform/run_codegen.c \
	plugins/transform/specialize_prim_func_based_on_call_site.c \
	plugins/transform/static_plan_block_memory.c \
	plugins/transform/to_mixed_precision.c \
	plugins/transform/to_non_dataflow.c \
	plugins/transform/vm_shape_lower.c
plugins_transform_transform_la_SOURCES = \
	$(TRANSFORM_PASSES) \
	plugins/transform/adapt.c \
	plugins/transform/bind.c \
	plugins/transform/bind.h \
	plugins/transform/canonicalize.h \
	plugins/transform/canonicalize_symbols.c \
	plugins/transform/canonicalize_variables.c \
	plugins/transform/cuda_graph.h \
	plugins/transform/cuda_graph_find.c \
	plugins/transform/cuda_graph_merge.c \
	plugins/transform/decompose.c \
	plugins/transform/decompose.h \
	plugins/transform/dispatch_kernels.c \
	plugins/transform/dispatch_kernels.h \
	plugins/transform/functions.c \
	plugins/transform/fuse_graph.c \
	plugins/transform/fuse_graph.h \
	plugins/transform/group_functions.c \
	plugins/transform/group_functions.h \
	plugins/transform/lift_params.c \
	plugins/transform/lift_params.h \
	plugins/transform/memory_arena.c \
	plugins/transform/memory_sweep.c \
	plugins/transform/memory_plan.c \
	plugins/transform/memory_plan.h \
	plugins/transform/memory_arena.h \
	plugins/transform/memory_tokens.c \
	plugins/transform/plugin.c \
	plugins/transform/imperative.c \
	plugins/transform/in_order.c \
	plugins/transform/in_place.c \
	plugins/transform/lower_assertions.c \
	plugins/transform/reachable.c \
	plugins/transform/shape_assumptions.c \
	plugins/transform/shape_casts.c \
	plugins/transform/shape_facts.c \
	plugins/transform/shape_facts.h \
	plugins/transform/shape_places.c \
	plugins/transform/shape_text.c \
	plugins/transform/transform.h \
	plugins/transform/uniform.c \
	plugins/transform/uniform.h \
	plugins/transform/passes.def
plugins_transform_transform_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/plugins/transform
plugins_transform_transform_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_transform_transform_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += plugins/transform/transform.plugin.in plugins/transform/README.md

# The manifest promises what the pass files hold.
plugins/transform/transform.plugin: plugins/transform/transform.plugin.in plugins/provides.sh $(TRANSFORM_PASSES) Makefile
	$(AM_V_GEN)$(MKDIR_P) plugins/transform && { cat $(srcdir)/plugins/transform/transform.plugin.in && \
	SED='$(SED)' $(SHELL) $(srcdir)/plugins/provides.sh '$(srcdir)' 's|^    \.base\.name = "\(.*\)",$$|    pass:\1|p;s|^    \.alias = "\(.*\)",$$|    pass_alias:\1|p' $(TRANSFORM_PASSES); } > $@.tmp && \
	mv $@.tmp $@
CLEANFILES += plugins/transform/transform.plugin
