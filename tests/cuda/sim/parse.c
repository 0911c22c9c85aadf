/* SPDX-License-Identifier: Apache-2.0 */
/* Reads PTX: a module's directives, functions with their variables, instructions with operands. What an
 * instruction means is left to the tree's users. Errors leave by longjmp, with the line. */
#include "config.h"

#include "ptx.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEPTH = 4 };
static const uint64_t max_elements = UINT64_C(1) << 40;

typedef struct reader {
    tnb_arena *a;
    const char *at;
    uint32_t line;
    tnb_err *err;
    uint32_t depth; /* of operands in braces */
    ptx_module *module;
    ptx_variable **last_variable;
    ptx_function **last_function;
    jmp_buf failed;
} reader;

/* What a function's body is read into. */
typedef struct body {
    ptx_function *f;
    ptx_variable **last_variable;
    ptx_instruction **last;
    ptx_targets **last_targets;
    TNB_VEC(ptx_scope) scopes;
    uint32_t scope;
} body;

#define FAIL(r, ...)                                        \
    do {                                                    \
        (void)tnb_fail((r)->err, TNB_FORMAT, __VA_ARGS__);  \
        tnb_err_prefix((r)->err, "PTX line %u", (r)->line); \
        longjmp((r)->failed, 1);                            \
    } while (0)

uint32_t
ptx_type_bytes(const char *type)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {{"pred", 1}, {"b8", 1},   {"u8", 1},    {"s8", 1},     {"b16", 2},   {"u16", 2},
                 {"s16", 2},  {"f16", 2},  {"bf16", 2},  {"b32", 4},    {"u32", 4},   {"s32", 4},
                 {"f32", 4},  {"tf32", 4}, {"f16x2", 4}, {"bf16x2", 4}, {"b64", 8},   {"u64", 8},
                 {"s64", 8},  {"f64", 8},  {"f32x2", 8}, {"b128", 16},  {"u16x2", 4}, {"s16x2", 4}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].bytes;
    return 0;
}

/* ---- characters and words ---- */

static void
skip_space(reader *r)
{
    for (;; r->at++) {
        if (*r->at == '\n') {
            r->line++;
        } else if (r->at[0] == '/' && r->at[1] == '/') {
            r->at += strcspn(r->at, "\n");
            r->at--;
        } else if (r->at[0] == '/' && r->at[1] == '*') {
            for (r->at += 2; *r->at && !(r->at[0] == '*' && r->at[1] == '/'); r->at++)
                r->line += *r->at == '\n';
            if (!*r->at)
                FAIL(r, "a comment does not end");
            r->at++;
        } else if (!isspace((unsigned char)*r->at)) {
            return;
        }
    }
}

static bool
accept(reader *r, const char *what)
{
    skip_space(r);
    size_t n = strlen(what);
    if (strncmp(r->at, what, n) != 0)
        return false;
    bool word = isalnum((unsigned char)what[n - 1]);
    if (word && (isalnum((unsigned char)r->at[n]) || r->at[n] == '_' || r->at[n] == '$'))
        return false;
    r->at += n;
    return true;
}

static void
expect(reader *r, const char *what)
{
    if (!accept(r, what))
        FAIL(r, "'%s' is expected before '%.20s'", what, *r->at ? r->at : "the end");
}

static bool
is_name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static bool
is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static const char *
read_name(reader *r)
{
    skip_space(r);
    const char *start = r->at;
    if (!is_name_start(*r->at))
        FAIL(r, "a name is expected before '%.20s'", *r->at ? r->at : "the end");
    for (r->at++; is_name(*r->at); r->at++)
        ;
    return tnb_strndup(r->a, start, (size_t)(r->at - start));
}

/* A name that may have components: %tid.x. */
static const char *
read_operand_name(reader *r)
{
    const char *name = read_name(r);
    if (*name == '%' && *r->at == '.' && is_name_start(r->at[1])) {
        const char *start = r->at;
        for (r->at++; is_name(*r->at); r->at++)
            ;
        name = tnb_printf(r->a, "%s%.*s", name, (int)(r->at - start), start);
    }
    return name;
}

/* The word behind a point: of a directive or a type. */
static const char *
read_directive(reader *r)
{
    expect(r, ".");
    return read_name(r);
}

