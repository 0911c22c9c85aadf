# SPDX-License-Identifier: Apache-2.0
pkgconfig_DATA = docs/tenon.pc docs/tenon-base.pc docs/tenon-kit.pc docs/tenon-rt.pc
dist_doc_DATA = docs/abi.md docs/architecture.md docs/configuration.md docs/conformance.md docs/first-plugin.md docs/llm.md docs/numbers.md docs/onnx.md

# The page of the operators is what their schemas say.
doc_DATA = docs/operators.md
CLEANFILES += docs/operators.md
docs/operators.md: tools/tenon$(EXEEXT) plugins-stage/.stamp
	$(AM_V_GEN)$(MKDIR_P) docs && tools/tenon show ops > $@.tmp && mv $@.tmp $@

# The reference of the public headers, in docs/reference/html.
EXTRA_DIST += docs/doxygen_filter.py
doxygen: docs/Doxyfile
	$(DOXYGEN) docs/Doxyfile
.PHONY: doxygen
