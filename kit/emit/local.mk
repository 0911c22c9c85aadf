# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/emit/captured.c \
	kit/emit/cost.c \
	kit/emit/dialect.c \
	kit/emit/emit_access.c \
	kit/emit/emit_call.c \
	kit/emit/emit_cast.c \
	kit/emit/emit_expr.c \
	kit/emit/emit_dot.c \
	kit/emit/emit_half.c \
	kit/emit/emit_helpers.c \
	kit/emit/emit_index.c \
	kit/emit/emit_mask.c \
	kit/emit/emit_math.c \
	kit/emit/emit_memory.c \
	kit/emit/emit_private.h \
	kit/emit/emit_small.c \
	kit/emit/emit_stmt.c \
	kit/emit/emit_types.c \
	kit/emit/emit_vector.c \
	kit/emit/source.c \
	kit/emit/turns.c \
	kit/emit/visit.c