static ptx_operand
read_number(reader *r)
{
    ptx_operand o = {.kind = PTX_INT};
    char *end;
    skip_space(r);
    bool minus = accept(r, "-");
    if (r->at[0] == '0' && (r->at[1] == 'f' || r->at[1] == 'F')) {
        o.kind = PTX_FLOAT32;
        o.bits = strtoull(r->at + 2, &end, 16);
        o.bits ^= minus ? 0x80000000u : 0;
    } else if (r->at[0] == '0' && (r->at[1] == 'd' || r->at[1] == 'D')) {
        o.kind = PTX_FLOAT64;
        o.bits = strtoull(r->at + 2, &end, 16);
        o.bits ^= minus ? UINT64_C(1) << 63 : 0;
    } else {
        int base = 0;
        const char *from = r->at;
        if (from[0] == '0' && (from[1] == 'b' || from[1] == 'B')) {
            base = 2;
            from += 2;
        }
        o.bits = strtoull(from, &end, base);
        if (base == 0 && (*end == '.' || *end == 'e' || *end == 'E') && end > from) {
            double d = strtod(from, &end);
            d = minus ? -d : d;
            o.kind = PTX_FLOAT64;
            memcpy(&o.bits, &d, sizeof d);
        } else {
            o.bits = minus ? 0 - o.bits : o.bits;
        }
    }
    if (end == r->at ||
        (o.kind != PTX_INT && end == r->at + 2 && !isdigit((unsigned char)r->at[1])))
        FAIL(r, "a number is expected before '%.20s'", *r->at ? r->at : "the end");
    r->at = end;
    if (*r->at == 'U' || *r->at == 'u')
        r->at++;
    return o;
}

static uint64_t
read_count(reader *r)
{
    ptx_operand o = read_number(r);
    if (o.kind != PTX_INT || o.bits > max_elements)
        FAIL(r, "a number of elements or bytes is expected");
    return o.bits;
}

static int64_t
read_offset(reader *r)
{
    int64_t offset = 0;
    for (;;) {
        if (accept(r, "+"))
            offset += (int64_t)read_number(r).bits;
        else if (accept(r, "-"))
            offset -= (int64_t)read_number(r).bits;
        else
            return offset;
    }
}

/* ---- operands ---- */

static ptx_operand
read_operand(reader *r)
{
    ptx_operand o = {0};
    skip_space(r);
    if (accept(r, "!")) {
        o.negated = true;
        o.name = read_name(r);
    } else if (accept(r, "[")) {
        o.kind = PTX_ADDRESS;
        skip_space(r);
        if (is_name_start(*r->at)) {
            o.name = read_operand_name(r);
            o.offset = read_offset(r);
        } else {
            o.offset = (int64_t)read_number(r).bits;
        }
        if (accept(r, ","))
            FAIL(r, "addresses of tensor maps and textures are not known");
        expect(r, "]");
    } else if (*r->at == '{' || *r->at == '(') {
        const char *close = *r->at == '{' ? "}" : ")";
        TNB_VEC(ptx_operand) items = {0};
        o.kind = PTX_VECTOR;
        if (++r->depth > MAX_DEPTH)
            FAIL(r, "operands are nested deeper than %d", MAX_DEPTH);
        r->at++;
        while (!accept(r, close)) {
            TNB_PUSH(r->a, items, read_operand(r));
            if (!accept(r, ",")) {
                expect(r, close);
                break;
            }
        }
        r->depth--;
        o.items = items.at;
        o.n_items = items.n;
    } else if (*r->at == '_' && !is_name(r->at[1])) {
        r->at++;
        o.kind = PTX_SINK;
        if (accept(r, "|"))
            o.second = read_name(r);
    } else if (is_name_start(*r->at)) {
        o.name = read_operand_name(r);
        if (accept(r, "|"))
            o.second = read_name(r);
        else
            o.offset = read_offset(r);
    } else {
        o = read_number(r);
    }
    return o;
}

/* ---- variables ---- */

static ptx_operand *
read_initializer(reader *r, uint32_t *n)
{
    TNB_VEC(ptx_operand) items = {0};
    int depth = 0;
    if (accept(r, "{"))
        depth = 1;
    for (;;) {
        if (depth && accept(r, "{")) {
            depth++;
            continue;
        }
        if (depth && accept(r, "}")) {
            if (--depth == 0)
                break;
            (void)accept(r, ",");
            continue;
        }
        ptx_operand o;
        if (accept(r, "generic(")) {
            o = read_operand(r);
            expect(r, ")");
            o.offset += read_offset(r);
        } else {
            o = read_operand(r);
        }
        TNB_PUSH(r->a, items, o);
        if (!depth)
            break;
        (void)accept(r, ",");
    }
    *n = items.n;
    return items.at;
}

