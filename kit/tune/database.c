/* SPDX-License-Identifier: Apache-2.0 */
/* The database of measured schedules: reading, choosing, adding. */
#include "tune_private.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/num.h"
#include "tenon/base/scalar.h"
#include "tenon/core/build.h"
#include "tenon/core/text.h"

enum { VERSION = 1, MAX_CHOICES = 64, MAX_LINE = 1 << 16 };
static const uint64_t max_file = 1u << 28;
static const char header[] = "{\"tenon_tuning\": 1}\n";

struct tnk_tuning {
    tnb_arena *arena;
    TNB_VEC(tnk_tuning_record) records;
};

tnk_tuning *
tnk_tuning_new(void)
{
    tnk_tuning *t = calloc(1, sizeof *t);
    if (t && !(t->arena = tnb_arena_new())) {
        free(t);
        return NULL;
    }
    return t;
}

void
tnk_tuning_free(tnk_tuning *t)
{
    if (!t)
        return;
    tnb_arena_free(t->arena);
    free(t);
}

uint32_t
tnk_tuning_count(const tnk_tuning *t)
{
    return t->records.n;
}

const tnk_tuning_record *
tnk_tuning_get(const tnk_tuning *t, uint32_t i)
{
    return i < t->records.n ? &t->records.at[i] : NULL;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const tnk_choice *)a)->name, ((const tnk_choice *)b)->name);
}

const char *
tune_key(tnb_arena *a, const char *rule, const tnk_choice *choices, uint32_t n)
{
    tnk_choice *sorted = TNB_NEW_N(a, tnk_choice, n + 1);
    tnb_buf b = {0};
    if (!sorted)
        return "";
    if (n)
        memcpy(sorted, choices, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_name);
    tnb_buf_puts(&b, rule);
    for (uint32_t i = 0; i < n; i++)
        tnb_buf_printf(&b, " %s=%lld", sorted[i].name, (long long)sorted[i].value);
    const char *key = b.s ? tnb_strndup(a, b.s, b.n) : "";
    tnb_buf_free(&b);
    return key;
}

/* ---- reading ---- */

/* One line on its way in. */
struct reader {
    tnk_tuning *t;
    tn_ctx *ctx; /* of the line's values */
    const char *path;
    uint32_t line;
    tnb_err *err;
};

static tnb_status
bad(struct reader *r, const char *what)
{
    return tnb_fail(r->err, TNB_FORMAT, "%s:%u: %s", r->path, r->line, what);
}

/* A text that has to be there, and is not empty. NULL: it is not so. */
static const char *
text_of(struct reader *r, const tn_node *d, const char *key)
{
    const char *s = tn_dict_str(d, key, NULL);
    return s && *s ? tnb_strdup(r->t->arena, s) : NULL;
}

static bool
is_function(const char *s)
{
    return s && strlen(s) == 16 && strspn(s, "0123456789abcdef") == 16;
}

static tnb_status
choices_of(struct reader *r, const tn_node *value, tnk_tuning_record *out)
{
    const tn_dict *d = tn_as_dict(value);
    if (!d || d->items.n > MAX_CHOICES)
        return bad(r, "'choices' should be an object of at most 64 numbers");
    tnk_choice *c = TNB_NEW_N(r->t->arena, tnk_choice, d->items.n + 1);
    for (uint32_t i = 0; i < d->items.n && c; i++) {
        const tn_pair *p = tn_as_pair(d->items.at[i]);
        c[i].name = tnb_strdup(r->t->arena, p->key);
        if (!*p->key || p->key[strcspn(p->key, " =\n")] || !tn_int_value(p->value, &c[i].value))
            return bad(r, "'choices' should be whole numbers under names of letters");
    }
    out->choices = c;
    out->n_choices = d->items.n;
    return TNB_OK;
}

/* Seconds, or why there are none. */
static tnb_status
result_of(struct reader *r, const tn_node *d, tnk_tuning_record *out)
{
    const tn_node *v = tn_dict_get(d, "seconds");
    const tn_float_imm *f = tn_as_float_imm(v);
    int64_t i;
    out->seconds = -1;
    out->failed = text_of(r, d, "failed");
    if (!v)
        return out->failed ? TNB_OK : bad(r, "neither 'seconds' nor 'failed' is there");
    if (out->failed)
        return bad(r, "'seconds' and 'failed' are both there");
    out->seconds = f ? f->value : tn_int_value(v, &i) ? (double)i : -1;
    return isfinite(out->seconds) && out->seconds > 0
               ? TNB_OK
               : bad(r, "'seconds' should be a number above 0");
}

