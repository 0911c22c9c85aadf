# SPDX-License-Identifier: Apache-2.0
# A device that executes PTX without a GPU.
CUDA_SIM = tests/cuda/sim/parse.c tests/cuda/sim/ptx.h tests/cuda/sim/sim.h tests/cuda/sim/machine.h tests/cuda/sim/decode.h \
	tests/cuda/sim/number.h tests/cuda/sim/decode.c tests/cuda/sim/forms.c tests/cuda/sim/memory.c tests/cuda/sim/module.c \
	tests/cuda/sim/warp.c tests/cuda/sim/grid.c tests/cuda/sim/ops_integer.c tests/cuda/sim/ops_float.c tests/cuda/sim/ops_half.c \
	tests/cuda/sim/ops_move.c tests/cuda/sim/ops_memory.c tests/cuda/sim/ops_warp.c
if HAVE_CMOCKA
check_PROGRAMS += tests/cuda/sim/t_parse tests/cuda/sim/t_run
TESTS += tests/cuda/sim/t_parse tests/cuda/sim/t_run
tests_cuda_sim_t_parse_SOURCES = tests/cuda/sim/t_parse.c tests/cuda/sim/parse.c tests/cuda/sim/ptx.h
tests_cuda_sim_t_parse_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_sim_t_parse_LDADD = $(BASE_LIB) $(CMOCKA_LIBS)
# Kernels that NVRTC makes run on it; skipped without NVRTC.
tests_cuda_sim_t_run_SOURCES = tests/cuda/sim/t_run.c $(CUDA_SIM) backends/cuda/nvrtc.c backends/cuda/nvrtc.h
tests_cuda_sim_t_run_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_sim_t_run_LDADD = $(BASE_LIB) $(CMOCKA_LIBS) -lm
endif
EXTRA_DIST += tests/cuda/sim/README.md