/* Modifiers and type of a declaration: ".align 8 .b8". */
static ptx_variable
read_type(reader *r, ptx_space space)
{
    ptx_variable v = {.line = r->line, .space = space, .n = 1};
    uint32_t vector = 1;
    while (!v.type) {
        const char *word = read_directive(r);
        if (strcmp(word, "align") == 0)
            v.align = (uint32_t)read_count(r);
        else if (strcmp(word, "v2") == 0 || strcmp(word, "v4") == 0)
            vector = (uint32_t)(word[1] - '0');
        else if (strcmp(word, "ptr") == 0 || strcmp(word, "global") == 0 ||
                 strcmp(word, "shared") == 0 || strcmp(word, "const") == 0 ||
                 strcmp(word, "local") == 0 || strcmp(word, "noalias") == 0)
            continue; /* where a pointer points to */
        else if (ptx_type_bytes(word))
            v.type = word;
        else
            FAIL(r, "type '.%s' is not known", word);
    }
    v.bytes = ptx_type_bytes(v.type);
    v.n = vector;
    /* parameters say where they point to after the type */
    while (accept(r, ".ptr") || accept(r, ".global") || accept(r, ".shared") ||
           accept(r, ".const") || accept(r, ".local") || accept(r, ".noalias"))
        ;
    if (accept(r, ".align")) {
        uint64_t pointee = read_count(r);
        (void)pointee; /* of what it points to */
    }
    return v;
}

/* Name, extents and value; what is common to several names is in `v`. */
static ptx_variable *
read_declarator(reader *r, ptx_variable v)
{
    v.name = read_name(r);
    if (v.space == PTX_REG) {
        v.n = 0;
        if (accept(r, "<")) {
            v.n = read_count(r);
            expect(r, ">");
        }
    }
    while (accept(r, "[")) {
        uint64_t n = 0;
        if (!accept(r, "]")) {
            n = read_count(r);
            expect(r, "]");
        }
        if (!tnb_mul_u64(v.n, n, &v.n) || v.n > max_elements)
            FAIL(r, "'%s' has more than %llu elements", v.name, (unsigned long long)max_elements);
        v.is_array = true;
    }
    if (accept(r, "="))
        v.init = read_initializer(r, &v.n_init);
    if (!v.align)
        v.align = v.bytes;
    return tnb_dup(r->a, &v, sizeof v);
}

static void
read_variables(reader *r, ptx_space space, bool is_extern, uint32_t scope, ptx_variable ***last)
{
    ptx_variable v = read_type(r, space);
    v.is_extern = is_extern;
    v.scope = scope;
    do {
        ptx_variable *one = read_declarator(r, v);
        **last = one;
        *last = &one->next;
    } while (accept(r, ","));
    expect(r, ";");
}

static bool
space_of(const char *word, ptx_space *out)
{
    static const char *const names[] = {"reg", "global", "shared", "const", "local", "param"};
    for (int i = 0; i < 6; i++)
        if (strcmp(names[i], word) == 0) {
            *out = (ptx_space)i;
            return true;
        }
    return false;
}

/* ---- instructions ---- */

/* Splits "ld.global.v4.f32". Points that stand in "shared::cta" do not split. */
static void
read_opcode(reader *r, ptx_instruction *i)
{
    const char *start;
    skip_space(r);
    start = r->at;
    if (!is_name_start(*r->at))
        FAIL(r, "an instruction is expected before '%.20s'", *r->at ? r->at : "the end");
    for (; is_name(*r->at) || *r->at == '.' || (r->at[0] == ':' && r->at[1] == ':');
         r->at += *r->at == ':' ? 2 : 1)
        ;
    i->text = tnb_strndup(r->a, start, (size_t)(r->at - start));
    for (const char *p = i->text;; p++) {
        size_t n = strcspn(p, ".");
        if (i->n_parts == PTX_MAX_PARTS)
            FAIL(r, "'%s' has more modifiers than are known", i->text);
        i->part[i->n_parts++] = tnb_strndup(r->a, p, n);
        p += n;
        if (!*p)
            break;
    }
}

static void
append(body *b, ptx_instruction *i)
{
    i->scope = b->scope;
    *b->last = i;
    b->last = &i->next;
}

