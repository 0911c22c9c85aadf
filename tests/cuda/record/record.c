/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every instruction form of forms.c on the device of libcuda.so.1 and writes what it gives, or compares that with a record:
 *
 *     record -o FILE                  writes a record
 *     record --compare FILE           compares the device with a record; ends with 1 if they differ
 *     record --short FILE             prints a record in its short form, a third as long
 *     record --list                   the forms
 *     record --ptx SM                 the PTX of the forms of an architecture, for an assembler
 *
 * Operands are random, with the special values of their types among them, and follow from the form's name. A record is text: a line for
 * each form, its name and, for each result, a column with the values of all threads in hexadecimal. In the short form a column of values
 * that have to be the same bits has a digest of each, of two characters: the thread and the result that differ are told, but not what the
 * record's value was. README.md has more. */
#include "config.h"

#include "backends/cuda/api.h"
#include "forms.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 32,
    BLOCKS = 2,
    N = THREADS * BLOCKS,
    MOST = 12, /* operands, results */
    WORDS = 4, /* 32-bit words of scratch memory of a thread */
    PER_MODULE = 32,
    NAME = 128,
    SHARED = 64, /* bytes of a thread */
    ROW = 16,
};

typedef struct form {
    const form_row *row;
    char name[NAME], results[MOST + 1], operands[MOST + 1];
} form;

static form *forms;
static uint32_t n_forms;
static struct cuda_api api;
static int device_arch;

_Noreturn static void
fail(const char *what, CUresult r)
{
    const char *name = "?";
    if (r != CUDA_SUCCESS)
        (void)api.GetErrorName(r, &name);
    fprintf(stderr, "record: %s%s%s\n", what, r != CUDA_SUCCESS ? ": " : "",
            r != CUDA_SUCCESS ? name : "");
    exit(2);
}

static void
ok(CUresult r, const char *what)
{
    if (r != CUDA_SUCCESS)
        fail(what, r);
}

/* ---- forms ---- */

static void
expand(void)
{
    uint32_t cap = 0;
    for (const form_row *row = form_rows; row->name; row++)
        for (uint32_t k = 0;; k++) {
            form f = {.row = row};
            if (!form_name(row, k, f.name, sizeof f.name))
                break;
            if (!form_letters(row, f.name, f.results, f.operands, sizeof f.results))
                fail(f.name, CUDA_SUCCESS);
            if (n_forms == cap) {
                cap = cap ? 2 * cap : 1024;
                forms = realloc(forms, cap * sizeof *forms);
                if (!forms)
                    fail("no memory", CUDA_SUCCESS);
            }
            forms[n_forms++] = f;
        }
}

/* Forms of one name are told by their place. */
static void
key_of(const form *f, char *out, size_t size)
{
    uint32_t same = 0;
    for (const form *g = forms; g < f; g++)
        same += strcmp(g->name, f->name) == 0;
    snprintf(out, size, same ? "%s#%u" : "%s", f->name, same);
}

static uint32_t
bytes_of(char letter)
{
    return strchr("p", letter) ? 1 : strchr("hebm", letter) ? 2 : strchr("dgyN", letter) ? 8 : 4;
}

/* ---- operands ---- */

static uint64_t
next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* A float of so many bits of exponent and fraction. */
static uint64_t
any_float(uint64_t r, uint32_t exponent, uint32_t fraction)
{
    uint64_t all = (UINT64_C(1) << exponent) - 1, one = (all >> 1) << fraction;
    uint64_t sign = (r >> 8 & 1) << (exponent + fraction), bits = r >> 9;
    switch (r & 31) {
    case 0:
        return sign;
    case 1:
        return sign | all << fraction; /* infinite */
    case 2:
        return sign | all << fraction | (UINT64_C(1) << (fraction - 1)); /* not a number */
    case 3:
        return sign | (bits & ((UINT64_C(1) << fraction) - 1)); /* subnormal */
    case 4:
        return sign | one;
    case 5:
        return sign | ((all << fraction) - 1); /* the largest */
    case 6:
    case 7:
        return sign | (bits & ((UINT64_C(1) << (exponent + fraction)) - 1));
    default: /* not far from 1 */
        return sign | (one - (UINT64_C(8) << fraction) + ((bits & 15) << fraction) +
                       (bits >> 4 & ((UINT64_C(1) << fraction) - 1)));
    }
}

