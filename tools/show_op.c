/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator's schema says, as text, as the page operators.md, and as JSON. */
#include "tool.h"

#include "tenon/core/text.h"

/* ---- words ---- */

static const char *
type_words(tn_attr_type t)
{
    static const char *const words[] = {/* ORDER ATTR_TYPE */
                                        "any value", "integer",
                                        "number",    "boolean",
                                        "text",      "dtype",
                                        "integers",  "numbers",
                                        "texts",     "scalar expressions",
                                        "index map", "virtual device"};
    return words[t];
}

static const char *
default_words(const tn_attr_schema *a)
{
    return a->fallback ? a->fallback : a->flags & TN_ATTR_OPTIONAL ? "None" : "required";
}

static const char *
text_or(const char *s, const char *other)
{
    return s ? s : other;
}

void
tnt_print_schema(tnt_session *s, const tn_attr_schema *a, const char *title)
{
    if (a && a->name)
        printf("\n%s:\n", title);
    for (; a && a->name; a++) {
        const char *allowed = tn_allowed_words(s->ctx, a);
        if (a->doc && strstr(a->doc, allowed)) /* said already */
            allowed = "";
        printf("  %-20s %-9s %-14s %s%s%s\n", a->name, type_words(a->type), default_words(a),
               text_or(a->doc, ""), *allowed ? "; allowed: " : "", allowed);
    }
}

/* ---- one operator ---- */

/* ---- JSON ---- */

static const tn_node *
text_node(tnt_session *s, const char *t)
{
    return t ? tn_string(s->ctx, t) : tn_none_value(s->ctx);
}

const tn_node *
tnt_schema_json(tnt_session *s, const tn_attr_schema *a)
{
    tn_list attrs = {0};
    for (; a && a->name; a++)
        attrs =
            tn_list_append(s->ctx, attrs,
                           tn_dictv(s->ctx, "name", text_node(s, a->name), "type",
                                    text_node(s, type_words(a->type)), "default",
                                    text_node(s, a->fallback), "optional",
                                    tn_bool(s->ctx, (a->flags & TN_ATTR_OPTIONAL) != 0), "allowed",
                                    text_node(s, a->allowed), "doc", text_node(s, a->doc), NULL));
    return tn_array_of(s->ctx, attrs);
}

static const tn_node *
op_node(tnt_session *s, const tn_op *op, const char *plugin)
{
    tn_ctx *ctx = s->ctx;
    tn_list args = {0};
    int i = 0;
    for (const tn_arg_schema *a = op->args; a && a->name; a++, i++)
        args = tn_list_append(ctx, args,
                              tn_dictv(ctx, "name", text_node(s, a->name), "accepts",
                                       text_node(s, a->accepts), "optional",
                                       tn_bool(ctx, op->min_args >= 0 && i >= op->min_args), "doc",
                                       text_node(s, a->doc), NULL));
    return tn_dictv(ctx, "name", text_node(s, op->base.name), "plugin", text_node(s, plugin), "doc",
                    text_node(s, op->base.doc), "arguments", tn_array_of(ctx, args), "attributes",
                    tnt_schema_json(s, op->attrs), "result", text_node(s, op->result), "program",
                    tn_bool(ctx, op->legalize != NULL), "effects",
                    tn_bool(ctx, (op->flags & TN_OP_IMPURE) != 0), "data_dependent",
                    tn_bool(ctx, (op->flags & TN_OP_DATA_DEPENDENT) != 0), NULL);
}

int
tnt_show_op(tnt_session *s, const char *name, bool json)
{
    bool whole = strncmp(name, "relax.", 6) == 0 || strncmp(name, "tirx.", 5) == 0;
    tnb_err err = {0}, as_given = {0};
    const tn_op *op =
        whole ? NULL : tn_find_op(s->registry, tn_strf(s->ctx, "relax.%s", name), &err);
    if (!op)
        op = tn_find_op(s->registry, name, &as_given);
    if (!op) {
        tnt_complain(whole ? &as_given : &err);
        return TNT_FAILED;
    }
    const tnb_plugin *of = tnb_plugins_find(s->plugins, "op", op->base.name, NULL);
    if (json)
        return tnt_print_json(op_node(s, op, of ? of->name : "core")) ? TNT_OK : TNT_FAILED;
    printf("%s: %s\n", op->base.name, text_or(op->base.doc, ""));
    if (op->args && op->args->name)
        puts("\narguments:");
    int i = 0;
    for (const tn_arg_schema *a = op->args; a && a->name; a++, i++)
        printf("  %-20s %-28s %s%s\n", a->name, text_or(a->accepts, ""), text_or(a->doc, ""),
               op->min_args >= 0 && i >= op->min_args ? " (may be left out)" : "");
    tnt_print_schema(s, op->attrs, "attributes");
    if (op->result)
        printf("\nresult: %s\n", op->result);
    printf("\n%s%s%s\n", op->flags & TN_OP_IMPURE ? "has effects" : "pure",
           op->flags & TN_OP_DATA_DEPENDENT ? "; the result's shape depends on values" : "",
           op->legalize ? "; has a tensor program" : "");
    return TNT_OK;
}

