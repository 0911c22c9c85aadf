/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of language models' text: tokenizers in all their formats, and chat templates. */
#include "config.h"

#include "readers.h"

#ifdef HAVE_LM
#include <stdio.h>
#include <stdlib.h>

#include "tenon/base/wire.h"
#include "tenon/lm/chat.h"
#include "tenon/lm/tokenizer.h"

static void
seed(tnb_buf *out, uint32_t *n, const void *p, size_t size)
{
    if (*n < MOST_SEEDS)
        tnb_buf_put(&out[(*n)++], p, size);
}

/* A small SentencePiece model; kind 1: unigram, 2: BPE. */
static void
model_seed(tnb_buf *out, uint32_t *n, uint64_t kind)
{
    static const struct {
        const char *s;
        uint64_t kind;
    } pieces[] = {{"<unk>", 2},
                  {"<s>", 3},
                  {"</s>", 3},
                  {"<0x41>", 6},
                  {"\xe2\x96\x81", 1},
                  {"a", 1},
                  {"b", 1},
                  {"ab", 1},
                  {"\xe2\x96\x81"
                   "ab",
                   5},
                  {"<x>", 4}};
    tnb_buf b = {0}, part = {0};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const uint8_t score[] = {0x15, 0, 0, (uint8_t)(i * 16), 0xc0};
        part.n = 0;
        tnb_wire_put_text(&part, 1, pieces[i].s);
        tnb_buf_put(&part, score, sizeof score);
        tnb_wire_put_int(&part, 3, pieces[i].kind);
        tnb_wire_put_bytes(&b, 1, part.s, part.n);
    }
    part.n = 0;
    tnb_wire_put_int(&part, 3, kind);
    tnb_wire_put_int(&part, 35, kind - 1);
    tnb_wire_put_bytes(&b, 2, part.s, part.n);
    const char map[] = {8, 0, 0, 0, 0, 4, 0, 0, 'a', 1, 0, 0, 'x', 0};
    part.n = 0;
    tnb_wire_put_bytes(&part, 2, map, sizeof map);
    tnb_wire_put_int(&part, 4, kind - 1);
    tnb_wire_put_bytes(&b, 3, part.s, part.n);
    seed(out, n, b.s, b.n);
    tnb_buf_free(&b);
    tnb_buf_free(&part);
}

