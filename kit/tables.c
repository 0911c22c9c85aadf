/* SPDX-License-Identifier: Apache-2.0 */
/* What the entries of the kit's tables have to have: a plugin that lacks something is told so when it is loaded. */
#include "tables.h"
#include <string.h>
#include "tenon/kit/emit.h"
#include "tenon/kit/importer.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/rule.h"
#include "tenon/kit/tensor_intrin.h"

static tnb_status
check_rule(const tnb_entry *e, const char *plugin, tnb_err *err)
{
    if (strchr(e->name, '.'))
        return TNB_OK;
    (void)tnb_fail(err, TNB_INVALID, "plugin %s: the rule '%s' has no dot in its name", plugin,
                   e->name);
    tnb_hint(err, "call it after what it is for: gpu.%s", e->name);
    return TNB_INVALID;
}

static const tnb_member codegen_members[] = {TNB_MEMBER(tnk_codegen, name),
                                             TNB_MEMBER(tnk_codegen, build),
                                             {0}};
static const tnb_entry_kind codegen = {.kind = "code generator of the target",
                                       .type = "tnk_codegen in tenon/kit/codegen.h",
                                       .members = codegen_members,
                                       .needs = "name build"};

/* A target without a code generator is one whose passes can be looked at; half a code generator is a mistake. */
static tnb_status
check_target(const tnb_entry *e, const char *plugin, tnb_err *err)
{
    const tnk_codegen *c = ((const tn_target_kind *)(const void *)e)->codegen;
    if (!c)
        return TNB_OK;
    if (c->size == sizeof *c)
        return tnb_entry_needs(&codegen, c, e->name, plugin, err);
    (void)tnb_fail(err, TNB_ABI,
                   "plugin %s: the code generator of the target '%s' has %u bytes; in this Tenon "
                   "it has %zu",
                   plugin, e->name, c->size, sizeof *c);
    tnb_hint(err, "%s",
             c->size ? "rebuild the plugin against the headers of this Tenon"
                     : "set .size = sizeof(tnk_codegen)");
    return TNB_ABI;
}

static const tnb_member struct_members[] = {TNB_MEMBER(tnk_vector_structs, type),
                                            TNB_MEMBER(tnk_vector_structs, make),
                                            TNB_MEMBER(tnk_vector_structs, lane),
                                            TNB_MEMBER(tnk_vector_structs, align),
                                            {0}};
static const tnb_entry_kind structs = {.kind = "vectors of the dialect",
                                       .type = "tnk_vector_structs in tenon/kit/emit.h",
                                       .members = struct_members,
                                       .needs = "type make lane align"};

static tnb_status
check_dialect(const tnb_entry *e, const char *plugin, tnb_err *err)
{
    const tnk_dialect *d = (const tnk_dialect *)(const void *)e;
    return d->structs ? tnb_entry_needs(&structs, d->structs, e->name, plugin, err) : TNB_OK;
}

static const tnb_member rule_members[] = {TNB_MEMBER(tnk_rule, apply), {0}};
static const tnb_member importer_members[] = {TNB_MEMBER(tnk_importer, recognize),
                                              TNB_MEMBER(tnk_importer, import),
                                              {0}};
static const tnb_member pattern_members[] = {TNB_MEMBER(tnk_fusion_pattern, pattern),
                                             TNB_MEMBER(tnk_fusion_pattern, build),
                                             {0}};
static const tnb_member external_members[] = {TNB_MEMBER(tnk_external, compile), {0}};
static const tnb_member intrin_members[] = {TNB_MEMBER(tnk_tensor_intrin, text),
                                            TNB_MEMBER(tnk_tensor_intrin, make),
                                            {0}};
static const tnb_member dialect_members[] = {TNB_MEMBER(tnk_dialect, kernel), {0}};

static const tnb_entry_kind tables[] = {
    {.kind = "target", .check = check_target},
    {"rule", "tnk_rule in tenon/kit/rule.h", sizeof(tnk_rule), rule_members, "apply", check_rule},
    {"importer", "tnk_importer in tenon/kit/importer.h", sizeof(tnk_importer), importer_members,
     "recognize import", NULL},
    {"pattern", "tnk_fusion_pattern in tenon/kit/pattern.h", sizeof(tnk_fusion_pattern),
     pattern_members, "pattern|build", NULL},
    {"external", "tnk_external in tenon/kit/pattern.h", sizeof(tnk_external), external_members,
     "compile", NULL},
    {"tensor_intrin", "tnk_tensor_intrin in tenon/kit/tensor_intrin.h", sizeof(tnk_tensor_intrin),
     intrin_members, "text|make", NULL},
    {"dialect", "tnk_dialect in tenon/kit/emit.h", sizeof(tnk_dialect), dialect_members, "kernel",
     check_dialect},
    {0},
};

/* The core knows no type of the kit, and plugins may come from anywhere: it is told before any is loaded. */
__attribute__((constructor)) void
tnk_describe_tables(void)
{
    tn_registry_describe(tables);
}
