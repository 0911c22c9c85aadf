/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC is opened by name: the backend is built, and lists and lowers, without a CUDA Toolkit. The functions used are those of
 * NVRTC 11.2 and newer. */
#include "nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/base/file.h"

typedef struct program *nvrtc_program;

/* dlsym gives no function pointer; this does, for all of them. */
typedef union symbol {
    void *data;
    int (*version)(int *major, int *minor);
    int (*count)(int *n);
    int (*archs)(int *archs);
    const char *(*error)(int code);
    int (*create)(nvrtc_program *p, const char *text, const char *name, int n,
                  const char *const *headers, const char *const *names);
    int (*destroy)(nvrtc_program *p);
    int (*compile)(nvrtc_program p, int n, const char *const *options);
    int (*size)(nvrtc_program p, size_t *n);
    int (*get)(nvrtc_program p, char *out);
} symbol;

enum function {
    VERSION,
    N_ARCHS,
    ARCHS,
    ERROR,
    CREATE,
    DESTROY,
    COMPILE,
    LOG_SIZE,
    LOG,
    PTX_SIZE,
    PTX,
    CUBIN_SIZE,
    CUBIN,
    N_FUNCTIONS
};
static const char *const names[N_FUNCTIONS] = {
    [VERSION] = "nvrtcVersion",
    [N_ARCHS] = "nvrtcGetNumSupportedArchs",
    [ARCHS] = "nvrtcGetSupportedArchs",
    [ERROR] = "nvrtcGetErrorString",
    [CREATE] = "nvrtcCreateProgram",
    [DESTROY] = "nvrtcDestroyProgram",
    [COMPILE] = "nvrtcCompileProgram",
    [LOG_SIZE] = "nvrtcGetProgramLogSize",
    [LOG] = "nvrtcGetProgramLog",
    [PTX_SIZE] = "nvrtcGetPTXSize",
    [PTX] = "nvrtcGetPTX",
    [CUBIN_SIZE] = "nvrtcGetCUBINSize",
    [CUBIN] = "nvrtcGetCUBIN",
};

enum { MAX_ARCHS = 256 };

struct cuda_nvrtc {
    void *library;
    symbol f[N_FUNCTIONS];
    char version[32];
    int archs[MAX_ARCHS], n_archs;
};

const char *const cuda_nvrtc_options[] = {
    "--std=c++17",
    "--fmad=true",
    "--ptxas-options=-v", /* the log has registers and spills */
    NULL,
};

/* Registers are allotted for as many blocks as ptxas thinks best, a few of them in memory where that allows more blocks. Such a
 * kernel is compiled again, for 512 threads of a multiprocessor, 128 registers each. */
static const char roomy[] = "-D" CUDA_BOUNDS "(n)=__launch_bounds__(n, (n) < 512 ? 512 / (n) : 1)";

/* ---- opening ---- */

static void *
open_file(const char *path)
{
    /* NVRTC starts threads of its own, which do not survive that it is unloaded */
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static void *
find_library(tnb_arena *a)
{
    static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
                             *const variables[] = {"CUDA_PATH", "CUDA_HOME"};
    const char *folders[3] = {"/usr/local/cuda"};
    int n = 1;
    for (int i = 0; i < 2; i++)
        if (tnb_env(variables[i]))
            folders[n++] = tnb_env(variables[i]);
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof files / sizeof *files; i++)
        library = open_file(files[i]);
    for (int k = 0; !library && k < n; k++)
        if (*folders[k] == '/') /* else it would be searched for elsewhere */
            library = open_file(tnb_printf(a, "%s/lib64/libnvrtc.so", folders[k]));
    return library;
}

static tnb_status
no_library(const char *wanted, tnb_err *err)
{
    const char *why = *wanted ? dlerror() : NULL;
    (void)tnb_fail(err, TNB_NOT_FOUND, "NVRTC, which compiles CUDA kernels, cannot be opened%s%s",
                   why ? ": " : "", why ? why : "");
    tnb_hint(err, "install the CUDA Toolkit, or the package nvidia-cuda-nvrtc of PyPI, and set "
                  "`nvrtc` in [target cuda] to its "
                  "libnvrtc.so");
    return TNB_NOT_FOUND;
}

tnb_status
cuda_nvrtc_open(tnb_arena *a, const char *wanted, cuda_nvrtc **out, tnb_err *err)
{
    cuda_nvrtc *n = TNB_NEW(a, cuda_nvrtc);
    int major = 0, minor = 0;
    n->library = *wanted ? open_file(wanted) : find_library(a);
    if (!n->library)
        return no_library(wanted, err);
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (!(n->f[i].data = dlsym(n->library, names[i]))) {
            (void)tnb_fail(err, TNB_UNSUPPORTED, "NVRTC has no function %s", names[i]);
            tnb_hint(err, "NVRTC 11.2 is the oldest that can be used");
            cuda_nvrtc_close(n);
            return TNB_UNSUPPORTED;
        }
    (void)n->f[VERSION].version(&major, &minor);
    snprintf(n->version, sizeof n->version, "%d.%d", major, minor);
    if (n->f[N_ARCHS].count(&n->n_archs) != 0 || n->n_archs < 0 || n->n_archs > MAX_ARCHS ||
        n->f[ARCHS].archs(n->archs) != 0)
        n->n_archs = 0;
    *out = n;
    return TNB_OK;
}

void
cuda_nvrtc_close(cuda_nvrtc *n)
{
    if (n)
        (void)dlclose(n->library);
}

const char *
cuda_nvrtc_version(const cuda_nvrtc *n)
{
    return n->version;
}