static uint64_t
any_integer(uint64_t r, uint32_t bits)
{
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    switch (r & 15) {
    case 0:
        return 0;
    case 1:
        return mask;
    case 2:
        return mask >> 1;
    case 3:
        return (mask >> 1) + 1;
    case 4:
    case 5:
        return r >> 8 & 255 & mask;
    default:
        return (r >> 4 ^ r << 32) & mask;
    }
}

/* In [-1, 1], of 8 bits, so that products are exact. */
static float
small(uint64_t r)
{
    return (float)((int)(r & 255) - 128) / 128.0f;
}

static uint32_t
float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static uint16_t
half_of_small(float f)
{
    uint32_t u = float_bits(f);
    if (f == 0)
        return 0;
    return (uint16_t)((u >> 16 & 0x8000) | (((u >> 23 & 255) - 112) << 10) | (u >> 13 & 1023));
}

static uint64_t
operand(char letter, uint64_t *state)
{
    uint64_t r = next_random(state), s = next_random(state);
    double d = (double)small(r);
    uint64_t u, bytes = 0;
    switch (letter) {
    case 'p':
        return r & 1;
    case 'h':
        return any_integer(r, 16);
    case 'w':
        return any_integer(r, 32);
    case 'd':
        return any_integer(r, 64);
    case 'm':
        return (any_integer(r, 16) | 1) & 0x7fff;
    case 'n':
        return (any_integer(r, 32) | 1) & INT32_MAX;
    case 'N':
        return (any_integer(r, 64) | 1) & INT64_MAX;
    case 'l':
        return r & 31;
    case 'e':
        return any_float(r, 5, 10);
    case 'b':
        return any_float(r, 8, 7);
    case 'E':
        return any_float(r, 5, 10) | any_float(s, 5, 10) << 16;
    case 'B':
        return any_float(r, 8, 7) | any_float(s, 8, 7) << 16;
    case 'f':
        return any_float(r, 8, 23);
    case 'g':
        return any_float(r, 11, 52);
    case 'a':
        return float_bits(3 * small(r));
    case 'u':
        return half_of_small(small(r)) | (uint32_t)half_of_small(small(s)) << 16;
    case 'v':
        return float_bits(small(r)) >> 16 | (float_bits(small(s)) & 0xffff0000);
    case 'x': /* e4m3 from 1/8 to 1, e5m2 from 1/128 to 1/2 */
        for (uint32_t k = 0; k < 32; k += 8)
            bytes |= ((0x20 + (r >> k & 127) % 25) | (r >> k & 128)) << k;
        return bytes;
    case 't':
        return float_bits(small(r) == 0 ? 1 : small(r));
    default:
        memcpy(&u, &d, sizeof u);
        return u;
    }
}

static void
operands_of(const form *f, uint64_t *out)
{
    uint64_t state = 1469598103934665603u;
    for (const char *c = f->name; *c; c++)
        state = (state ^ (uint8_t)*c) * 1099511628211u;
    for (uint32_t t = 0; t < N; t++)
        for (uint32_t k = 0; k < MOST; k++)
            out[t * MOST + k] = k < strlen(f->operands) ? operand(f->operands[k], &state) : 0;
}

/* ---- PTX ---- */

static const char *
type_of(char letter)
{
    uint32_t bytes = bytes_of(letter);
    return bytes == 1 ? "pred" : bytes == 2 ? "b16" : bytes == 4 ? "b32" : "b64";
}

static void
write_body(const form *f, FILE *b)
{
    if (f->row->body) {
        for (const char *c = f->row->body; *c; c++)
            if (*c == '!')
                fputs(f->name, b);
            else if (*c == '$' || *c == '#')
                fprintf(b, "%c", *c == '$' ? 'r' : 'i');
            else
                fprintf(b, "%c", *c);
        return;
    }
    fprintf(b, "%s ", f->name);
    for (uint32_t k = 0; k < strlen(f->results); k++)
        fprintf(b, "%sr%u", k ? ", " : "", k);
    for (uint32_t k = 0; k < strlen(f->operands); k++)
        fprintf(b, ", i%u", k);
    fputs(";", b);
}

