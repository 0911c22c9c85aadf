/* SPDX-License-Identifier: Apache-2.0 */
/* One INI text. inih cuts over-long lines, sections and keys without a word, joins a duplicate key
 * and a continuation line into one case, and does not say where an entry stands. So the lines go
 * through a reader that counts and judges them. inih sees headers and keys, which have to fit its
 * 200 bytes, and an empty line in place of a bad one; a value never goes through it (PLACEHOLDER
 * does), so that a value may be as long as MAX_LINE.
 */
#include "tenon/base/ini.h"
#include <ini.h>
#include <stdlib.h>

/* inih's own limits (MAX_SECTION and MAX_NAME of ini.c, terminator included). */
enum { NAME_ROOM = 50 };
/* The longest line that is read, without its end. A value that is longer stands on several lines. */
enum { MAX_LINE = 65535 };
/* What inih reads in the place of each value, and of each line that continues one. */
#define PLACEHOLDER "."

typedef struct front {
    tnb_arena *arena;
    tnb_diags *diags;
    const char *file;
    const char *at, *end;
    uint32_t line;
    bool continues; /* the line just handed over adds to the key before it */
    bool has_key;   /* a key came since the last header, as inih sees it */
    bool skip;      /* the section's header was bad: its lines are not judged */
    bool bad;
    const char *section, *name;
    const char *value; /* of the line just handed over, as it stands; NULL: the line has none */
    size_t value_n;
    char read[NAME_ROOM + 8]; /* what inih reads in the place of that line */
    tnb_strmap seen;
    TNB_VEC(tnb_ini_entry) entries;
    uint32_t header;  /* line of a header that no key has followed yet; 0: none */
    char *long_value; /* the last value of several lines, its length and room */
    size_t long_n, long_room;
} front;

bool
tnb_is_ini_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
              (s[i] >= '0' && s[i] <= '9') || s[i] == '_' || s[i] == '-'))
            return false;
    return n > 0;
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Records an error at the current line. */
static void
wrong(front *f, uint32_t column, const char *line, size_t n, const char *fmt, ...) TNB_PRINTF(5, 6);
static void
wrong(front *f, uint32_t column, const char *line, size_t n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(f->diags, TNB_ERROR, TNB_FORMAT,
                (tnb_place){.file = f->file, .line = f->line, .column = column}, fmt, ap);
    va_end(ap);
    if (n)
        tnb_diag_source(f->diags, line, n);
    f->bad = true;
}

/* A section that ends without a key is an entry of its own, so that its name is looked at. */
static void
end_section(front *f)
{
    if (f->header)
        TNB_PUSH(f->arena, f->entries, ((tnb_ini_entry){f->section, f->name, "", "", f->header}));
    f->header = 0;
}

/* "[SECTION]" or "[SECTION NAME]" at `p`. */
static bool
read_header(front *f, const char *line, const char *p, const char *end)
{
    const char *close = memchr(p, ']', (size_t)(end - p));
    uint32_t column = (uint32_t)(p - line) + 1;
    size_t n = (size_t)(end - line);
    end_section(f);
    f->skip = true;
    f->has_key = false;
    if (!close) {
        wrong(f, column, line, n, "this section header has no ']'");
        return false;
    }
    const char *rest = close + 1;
    while (rest < end && is_blank(*rest))
        rest++;
    if (rest < end && *rest != ';' && *rest != '#') {
        wrong(f, (uint32_t)(rest - line) + 1, line, n,
              "nothing but a comment may follow a section header");
        return false;
    }
    if (close - p - 1 >= NAME_ROOM) {
        wrong(f, column, line, n, "a section header of %d characters; at most %d are read",
              (int)(close - p - 1), NAME_ROOM - 1);
        return false;
    }
    const char *a = p + 1, *b;
    while (a < close && is_blank(*a))
        a++;
    for (b = a; b < close && !is_blank(*b);)
        b++;
    const char *c = b, *d = close;
    while (c < d && is_blank(*c))
        c++;
    while (d > c && is_blank(d[-1]))
        d--;
    if (!tnb_is_ini_name(a, (size_t)(b - a)) || (c < d && !tnb_is_ini_name(c, (size_t)(d - c)))) {
        wrong(f, column + 1, line, n,
              "a section header is [SECTION] or [SECTION NAME], of letters, digits, '_' and '-'");
        return false;
    }
    f->section = tnb_strndup(f->arena, a, (size_t)(b - a));
    f->name = tnb_strndup(f->arena, c, (size_t)(d - c));
    f->header = f->line;
    f->skip = false;
    memcpy(f->read, p, (size_t)(close + 1 - p));
    f->read[close + 1 - p] = 0;
    return true;
}

/* The line's value is `from` to `end`; inih reads the key, none for a line that continues, and the
 * placeholder. */
static void
hold_value(front *f, const char *key, size_t key_n, const char *from, const char *end)
{
    f->value = from;
    f->value_n = (size_t)(end - from);
    memcpy(f->read, key, key_n);
    memcpy(f->read + key_n, key_n ? "=" PLACEHOLDER : " " PLACEHOLDER, sizeof "=" PLACEHOLDER);
}

