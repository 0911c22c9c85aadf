/* SPDX-License-Identifier: Apache-2.0 */
/* Writes ONNX backend cases from text: write_cases CASES.txt FOLDER
 *
 *     case NAME
 *     opset N
 *     node OPERATOR INPUT... -> OUTPUT...       "-": left out; DOMAIN/OPERATOR; DOMAIN.FUNCTION or
 *                                               DOMAIN.FUNCTION.OVERLOAD: a function of the model
 *     attr NAME int|float|text|ints VALUE...
 *     attr NAME ref int|float|text|ints PARENT  what the function's call gives for PARENT
 *     in|any|const|out NAME TYPE EXTENT,... : VALUE...   "scalar": no extents;
 *                                                    "?": likewise, and the model does not say so;
 *                                                    "s=3": the dynamic dimension s, here 3
 *     error TEXT                                     of a wrong use, instead of `out`
 *     hint TEXT                                      that comes with it
 *     files NAME...                             the order of the inputs in the data set, which then
 *                                               have names; without: the order of the model
 *     graph ATTRIBUTE INPUT... -> OUTPUT...     of the last node: its nodes follow, up to `end`
 *     function DOMAIN.NAME[.OVERLOAD] INPUT... -> OUTPUT...   likewise; `attr` before its first node
 *                                               are the defaults of its attributes
 *
 * Each case becomes FOLDER/NAME with model.onnx and test_data_set_0, which holds the tensors `in`
 * and `out` in their order; `any` is an input of whose extents the model says nothing, `const` an
 * initializer. The text of an error is in FOLDER/NAME/error, that of its hint in FOLDER/NAME/hint. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model_writer.h"
#include "tenon/base/dtype.h"
#include "tenon/base/file.h"
#include "tenon/base/num.h"
#include "tenon/base/tensor_pb.h"

enum { MAX_RANK = 8, MAX_ELEMS = 65536, MAX_NESTING = 4 };

static const struct {
    const char *name;
    int type;
} types[] = {{"float", 1},   {"uint8", 2},   {"int8", 3},     {"uint16", 4},   {"int16", 5},
             {"int32", 6},   {"int64", 7},   {"bool", 9},     {"float16", 10}, {"double", 11},
             {"uint32", 12}, {"uint64", 13}, {"bfloat16", 16}};

typedef struct writer {
    const char *folder, *file;
    int line;
    char name[128];
    int opset, n_in, n_out, n_cases;
    mw graph, node;
    bool open;
    mw functions; /* of the model, as its fields */
    char files[256];
    /* graphs and functions around the nodes at hand, from the model's graph inwards */
    struct outer {
        mw graph, node;
        char attr[64]; /* "": a function */
    } outer[MAX_NESTING];
    int depth;
} writer;

static void
fail(const writer *w, const char *what, const char *about)
{
    fprintf(stderr, "%s:%d: %s '%s'\n", w->file, w->line, what, about);
    exit(1);
}

static void
write_bytes(const writer *w, const char *path, mw m)
{
    tnb_err err = {0};
    if (tnb_write_file(path, m.s, m.n, &err) != TNB_OK)
        fail(w, "cannot write", path);
    tnb_buf_free(&m);
}

static bool
in_function(const writer *w)
{
    return w->depth && !w->outer[w->depth - 1].attr[0];
}

static void
end_node(writer *w)
{
    if (w->node.n)
        mw_put(&w->graph, in_function(w) ? FUNCTION_NODE : GRAPH_NODE, w->node);
    w->node = (mw){0};
}

/* An opset import. */
static mw
opset_of(const char *domain, int version)
{
    mw o = {0};
    tnb_wire_put_text(&o, 1, domain);
    tnb_wire_put_int(&o, 2, (uint64_t)version);
    return o;
}

static void
end_case(writer *w)
{
    char path[512];
    if (!w->open)
        return;
    if (!w->opset || !w->n_out)
        fail(w, "no opset or output in", w->name);
    end_node(w);
    if (w->depth)
        fail(w, "no 'end' of a graph or function in", w->name);
    tnb_wire_put_text(&w->graph, GRAPH_NAME, w->name);
    snprintf(path, sizeof path, "%s/%s/model.onnx", w->folder, w->name);
    mw m = mw_model(w->graph, w->opset);
    if (w->functions.n) {
        mw_put(&m, MODEL_OPSET, opset_of("local", 1));
        tnb_buf_put(&m, w->functions.s, w->functions.n);
        tnb_buf_free(&w->functions);
    }
    write_bytes(w, path, m);
    w->open = false;
    w->n_cases++;
}

