# SPDX-License-Identifier: Apache-2.0

# Operations a second of the reference interpreter: make bench/interp/speed && run with the plugins' path.
EXTRA_PROGRAMS += bench/interp/speed
bench_interp_speed_SOURCES = bench/interp/speed.c
bench_interp_speed_LDADD = $(CORE_LIB) $(BASE_LIB)

# Beside their limits: start-up, compile time, memory (bench/limits).
EXTRA_DIST += bench/build_tree.py bench/llm.py bench/limits bench/growth.py bench/count_instructions.c bench/pairs.py bench/sources.py

# Speed on the CPU (bench/cpu/run).
EXTRA_DIST += bench/cpu/README.md bench/cpu/run bench/cpu/machine.c bench/cpu/chart.py bench/cpu/engines.py \
	bench/cpu/kernels.py bench/cpu/machine.py bench/cpu/main.py bench/cpu/models.py bench/cpu/readme.py bench/cpu/records.py \
	bench/cpu/choices.py bench/cpu/report.py bench/cpu/startup.py bench/cpu/tenon.py bench/cpu/transformers.py

# Speed on an OpenCL device (bench/opencl/run.py).
EXTRA_DIST += bench/opencl/README.md bench/opencl/run.py

# Loading and launching on Vulkan, beside OpenCL (bench/gpu_generic/run.py).
EXTRA_DIST += bench/gpu_generic/README.md bench/gpu_generic/bare.c bench/gpu_generic/cpu_clock.c bench/gpu_generic/run.py

# What kernels for cuda cost (bench/cuda/costs.py).
EXTRA_DIST += bench/cuda/README.md bench/cuda/choices.py bench/cuda/compile_time.py bench/cuda/costs.py bench/cuda/cutlass.py bench/results/cuda-2026-11-28.txt bench/results/cuda-choices-2026-11-28.txt bench/results/cuda-costs-2026-11-27.txt bench/results/gpu-2026-11-27.txt bench/results/gpu-h200-2026-11-27.txt

# Language models beside llama.cpp (bench/llm/run.py).
EXTRA_DIST += bench/llm/README.md bench/llm/model.py bench/llm/read_file.c bench/llm/run.py bench/llm/wheel.py bench/results/llm-2026-11-26.txt bench/results/first-token-2026-11-28.txt

# Passes over a decode function of many layers (bench/llama_passes.py); memory plans beside their bounds.
EXTRA_DIST += bench/llama_decode.py bench/llama_passes.py bench/memory_plan.py

# What they gave on the machines named in them.
EXTRA_DIST += bench/results/cpu-2026-11-21.txt bench/results/cpu-2026-11-21.svg bench/results/cpu-2026-11-22.txt bench/results/cpu-2026-11-22.svg \
	bench/results/llama-passes-2026-11-21.txt bench/results/checks-2026-11-22.txt bench/results/checks-2026-11-24.txt bench/results/growth-2026-11-24.txt \
	bench/results/memory-plan-2026-11-21.txt bench/results/compile-2026-11-27.txt bench/results/compile-2026-11-28.txt bench/results/choices-2026-11-28.txt bench/results/opencl-2026-11-22.txt bench/results/gpu_generic-2026-11-24.txt bench/results/gpu_generic-threads-2026-11-24.txt bench/results/opencl-indices-2026-11-22.txt

# What waking threads costs.
EXTRA_DIST += bench/threads/README.md bench/threads/run bench/threads/threads.c

# On a machine with a GPU (bench/gpu/bundle.py).
check_PROGRAMS += bench/gpu/peak
bench_gpu_peak_SOURCES = bench/gpu/peak.c backends/cuda/api.h
bench_gpu_peak_LDADD = -ldl
EXTRA_DIST += bench/gpu/README.md bench/gpu/bundle.py bench/gpu/peer.py bench/gpu/run