/* Judges one line; false when inih has nothing to see of it. */
static bool
judge(front *f, const char *line, size_t n)
{
    const char *end = line + n, *p = line;
    f->continues = false;
    f->value = NULL;
    if (n > MAX_LINE) {
        wrong(f, 0, line, 0, "a line of %zu bytes; at most %d are read", n, MAX_LINE);
        tnb_diag_hint(f->diags, "split the value: lines that begin with a blank continue it");
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < 32 && line[i] != '\t' && !(line[i] == '\r' && i + 1 == n)) {
            wrong(f, (uint32_t)i + 1, line, n, "control character %d", line[i]);
            return false;
        }
    while (p < end && is_blank(*p))
        p++;
    if (p == end || *p == ';' || *p == '#')
        return false;
    if (f->has_key && p > line) {
        f->continues = true;
        hold_value(f, "", 0, p, end);
        return !f->skip;
    }
    if (*p == '[')
        return read_header(f, line, p, end);
    if (f->skip)
        return false;
    const char *mark = p;
    while (mark < end && *mark != '=' && *mark != ':')
        mark++;
    const char *key_end = mark;
    while (key_end > p && is_blank(key_end[-1]))
        key_end--;
    uint32_t column = (uint32_t)(p - line) + 1;
    if (mark == end || key_end == p) {
        wrong(f, column, line, n, "expected [SECTION] or KEY = VALUE");
        return false;
    }
    if (key_end - p >= NAME_ROOM) {
        wrong(f, column, line, n, "a key of %d characters; at most %d are read", (int)(key_end - p),
              NAME_ROOM - 1);
        return false;
    }
    if (!f->section) {
        wrong(f, column, line, n, "this key stands before the first section header");
        return false;
    }
    f->has_key = true;
    hold_value(f, p, (size_t)(key_end - p), mark + 1, end);
    return true;
}

/* inih's reader: as fgets, without the end of the line. */
static char *
next_line(char *out, int size, void *user)
{
    front *f = user;
    if (f->at == f->end || size < 2)
        return NULL;
    const char *line = f->at, *stop = memchr(line, '\n', (size_t)(f->end - line));
    size_t n = (size_t)((stop ? stop : f->end) - line);
    f->at = stop ? stop + 1 : f->end;
    f->line++;
    if (f->line == 1 && n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
        line += 3;
        n -= 3;
    }
    const char *read = judge(f, line, n) ? f->read : "";
    n = strnlen(read, (size_t)size - 1);
    memcpy(out, read, n);
    out[n] = 0;
    return out;
}

/* Without a comment that begins with " ;", and blanks around. */
static const char *
bare_value(tnb_arena *a, const char *s, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (s[i] == ';' && is_blank(s[i - 1]))
            n = i;
    while (n && is_blank(s[n - 1]))
        n--;
    while (n && is_blank(*s)) {
        s++;
        n--;
    }
    return n && *s == ';' ? "" : tnb_strndup(a, s, n);
}

/* A value with one more line. The room doubles, so that a value of many lines is not copied for
 * each of them. */
static const char *
append_line(front *f, const char *value, const char *line)
{
    size_t n = strlen(line);
    if (value != f->long_value) {
        f->long_n = strlen(value);
        f->long_room = 0;
    }
    if (f->long_n + n + 2 > f->long_room) {
        f->long_room = 2 * (f->long_n + n + 2);
        char *more = tnb_alloc(f->arena, f->long_room);
        memcpy(more, value, f->long_n);
        f->long_value = more;
    }
    f->long_value[f->long_n] = '\n';
    memcpy(f->long_value + f->long_n + 1, line, n + 1);
    f->long_n += n + 1;
    return f->long_value;
}

static int
entry(void *user, const char *section, const char *key, const char *value)
{
    front *f = user;
    (void)section;
    (void)value; /* the placeholder */
    value = bare_value(f->arena, f->value, f->value_n);
    if (f->continues) {
        if (f->entries.n) {
            tnb_ini_entry *e = &f->entries.at[f->entries.n - 1];
            e->value = *e->value ? append_line(f, e->value, value) : value;
        }
        return 1;
    }
    f->header = 0;
    const char *id = tnb_printf(f->arena, "%s %s %s", f->section, f->name, key);
    const void *before = tnb_strmap_get(&f->seen, id);
    tnb_ini_entry e = {f->section, f->name, tnb_strdup(f->arena, key), value, f->line};
    if (before) {
        wrong(f, 0, key, 0, "key '%s' of [%s%s%s] is set twice in this file", key, f->section,
              *f->name ? " " : "", f->name);
        tnb_diag_note(f->diags, "the first time in line %u", (unsigned)(uintptr_t)before);
    } else {
        tnb_strmap_set(&f->seen, id, (void *)(uintptr_t)f->line);
    }
    TNB_PUSH(f->arena, f->entries, e);
    return 1;
}

bool
tnb_ini_read(tnb_arena *a, const char *file, const char *text, size_t n, tnb_ini_entry **entries,
             uint32_t *n_entries, tnb_diags *diags)
{
    front f = {.arena = a, .diags = diags, .file = file, .at = text, .end = text + n};
    tnb_strmap_init(&f.seen, a);
    int r = ini_parse_stream(next_line, &f, entry, &f);
    if (r != 0 && !f.bad) {
        f.line = r > 0 ? (uint32_t)r : 0;
        wrong(&f, 0, "", 0, r > 0 ? "this line cannot be read" : "out of memory");
    }
    end_section(&f);
    if (tnb_arena_failed(a) && !f.bad)
        wrong(&f, 0, "", 0, "out of memory");
    *entries = f.entries.at;
    *n_entries = f.entries.n;
    return !f.bad;
}
