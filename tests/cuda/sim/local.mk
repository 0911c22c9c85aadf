# SPDX-License-Identifier: Apache-2.0
# A device that executes PTX without a GPU.
if HAVE_CMOCKA
check_PROGRAMS += tests/cuda/sim/t_parse
TESTS += tests/cuda/sim/t_parse
tests_cuda_sim_t_parse_SOURCES = tests/cuda/sim/t_parse.c
tests_cuda_sim_t_parse_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_sim_t_parse_LDADD = tests/cuda/sim/libsim.la $(BASE_LIB) $(CMOCKA_LIBS)
check_LTLIBRARIES += tests/cuda/sim/libsim.la
tests_cuda_sim_libsim_la_SOURCES = tests/cuda/sim/ptx.h tests/cuda/sim/sim.h tests/cuda/sim/machine.h tests/cuda/sim/decode.h \
	tests/cuda/sim/number.h tests/cuda/sim/parse.c tests/cuda/sim/decode.c tests/cuda/sim/forms.c tests/cuda/sim/memory.c \
	tests/cuda/sim/module.c tests/cuda/sim/cost.c tests/cuda/sim/race.c tests/cuda/sim/taint.c tests/cuda/sim/warp.c tests/cuda/sim/grid.c tests/cuda/sim/ops_async.c tests/cuda/sim/ops_carry.c \
	tests/cuda/sim/ops_float.c tests/cuda/sim/ops_half.c tests/cuda/sim/ops_integer.c tests/cuda/sim/ops_matrix.c \
	tests/cuda/sim/ops_memory.c tests/cuda/sim/ops_move.c tests/cuda/sim/ops_warp.c
tests_cuda_sim_libsim_la_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_sim_libsim_la_LIBADD = -lm
# Kernels that NVRTC makes run on it; skipped without NVRTC.
check_PROGRAMS += tests/cuda/sim/t_run tests/cuda/sim/t_units
TESTS += tests/cuda/sim/t_run tests/cuda/sim/t_units
tests_cuda_sim_t_run_SOURCES = tests/cuda/sim/t_run.c tests/cuda/sim/t_device.h backends/cuda/nvrtc.c backends/cuda/nvrtc.h
tests_cuda_sim_t_run_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_sim_t_run_LDADD = tests/cuda/sim/libsim.la $(BASE_LIB) $(CMOCKA_LIBS)
tests_cuda_sim_t_units_SOURCES = tests/cuda/sim/t_units.c tests/cuda/sim/t_device.h backends/cuda/nvrtc.c backends/cuda/nvrtc.h
tests_cuda_sim_t_units_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_sim_t_units_LDADD = tests/cuda/sim/libsim.la $(BASE_LIB) $(CMOCKA_LIBS)
# The device as a driver library.
check_LTLIBRARIES += tests/cuda/sim/libcuda.la
tests_cuda_sim_libcuda_la_SOURCES = tests/cuda/sim/driver.h tests/cuda/sim/driver.c tests/cuda/sim/driver_memory.c \
	tests/cuda/sim/driver_queue.c tests/cuda/sim/driver_module.c tests/cuda/sim/driver_graph.c backends/cuda/api.h
tests_cuda_sim_libcuda_la_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_sim_libcuda_la_LDFLAGS = $(AM_LDFLAGS) -shared -version-info 1:0:0 -rpath /nowhere -export-symbols-regex '^cu[A-Z]'
tests_cuda_sim_libcuda_la_LIBADD = tests/cuda/sim/libsim.la $(BASE_LIB) -lpthread
check_PROGRAMS += tests/cuda/sim/t_driver
TESTS += tests/cuda/sim/t_driver
tests_cuda_sim_t_driver_SOURCES = tests/cuda/sim/t_driver.c backends/cuda/api.h
tests_cuda_sim_t_driver_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cuda_sim_t_driver_LDADD = $(CMOCKA_LIBS)
# Device code of CUB and CUTLASS, which nvcc compiles; skipped without nvcc.
LONG_TESTS += tests/cuda/sim/cub.py tests/cuda/sim/cutlass.py
endif
EXTRA_DIST += tests/cuda/sim/README.md tests/cuda/sim/cub.py tests/cuda/sim/cutlass.py
