# SPDX-License-Identifier: Apache-2.0
# The public headers, all of which are installed (tests/tree/headers.sh compares with the folder).
tenonbase_HEADERS += \
	include/tenon/base/cache.h \
	include/tenon/base/call.h \
	include/tenon/base/conf.h \
	include/tenon/base/diag.h \
	include/tenon/base/dtype.h \
	include/tenon/base/entry.h \
	include/tenon/base/file.h \
	include/tenon/base/gguf.h \
	include/tenon/base/hash.h \
	include/tenon/base/ini.h \
	include/tenon/base/json.h \
	include/tenon/base/kernel_abi.h \
	include/tenon/base/param.h \
	include/tenon/base/log.h \
	include/tenon/base/mem.h \
	include/tenon/base/npy.h \
	include/tenon/base/num.h \
	include/tenon/base/plugin.h \
	include/tenon/base/safetensors.h \
	include/tenon/base/scalar.h \
	include/tenon/base/status.h \
	include/tenon/base/tensor_pb.h \
	include/tenon/base/threads.h \
	include/tenon/base/tno.h \
	include/tenon/base/vmcode.h \
	include/tenon/base/wire.h
tenoncore_HEADERS += \
	include/tenon/core/arith.h \
	include/tenon/core/build.h \
	include/tenon/core/builder.h \
	include/tenon/core/ctx.h \
	include/tenon/core/eval.h \
	include/tenon/core/expr.h \
	include/tenon/core/node.h \
	include/tenon/core/intrin.def \
	include/tenon/core/structural.def \
	include/tenon/core/nodes.def \
	include/tenon/core/op.h \
	include/tenon/core/pass.h \
	include/tenon/core/registry.h \
	include/tenon/core/text.h \
	include/tenon/core/walk.h
tenonkit_HEADERS += \
	include/tenon/kit/artifact.h \
	include/tenon/kit/codegen.h \
	include/tenon/kit/cost.h \
	include/tenon/kit/driver.h \
	include/tenon/kit/emit.h \
	include/tenon/kit/emit_hooks.h \
	include/tenon/kit/importer.h \
	include/tenon/kit/passes.h \
	include/tenon/kit/pattern.h \
	include/tenon/kit/layout.h \
	include/tenon/kit/lists.h \
	include/tenon/kit/lower.h \
	include/tenon/kit/rule.h \
	include/tenon/kit/tune.h \
	include/tenon/kit/schedule.h \
	include/tenon/kit/tensor_intrin.h \
	include/tenon/kit/te.h \
	include/tenon/kit/visit.h \
	include/tenon/kit/weights.h \
	include/tenon/kit/workers.h
tenonrt_HEADERS += \
	include/tenon/rt/artifact.h \
	include/tenon/rt/device.h \
	include/tenon/rt/kv.h \
	include/tenon/rt/loader.h \
	include/tenon/rt/packed.h \
	include/tenon/rt/params.h \
	include/tenon/rt/plugin.h \
	include/tenon/rt/session.h \
	include/tenon/rt/tensor.h \
	include/tenon/rt/value.h \
	include/tenon/rt/vm.h
