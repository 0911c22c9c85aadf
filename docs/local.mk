# SPDX-License-Identifier: Apache-2.0
pkgconfig_DATA = docs/tenon.pc docs/tenon-base.pc docs/tenon-kit.pc docs/tenon-rt.pc
if BUILD_CPU
pkgconfig_DATA += docs/tenon-rt-cpu.pc
endif
if BUILD_LM
pkgconfig_DATA += docs/tenon-lm.pc
endif
dist_doc_DATA = docs/README.md docs/abi.md docs/ahead-of-time.md docs/architecture.md docs/configuration.md docs/conformance.md docs/embedding.md \
	docs/first-plugin.md docs/generate.md docs/glossary.md docs/kv-cache.md docs/llm.md docs/numbers.md docs/onnx.md docs/own-language.md docs/own-library.md docs/porting.md \
	docs/safety.md docs/target-cpu.md docs/target-cuda.md docs/target-gpu-generic.md docs/target-opencl.md docs/text-form.md docs/tutorial-pass.md docs/tutorial-runtime.md docs/tutorial-schedule.md CHANGELOG.md

# These pages are what schemas and the plugins' own lists say.
SCHEMA_PAGES = docs/operators.md docs/passes.md docs/targets.md docs/devices.md docs/settings.md
doc_DATA = $(SCHEMA_PAGES)
CLEANFILES += $(SCHEMA_PAGES)
$(SCHEMA_PAGES): tools/tenon$(EXEEXT) plugins-stage/.stamp
	$(AM_V_GEN)$(MKDIR_P) docs; page=`basename $@ .md | $(SED) s/operators/ops/`; \
	tools/tenon$(EXEEXT) show "$$page" > $@.tmp && \
	{ grep -q '^## ' $@.tmp || { echo "$@: nothing to list on the page $$page" >&2; exit 1; }; } && mv $@.tmp $@

# The reference of the public headers, in docs/reference/html.
EXTRA_DIST += docs/doxygen_filter.py
doxygen: docs/Doxyfile
	$(DOXYGEN) docs/Doxyfile
.PHONY: doxygen
