# SPDX-License-Identifier: Apache-2.0
# What the ABI is, and plugins of it.
TESTS += tests/abi/abi.py
EXTRA_DIST += tests/abi/abi.py tests/abi/layout.py tests/abi/grows tests/abi/README.md tests/abi/plugin.c tests/abi/plugin_rt.c \
	tests/abi/abi.plugin tests/abi/abi_rt.plugin
