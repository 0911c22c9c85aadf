/* SPDX-License-Identifier: Apache-2.0 */
/* Renaming a backend's sources for a copy.
 *
 *     from `opencl` to `acme`:   opencl_rt       acme_rt          TENON_OPENCL_PROBE   TENON_ACME_PROBE
 *                                "opencl-c"      "acme-c"         OPENCL_TEXT          ACME_TEXT
 *                                opencl.Texture  acme.Texture     CL_TARGET_OPENCL...  stays: of another family
 *     promised by the manifest:  CLMLDispatch    AcmeCLMLDispatch
 *                                clml.conv2d     acme_clml.conv2d
 *
 * A word is a C identifier. What is promised is renamed wherever it stands as a whole word: in code, strings, manifests.
 */
#include "rename.h"

#include <ctype.h>

static bool
is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *
upper(tnb_arena *a, const char *s)
{
    char *u = tnb_strdup(a, s);
    for (char *p = u; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return u;
}

static const char *
camel(tnb_arena *a, const char *s)
{
    char *c = tnb_strdup(a, s), *to = c;
    bool up = true;
    for (; *s; s++) {
        if (*s != '_')
            *to++ = up ? (char)toupper((unsigned char)*s) : *s;
        up = *s == '_';
    }
    *to = 0;
    return c;
}

void
tnt_names_init(tnt_names *n, tnb_arena *a, const char *from, const char *to, const char *version)
{
    *n = (tnt_names){.arena = a,
                     .from = from,
                     .to = to,
                     .from_up = upper(a, from),
                     .to_up = upper(a, to),
                     .camel = camel(a, to),
                     .version = version};
    tnb_strmap_init(&n->words, a);
}

/* `word` begins with `name`, which is all of it (if `alone`) or ends at an underscore. */
static bool
begins(const char *word, const char *name, bool alone)
{
    size_t k = strlen(name);
    return strncmp(word, name, k) == 0 && (word[k] == '_' || (alone && !word[k]));
}

/* What a word becomes; itself if nothing else. */
static const char *
renamed(const tnt_names *n, const char *word)
{
    static const char *const families[] = {"TENON_BACKENDS_", "TENON_", ""};
    const char *known = tnb_strmap_get(&n->words, word);
    if (known)
        return known;
    if (begins(word, n->from, true))
        return tnb_printf(n->arena, "%s%s", n->to, word + strlen(n->from));
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t k = strlen(families[i]);
        /* a capital name alone is prose or another's: NULL, CPU */
        if (strncmp(word, families[i], k) == 0 && begins(word + k, n->from_up, k > 0))
            return tnb_printf(n->arena, "%s%s%s", families[i], n->to_up,
                              word + k + strlen(n->from_up));
    }
    return word;
}

void
tnt_names_promise(tnt_names *n, const char *promise)
{
    static const char *const kinds[] = {"pass",     "rule",      "pattern",
                                        "external", "evaluator", "tensor_intrin",
                                        "loader",   "importer",  "dialect"};
    const char *colon = strchr(promise, ':');
    bool ours = false;
    for (size_t i = 0; colon && i < sizeof kinds / sizeof *kinds; i++)
        ours |= strlen(kinds[i]) == (size_t)(colon - promise) &&
                strncmp(promise, kinds[i], strlen(kinds[i])) == 0;
    if (!ours)
        return;
    size_t k = 1;
    while (is_word(colon[k]))
        k++;
    const char *word = tnb_strndup(n->arena, colon + 1, k - 1);
    if (!*word || renamed(n, word) != word)
        return;
    tnb_strmap_set(&n->words, word,
                   isupper((unsigned char)*word) ? tnb_printf(n->arena, "%s%s", n->camel, word)
                                                 : tnb_printf(n->arena, "%s_%s", n->to, word));
}

/* The one of the texts that stands at `s`, or none (-1). */
static int
met(const tnt_texts *texts, const char *s, size_t room)
{
    for (uint32_t i = 0; i < texts->n; i++) {
        size_t k = strlen(texts->at[i]);
        if (k && k <= room && memcmp(texts->at[i], s, k) == 0)
            return (int)i;
    }
    return -1;
}

