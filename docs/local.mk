# SPDX-License-Identifier: Apache-2.0
pkgconfig_DATA = docs/tenon.pc docs/tenon-base.pc docs/tenon-kit.pc docs/tenon-rt.pc
dist_doc_DATA = docs/abi.md docs/architecture.md docs/configuration.md docs/conformance.md docs/llm.md docs/onnx.md docs/operators.md
