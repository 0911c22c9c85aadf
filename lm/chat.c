/* SPDX-License-Identifier: Apache-2.0 */
/* Chat templates: reading one, and running it for variables that are JSON. */
#include "config.h"
#include "jinja.h"

#include <jansson.h>
#include <stdlib.h>

#include "tenon/base/json.h"

tnb_status
tnl_template_new(const char *text, size_t n, const char *name, tnl_template **out, tnb_err *err)
{
    if ((n && !text) || !out)
        return tnb_fail(err, TNB_INVALID, "tnl_template_new: %s is NULL",
                        !out ? "out" : "the text");
    if (n > JINJA_TEXT)
        return tnb_fail(err, TNB_BOUNDS, "a chat template of %zu bytes is too long (limit: 1 MiB)",
                        n);
    tnl_template *t = calloc(1, sizeof *t);
    if (!t || !(t->arena = tnb_arena_new())) {
        free(t);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a template");
    }
    t->name = tnb_strdup(t->arena, name ? name : "chat template");
    tnb_status st = jinja_parse(t, n ? text : "", n, err);
    if (st != TNB_OK) {
        tnl_template_free(t);
        return st;
    }
    *out = t;
    return TNB_OK;
}

void
tnl_template_free(tnl_template *t)
{
    if (!t)
        return;
    tnb_arena_free(t->arena);
    free(t);
}

static jinja_value
value_of(jinja_run *r, const json_t *j, uint32_t depth)
{
    jinja_value v = {.kind = JINJA_NONE};
    const char *key;
    json_t *item;
    size_t i;
    if (depth > JINJA_DEPTH)
        return jinja_fail(r, TNB_BOUNDS, "the variables are nested deeper than %d", JINJA_DEPTH);
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        v = jinja_new_list(r, JINJA_DICT);
        json_object_foreach((json_t *)(uintptr_t)j, key, item)
        { /* keys are there once each */
            jinja_append(r, v, jinja_string(r, key, strlen(key)));
            jinja_append(r, v, value_of(r, item, depth + 1));
        }
        return v;
    case JSON_ARRAY:
        v = jinja_new_list(r, JINJA_LIST);
        json_array_foreach(j, i, item) jinja_append(r, v, value_of(r, item, depth + 1));
        return v;
    case JSON_STRING:
        return jinja_string(r, json_string_value(j), json_string_length(j));
    case JSON_INTEGER:
        return jinja_int(json_integer_value(j));
    case JSON_REAL:
        return jinja_float(json_real_value(j));
    case JSON_TRUE:
    case JSON_FALSE:
        return jinja_bool(json_is_true(j));
    default:
        return v;
    }
}

tnb_status
tnl_template_render(const tnl_template *t, const char *variables, size_t n, int64_t now,
                    tnb_buf *out, tnb_err *err)
{
    if (!t || !variables || !out)
        return tnb_fail(err, TNB_INVALID, "tnl_template_render: %s is NULL",
                        !t     ? "the template"
                        : !out ? "out"
                               : "variables");
    json_t *root;
    TNB_TRY(tnb_json_parse(variables, n, JSON_ALLOW_NUL, &root, err));
    jinja_scope globals = {0};
    tnb_buf text = {0};
    jinja_run r = {.t = t,
                   .arena = tnb_arena_new(),
                   .globals = &globals,
                   .now = now,
                   .err = err,
                   .out = &text};
    if (!r.arena) {
        json_decref(root);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a template's values");
    }
    if (!json_is_object(root))
        jinja_fail(&r, TNB_FORMAT, "the variables are no JSON object");
    const char *key;
    json_t *item;
    json_object_foreach(root, key, item) jinja_bind(&r, &globals, key, value_of(&r, item, 0));
    if (r.status == TNB_OK)
        jinja_run_all(&r);
    if (r.status == TNB_OK)
        tnb_buf_put(out, text.s ? text.s : "", text.n);
    if (r.status == TNB_OK && out->failed)
        jinja_fail(&r, TNB_NO_MEMORY, "no memory for text");
    tnb_arena_free(r.arena);
    tnb_buf_free(&text);
    json_decref(root);
    return r.status;
}
