/* SPDX-License-Identifier: Apache-2.0 */
/* Writes ONNX backend cases from text: write_cases CASES.txt FOLDER
 *
 *     case NAME
 *     opset N
 *     node OPERATOR INPUT... -> OUTPUT...       "-": left out
 *     attr NAME int|float|text|ints VALUE...
 *     in|any|const|out NAME TYPE EXTENT,... : VALUE...   "scalar": no extents;
 *                                                    "s=3": the dynamic dimension s, here 3
 *     error TEXT                                     of a wrong use, instead of `out`
 *
 * Each case becomes FOLDER/NAME with model.onnx and test_data_set_0, which holds the tensors `in`
 * and `out` in their order; `any` is an input of whose extents the model says nothing, `const` an
 * initializer. The text of an error is in FOLDER/NAME/error. */
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

enum { MAX_RANK = 8, MAX_ELEMS = 65536 };

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

static void
end_node(writer *w)
{
    if (w->node.n)
        mw_put(&w->graph, GRAPH_NODE, w->node);
    w->node = (mw){0};
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
    tnb_wire_put_text(&w->graph, GRAPH_NAME, w->name);
    snprintf(path, sizeof path, "%s/%s/model.onnx", w->folder, w->name);
    write_bytes(w, path, mw_model(w->graph, w->opset));
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
    w->graph = w->node = (mw){0};
    w->opset = w->n_in = w->n_out = 0;
    w->open = true;
}

static void
read_node(writer *w, char *text)
{
    char *op = strtok(text, " "), *arrow;
    char *rest = op + strlen(op) + 1;
    if (!(arrow = strstr(rest, "-> ")))
        fail(w, "no '->' in", rest);
    char *end = arrow;
    while (end > rest && end[-1] == ' ')
        end--;
    *end = 0;
    end_node(w);
    w->node = mw_node(op, NULL, rest, arrow + 3);
}

static bool
store_float(void *raw, tnb_dtype d, uint64_t at, const char *text)
{
    double v;
    return tnb_read_f64(text, strlen(text), &v) && tnb_store_f64(raw, d, at, v);
}

static void
read_attr(writer *w, char *text)
{
    int64_t v[64];
    int n = 0;
    char *name = strtok(text, " "), *type = strtok(NULL, " "), *value = strtok(NULL, " ");
    if (!value && (!type || strcmp(type, "ints")))
        fail(w, "no value of attribute", name);
    if (strcmp(type, "int") == 0) {
        mw_attr_int(&w->node, name, strtoll(value, NULL, 10));
    } else if (strcmp(type, "float") == 0) {
        float number;
        if (!tnb_read_f32(value, strlen(value), &number))
            fail(w, "no number:", value);
        mw_attr_float(&w->node, name, number);
    } else if (strcmp(type, "text") == 0) {
        mw_attr_text(&w->node, name, value);
    } else if (strcmp(type, "ints") == 0) {
        for (; value && n < 64; value = strtok(NULL, " "))
            v[n++] = strtoll(value, NULL, 10);
        mw_attr_ints(&w->node, name, v, n);
    } else {
        fail(w, "unknown type of attribute", type);
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
    for (char *p = shape; strcmp(shape, "scalar") && *p && rank < MAX_RANK; p += *p == ',') {
        char *end = p + strcspn(p, "=,");
        names[rank] = *end == '=' ? p : NULL;
        p = *end == '=' ? end + 1 : p;
        *end = *end == '=' ? 0 : *end;
        dims[rank] = strtoll(p, &p, 10);
        count *= (uint64_t)dims[rank++];
    }
    for (char *v; (v = strtok(NULL, " ")) && have < MAX_ELEMS; have++)
        if (tnb_dtype_is_float(d) ? !store_float(raw, d, have, v)
                                  : !tnb_store_i64(raw, d, have, strtoll(v, NULL, 10)))
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
           mw_value_named(name, type, dims, names, rank));
    snprintf(path, sizeof path, "%s/%s/test_data_set_0/%s_%d.pb", w->folder, w->name,
             in ? "input" : "output", in ? w->n_in++ : w->n_out++);
    write_bytes(w, path, t);
}

static void
read_error(writer *w, const char *text)
{
    char path[512];
    mw m = {0};
    tnb_buf_puts(&m, text);
    snprintf(path, sizeof path, "%s/%s/error", w->folder, w->name);
    write_bytes(w, path, m);
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
    else if (strcmp(line, "error") == 0)
        read_error(w, rest);
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