static void
write_kernel(const form *f, uint32_t number, FILE *b)
{
    fprintf(b,
            "// %s\n.visible .entry k%u(.param .u64 in, .param .u64 out, .param .u64 room)\n"
            "{\n  .shared .align 16 .b8 s[%d];\n  .shared .align 16 .b8 q[%d];\n",
            f->name, number, THREADS * SHARED, THREADS * ROW);
    fputs("  .reg .b64 ia, oa, ga, zd; .reg .b32 sa, sr, t, u, z; .reg .pred zp;\n", b);
    for (uint32_t k = 0; k < strlen(f->results); k++)
        fprintf(b, "  .reg .%s r%u;\n", type_of(f->results[k]), k);
    for (uint32_t k = 0; k < strlen(f->operands); k++)
        fprintf(b, "  .reg .%s i%u;\n", type_of(f->operands[k]), k);
    fprintf(b,
            "  mov.u32 t, %%tid.x; mov.u32 u, %%ctaid.x; mad.lo.u32 u, u, %d, t;\n"
            "  ld.param.u64 ia, [in]; ld.param.u64 oa, [out]; ld.param.u64 ga, [room];\n"
            "  mad.wide.u32 ia, u, %d, ia; mad.wide.u32 oa, u, %d, oa;\n"
            "  mad.wide.u32 ga, u, %d, ga; mov.u32 z, s; mad.lo.u32 sa, t, %d, z;\n"
            "  mov.u32 z, q; mad.lo.u32 sr, t, %d, z;\n",
            THREADS, 8 * MOST, 8 * MOST, 4 * WORDS, SHARED, ROW);
    for (uint32_t k = 0; k < strlen(f->operands); k++)
        if (f->operands[k] == 'p')
            fprintf(b, "  ld.global.u32 z, [ia+%u]; setp.ne.u32 i%u, z, 0;\n", 8 * k, k);
        else
            fprintf(b, "  ld.global.%s i%u, [ia+%u];\n", type_of(f->operands[k]), k, 8 * k);
    fputs("  ", b);
    write_body(f, b);
    fputs("\n", b);
    for (uint32_t k = 0; k < strlen(f->results); k++)
        if (f->results[k] == 'p')
            fprintf(b, "  selp.u32 z, 1, 0, r%u; st.global.u32 [oa+%u], z;\n", k, 8 * k);
        else
            fprintf(b, "  st.global.%s [oa+%u], r%u;\n", type_of(f->results[k]), 8 * k, k);
    fputs("  ret;\n}\n", b);
}

static void
write_module(const form *const *list, uint32_t n, int arch, FILE *b)
{
    bool small_floats = false; /* their products are newer than all else */
    for (uint32_t k = 0; k < n; k++)
        small_floats |= list[k]->row->arch == 89;
    fprintf(b, ".version %s\n.target sm_%d\n.address_size 64\n", small_floats ? "8.4" : "8.0",
            arch);
    for (uint32_t k = 0; k < n; k++)
        write_kernel(list[k], k, b);
}

/* ---- the device ---- */

static void
open_device(void)
{
    void *l = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *p;
    CUcontext c;
    int major, minor;
    if (!l) {
        fprintf(stderr, "record: %s\n", dlerror());
        exit(77);
    }
#define GET(symbol, member)                                             \
    p = dlsym(l, #symbol);                                              \
    if (!p)                                                             \
        fail("the driver is too old: it lacks " #symbol, CUDA_SUCCESS); \
    memcpy(&api.member, &p, sizeof api.member);
#define GET_CALL(symbol, member, params) GET(symbol, member)
    CUDA_CALLS(GET_CALL)
    GET(cuInit, Init)
    GET(cuGetErrorName, GetErrorName)
    GET(cuDriverGetVersion, DriverGetVersion)
    ok(api.Init(0), "cuInit");
    ok(api.DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), "device 0");
    ok(api.DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0), "device 0");
    ok(api.DevicePrimaryCtxRetain(&c, 0), "cuDevicePrimaryCtxRetain");
    ok(api.CtxPushCurrent(c), "cuCtxPushCurrent");
    device_arch = 10 * major + minor;
}

/* What the threads of a form give, MOST words each; false: the driver does not take it, `why` is its message. */
static bool
load(const form *const *list, uint32_t n, CUmodule *out, char *why, size_t size)
{
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {why, (void *)size};
    char *text = NULL;
    size_t bytes;
    FILE *b = open_memstream(&text, &bytes);
    int arch = 70;
    if (!b)
        fail("no memory", CUDA_SUCCESS);
    for (uint32_t k = 0; k < n; k++)
        arch = list[k]->row->arch > arch ? list[k]->row->arch : arch;
    write_module(list, n, arch, b);
    if (fclose(b) != 0)
        fail("no memory", CUDA_SUCCESS);
    *why = '\0';
    CUresult r = api.ModuleLoadDataEx(out, text, 2, options, values);
    free(text);
    return r == CUDA_SUCCESS;
}