tnb_status
cuda_nvrtc_arch(const cuda_nvrtc *n, const char *arch, char out[CUDA_ARCH_CHARS], tnb_err *err)
{
    size_t digits = strspn(arch + 3, "0123456789"); /* behind "sm_" */
    int number = atoi(arch + 3), newest = n->n_archs ? n->archs[n->n_archs - 1] : 0;
    (void)snprintf(out, CUDA_ARCH_CHARS, "%s", arch);
    if (n->n_archs == 0)
        return TNB_OK; /* it does not say: its compiler will */
    for (int i = 0; i < n->n_archs; i++)
        if (n->archs[i] == number)
            return TNB_OK;
    if (number > newest && !arch[3 + digits]) {
        (void)snprintf(out, CUDA_ARCH_CHARS, "sm_%d", newest);
        return TNB_OK;
    }
    (void)tnb_fail(err, TNB_UNSUPPORTED, "NVRTC %s does not compile for %s", n->version, arch);
    tnb_hint(err, "it compiles for sm_%d to sm_%d; set `arch` of [target cuda], or another `nvrtc`",
             n->archs[0], newest);
    return TNB_UNSUPPORTED;
}

/* ---- compiling ---- */

static tnb_status
fail(const cuda_nvrtc *n, int code, const char *name, const char *doing, tnb_err *err)
{
    return tnb_fail(err, TNB_BUILD, "kernel '%s': NVRTC failed in %s: %s", name, doing,
                    n->f[ERROR].error(code));
}

/* What a pair of functions gives, from malloc. */
static int
get(const cuda_nvrtc *n, nvrtc_program p, enum function size, enum function bytes, char **out,
    size_t *n_out)
{
    int code = n->f[size].size(p, n_out);
    if (code != 0)
        return code;
    *out = malloc(*n_out + 1);
    if (!*out)
        return 1; /* NVRTC_ERROR_OUT_OF_MEMORY */
    code = n->f[bytes].get(p, *out);
    (*out)[*n_out] = '\0';
    return code;
}

static tnb_status
compile_failure(const cuda_nvrtc *n, nvrtc_program p, int code, const char *name, tnb_err *err)
{
    char *log = NULL;
    size_t size = 0;
    if (get(n, p, LOG_SIZE, LOG, &log, &size) != 0 || !log || !*log) {
        free(log);
        return fail(n, code, name, "compiling", err);
    }
    const char *at = strstr(log, "error"), *from = at ? at : log;
    while (at && from > log && from[-1] != '\n')
        from--;
    (void)tnb_fail(err, TNB_BUILD, "kernel '%s': NVRTC %s refuses its source: %.*s", name,
                   n->version, (int)strcspn(from, "\n"), from);
    free(log);
    return TNB_BUILD;
}

/* The number in front of `words` in the log, at its first place; 0: there is none. */
static uint32_t
number_before(const char *log, const char *words)
{
    const char *at = strstr(log, words), *digit = at;
    while (digit && digit > log && digit[-1] >= '0' && digit[-1] <= '9')
        digit--;
    return at ? (uint32_t)strtoul(digit, NULL, 10) : 0;
}

/* What ptxas says of the one kernel of the program. */
static void
read_log(const cuda_nvrtc *n, nvrtc_program p, cuda_object *out)
{
    char *log = NULL;
    size_t size = 0;
    if (get(n, p, LOG_SIZE, LOG, &log, &size) == 0 && log) {
        out->registers = number_before(log, " registers");
        out->spilled = number_before(log, " bytes spill stores");
    }
    free(log);
}

/* One compilation; the program is the caller's, also after an error. */
static tnb_status
compile(const cuda_nvrtc *n, const char *arch, const char *name, const char *text,
        const char *define, nvrtc_program *p, tnb_err *err)
{
    const char *options[8];
    char architecture[64], file[160];
    int n_options = 0;
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", arch);
    snprintf(file, sizeof file, "%.150s.cu", name);
    options[n_options++] = architecture;
    for (const char *const *o = cuda_nvrtc_options; *o; o++)
        options[n_options++] = *o;
    if (define)
        options[n_options++] = define;
    int code = n->f[CREATE].create(p, text, file, 0, NULL, NULL);
    if (code != 0)
        return fail(n, code, name, "making a program", err);
    code = n->f[COMPILE].compile(*p, n_options, options);
    return code == 0 ? TNB_OK : compile_failure(n, *p, code, name, err);
}

tnb_status
cuda_nvrtc_compile(const cuda_nvrtc *n, const char *arch, const char *name, const char *text,
                   cuda_object *out, tnb_err *err)
{
    nvrtc_program p = NULL, second = NULL;
    *out = (cuda_object){0};
    tnb_status st = compile(n, arch, name, text, NULL, &p, err);
    if (st == TNB_OK)
        read_log(n, p, out);
    if (st == TNB_OK && out->spilled &&
        compile(n, arch, name, text, roomy, &second, NULL) == TNB_OK) {
        cuda_object other = {0};
        read_log(n, second, &other);
        if (other.registers && other.spilled < out->spilled) {
            nvrtc_program first = p;
            p = second;
            second = first;
            *out = other;
        }
    }
    if (st == TNB_OK) {
        int code = get(n, p, PTX_SIZE, PTX, &out->ptx, &out->n_ptx);
        code = code ? code : get(n, p, CUBIN_SIZE, CUBIN, &out->cubin, &out->n_cubin);
        st = code == 0 ? TNB_OK : fail(n, code, name, "giving its result", err);
    }
    for (int i = 0; i < 2; i++)
        if (i ? second : p)
            (void)n->f[DESTROY].destroy(i ? &second : &p);
    if (st != TNB_OK)
        cuda_object_free(out);
    return st;
}

void
cuda_object_free(cuda_object *o)
{
    free(o->ptx);
    free(o->cubin);
    *o = (cuda_object){0};
}
