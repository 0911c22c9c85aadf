/* SPDX-License-Identifier: Apache-2.0 */
/* CanonicalizeBindings: bindings that only rename or take apart what is known go.
 *
 *     lv = R.add(x, x)                               gv = R.add(x, x)
 *     y = lv
 *     gv = y
 *
 * First symbolic variables: what a match_cast tells of one (a number, an expression of others)
 * takes its place in all shapes behind it; casts that contradict each other are an error; what a
 * branch learns stays there. Then bindings: renamings, fields of known tuples and whole tuples put
 * together again are replaced by what they are; constants are used directly; variables of a
 * dataflow block that nobody outside uses become dataflow variables; an output that only renames a
 * dataflow variable is bound to its value. Keeps results bit by bit. Cases:
 * tests/pass/CanonicalizeBindings.
 */
#include "transform.h"

#include "canonicalize.h"

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    (void)user;
    const tn_node *out = canonicalize_symbols(pc->ctx, tn_as_function(func));
    if (!tn_is_error(out))
        out = canonicalize_variables(pc->ctx, tn_as_function(out));
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_canonicalize_bindings = {
    .base.size = sizeof(tn_pass),
    .opt_level = 1,
    .base.name = "CanonicalizeBindings",
    .base.doc = "remove bindings that only rename or take apart what is known",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