typedef struct device_memory {
    CUstream stream;
    CUdeviceptr in, out, room;
} device_memory;

static void
launch(device_memory *m, const form *f, CUmodule module, uint32_t number, uint64_t *results)
{
    static uint64_t in[N * MOST];
    char name[16];
    CUfunction k;
    void *params[] = {&m->in, &m->out, &m->room};
    CUlaunchConfig config = {.grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, .stream = m->stream};
    operands_of(f, in);
    snprintf(name, sizeof name, "k%u", number);
    ok(api.ModuleGetFunction(&k, module, name), "cuModuleGetFunction");
    ok(api.MemcpyHtoDAsync(m->in, in, sizeof in, m->stream), "copying operands");
    ok(api.MemsetD8Async(m->out, 0, 8 * N * MOST, m->stream), "clearing results");
    ok(api.MemsetD8Async(m->room, 0, 4 * N * WORDS, m->stream), "clearing memory");
    ok(api.LaunchKernelEx(&config, k, params, NULL), f->name);
    ok(api.MemcpyDtoHAsync(results, m->out, 8 * N * MOST, m->stream), f->name);
    ok(api.StreamSynchronize(m->stream), f->name);
}

/* ---- records ---- */

static void
write_line(const form *f, const uint64_t *results, FILE *b)
{
    char key[NAME + 8];
    key_of(f, key, sizeof key);
    fputs(key, b);
    for (uint32_t k = 0; k < strlen(f->results); k++) {
        int digits = f->results[k] == 'p' ? 1 : 2 * (int)bytes_of(f->results[k]);
        fputs("\t", b);
        for (uint32_t t = 0; t < N; t++)
            fprintf(b, "%0*llx", digits, (unsigned long long)results[t * MOST + k]);
    }
    fputs("\n", b);
}

static double
value_of(char letter, uint64_t bits)
{
    float f;
    double d;
    uint32_t u = (uint32_t)bits << 16;
    switch (letter) {
    case 'e': {
        uint32_t e = bits >> 10 & 31, m = bits & 1023;
        d = e == 31 ? (m ? (double)NAN : (double)INFINITY)
            : e     ? ldexp(1024 + m, (int)e - 25)
                    : ldexp(m, -24);
        return bits >> 15 & 1 ? -d : d;
    }
    case 'b':
        memcpy(&f, &u, sizeof f);
        return (double)f;
    case 'f':
        u = (uint32_t)bits;
        memcpy(&f, &u, sizeof f);
        return (double)f;
    default:
        memcpy(&d, &bits, sizeof d);
        return d;
    }
}

/* Are two results equal, as far as the form prescribes them? */
static bool
is_equal(const form *f, char letter, uint64_t a, uint64_t b)
{
    if (a == b)
        return true;
    if (letter == 'E' || letter == 'B') {
        char one = letter == 'E' ? 'e' : 'b';
        return is_equal(f, one, a & 0xffff, b & 0xffff) && is_equal(f, one, a >> 16, b >> 16);
    }
    if (!strchr("ebfg", letter))
        return false;
    double x = value_of(letter, a), y = value_of(letter, b);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y); /* which one is not prescribed */
    double tolerance = f->row->tolerance, unit = fmax(tolerance < 0 ? 0 : 1, fabs(y));
    return isfinite(x) && isfinite(y) && fabs(x - y) <= fabs(tolerance) * unit && tolerance != 0;
}

/* ---- short records ---- */

static const char digest_digits[] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";

/* 12 bits of a value; the same for all that is no number. */
static uint32_t
digest(char letter, uint64_t bits)
{
    if (letter == 'E' || letter == 'B') {
        char one = letter == 'E' ? 'e' : 'b';
        uint64_t low = digest(one, bits & 0xffff), high = digest(one, bits >> 16);
        bits = low << 32 | high;
    } else if (strchr("ebfg", letter) && isnan(value_of(letter, bits))) {
        bits = UINT64_MAX;
    }
    return (uint32_t)(next_random(&bits) >> 52);
}