static void
begin_case(writer *w, const char *name)
{
    char path[512];
    end_case(w);
    snprintf(w->name, sizeof w->name, "%s", name);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s%s", w->folder, name, i ? "/test_data_set_0" : "");
        if (mkdir(path, 0777) != 0)
            fail(w, strerror(errno), path);
    }
    w->graph = w->node = w->functions = (mw){0};
    w->files[0] = 0;
    w->opset = w->n_in = w->n_out = 0;
    w->open = true;
}

/* "WORD a b -> c": the word, the names before the arrow and those behind it. */
static char *
split_arrow(writer *w, char *text, char **inputs, char **outputs)
{
    char *word = strtok(text, " "), *arrow;
    *inputs = word + strlen(word) + 1;
    if (!(arrow = strstr(*inputs, "-> ")))
        fail(w, "no '->' in", *inputs);
    *outputs = arrow + 3;
    while (arrow > *inputs && arrow[-1] == ' ')
        arrow--;
    *arrow = 0;
    return word;
}

/* "DOMAIN.NAME.OVERLOAD" in parts; domain and overload are NULL where they are not there. */
static char *
split_name(char *text, char **domain, char **overload)
{
    char *slash = strchr(text, '/'), *name = slash ? slash : strchr(text, '.');
    *domain = *overload = NULL;
    if (!name)
        return text;
    *domain = text;
    *name++ = 0;
    if (!slash && (*overload = strchr(name, '.')))
        *(*overload)++ = 0;
    return name;
}

static void
read_node(writer *w, char *text)
{
    char *inputs, *outputs, *domain, *overload;
    char *op = split_name(split_arrow(w, text, &inputs, &outputs), &domain, &overload);
    end_node(w);
    w->node = mw_node(op, NULL, inputs, outputs);
    if (domain)
        tnb_wire_put_text(&w->node, NODE_DOMAIN, domain);
    if (overload)
        tnb_wire_put_text(&w->node, NODE_OVERLOAD, overload);
}

static void
put_names(mw *m, uint32_t field, char *names)
{
    for (char *p = strtok(names, " "); p; p = strtok(NULL, " "))
        tnb_wire_put_text(m, field, p);
}

static void
push(writer *w, const char *attr, mw begun)
{
    if (w->depth == MAX_NESTING)
        fail(w, "graphs are nested too deep in", w->name);
    struct outer *o = &w->outer[w->depth++];
    o->graph = w->graph;
    o->node = w->node;
    snprintf(o->attr, sizeof o->attr, "%s", attr);
    w->graph = begun;
    w->node = (mw){0};
}

/* Types of a sub-graph's values are not given. */
static void
read_graph(writer *w, char *text)
{
    char *inputs, *outputs, *attr = split_arrow(w, text, &inputs, &outputs);
    mw g = {0};
    tnb_wire_put_text(&g, GRAPH_NAME, attr);
    for (char *p = strtok(inputs, " "); p; p = strtok(NULL, " "))
        mw_put(&g, GRAPH_INPUT, mw_value(p, FLOAT, NULL, -1));
    for (char *p = strtok(outputs, " "); p; p = strtok(NULL, " "))
        mw_put(&g, GRAPH_OUTPUT, mw_value(p, FLOAT, NULL, -1));
    push(w, attr, g);
}

static void
read_function(writer *w, char *text)
{
    char *inputs, *outputs, *domain, *overload;
    char *name = split_name(split_arrow(w, text, &inputs, &outputs), &domain, &overload);
    mw f = {0};
    tnb_wire_put_text(&f, FUNCTION_NAME, name);
    if (domain)
        tnb_wire_put_text(&f, FUNCTION_DOMAIN, domain);
    if (overload)
        tnb_wire_put_text(&f, FUNCTION_OVERLOAD, overload);
    put_names(&f, FUNCTION_INPUT, inputs);
    put_names(&f, FUNCTION_OUTPUT, outputs);
    mw_put(&f, FUNCTION_OPSET, opset_of("", w->opset));
    mw_put(&f, FUNCTION_OPSET, opset_of("local", 1));
    end_node(w);
    push(w, "", f);
}

