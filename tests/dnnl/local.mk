# SPDX-License-Identifier: Apache-2.0
if BUILD_DNNL
TESTS += tests/dnnl/dispatch.py
endif
EXTRA_DIST += tests/dnnl/dispatch.py
