# SPDX-License-Identifier: Apache-2.0
# Plugins of released ABI versions.
TESTS += tests/abi/abi.py
EXTRA_DIST += tests/abi/abi.py tests/abi/layout.py tests/abi/grows tests/abi/README.md tests/abi/1.0
