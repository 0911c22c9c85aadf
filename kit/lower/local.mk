# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/lower/common_subexpr.c \
	kit/lower/compact_buffer.c \
	kit/lower/convert_blocks.c \
	kit/lower/cross_thread.h \
	kit/lower/cross_thread_reduction.c \
	kit/lower/fallback_kernels.c \
	kit/lower/flatten_buffer.c \
	kit/lower/hoist_if.c \
	kit/lower/index_checks.c \
	kit/lower/kernel.c \
	kit/lower/loop_partition.c \
	kit/lower/lower.h \
	kit/lower/lower_init_block.c \
	kit/lower/lower_intrin.c \
	kit/lower/lower_match_buffer.c \
	kit/lower/narrow_data_type.c \
	kit/lower/passes.c \
	kit/lower/plan_location.c \
	kit/lower/plan_shared_memory.c \
	kit/lower/racing_turns.c \
	kit/lower/ranged.c \
	kit/lower/region.c \
	kit/lower/region.h \
	kit/lower/remove_no_op.c \
	kit/lower/seq_uses.c \
	kit/lower/simplify.c \
	kit/lower/sizes.c \
	kit/lower/split_host_device.c \
	kit/lower/stmt.c \
	kit/lower/thread_sync.c \
	kit/lower/unify_thread_binding.c \
	kit/lower/unroll_loop.c \
	kit/lower/values.c \
	kit/lower/values.h \
	kit/lower/vectorize_loop.c \
	kit/lower/warp_reduction.c
