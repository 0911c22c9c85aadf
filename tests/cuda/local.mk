# SPDX-License-Identifier: Apache-2.0
# The compiler half of cuda, where NVRTC is: no GPU is needed.
TESTS += tests/cuda/compile.py
EXTRA_DIST += tests/cuda/compile.py
