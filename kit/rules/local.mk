# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/rules/gpu.h \
	kit/rules/gpu_columns.c \
	kit/rules/gpu_fallback.c \
	kit/rules/gpu_gemv.c \
	kit/rules/gpu_general_reduction.c \
	kit/rules/gpu_inline.c \
	kit/rules/gpu_low_batch_gemv.c \
	kit/rules/gpu_matmul.c \
	kit/rules/gpu_matmul_mma.c \
	kit/rules/gpu_matmul_registers.c \
	kit/rules/gpu_matrix_units.c \
	kit/rules/gpu_nest.c \
	kit/rules/gpu_panels.c \
	kit/rules/gpu_reduction.c \
	kit/rules/gpu_rms_norm.c \
	kit/rules/gpu_rows.c \
	kit/rules/gpu_target.c \
	kit/rules/gpu_together.c \
	kit/rules/gpu_transpose.c \
	kit/rules/gpu_tuple.c \
	kit/rules/gpu_view.c \
	kit/rules/gpu_within.c \
	kit/rules/mma_intrins.c \
	kit/rules/rules.c \
	kit/rules/rules.def \
	kit/rules/rules.h
EXTRA_DIST += kit/rules/README.md
