/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts, whose hashes are made right so that what lies behind them is reached, and descriptions of
 * functions for oneDNN, run on memory that ends where its page does and, of inputs, cannot be written.
 */
#include "config.h"

#include "readers.h"

#include <dlfcn.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "tenon/base/hash.h"
#include "tenon/base/plugin.h"
#include "tenon/base/tno.h"
#include "tenon/rt/loader.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

static tnb_plugins *plugins;
static tnr_runtime *runtime;
static const tnr_loader *dnnl;
static tnr_vm *volatile running; /* stopped by a timer when it loops for ever */

static void
stop(int number)
{
    (void)number;
    if (running)
        tnr_vm_cancel(running);
}

static void
find_dnnl(void)
{
    char path[4096];
    const char *folder = getenv("TENON_PLUGIN_PATH");
    snprintf(path, sizeof path, "%s/dnnl_rt.so", folder ? folder : ".");
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const tnr_plugin_desc *d = so ? dlsym(so, "tnr_plugin") : NULL;
    dnnl = d && d->n_loaders ? d->loaders[0] : NULL;
}

bool
payloads_begin(void)
{
    struct itimerval every = {.it_interval = {.tv_usec = 20000}, .it_value = {.tv_usec = 20000}};
    struct sigaction act = {.sa_handler = stop, .sa_flags = SA_RESTART};
    tnb_err err;
    tnr_runtime_options opt = {.size = sizeof opt,
                               .threads = 1,
                               .no_native = true,
                               .memory_limit = 1 << 22};
    if (tnb_plugins_open(NULL, NULL, &plugins, &err) != TNB_OK)
        return false;
    opt.plugins = plugins;
    find_dnnl();
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    return tnr_runtime_new(&opt, &runtime, &err) == TNB_OK;
}

void
payloads_end(void)
{
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    tnr_runtime_free(runtime);
    tnb_plugins_close(plugins);
}

/* ---- artifacts ---- */

/* Those that a test compiles are given as files. */
void
artifact_seeds(tnb_buf *out, uint32_t *n)
{
    (void)out, (void)n;
}

static void
rehash(uint8_t *bytes, size_t n)
{
    tnb_tno_header h;
    if (n < sizeof h)
        return;
    memcpy(&h, bytes, sizeof h);
    uint64_t table = (uint64_t)h.n_sections * sizeof(tnb_tno_section);
    if (table > n - sizeof h)
        return;
    h.file_size = n;
    for (uint32_t i = 0; i < h.n_sections; i++) {
        tnb_tno_section s;
        uint8_t *at = bytes + sizeof h + i * sizeof s;
        memcpy(&s, at, sizeof s);
        if (s.offset <= n && s.size <= n - s.offset)
            s.hash = tnb_hash_128(bytes + s.offset, s.size).lo;
        memcpy(at, &s, sizeof s);
    }
    h.table_hash = tnb_hash_128(bytes + sizeof h, table).lo;
    memcpy(bytes, &h, sizeof h);
}

/* A small argument of the kind that the signature says; null for others. */
static tnr_value
argument(const tnr_io *io)
{
    enum { LARGEST = 16, MOST = 1 << 12 };
    int64_t dims[TNB_TNO_MAX_DIMS], elems = 1;
    tnr_value v = tnr_null();
    tnb_err err;
    if (strcmp(io->kind, "scalar") == 0)
        return tnr_int(3);
    for (int32_t i = 0; i < io->ndim; i++) {
        dims[i] = io->dims[i] < 0 ? 3 : io->dims[i] > LARGEST ? LARGEST : io->dims[i];
        elems = elems < MOST ? elems * dims[i] : elems;
    }
    if (io->ndim >= 0 && strcmp(io->kind, "shape") == 0)
        (void)!tnr_shape_new(dims, (uint32_t)io->ndim, &v, &err);
    else if (io->ndim >= 0 && elems < MOST &&
             tnr_tensor_new(tnr_device_host(runtime), dims, (uint32_t)io->ndim, io->dtype, &v,
                            &err) == TNB_OK)
        memset(tnr_tensor_data(v.u.tensor), 0, v.u.tensor->n_bytes);
    return v;
}

static void
call(tnr_vm *vm, const tnr_signature *s)
{
    tnr_value args[8], ret = tnr_null();
    uint32_t n = s->n_params < 8 ? s->n_params : 8;
    tnb_err err;
    for (uint32_t i = 0; i < n; i++)
        args[i] = argument(&s->params[i]);
    running = vm;
    if (tnr_vm_call(vm, s->name, args, n, &ret, &err) == TNB_OK)
        reader_taken++;
    running = NULL;
    tnr_release(&ret);
    for (uint32_t i = 0; i < n; i++)
        tnr_release(&args[i]);
}