/* A form's line of a record. */
typedef struct recorded {
    uint64_t value[N * MOST];
    bool digests[MOST]; /* a result's values are digests */
} recorded;

/* 0: it was read; -1: the record has none; 1: it cannot be read. */
static int
read_line(const form *f, const char *record, recorded *out)
{
    char key[NAME + 8];
    key_of(f, key, sizeof key);
    size_t n = strlen(key);
    const char *at = record;
    while (at && !(strncmp(at, key, n) == 0 && at[n] == '\t'))
        at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
    if (!at)
        return -1;
    at += n;
    for (uint32_t k = 0; k < strlen(f->results); k++) {
        size_t digits = f->results[k] == 'p' ? 1 : 2 * bytes_of(f->results[k]);
        size_t length = *at == '\t' ? strcspn(at + 1, "\t\n") : 0;
        out->digests[k] = digits > 2 && length == 2 * N;
        digits = out->digests[k] ? 2 : digits;
        if (length != digits * N)
            return 1;
        at++;
        for (uint32_t t = 0; t < N; t++, at += digits) {
            char text[20] = "";
            uint64_t *v = &out->value[t * MOST + k];
            memcpy(text, at, digits);
            if (!out->digests[k]) {
                *v = strtoull(text, NULL, 16);
                continue;
            }
            const char *a = strchr(digest_digits, text[0]), *b = strchr(digest_digits, text[1]);
            if (!a || !b)
                return 1;
            *v = (uint64_t)(a - digest_digits) << 6 | (uint64_t)(b - digest_digits);
        }
    }
    return 0;
}

/* Compares a form's results with its line of a record. 0: the same; -1: the record has none. */
static int
compare(const form *f, const uint64_t *results, const char *record)
{
    static uint64_t in[N * MOST];
    static recorded line;
    char key[NAME + 8];
    key_of(f, key, sizeof key);
    int read = read_line(f, record, &line), wrong = 0;
    if (read > 0)
        printf("%s: its line of the record has another form\n", key);
    if (read)
        return read;
    operands_of(f, in);
    for (uint32_t k = 0; k < strlen(f->results); k++) {
        int digits = f->results[k] == 'p' ? 1 : 2 * (int)bytes_of(f->results[k]);
        for (uint32_t t = 0; t < N; t++) {
            uint64_t want = line.value[t * MOST + k], got = results[t * MOST + k];
            if ((line.digests[k] ? digest(f->results[k], got) == want
                                 : is_equal(f, f->results[k], got, want)) ||
                wrong++ > 3)
                continue;
            printf("%s: thread %u, result %u: %0*llx here, ", key, t, k, digits,
                   (unsigned long long)got);
            if (line.digests[k])
                printf("another value in the record; operands");
            else
                printf("%0*llx in the record; operands", digits, (unsigned long long)want);
            for (uint32_t o = 0; o < strlen(f->operands); o++)
                printf(" %llx", (unsigned long long)in[t * MOST + o]);
            puts("");
        }
    }
    return wrong;
}