void
tokenizer_json_seeds(tnb_buf *out, uint32_t *n)
{
    static const char *const texts[] = {
        "{\"added_tokens\": [{\"id\": 6, \"content\": \"<s>\", \"special\": true, \"lstrip\": "
        "true, \"single_word\": true}],"
        " \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}, "
        "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"x+\"}, \"content\": \"b\"}]},"
        " \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", "
        "\"pattern\": {\"Regex\": \"\\\\s+|\\\\w\"}, \"behavior\": \"MergedWithNext\"},"
        " {\"type\": \"Digits\", \"individual_digits\": true}, {\"type\": \"ByteLevel\"}]},"
        " \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": "
        "{\"id\": \"<s>\"}}, {\"Sequence\": {\"id\": \"A\"}}],"
        " \"special_tokens\": {\"<s>\": {\"ids\": [6]}}}, \"decoder\": {\"type\": \"ByteLevel\"},"
        " \"model\": {\"type\": \"BPE\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, \"a\": 1, "
        "\"b\": 2, \"ab\": 3, \"aba\": 4, \"\xc4\xa0\": 5}, \"merges\": [\"a b\", [\"ab\", "
        "\"a\"]]}}",
        "{\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": "
        "\"CAAAAAAEAABhAQAAeAA=\"}, \"pre_tokenizer\": {\"type\": \"Metaspace\", "
        "\"prepend_scheme\": \"first\"},"
        " \"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", "
        "\"pattern\": {\"String\": \"\xe2\x96\x81\"}, \"content\": \" \"}, {\"type\": "
        "\"ByteFallback\"}, {\"type\": \"Fuse\"},"
        " {\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}]},"
        " \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"byte_fallback\": true, \"vocab\": "
        "[[\"<unk>\", 0], [\"a\", -1.5], [\"ab\", -2], [\"\xe2\x96\x81\", -3], [\"<0x41>\", 0]]}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        seed(out, n, texts[i], strlen(texts[i]));
}

void
tokenizer_model_seeds(tnb_buf *out, uint32_t *n)
{
    model_seed(out, n, 1);
    model_seed(out, n, 2);
}

void
tokenizer_bin_seeds(tnb_buf *out, uint32_t *n)
{
    tnb_buf b = {0};
    tnb_buf_put(&b, "\x08\0\0\0", 4);
    for (int i = 0; i < 264; i++) {
        char text[16];
        const char head[] = {0, 0, (char)i, 0x40, (char)(i < 3 ? 1 : i < 259 ? 6 : i - 258),
                             0, 0, 0};
        tnb_buf_put(&b, head, 8);
        snprintf(text, sizeof text,
                 i < 3     ? "u"
                 : i < 259 ? "<0x%02X>"
                           : "aaabab",
                 (unsigned)(i - 3) & 0xff);
        tnb_buf_put(&b, text, (size_t)(uint8_t)head[4]);
    }
    seed(out, n, b.s, b.n);
    tnb_buf_free(&b);
}

/* Encodes and decodes a text that has something for every step, and frees the tokenizer. */
static void
use_tokenizer(tnl_tokenizer *t)
{
    static const char text[] = "ab  <s> aba 12\n\xc3\xa9\xe2\x96\x81 <x>A\xff\xf0\x9f\x98\x80 xx";
    tnb_err err;
    int32_t *ids;
    size_t n_ids;
    reader_taken++;
    if (tnl_encode(t, text, sizeof text - 1, TNL_ADD_SPECIAL, &ids, &n_ids, &err) == TNB_OK) {
        tnb_buf out = {0};
        if (tnl_decode(t, ids, n_ids, 0, &out, &err) != TNB_OK)
            abort();
        for (size_t i = 0; i < n_ids; i++)
            if (ids[i] < 0 || !tnl_token_text(t, ids[i]))
                abort();
        tnb_buf_free(&out);
        free(ids);
    }
    tnl_tokenizer_free(t);
}

void
read_tokenizer(const void *data, size_t n)
{
    tnl_tokenizer *t;
    tnb_err err;
    if (tnl_tokenizer_read(data, n, "fuzz", &t, &err) == TNB_OK)
        use_tokenizer(t);
}

/* ---- a folder of a tokenizer ---- */

static const char *tokenizer_folder;

bool
tokenizer_folder_begin(void)
{
    tokenizer_folder = reader_folder();
    return tokenizer_folder != NULL;
}

void
tokenizer_folder_seeds(tnb_buf *out, uint32_t *n)
{
    static const char *const configs[] = {
        "{\"bos_token\": \"<s>\", \"eos_token\": {\"content\": \"a\"}, \"unk_token\": \"u\", "
        "\"pad_token\": null, \"chat_template\": \"{{ messages[0].content }}\"}",
        "{\"bos_token\": {\"content\": \"<unk>\"}, \"add_bos_token\": true, \"add_eos_token\": "
        "false, \"chat_template\": [{\"name\": \"tool_use\", \"template\": \"x\"}, {\"name\": "
        "\"default\", \"template\": \"{{ bos_token }}\"}]}"};
    const uint32_t first = *n;
    tokenizer_json_seeds(out, n);
    for (uint32_t i = first; i < *n; i++)
        tnb_buf_printf(&out[i], "%c%s%c%s", READER_SEPARATOR, configs[(i - first) % 2],
                       READER_SEPARATOR,
                       i > first
                           ? ""
                           : "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}");
}

void
read_tokenizer_folder(const void *data, size_t n)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json",
                                        "chat_template.jinja"};
    static const char variables[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"hey\"}]}";
    reader_part part[3];
    tnl_tokenizer *t;
    tnl_template *template;
    tnb_err err;
    reader_split(data, n, part, 3);
    for (int i = 0; i < 3; i++)
        if (!reader_put(names[i], part[i].s, part[i].n))
            return;
    if (tnl_tokenizer_open(tokenizer_folder, &t, &err) != TNB_OK)
        return;
    const char *text = tnl_chat_template(t);
    if (text && tnl_template_new(text, strlen(text), "fuzz", &template, &err) == TNB_OK) {
        tnb_buf out = {0};
        reader_taken +=
            tnl_template_render(template, variables, sizeof variables - 1, 0, &out, &err) == TNB_OK;
        tnl_template_free(template);
        tnb_buf_free(&out);
    }
    use_tokenizer(t);
}

void
template_seeds(tnb_buf *out, uint32_t *n)
{
    static const char *const texts[] = {
        "{% for m in messages if m.role != 'x' %}{{ loop.index }}<|{{ m['role'] }}|>{{ m.content | "
        "trim }}{% if not loop.last %}\n{% endif %}{% else %}-{% endfor %}",
        "{%- set ns = namespace(a=1, b=[]) -%}{% macro f(a, b=2) %}{{ a ~ b }}{{ caller() }}{% "
        "endmacro %}{% call f(1) %}x{% endcall %}{% set ns.a = ns.a + 1 %}{{ ns.a }}",
        "{{ messages | tojson(indent=2) }}{{ messages | map(attribute='role') | join(',') }}{{ "
        "'a,b'.split(',')[::-1] }}{{ messages[0].content[1:3] | upper }}",
        "{# c #}{% raw %}{{ x }}{% endraw %}{% set t %}a{% endset %}{% filter upper %}{{ t }}{% "
        "endfilter %}{% with a = 1 %}{{ a }}{% endwith %}",
        "{{ 1 + 2 * -3 ** 2 // 4 % 5 }}{{ 'x' if a is defined else [1, (2,), {'k': none}] }}{{ "
        "raise_exception('no') if not messages }}{{ strftime_now('%Y') }}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        seed(out, n, texts[i], strlen(texts[i]));
}

void
read_template(const void *data, size_t n)
{
    static const char variables[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": \" h\xc3\xa9y \"}, {\"role\": \"x\", "
        "\"content\": null}], \"add_generation_prompt\": true}";
    tnl_template *t;
    tnb_err err;
    tnb_buf out = {0};
    if (tnl_template_new(data, n, "fuzz", &t, &err) != TNB_OK)
        return;
    if (tnl_template_render(t, variables, sizeof variables - 1, 0, &out, &err) == TNB_OK)
        reader_taken++;
    tnl_template_free(t);
    tnb_buf_free(&out);
}
#endif
