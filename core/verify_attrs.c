/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of functions that passes and code generators read: their values have the types that upstream gives them. Other
 * attributes are kept as they are; those with a meaning of their own (bounds of symbolic variables, metadata) are checked by the
 * passes that read them. */
#include "verify.h"

enum wanted { A_FLAG, A_COUNT, A_TEXT };

static const char *const words[] = {"true or false", "an integer that is not negative", "a text"};

static const struct {
    const char *name;
    enum wanted wanted;
} known[] = {
    {"Codegen", A_TEXT},           {"Composite", A_TEXT},    {"Primitive", A_FLAG},
    {"global_symbol", A_TEXT},     {"num_input", A_COUNT},   {"op_pattern", A_COUNT},
    {"relax.force_pure", A_FLAG},  {"s_tir", A_FLAG},        {"tir.is_host_func", A_FLAG},
    {"tir.is_scheduled", A_FLAG},  {"tir.noalias", A_FLAG},  {"tirx.is_host_func", A_FLAG},
    {"tirx.is_scheduled", A_FLAG}, {"tirx.noalias", A_FLAG},
};

static bool
is_wanted(enum wanted w, const tn_node *v)
{
    int64_t i;
    if (w == A_TEXT)
        return tn_is(v, TN_KIND_STRING_IMM);
    if (!tn_int_value(v, &i))
        return false;
    return w == A_FLAG ? i == 0 || i == 1 : i >= 0 && !tnb_dtype_is_bool(tn_dtype_of(v));
}

void
tn_verify_attrs(verifier *v, const tn_node *func, const tn_node *attrs)
{
    const tn_dict *d = tn_as_dict(attrs);
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = tn_as_pair(d->items.at[i]);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strcmp(known[k].name, p->key) == 0 && !tn_is(p->value, TN_KIND_NONE) &&
                !is_wanted(known[k].wanted, p->value))
                tn_verify_error(v, func, "the function attribute '%s' must be %s, not %s", p->key,
                                words[known[k].wanted], tn_brief(v->ctx, p->value));
    }
}
