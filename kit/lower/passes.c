/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tensor-program passes. */
#include "tenon/kit/passes.h"

#include "../schedule/schedule_private.h"
#include "lower.h"

const tn_pass *const tnk_tir_passes[TNK_N_TIR_PASSES] = {
    &tnk_pass_lower_init_block,
    &tnk_pass_lower_match_buffer,
    &tnk_pass_convert_blocks,
    &tnk_pass_plan_location,
    &tnk_pass_compact,
    &tnk_pass_flatten,
    &tnk_pass_simplify,
    &tnk_pass_loop_partition,
    &tnk_pass_vectorize,
    &tnk_pass_unroll,
    &tnk_pass_remove_no_op,
    &tnk_pass_hoist_if,
    &tnk_pass_narrow,
    &tnk_pass_lower_intrin,
    &tnk_pass_apply_default_schedule,
    &tnk_pass_apply_schedule_trace,
    &tnk_pass_split_host_device,
    &tnk_pass_cross_thread_reduction,
    &tnk_pass_unify_thread_binding,
    &tnk_pass_thread_sync,
    &tnk_pass_plan_shared_memory,
    &tnk_pass_common_subexpr,
    &tnk_pass_fallback_kernels,
    &tnk_pass_index_checks,
    &tnk_pass_split_vectors,
    &tnk_pass_uniform_barriers,
    &tnk_pass_lower_views,
    &tnk_pass_lower_vector_access,
    &tnk_pass_lower_math,
    &tnk_pass_widen_arithmetic,
    &tnk_pass_widen_storage,
    &tnk_pass_lower_int64,
    &tnk_pass_lower_fragments,
    &tnk_pass_software_pipeline,
    &tnk_pass_permuted_layout,
    &tnk_pass_async_copy,
    &tnk_pass_specialize_warps,
};