/* Of the innermost graph or function. */
static void
read_end(writer *w)
{
    if (!w->depth)
        fail(w, "nothing to end in", w->name);
    end_node(w);
    bool function = in_function(w);
    mw done = w->graph;
    struct outer *o = &w->outer[--w->depth];
    w->graph = o->graph;
    w->node = o->node;
    if (function)
        mw_put(&w->functions, MODEL_FUNCTION, done);
    else
        mw_attr_graph(&w->node, o->attr, done);
}

static bool
store_float(void *raw, tnb_dtype d, uint64_t at, const char *text)
{
    double v;
    return tnb_read_f64(text, strlen(text), &v) && tnb_store_f64(raw, d, at, v);
}

/* The last text of a line: PARENT of a reference. */
static void
read_ref(writer *w, mw *node, const char *name, const char *type)
{
    static const char *const kinds[] = {"", "float", "int", "text", "", "", "floats", "ints"};
    const char *parent = strtok(NULL, " ");
    for (int i = 1; parent && i < 8; i++)
        if (strcmp(kinds[i], type) == 0) {
            mw_attr_ref(node, name, parent, i);
            return;
        }
    fail(w, "no type and parent of attribute", name);
}

static void
read_attr(writer *w, char *text)
{
    int64_t v[64];
    int n = 0;
    char *name = strtok(text, " "), *type = strtok(NULL, " "), *value = strtok(NULL, " ");
    mw defaults = {0}, *node = w->node.n ? &w->node : &defaults;
    if (!value && (!type || strcmp(type, "ints")))
        fail(w, "no value of attribute", name);
    if (node == &defaults && !in_function(w))
        fail(w, "no node before attribute", name);
    if (strcmp(type, "ref") == 0) {
        read_ref(w, node, name, value);
    } else if (strcmp(type, "int") == 0) {
        mw_attr_int(node, name, strtoll(value, NULL, 10));
    } else if (strcmp(type, "float") == 0) {
        float number;
        if (!tnb_read_f32(value, strlen(value), &number))
            fail(w, "no number:", value);
        mw_attr_float(node, name, number);
    } else if (strcmp(type, "text") == 0) {
        mw_attr_text(node, name, value);
    } else if (strcmp(type, "ints") == 0) {
        for (; value && n < 64; value = strtok(NULL, " "))
            v[n++] = strtoll(value, NULL, 10);
        mw_attr_ints(node, name, v, n);
    } else {
        fail(w, "unknown type of attribute", type);
    }
    if (defaults.n) { /* the same message as field of a function */
        uint8_t key = FUNCTION_DEFAULT << 3 | TNB_WIRE_BYTES;
        defaults.s[0] = (char)key;
        tnb_buf_put(&w->graph, defaults.s, defaults.n);
        tnb_buf_free(&defaults);
    }
}

static int
type_of(const writer *w, const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    fail(w, "unknown type", name);
    return 0;
}

/* Where the data set holds an input. */
static int
file_of(const writer *w, const char *name, int place)
{
    char names[sizeof w->files];
    int at = 0;
    memcpy(names, w->files, sizeof names);
    if (!names[0])
        return place;
    for (char *p = strtok(names, " "); p; p = strtok(NULL, " "), at++)
        if (strcmp(p, name) == 0)
            return at;
    fail(w, "no file of the data set for", name);
    return 0;
}

