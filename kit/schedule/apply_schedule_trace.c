/* SPDX-License-Identifier: Apache-2.0 */
/* ApplyScheduleTrace: schedules tensor programs as a text file says.
 *
 *     ApplyScheduleTrace{trace="matmul.trace"}
 *
 *     function matmul
 *     split(T_matmul, ax0, 32)
 *     parallel(T_matmul, ax0_0)
 *
 * ApplyScheduleTrace{trace="m.trace",intrinsics="dot.py"}: tensorize also knows the pairs of functions NAME_desc and NAME_impl in that
 * module.
 *
 * "function NAME" says to which function the lines after it apply; without, the module's one PrimFunc. The functions get
 * tirx.is_scheduled. ApplyDefaultSchedule{trace="FILE"} writes such files.
 */
#include "schedule_private.h"

#include "tenon/base/file.h"
#include "tenon/core/text.h"

#include <stdlib.h>

enum { MAX_TRACE = 16 << 20 };

/* Schedules the function `name` by the lines from `text` to `end`. */
static const tn_module *
apply_part(const tn_pass_ctx *pc, const tn_module *m, const tn_module *intrinsics, const char *name,
           const char *text, size_t n, const char *file, uint32_t line)
{
    tn_ctx *ctx = pc->ctx;
    const tn_node *func = tn_module_get(m, name);
    tn_loc at = tn_loc_make(ctx, (tnb_place){.file = file, .line = line, .column = 1});
    if (!tn_as_prim_func(func)) {
        tn_error(ctx, at, TNB_NOT_FOUND, "the module has no tensor program '%s'", name);
        return NULL;
    }
    tnk_sch *s = tnk_sch_new(ctx, func);
    if (!s) {
        tn_error(ctx, at, TNB_INVALID,
                 "'%s' has statements beside loops and blocks, so it cannot be scheduled", name);
        return NULL;
    }
    if (intrinsics && !tnk_sch_intrinsics(s, intrinsics))
        return NULL;
    const tn_node *done =
        tnk_sch_apply(s, tn_strn(ctx, text, n), file, line) ? tnk_sch_finish(s) : NULL;
    if (!done)
        return NULL;
    done = tn_func_with_attr(ctx, done, "tirx.is_scheduled", tn_bool(ctx, true));
    return tn_module_set(ctx, m, name, done);
}

/* The only PrimFunc; NULL: there are none or several. */
static const char *
only_function(const tn_module *m)
{
    const char *one = NULL;
    for (uint32_t i = 0; i < m->names.n; i++) {
        if (!tn_as_prim_func(tn_module_get(m, tn_module_name(m, i))))
            continue;
        if (one)
            return NULL;
        one = tn_module_name(m, i);
    }
    return one;
}

static const tn_module *
apply_text(const tn_pass_ctx *pc, const tn_module *m, const tn_module *intrinsics, const char *text,
           const char *file)
{
    tn_ctx *ctx = pc->ctx;
    const char *name = NULL, *from = text, *p = text;
    uint32_t line = 1, first = 1;
    bool some = false; /* lines for `name` since `from` */
    while (m) {
        const char *end = p + strcspn(p, "\n"), *q = p + strspn(p, " \t\r");
        bool header = !strncmp(q, "function", 8) && (q[8] == ' ' || q[8] == '\t');
        some |= !header && q < end && *q != '#';
        if ((header || !*end) && some) {
            const char *of = name ? name : only_function(m);
            if (!of) {
                tn_loc at = tn_loc_make(ctx, (tnb_place){.file = file, .line = first, .column = 1});
                tn_error(ctx, at, TNB_INVALID,
                         "the module has not one tensor program: say which with a line "
                         "'function NAME'");
                return NULL;
            }
            m = apply_part(pc, m, intrinsics, of, from, (size_t)((header ? p : end) - from), file,
                           first);
            some = false;
        }
        if (!*end)
            break;
        if (header) {
            q += 8;
            q += strspn(q, " \t");
            name = tn_strn(ctx, q, strcspn(q, " \t\r\n#"));
            from = end + 1;
            first = line + 1;
        }
        p = end + 1;
        line++;
    }
    return m;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const char *path = tn_option_str(pc, "trace");
    char *text = NULL;
    size_t n = 0;
    tnb_err err = {0};
    if (!path || !*path) {
        tn_error(pc->ctx, 0, TNB_INVALID,
                 "ApplyScheduleTrace needs the option trace: a file of schedule primitives");
        return NULL;
    }
    const char *library = tn_option_str(pc, "intrinsics");
    const tn_module *intrinsics = NULL;
    if (library && *library) {
        intrinsics = tn_read_module_file(pc->ctx, tn_pass_path(pc, library));
        if (!intrinsics)
            return NULL;
    }
    path = tn_pass_path(pc, path);
    if (tnb_read_file(path, MAX_TRACE, &text, &n, &err)) {
        tn_error(pc->ctx, 0, err.status, "%s", err.message);
        return NULL;
    }
    const tn_module *out;
    if (memchr(text, 0, n)) {
        tn_error(pc->ctx, 0, TNB_INVALID, "'%s' is no text", path);
        out = NULL;
    } else {
        out = apply_text(pc, m, intrinsics, tn_str(pc->ctx, text), tn_str(pc->ctx, path));
    }
    free(text);
    return out;
}

static const tn_attr_schema options[] = {
    {"trace", TN_ATTR_STR, 0, "\"\"", "file of schedule primitives, one a line", "file"},
    {"intrinsics", TN_ATTR_STR, 0, "\"\"",
     "module of tensor intrinsics for tensorize: pairs of functions NAME_desc and NAME_impl",
     "file"},
    {0},
};

const tn_pass tnk_pass_apply_schedule_trace = {
    .base.size = sizeof(tn_pass),
    .base.name = "ApplyScheduleTrace",
    .base.doc = "Schedules tensor programs by the primitives in a file, one a line.",
    .options = options,
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "tensor_intrin",
};
