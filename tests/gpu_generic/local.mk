# SPDX-License-Identifier: Apache-2.0
# The device half of gpu_generic, on any Vulkan device; lavapipe (mesa-vulkan-drivers) is one.
if BUILD_VULKAN
TESTS += tests/gpu_generic/device.py
endif
EXTRA_DIST += tests/gpu_generic/device.py tests/gpu_generic/kernels.py