void
read_artifact(const void *data, size_t n)
{
    uint8_t *bytes = malloc(n ? n : 1);
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    uint32_t variant;
    tnb_err err;
    if (!bytes)
        return;
    memcpy(bytes, data, n);
    rehash(bytes, n);
    if (tnr_artifact_open_memory(bytes, n, "fuzz", &a, &err) == TNB_OK &&
        tnr_artifact_pick(runtime, a, NULL, &variant, NULL, &err) == TNB_OK &&
        tnr_vm_new(runtime, a, variant, &vm, &err) == TNB_OK)
        for (uint32_t i = 0; i < 4 && tnr_artifact_function_at(a, i); i++)
            call(vm, tnr_artifact_function_at(a, i));
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    free(bytes);
}

/* ---- oneDNN ---- */

/* Each with the shapes of the arguments of a call. */
void
dnnl_seeds(tnb_buf *out, uint32_t *n)
{
    static const char *const texts[] = {
        "{\"shapes\": [[2,6,9,11],[8,6,3,3],[8],[2,8,9,11]], \"constants\": [1, 2], \"args\": 4, "
        "\"results\": 1, \"symbols\": [],"
        "\"values\": "
        "[{\"dims\":[2,6,9,11],\"arg\":0},{\"dims\":[8,6,3,3],\"arg\":1},{\"dims\":[8],\"arg\":2},{"
        "\"dims\":[2,8,9,11]}],"
        "\"ops\": "
        "[{\"op\":\"convolution\",\"in\":[0,1,2],\"out\":3,\"groups\":1,\"strides\":[1,1],"
        "\"dilation\":[1,1],"
        "\"padding\":[1,1,1,1],\"activation\":\"relu\",\"alpha\":0,\"beta\":0}],\"out\":[3]}",
        "{\"shapes\": [[4,7],[4],[4]], \"args\": 3, \"results\": 1, \"symbols\": [], \"values\": "
        "[{\"dims\":[4,7],\"arg\":0},"
        "{\"dims\":[7],\"arg\":1}], \"ops\": [], \"out\": [1]}",
        "{\"shapes\": [[4,7],[7],[7],[4,7]], \"args\": 4, \"results\": 1, \"symbols\": [], "
        "\"values\": [{\"dims\":[4,7],\"arg\":0},"
        "{\"dims\":[7],\"arg\":1},{\"dims\":[7],\"arg\":2},{\"dims\":[4,7]}], \"ops\": "
        "[{\"op\":\"layer_norm\",\"in\":[0,1,2],"
        "\"out\":3,\"epsilon\":1e-5}], \"out\": [3]}",
        "{\"shapes\": [[2,5,3,3],[5],[5],[5],[5],[2,5,3,3]], \"args\": 6, \"results\": 1, "
        "\"symbols\": [], \"values\": ["
        "{\"dims\":[2,5,3,3],\"arg\":0},{\"dims\":[5],\"arg\":1},{\"dims\":[5],\"arg\":2},{"
        "\"dims\":[5],\"arg\":3},{\"dims\":[5],\"arg\":4},"
        "{\"dims\":[2,5,3,3]}], \"ops\": "
        "[{\"op\":\"batch_norm\",\"in\":[0,1,2,3,4],\"out\":5,\"epsilon\":1e-5,\"relu\":1}], "
        "\"out\": [5]}",
        "{\"shapes\": [[3,6],[6,5],[5],[3,5],[3,5]], \"args\": 5, \"results\": 1, \"symbols\": "
        "[{\"arg\":0,\"dim\":0}], \"values\": ["
        "{\"dims\":[-1,6],\"arg\":0},{\"dims\":[6,5],\"arg\":1},{\"dims\":[5],\"arg\":2},{\"dims\":"
        "[-1,5],\"arg\":3},{\"dims\":[-1,5]},"
        "{\"dims\":[-1,5]}], \"ops\": "
        "[{\"op\":\"matmul\",\"in\":[0,1,2],\"out\":4,\"transposed\":0,\"sum\":3},"
        "{\"op\":\"softmax\",\"in\":[4],\"out\":5,\"axis\":1}], \"out\": [5]}",
        "{\"shapes\": [[1,4,8,8],[1,4,8,8],[1,8,4,4]], \"args\": 3, \"results\": 1, \"symbols\": "
        "[], \"values\": ["
        "{\"dims\":[1,4,8,8],\"arg\":0},{\"dims\":[1,4,8,8],\"arg\":1},{\"dims\":[1,4,8,8]},{"
        "\"dims\":[1,8,8,8]},{\"dims\":[1,8,4,4]}],"
        "\"ops\": "
        "[{\"op\":\"binary\",\"function\":\"add\",\"in\":[0,1],\"out\":2},{\"op\":\"concat\","
        "\"in\":[2,1],\"out\":3,\"axis\":1},"
        "{\"op\":\"pool\",\"mode\":\"max\",\"in\":[3],\"out\":4,\"strides\":[2,2],\"dilation\":[1,"
        "1],\"padding\":[0,0,0,0],"
        "\"pool_size\":[2,2]}], \"out\": [4]}",
        "{\"shapes\": [[2,4,5,6],[4,3,3,2],[2,6,11,7]], \"constants\": [1], \"args\": 3, "
        "\"results\": 1, \"symbols\": [], \"values\": ["
        "{\"dims\":[2,4,5,6],\"arg\":0},{\"dims\":[4,3,3,2],\"arg\":1},{\"dims\":[2,6,11,7]}], "
        "\"ops\": [{\"op\":\"deconvolution\","
        "\"in\":[0,1,-1],\"out\":2,\"groups\":2,\"strides\":[2,1],\"dilation\":[1,1],\"padding\":["
        "0,0,0,0]}], \"out\": [2]}",
        "{\"shapes\": [[4,4],[4,4]], \"args\": 2, \"results\": 1, \"symbols\": [], \"values\": "
        "[{\"dims\":[4,4],\"arg\":0},{\"dims\":[4,4]},"
        "{\"dims\":[4,4]}], \"ops\": "
        "[{\"op\":\"eltwise\",\"activation\":\"clip\",\"alpha\":0,\"beta\":6,\"in\":[0],\"out\":1},"
        "{\"op\":\"eltwise\",\"activation\":\"gelu_erf\",\"alpha\":0,\"beta\":0,\"in\":[1],\"out\":"
        "2}], \"out\": [2]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && *n < MOST_SEEDS; i++)
        tnb_buf_puts(&out[(*n)++], texts[i]);
}

enum { MOST_ARGS = 12, MOST_ELEMENTS = 1 << 14, PAGE = 4096 };

struct guarded {
    char *map;
    size_t size, room; /* mapped; before the page that nobody may touch */
};

static void
release_guarded(void *p)
{
    struct guarded *g = p;
    munmap(g->map, g->size);
    free(g);
}

/* A tensor whose last byte is the last before a page that cannot be touched. */
static bool
guarded_tensor(const int64_t *dims, uint32_t n, struct guarded **out, tnr_value *v)
{
    size_t bytes = sizeof(float);
    tnr_value s;
    tnb_err err;
    for (uint32_t i = 0; i < n; i++)
        bytes *= (size_t)dims[i];
    struct guarded *g = malloc(sizeof *g);
    if (!g)
        return false;
    g->room = (bytes + PAGE - 1) / PAGE * PAGE;
    g->size = g->room + PAGE;
    g->map = mmap(NULL, g->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g->map == MAP_FAILED || mprotect(g->map + g->room, PAGE, PROT_NONE) != 0 ||
        tnr_storage_wrap(tnr_device_host(runtime), g->map + g->room - bytes, bytes, 0, g,
                         release_guarded, &s, &err) != TNB_OK) {
        free(g);
        return false;
    }
    bool ok = tnr_tensor_view(s.u.storage, 0, dims, n, TNB_F32, v, &err) == TNB_OK;
    tnr_release(&s);
    *out = g;
    return ok;
}

/* The arguments that "shapes" asks for; inputs cannot be written. How many; -1: what it asks for is no
 * such list. */
static int
make_arguments(const json_t *root, uint32_t results, tnr_value args[MOST_ARGS])
{
    const json_t *shapes = json_object_get(root, "shapes");
    int n = (int)json_array_size(shapes);
    if (n > MOST_ARGS)
        return -1;
    for (int i = 0; i < n; i++) {
        const json_t *shape = json_array_get(shapes, (size_t)i);
        int64_t dims[8], elems = 1;
        uint32_t rank = (uint32_t)json_array_size(shape);
        struct guarded *g;
        for (uint32_t k = 0; k < rank && rank <= 8; k++) {
            dims[k] = json_integer_value(json_array_get(shape, k));
            if (dims[k] < 0 || dims[k] > MOST_ELEMENTS || (elems *= dims[k]) > MOST_ELEMENTS)
                return -1;
        }
        if (rank > 8 || !guarded_tensor(dims, rank, &g, &args[i]))
            return -1;
        if ((uint32_t)(n - i) > results && g->room)
            (void)!mprotect(g->map, g->room, PROT_READ);
    }
    return n;
}

void
read_dnnl(const void *data, size_t n)
{
    tnr_value args[MOST_ARGS] = {{0}};
    uint32_t constants[MOST_ARGS], n_constants = 0;
    json_t *root = dnnl ? json_loadb(data, n, 0, NULL) : NULL;
    char *payload = json_is_object(root) ? json_dumps(root, JSON_COMPACT) : NULL;
    const json_t *list = json_object_get(root, "constants");
    tnb_err err;
    void *module;
    for (size_t i = 0; i < json_array_size(list) && i < MOST_ARGS; i++)
        constants[n_constants++] = (uint32_t)json_integer_value(json_array_get(list, i));
    json_int_t results = json_integer_value(json_object_get(root, "results"));
    int count = payload ? make_arguments(root, results > 0 ? (uint32_t)results : 0, args) : -1;
    tnr_external x = {.loader = "dnnl",
                      .symbol = "f",
                      .payload = payload,
                      .constants = constants,
                      .n_constants = n_constants};
    if (count >= 0 &&
        dnnl->open(dnnl->self, &x, tnr_device_host(runtime), &module, &err) == TNB_OK) {
        for (int again = 0; again < 2; again++)
            reader_taken += dnnl->call(module, args, count, &err) == TNB_OK;
        dnnl->close(module);
    }
    for (int i = 0; i < MOST_ARGS; i++)
        tnr_release(&args[i]);
    free(payload);
    json_decref(root);
}
