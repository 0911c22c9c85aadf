# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/schedule/apply_default_schedule.c \
	kit/schedule/apply_schedule_trace.c \
	kit/schedule/apply_trace.c \
	kit/schedule/bind.c \
	kit/schedule/blockize.c \
	kit/schedule/cache_write.c \
	kit/schedule/choice.c \
	kit/schedule/collapse_dims.c \
	kit/schedule/compute_at.c \
	kit/schedule/coverage.c \
	kit/schedule/decompose.c \
	kit/schedule/inline.c \
	kit/schedule/loops.c \
	kit/schedule/move.c \
	kit/schedule/reducer.c \
	kit/schedule/annotate_block.c \
	kit/schedule/index_inverse.c \
	kit/schedule/pad_einsum.c \
	kit/schedule/transform_layout.c \
	kit/schedule/reindex.c \
	kit/schedule/relations.c \
	kit/schedule/simplify_indices.c \
	kit/schedule/split_n.c \
	kit/schedule/shared_memory.c \
	kit/schedule/symbol_bounds.c \
	kit/schedule/rfactor.c \
	kit/schedule/schedule_private.h \
	kit/schedule/reverse_compute_at.c \
	kit/schedule/reverse_inline.c \
	kit/schedule/touch.c \
	kit/schedule/trace.c \
	kit/schedule/tuple_reducer.c \
	kit/schedule/tensor_match.c \
	kit/schedule/tensorize.c \
	kit/schedule/tree.c
EXTRA_DIST += kit/lower/README.md kit/emit/README.md kit/schedule/README.md