/* ---- the reference page ---- */

static const char page_head[] =
    "# Operators\n\n"
    "Every operator with a numeric meaning, from the schemas that also serve the reader, the "
    "printer, type inference and the\n"
    "interpreter. In text an operator is called `R.NAME(arguments, attribute=value, ...)`. Where "
    "no "
    "rank is named an argument may\n"
    "have any rank, where no kind (`bool`, `int`, `float`, `number`) is named any dtype. Extents "
    "may "
    "be symbolic everywhere. A value\n"
    "that is not allowed is an error at the call. A *tensor program* is what LegalizeOps replaces "
    "the call by; operators without\n"
    "one are served by passes or by packed functions. What NaN, integer division by zero, shifts "
    "and "
    "conversions give:\n"
    "numbers.md.\n";

void
tnt_print_schema_table(tnt_session *s, const tn_attr_schema *a, const char *what)
{
    if (a && a->name)
        printf("\n| %s | type | default | allowed | |\n|---|---|---|---|---|\n", what);
    for (; a && a->name; a++)
        printf("| `%s` | %s | %s%s%s | %s | %s |\n", a->name, type_words(a->type),
               a->fallback ? "`" : "", default_words(a), a->fallback ? "`" : "",
               tn_allowed_words(s->ctx, a), text_or(a->doc, ""));
}

static void
print_entry(tnt_session *s, const tn_op *op)
{
    const char *name = strncmp(op->base.name, "relax.", 6) == 0 ? op->base.name + 6 : op->base.name;
    printf("\n## %s\n\n%s\n", name, text_or(op->base.doc, ""));
    int i = 0;
    for (const tn_arg_schema *a = op->args; a && a->name; a++, i++) {
        if (i == 0)
            puts("\n| argument | accepts | |\n|---|---|---|");
        printf("| `%s` | %s%s | %s |\n", a->name, text_or(a->accepts, "anything"),
               op->min_args >= 0 && i >= op->min_args ? ", may be left out" : "",
               text_or(a->doc, ""));
    }
    tnt_print_schema_table(s, op->attrs, "attribute");
    puts("");
    if (op->result)
        printf("Result: %s.\n", op->result);
    printf("%s.%s\n", op->legalize ? "Has a tensor program" : "No tensor program",
           op->flags & TN_OP_IMPURE           ? " Has effects."
           : op->flags & TN_OP_DATA_DEPENDENT ? " The result's shape depends on values."
                                              : "");
}

/* All operators of the plugins, with what it takes to list them in order. */
static const tnb_provided *
provided_ops(tnt_session *s, uint32_t *n)
{
    return tnb_plugins_provided(s->plugins, tn_arena(s->ctx), "op", n);
}

int
tnt_show_ops(tnt_session *s)
{
    uint32_t n;
    const tnb_provided *p = provided_ops(s, &n);
    fputs(page_head, stdout);
    for (uint32_t i = 0; i < n; i++) {
        tnb_err err = {0};
        const tn_op *op = tn_find_op(s->registry, p[i].name, &err);
        if (!op) {
            tnt_complain(&err);
            return TNT_FAILED;
        }
        print_entry(s, op);
    }
    puts("\n## Structural operators\n\nCalls of programs and functions, memory, shapes, devices; "
         "the "
         "core holds them.\n\n| operator | |\n|---|---|");
    for (uint32_t i = 0; i < tn_n_structural_ops; i++)
        printf("| `%s` | %s |\n", tn_structural_ops[i].base.name,
               text_or(tn_structural_ops[i].base.doc, ""));
    return TNT_OK;
}

int
tnt_list_ops_json(tnt_session *s)
{
    uint32_t n;
    const tnb_provided *p = provided_ops(s, &n);
    tn_list ops = {0};
    for (uint32_t i = 0; i < n; i++) {
        tnb_err err = {0};
        const tn_op *op = tn_find_op(s->registry, p[i].name, &err);
        if (!op) {
            tnt_complain(&err);
            return TNT_FAILED;
        }
        ops = tn_list_append(s->ctx, ops, op_node(s, op, p[i].plugin->name));
    }
    return tnt_print_json(tn_array_of(s->ctx, ops)) ? TNT_OK : TNT_FAILED;
}