static void
read_tensor(writer *w, const char *kind, char *text)
{
    static uint8_t raw[8 * MAX_ELEMS];
    char path[512];
    const char *names[MAX_RANK];
    int64_t dims[MAX_RANK];
    int rank = 0;
    uint64_t count = 1, have = 0;
    char *name = strtok(text, " "), *type_name = strtok(NULL, " "), *shape = strtok(NULL, " ");
    if (!shape || !strtok(NULL, " "))
        fail(w, "no shape or no ':' after", name);
    int type = type_of(w, type_name);
    tnb_dtype d = tnb_onnx_dtype(type);
    bool open = strcmp(shape, "?") == 0;
    for (char *p = shape; strcmp(shape, "scalar") && !open && *p && rank < MAX_RANK;
         p += *p == ',') {
        char *end = p + strcspn(p, "=,");
        names[rank] = *end == '=' ? p : NULL;
        p = *end == '=' ? end + 1 : p;
        *end = *end == '=' ? 0 : *end;
        dims[rank] = strtoll(p, &p, 10);
        count *= (uint64_t)dims[rank++];
    }
    for (char *v; (v = strtok(NULL, " ")) && have < MAX_ELEMS; have++)
        if (tnb_dtype_is_float(d)
                ? !store_float(raw, d, have, v)
                : !tnb_store_i64(raw, d, have,
                                 *v == '-' ? strtoll(v, NULL, 10) : (int64_t)strtoull(v, NULL, 10)))
            fail(w, "a value that the type does not hold:", v);
    if (have != count)
        fail(w, "the shape and the number of values differ:", name);
    mw t = mw_tensor(name, type, dims, rank, raw, count * tnb_dtype_bytes(d));
    if (strcmp(kind, "const") == 0) {
        mw_put(&w->graph, GRAPH_INITIALIZER, t);
        return;
    }
    bool in = strcmp(kind, "out") != 0;
    for (int i = 0; i < rank && strcmp(kind, "any") == 0; i++)
        dims[i] = -1;
    mw_put(&w->graph, in ? GRAPH_INPUT : GRAPH_OUTPUT,
           mw_value_named(name, type, dims, names, open ? -1 : rank));
    snprintf(path, sizeof path, "%s/%s/test_data_set_0/%s_%d.pb", w->folder, w->name,
             in ? "input" : "output", in ? file_of(w, name, w->n_in++) : w->n_out++);
    write_bytes(w, path, t);
}

static void
write_text(writer *w, const char *file, const char *text)
{
    char path[512];
    mw m = {0};
    tnb_buf_puts(&m, text);
    snprintf(path, sizeof path, "%s/%s/%s", w->folder, w->name, file);
    write_bytes(w, path, m);
}

static void
read_error(writer *w, const char *text)
{
    write_text(w, "error", text);
    mw_put(&w->graph, GRAPH_OUTPUT, mw_value("y0", 1, NULL, -1));
    w->n_out++;
}

static void
read_line(writer *w, char *line)
{
    line[strcspn(line, "\n")] = 0;
    char *space = strchr(line, ' ');
    if (!*line || *line == '#')
        return;
    if (strcmp(line, "end") == 0) {
        read_end(w);
        return;
    }
    if (!space)
        fail(w, "a line without a value:", line);
    *space = 0;
    char *rest = space + 1;
    if (strcmp(line, "case") == 0)
        begin_case(w, rest);
    else if (!w->open)
        fail(w, "no case before", line);
    else if (strcmp(line, "opset") == 0)
        w->opset = atoi(rest);
    else if (strcmp(line, "node") == 0)
        read_node(w, rest);
    else if (strcmp(line, "attr") == 0)
        read_attr(w, rest);
    else if (strcmp(line, "files") == 0)
        snprintf(w->files, sizeof w->files, "%s", rest);
    else if (strcmp(line, "graph") == 0)
        read_graph(w, rest);
    else if (strcmp(line, "function") == 0)
        read_function(w, rest);
    else if (strcmp(line, "error") == 0)
        read_error(w, rest);
    else if (strcmp(line, "hint") == 0)
        write_text(w, "hint", rest);
    else if (!strcmp(line, "in") || !strcmp(line, "any") || !strcmp(line, "const") ||
             !strcmp(line, "out"))
        read_tensor(w, line, rest);
    else
        fail(w, "unknown word", line);
}

int
main(int argc, char **argv)
{
    static char line[1 << 20];
    writer w = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: write_cases CASES.txt FOLDER\n");
        return 1;
    }
    w.file = argv[1];
    w.folder = argv[2];
    FILE *f = fopen(w.file, "r");
    if (!f)
        fail(&w, strerror(errno), w.file);
    while (fgets(line, sizeof line, f)) {
        w.line++;
        read_line(&w, line);
    }
    end_case(&w);
    fclose(f);
    printf("%d cases\n", w.n_cases);
    return 0;
}