static tnb_status
record_of(struct reader *r, const tn_node *d)
{
    tnk_tuning_record rec = {.file = r->path, .line = r->line};
    rec.target = text_of(r, d, "target");
    rec.function = text_of(r, d, "function");
    rec.rule = text_of(r, d, "rule");
    rec.name = text_of(r, d, "name");
    rec.machine = text_of(r, d, "machine");
    rec.threads = tn_dict_int(d, "threads", 0);
    if (!rec.target || !rec.rule)
        return bad(r, "'target' and 'rule' should be texts");
    if (!is_function(rec.function))
        return bad(r, "'function' should be 16 hexadecimal digits");
    if (rec.threads < 0 || rec.threads > 1 << 20)
        return bad(r, "'threads' should be a count");
    rec.name = rec.name ? rec.name : "";
    rec.machine = rec.machine ? rec.machine : "";
    TNB_TRY(choices_of(r, tn_dict_get(d, "choices"), &rec));
    TNB_TRY(result_of(r, d, &rec));
    rec.key = tune_key(r->t->arena, rec.rule, rec.choices, rec.n_choices);
    TNB_PUSH(r->t->arena, r->t->records, rec);
    return TNB_OK;
}

static tnb_status
read_line(struct reader *r, const char *s, size_t n)
{
    tnb_err why = {0};
    if (n > MAX_LINE)
        return bad(r, "the line is longer than 65536 bytes");
    if (memchr(s, 0, n))
        return bad(r, "a zero byte");
    const tn_node *d = tn_value_from_json(r->ctx, s, n, &why);
    if (!d || !tn_as_dict(d))
        return tnb_fail(r->err, TNB_FORMAT, "%s:%u: no JSON object: %s", r->path, r->line,
                        *why.message ? why.message : "another value");
    if (r->line > 1)
        return record_of(r, d);
    int64_t version = tn_dict_int(d, "tenon_tuning", 0);
    if (version == VERSION)
        return TNB_OK;
    if (version < 1)
        return bad(r, "this is no tuning database: its first line should be {\"tenon_tuning\": 1}");
    tnb_fail(r->err, TNB_ABI, "%s:1: the database has version %lld; this Tenon reads version 1",
             r->path, (long long)version);
    tnb_hint(r->err, "use the Tenon that wrote it, or tune into another file");
    return TNB_ABI;
}

tnb_status
tnk_tuning_read(tnk_tuning *t, const char *path, tnb_err *err)
{
    char *data = NULL;
    size_t n = 0;
    TNB_TRY(tnb_read_file(path, max_file, &data, &n, err));
    struct reader r = {.t = t, .path = tnb_strdup(t->arena, path), .err = err};
    tnb_status st = TNB_OK;
    uint32_t parsed = 0;
    for (size_t at = 0; at < n && st == TNB_OK;) {
        const char *end = memchr(data + at, '\n', n - at);
        if (!end)
            break; /* an interrupted program left it */
        size_t len = (size_t)(end - data) - at;
        r.line++;
        if (parsed++ % 1024 == 0) { /* values of lines are not needed for long */
            tn_ctx_free(r.ctx);
            r.ctx = tn_ctx_new(NULL);
        }
        if (!r.ctx)
            st = tnb_fail(err, TNB_NO_MEMORY, "no memory to read %s", path);
        else if (len == 0 && r.line > 1)
            st = bad(&r, "an empty line");
        else
            st = read_line(&r, data + at, len);
        at += len + 1;
    }
    tn_ctx_free(r.ctx);
    free(data);
    if (st == TNB_OK && tnb_arena_failed(t->arena))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory to read %s", path);
    return st;
}

/* ---- choosing ---- */

static bool
is_for(const tnk_tuning_record *r, const char *target, const char *function)
{
    return !strcmp(r->function, function) && !strcmp(r->target, target);
}

const tnk_tuning_record *
tnk_tuning_best(const tnk_tuning *t, const char *target, const char *function, int64_t threads)
{
    const tnk_tuning_record *group = NULL, *best = NULL;
    for (uint32_t i = 0; i < t->records.n; i++) {
        const tnk_tuning_record *r = &t->records.at[i];
        if (is_for(r, target, function) && r->seconds > 0 &&
            (r->threads == threads || !group || group->threads != threads))
            group = r;
    }
    if (!group)
        return NULL;
    tnb_arena *a = tnb_arena_new();
    tnb_strmap last;
    if (!a)
        return NULL;
    tnb_strmap_init(&last, a);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < t->records.n; i++) {
            const tnk_tuning_record *r = &t->records.at[i];
            if (!is_for(r, target, function) || r->threads != group->threads ||
                strcmp(r->machine, group->machine) != 0)
                continue;
            if (pass == 0)
                tnb_strmap_set(&last, r->key, r);
            else if (tnb_strmap_get(&last, r->key) == r && r->seconds > 0 &&
                     (!best || r->seconds < best->seconds))
                best = r;
        }
    tnb_arena_free(a);
    return best;
}

