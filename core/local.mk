# SPDX-License-Identifier: Apache-2.0
lib_LTLIBRARIES += core/libtenon.la
core_libtenon_la_SOURCES = \
	core/arith/arith.c \
	core/arith/interval.c \
	core/arith/itermap.c \
	core/arith/poly.c \
	core/arith/poly.h \
	core/arith/prove.c \
	core/arith/rules.c \
	core/arith/simplify.c \
	core/arith/simplify.h \
	core/arith/split.c \
	core/arith/vector.c \
	core/assume.c \
	core/brief.c \
	core/broadcast.c \
	core/build_attr.c \
	core/build_graph.c \
	core/build_leaf.c \
	core/build_scalar.c \
	core/build_tensor.c \
	core/builder.c \
	core/copy.c \
	core/ctx.c \
	core/data.c \
	core/equal.c \
	core/argument_range.c \
	core/eval.c \
	core/find_extents.c \
	core/free_vars.c \
	core/hash.c \
	core/infer.c \
	core/infer_call.c \
	core/intern.c \
	core/intrin.c \
	core/kinds.c \
	core/make.c \
	core/module.c \
	core/op_structural.c \
	core/pass_list.c \
	core/pass_options.c \
	core/pass_private.h \
	core/pass_run.c \
	core/private.h \
	core/registry.c \
	core/rewrite.c \
	core/scalar.c \
	core/scalar.h \
	core/schema.c \
	core/text/ast.h \
	core/text/constants.c \
	core/text/eval.c \
	core/text/json.c \
	core/text/lex.c \
	core/text/parse.c \
	core/text/print.c \
	core/text/print_const.c \
	core/text/print_graph.c \
	core/text/print_scalar.c \
	core/text/print_tensor.c \
	core/text/print_value.c \
	core/text/printer.h \
	core/text/read_block.c \
	core/text/read_buffer.c \
	core/text/read_call.c \
	core/text/read_graph.c \
	core/text/read_expr.c \
	core/text/read_module.c \
	core/text/read_scalar.c \
	core/text/read_tensor.c \
	core/text/read_type.c \
	core/text/reader.h \
	core/text/regions.c \
	core/text/scope.c \
	core/trace.c \
	core/typerel.c \
	core/types.c \
	core/value.c \
	core/value.h \
	core/verify.c \
	core/verify.h \
	core/verify_attrs.c \
	core/verify_call.c \
	core/verify_graph.c \
	core/verify_tensor.c \
	core/version.c \
	core/walk.c
core_libtenon_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(JANSSON_CFLAGS)
core_libtenon_la_LDFLAGS = $(LIBRARY_LDFLAGS) -Wl,--version-script=$(srcdir)/core/libtenon.map
EXTRA_core_libtenon_la_DEPENDENCIES = core/libtenon.map
EXTRA_DIST += core/libtenon.map
core_libtenon_la_LIBADD = $(BASE_LIB) $(JANSSON_LIBS)

EXTRA_DIST += core/README.md core/base/README.md core/text/README.md core/arith/README.md