void
tnt_rename(tnt_names *n, const char *text, size_t size, tnb_buf *out)
{
    static const char config[] = "#include \"config.h\"\n", version[] = "@VERSION@";
    const char *s = text, *end = text + size;
    while (s < end) {
        size_t room = (size_t)(end - s), k = 0;
        int i;
        if ((i = met(&n->keep, s, room)) >= 0) {
            tnb_buf_puts(out, n->keep.at[i]);
            s += strlen(n->keep.at[i]);
            n->kept[i] = true;
        } else if ((i = met(&n->cut, s, room)) >= 0) {
            s += strlen(n->cut.at[i]);
            n->was_cut[i] = true;
        } else if (room >= sizeof config - 1 && memcmp(s, config, sizeof config - 1) == 0) {
            s += sizeof config - 1; /* plugin.mk gives what is needed of it */
        } else if (room >= sizeof version - 1 && memcmp(s, version, sizeof version - 1) == 0) {
            tnb_buf_puts(out, n->version);
            s += sizeof version - 1;
        } else if (*s == '\\' && room > 1) { /* an escape is no letter of the word behind it */
            tnb_buf_put(out, s, 2);
            s += 2;
        } else if (is_word(*s)) {
            while (k < room && is_word(s[k]))
                k++;
            const char *word = tnb_strndup(n->arena, s, k);
            if (strcmp(word, "PACKAGE_VERSION") == 0)
                tnb_buf_printf(out, "\"%s\"", n->version);
            else
                tnb_buf_puts(out, renamed(n, word));
            s += k;
        } else {
            tnb_buf_putc(out, *s++);
        }
    }
}

const char *
tnt_rename_path(tnt_names *n, const char *path)
{
    tnb_buf b = {0};
    tnb_buf_puts(&b, "");
    tnt_rename(n, path, strlen(path), &b);
    const char *copy = b.s ? tnb_strdup(n->arena, b.s) : path;
    tnb_buf_free(&b);
    return copy;
}

/* One line, [SECTION NAME] or KEY = VALUE within [tags], whose name gets `to` and `between` in front unless it has it. */
static void
put_owned(tnt_names *n, const char *line, size_t at, size_t size, char between, tnb_buf *out)
{
    tnb_buf_put(out, line, at);
    size_t k = 0;
    while (at + k < size && !strchr(" =]", line[at + k]))
        k++;
    if (!strstr(tnb_strndup(n->arena, line + at, k), n->to))
        tnb_buf_printf(out, "%s%c", n->to, between);
    tnb_buf_put(out, line + at, size - at);
}

void
tnt_rename_ini(tnt_names *n, const char *text, size_t size, tnb_buf *out)
{
    tnb_buf words = {0};
    bool tags = false;
    tnt_rename(n, text, size, &words);
    for (const char *s = words.s, *end = s ? s + words.n : s; s && s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        size_t k = stop ? (size_t)(stop - s) + 1 : (size_t)(end - s);
        size_t space = strcspn(s, " \n");
        if (*s == '[' && space < k && s[space] == ' ')
            put_owned(n, s, space + 1, k, '-', out);
        else if (tags && isalnum((unsigned char)*s))
            put_owned(n, s, 0, k, '/', out);
        else
            tnb_buf_put(out, s, k);
        if (*s == '[')
            tags = strncmp(s, "[tags]", 6) == 0;
        s += k;
    }
    tnb_buf_free(&words);
}

bool
tnt_has_word(const char *text, size_t size, const char *word)
{
    size_t w = strlen(word);
    for (size_t i = 0; i < size;) {
        size_t k = 0;
        while (i + k < size && is_word(text[i + k]))
            k++;
        if (k >= w && memcmp(text + i, word, w) == 0 && (k == w || text[i + w] == '_'))
            return true;
        i += k ? k : 1;
    }
    return false;
}