static void
read_instruction(reader *r, body *b)
{
    ptx_instruction *i = TNB_NEW(r->a, ptx_instruction);
    if (accept(r, "@")) {
        i->guard_negated = accept(r, "!");
        i->guard = read_name(r);
    }
    skip_space(r);
    i->line = r->line;
    read_opcode(r, i);
    while (!accept(r, ";")) {
        if (i->n_operands == PTX_MAX_OPERANDS)
            FAIL(r, "'%s' has more than %d operands", i->text, PTX_MAX_OPERANDS);
        i->operands[i->n_operands++] = read_operand(r);
        if (!accept(r, ",")) {
            expect(r, ";");
            break;
        }
    }
    append(b, i);
}

static void
skip_statement(reader *r)
{
    for (; *r->at && *r->at != ';'; r->at++)
        r->line += *r->at == '\n';
    expect(r, ";");
}

/* A name that is followed by a colon: a label, or that of a list of labels or a prototype. */
static bool
read_label(reader *r, body *b)
{
    skip_space(r);
    const char *p = r->at;
    if (!is_name_start(*p) || *p == '%')
        return false;
    while (is_name(*p))
        p++;
    while (*p == ' ' || *p == '\t')
        p++;
    if (p[0] != ':' || p[1] == ':')
        return false;
    uint32_t line = r->line;
    const char *name = read_name(r);
    expect(r, ":");
    if (accept(r, ".branchtargets")) {
        ptx_targets *t = TNB_NEW(r->a, ptx_targets);
        TNB_VEC(const char *) labels = {0};
        do
            TNB_PUSH(r->a, labels, read_name(r));
        while (accept(r, ","));
        expect(r, ";");
        *t = (ptx_targets){name, b->scope, labels.at, labels.n, NULL};
        *b->last_targets = t;
        b->last_targets = &t->next;
    } else if (accept(r, ".callprototype") || accept(r, ".calltargets")) {
        skip_statement(r);
    } else {
        ptx_instruction *i = TNB_NEW(r->a, ptx_instruction);
        i->line = line;
        i->label = name;
        append(b, i);
    }
    return true;
}

/* .loc with what it was inlined from, which lasts to the end of the line. */
static void
skip_line(reader *r)
{
    r->at += strcspn(r->at, "\n");
}

static void
read_body_directive(reader *r, body *b)
{
    const char *word = read_directive(r);
    ptx_space space;
    if (space_of(word, &space))
        read_variables(r, space, false, b->scope, &b->last_variable);
    else if (strcmp(word, "loc") == 0)
        skip_line(r);
    else if (strcmp(word, "pragma") == 0)
        skip_statement(r);
    else
        FAIL(r, "directive '.%s' is not known in a function", word);
}

static void
read_body(reader *r, ptx_function *f)
{
    body b = {.f = f,
              .last_variable = &f->variables,
              .last = &f->body,
              .last_targets = &f->targets};
    TNB_PUSH(r->a, b.scopes, ((ptx_scope){0}));
    for (uint32_t depth = 1; depth;) {
        skip_space(r);
        if (!*r->at)
            FAIL(r, "function '%s' does not end", f->name);
        if (accept(r, "{")) {
            TNB_PUSH(r->a, b.scopes, ((ptx_scope){b.scope}));
            b.scope = b.scopes.n - 1;
            depth++;
        } else if (accept(r, "}")) {
            b.scope = b.scopes.at[b.scope].outer;
            depth--;
        } else if (*r->at == '.') {
            read_body_directive(r, &b);
        } else if (!accept(r, ";") && !read_label(r, &b)) {
            read_instruction(r, &b);
        }
    }
    f->scopes = b.scopes.at;
    f->n_scopes = b.scopes.n;
}

/* ---- functions and modules ---- */

static ptx_variable *
read_parameters(reader *r)
{
    ptx_variable *first = NULL, **last = &first;
    while (!accept(r, ")")) {
        const char *word = read_directive(r);
        ptx_space space;
        if (!space_of(word, &space) || (space != PTX_PARAM && space != PTX_REG))
            FAIL(r, "'.param' is expected before '.%s'", word);
        ptx_variable *v = read_declarator(r, read_type(r, PTX_PARAM));
        *last = v;
        last = &v->next;
        (void)accept(r, ",");
    }
    return first;
}

static uint32_t
read_product(reader *r)
{
    uint64_t n = read_count(r);
    while (accept(r, ","))
        n *= read_count(r);
    return (uint32_t)n;
}