/* Prints a record's comments, and its lines in the short form. */
static void
print_short(const char *record)
{
    static recorded line;
    for (const char *at = record; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (*at == '#')
            printf("%.*s\n", (int)strcspn(at, "\n"), at);
    for (uint32_t f = 0; f < n_forms; f++) {
        char key[NAME + 8];
        int read = read_line(&forms[f], record, &line);
        key_of(&forms[f], key, sizeof key);
        if (read > 0) {
            fprintf(stderr, "record: %s: its line of the record has another form\n", key);
            exit(2);
        }
        if (read)
            continue;
        fputs(key, stdout);
        for (uint32_t k = 0; k < strlen(forms[f].results); k++) {
            char letter = forms[f].results[k];
            int digits = letter == 'p' ? 1 : 2 * (int)bytes_of(letter);
            fputs("\t", stdout);
            for (uint32_t t = 0; t < N; t++) {
                uint64_t v = line.value[t * MOST + k];
                if (digits < 4 || forms[f].row->tolerance != 0) {
                    printf("%0*llx", digits, (unsigned long long)v);
                    continue;
                }
                uint64_t d = line.digests[k] ? v : digest(letter, v);
                printf("%c%c", digest_digits[d >> 6], digest_digits[d & 63]);
            }
        }
        puts("");
    }
}

/* ---- the program ---- */

typedef struct counts {
    uint32_t recorded, refused, newer, wrong, unknown;
} counts;

/* One module of forms: what the driver does not take is tried one by one. */
static void
run_some(device_memory *m, const form *const *list, uint32_t n, const char *record, FILE *out,
         counts *c)
{
    static uint64_t results[N * MOST];
    CUmodule module;
    char why[2048];
    if (!load(list, n, &module, why, sizeof why)) {
        if (n > 1) {
            for (uint32_t k = 0; k < n; k++)
                run_some(m, &list[k], 1, record, out, c);
            return;
        }
        c->refused++;
        fprintf(stderr, "refused: %s: %.*s\n", list[0]->name, (int)strcspn(why, "\n"), why);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        launch(m, list[k], module, k, results);
        c->recorded++;
        write_line(list[k], results, out);
        int r = record ? compare(list[k], results, record) : 0;
        c->wrong += r > 0;
        c->unknown += r < 0;
    }
    ok(api.ModuleUnload(module), "cuModuleUnload");
}

static counts
run_all(const char *record, FILE *out)
{
    device_memory m;
    counts c = {0};
    const form *list[PER_MODULE];
    uint32_t n = 0;
    ok(api.StreamCreate(&m.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    ok(api.MemAlloc(&m.in, 8 * N * MOST), "memory");
    ok(api.MemAlloc(&m.out, 8 * N * MOST), "memory");
    ok(api.MemAlloc(&m.room, 4 * N * WORDS), "memory");
    for (uint32_t k = 0; k < n_forms; k++) {
        if (forms[k].row->arch > device_arch) {
            c.newer++;
            continue;
        }
        if (n && (n == PER_MODULE || list[0]->row->arch != forms[k].row->arch)) {
            run_some(&m, list, n, record, out, &c);
            n = 0;
        }
        list[n++] = &forms[k];
    }
    if (n)
        run_some(&m, list, n, record, out, &c);
    return c;
}

static char *
read_file(const char *name)
{
    FILE *f = fopen(name, "rb");
    char *text = NULL;
    size_t bytes;
    if (!f || getdelim(&text, &bytes, '\0', f) < 0)
        fail(name, CUDA_SUCCESS);
    fclose(f);
    return text;
}

static void
print_ptx(int arch)
{
    const form **list = calloc(n_forms, sizeof *list);
    uint32_t n = 0;
    for (uint32_t k = 0; list && k < n_forms; k++)
        if (forms[k].row->arch <= arch)
            list[n++] = &forms[k];
    write_module(list, n, arch, stdout);
    free(list);
}

int
main(int argc, char **argv)
{
    const char *file = argc == 3 ? argv[2] : NULL;
    bool compares = file && strcmp(argv[1], "--compare") == 0;
    expand();
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (uint32_t k = 0; k < n_forms; k++)
            puts(forms[k].name);
        return 0;
    }
    if (file && strcmp(argv[1], "--ptx") == 0) {
        print_ptx(atoi(file));
        return 0;
    }
    if (file && strcmp(argv[1], "--short") == 0) {
        print_short(read_file(file));
        return 0;
    }
    if (!file || (!compares && strcmp(argv[1], "-o") != 0)) {
        fprintf(stderr,
                "usage: record -o FILE | --compare FILE | --short FILE | --list | --ptx SM\n");
        return 2;
    }
    open_device();
    char name[128];
    int version;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        fail("no memory", CUDA_SUCCESS);
    ok(api.DeviceGetName(name, sizeof name, 0), "device 0");
    ok(api.DriverGetVersion(&version), "the driver's version");
    fprintf(out, "# instruction forms of %s, sm_%d, driver for CUDA %d.%d\n", name, device_arch,
            version / 1000, version % 1000 / 10);
    char *record = compares ? read_file(file) : NULL;
    counts c = run_all(record, out);
    if (fclose(out) != 0)
        fail("no memory", CUDA_SUCCESS);
    FILE *f = compares ? NULL : fopen(file, "wb");
    if (!compares && (!f || fputs(text, f) == EOF || fclose(f) != 0))
        fail(file, CUDA_SUCCESS);
    printf("%s, sm_%d: %u forms run, %u refused, %u of newer architectures", name, device_arch,
           c.recorded, c.refused, c.newer);
    if (compares)
        printf("; %u differ from the record, which lacks %u", c.wrong, c.unknown);
    puts("");
    return c.wrong || c.unknown || c.refused ? 1 : 0;
}