/* ---- adding ---- */

static void
print_record(tnb_buf *b, const tnk_tuning_record *r)
{
    tnb_buf_puts(b, "{\"target\": ");
    tn_json_text(b, r->target);
    tnb_buf_puts(b, ", \"function\": ");
    tn_json_text(b, r->function);
    tnb_buf_puts(b, ", \"name\": ");
    tn_json_text(b, r->name ? r->name : "");
    tnb_buf_puts(b, ", \"rule\": ");
    tn_json_text(b, r->rule);
    tnb_buf_puts(b, ", \"choices\": {");
    for (uint32_t i = 0; i < r->n_choices; i++) {
        tnb_buf_puts(b, i ? ", " : "");
        tn_json_text(b, r->choices[i].name);
        tnb_buf_printf(b, ": %lld", (long long)r->choices[i].value);
    }
    tnb_buf_printf(b, "}, \"threads\": %lld, \"machine\": ", (long long)r->threads);
    tn_json_text(b, r->machine ? r->machine : "");
    if (r->failed) {
        tnb_buf_puts(b, ", \"failed\": ");
        tn_json_text(b, *r->failed ? r->failed : "failed");
    } else {
        /* whatever the locale's decimal point is: nanoseconds and tenths, as whole numbers */
        unsigned long long tenths = tnb_f64_to_u64(r->seconds * 1e10 + 0.5);
        tnb_buf_printf(b, ", \"seconds\": %llu.%010llu", tenths / 10000000000ull,
                       (tenths ? tenths : 1) % 10000000000ull);
    }
    tnb_buf_puts(b, "}\n");
}

/* The place after the last whole line. */
static tnb_status
end_of_lines(int fd, off_t *end)
{
    char block[4096];
    off_t at = lseek(fd, 0, SEEK_END);
    while (at > 0) {
        off_t from = at > (off_t)sizeof block ? at - (off_t)sizeof block : 0;
        ssize_t n = pread(fd, block, (size_t)(at - from), from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != at - from)
            return TNB_IO;
        while (n > 0 && block[n - 1] != '\n')
            n--;
        at = from + n;
        if (n > 0)
            break;
    }
    *end = at;
    return at < 0 ? TNB_IO : TNB_OK;
}

static tnb_status
not_written(const char *path, tnb_status st, int e, tnb_err *err)
{
    (void)tnb_fail(err, st, "%s cannot be written: %s", path, strerror(e ? e : EIO));
    tnb_hint_room(e, err);
    return st;
}

tnb_status
tnk_tuning_append(const char *path, const tnk_tuning_record *r, tnb_err *err)
{
    tnb_buf b = {0};
    tnb_arena *a = tnb_arena_new();
    if (!a)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to write %s", path);
    tnb_status st = tnb_make_dirs(tnb_path_dir(a, path), 0777, err);
    tnb_arena_free(a);
    TNB_TRY(st);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return not_written(path, TNB_IO, errno, err);
    off_t end = 0;
    errno = 0;
    while ((st = flock(fd, LOCK_EX) == 0 ? TNB_OK : TNB_IO) != TNB_OK && errno == EINTR)
        ;
    if (st == TNB_OK)
        st = end_of_lines(fd, &end);
    if (st == TNB_OK && (ftruncate(fd, end) != 0 || lseek(fd, end, SEEK_SET) != end))
        st = TNB_IO;
    if (end == 0)
        tnb_buf_puts(&b, header);
    print_record(&b, r);
    if (b.failed)
        st = TNB_NO_MEMORY;
    if (st == TNB_OK)
        st = tnb_write_all(fd, b.s, b.n, -1) ? TNB_OK : TNB_IO;
    if (st != TNB_OK) {
        (void)not_written(path, st, errno, err);
        if (ftruncate(fd, end) == 0 &&
            end == 0) /* a part of a line, or a file that was not there */
            (void)unlink(path);
    }
    tnb_buf_free(&b);
    if (close(fd) != 0 && st == TNB_OK)
        st = not_written(path, TNB_IO, errno, err);
    return st;
}