static void
read_function(reader *r, bool is_entry, bool is_extern)
{
    ptx_function *f = TNB_NEW(r->a, ptx_function);
    f->line = r->line;
    f->is_entry = is_entry;
    f->is_extern = is_extern;
    if (accept(r, "("))
        f->results = read_parameters(r);
    f->name = read_name(r);
    if (accept(r, "("))
        f->params = read_parameters(r);
    for (;;) {
        if (accept(r, ".maxntid"))
            f->max_threads = read_product(r);
        else if (accept(r, ".reqntid"))
            f->required_threads = read_product(r);
        else if (accept(r, ".minnctapersm") || accept(r, ".maxnreg") ||
                 accept(r, ".maxnctapersm") || accept(r, ".reqnctapercluster") ||
                 accept(r, ".maxclusterrank"))
            (void)read_product(r);
        else if (accept(r, ".noreturn") || accept(r, ".explicitcluster") ||
                 accept(r, ".blocksareclusters"))
            ;
        else if (accept(r, ".pragma"))
            skip_statement(r);
        else
            break;
    }
    if (!accept(r, ";")) {
        expect(r, "{");
        read_body(r, f);
        f->is_extern = false;
    } else {
        f->is_extern = true; /* or declared before it is defined */
    }
    *r->last_function = f;
    r->last_function = &f->next;
}

static void
read_section(reader *r)
{
    while (*r->at && *r->at != '{')
        r->at++;
    while (*r->at && *r->at != '}') {
        r->line += *r->at == '\n';
        r->at++;
    }
    expect(r, "}");
}

/* Not read as a number: 9.0 has no fraction. */
static void
read_version(reader *r)
{
    unsigned major = 0, minor = 0;
    int n = 0;
    skip_space(r);
    if (sscanf(r->at, "%3u.%3u%n", &major, &minor, &n) != 2 || minor > 9)
        FAIL(r, "version '%.10s' of PTX is not known", r->at);
    r->at += n;
    r->module->version = (int)(major * 10 + minor);
}

static void
read_directive_of_module(reader *r)
{
    bool is_extern = false;
    const char *word = read_directive(r);
    ptx_space space;
    while (strcmp(word, "visible") == 0 || strcmp(word, "weak") == 0 ||
           strcmp(word, "extern") == 0 || strcmp(word, "common") == 0) {
        is_extern |= *word == 'e';
        word = read_directive(r);
    }
    if (strcmp(word, "version") == 0) {
        read_version(r);
    } else if (strcmp(word, "target") == 0) {
        const char *arch = read_name(r);
        r->module->arch = strncmp(arch, "sm_", 3) == 0 ? atoi(arch + 3) : 0;
        while (accept(r, ","))
            (void)read_name(r);
    } else if (strcmp(word, "address_size") == 0) {
        if (read_count(r) != 64)
            FAIL(r, "addresses of 32 bits are not known");
    } else if (strcmp(word, "entry") == 0 || strcmp(word, "func") == 0) {
        read_function(r, *word == 'e', is_extern);
    } else if (space_of(word, &space) &&
               (space == PTX_GLOBAL || space == PTX_CONST || space == PTX_SHARED)) {
        while (accept(r, ".attribute")) {
            r->at += strcspn(r->at, ")");
            expect(r, ")");
        }
        read_variables(r, space, is_extern, 0, &r->last_variable);
    } else if (strcmp(word, "file") == 0) {
        skip_line(r);
    } else if (strcmp(word, "section") == 0) {
        read_section(r);
    } else if (strcmp(word, "pragma") == 0) {
        skip_statement(r);
    } else {
        FAIL(r, "directive '.%s' is not known", word);
    }
}

tnb_status
ptx_parse(tnb_arena *a, const char *text, ptx_module **out, tnb_err *err)
{
    reader *r = TNB_NEW(a, reader); /* not on the stack: longjmp would lose it */
    ptx_module *m = TNB_NEW(a, ptx_module);
    *r = (reader){.a = a, .at = text, .line = 1, .err = err, .module = m};
    r->last_variable = &m->variables;
    r->last_function = &m->functions;
    if (setjmp(r->failed))
        return TNB_FORMAT;
    for (skip_space(r); *r->at; skip_space(r)) {
        if (m->version == 0 && strncmp(r->at, ".version", 8) != 0)
            FAIL(r, "no PTX: it begins with '.version'");
        read_directive_of_module(r);
    }
    if (m->version == 0)
        FAIL(r, "there is no PTX: the text is empty");
    *out = m;
    return TNB_OK;
}
