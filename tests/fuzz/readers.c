/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of files: NumPy's arrays, tensors of ONNX, INI texts, manifests, JSON, databases of tuning,
 * what modules and compiled kernels say of themselves. Artifacts and payloads: read_payloads.c.
 */
#include "config.h"

#include "readers.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/cpu/cpu.h"
#include "tenon/base/diag.h"
#include "tenon/base/file.h"
#include "tenon/base/ini.h"
#include "tenon/base/npy.h"
#include "tenon/base/plugin.h"
#include "tenon/base/tensor_pb.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/tune.h"

uint64_t reader_taken;

static void
seed(tnb_buf *out, uint32_t *n, const void *p, size_t size)
{
    if (*n < MOST_SEEDS)
        tnb_buf_put(&out[(*n)++], p, size);
}

static void
seed_text(tnb_buf *out, uint32_t *n, const char *text)
{
    seed(out, n, text, strlen(text));
}

int
reader_file(const void *data, size_t n, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd >= 0 && tnb_write_all(fd, data, n, -1)) {
        snprintf(path, 64, "/proc/self/fd/%d", fd);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- arrays of NumPy ---- */

static void
npy_seeds(tnb_buf *out, uint32_t *n)
{
    static const struct {
        const char *descr;
        size_t bytes;
        bool column_major;
    } kinds[] = {{"<f4", 4, false},  {">i8", 8, true},  {"|b1", 1, false},
                 {"<c16", 16, true}, {"<f2", 2, false}, {"|V2", 2, false}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char head[256], zeros[16 * 12] = {0};
        int len = snprintf(head, sizeof head,
                           "\x93NUMPY\x01%c\x76%c{'descr': '%s', 'fortran_order': %s, 'shape': (2, "
                           "3, 2), }",
                           0, 0, kinds[k].descr, kinds[k].column_major ? "True" : "False");
        memset(head + len, ' ', sizeof head - (size_t)len);
        head[127] = '\n';
        tnb_buf b = {0};
        tnb_buf_put(&b, head, 128);
        tnb_buf_put(&b, zeros, 12 * kinds[k].bytes);
        seed(out, n, b.s, b.n);
        tnb_buf_free(&b);
    }
}

static void
read_npy(const void *data, size_t n)
{
    tnb_npy h;
    tnb_array a;
    tnb_err err;
    char path[64];
    /* what can be no file is not made one */
    if (tnb_npy_parse(data, n, "fuzz", &h, &err) != TNB_OK)
        return;
    int fd = reader_file(data, n, path);
    if (fd < 0)
        return;
    if (tnb_npy_read(path, &a, &err) == TNB_OK) {
        reader_taken++;
        tnb_array_free(&a);
    }
    close(fd);
}

/* ---- tensors of ONNX ---- */

static void
tensor_seeds(tnb_buf *out, uint32_t *n)
{
    static const tnb_dtype dtypes[] = {TNB_DTYPE(TNB_FLOAT, 32), TNB_DTYPE(TNB_INT, 64),
                                       TNB_DTYPE(TNB_FLOAT, 16), TNB_DTYPE(TNB_INT, 4)};
    int64_t shape[] = {2, 3};
    char zeros[64] = {0};
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes && *n < MOST_SEEDS; k++) {
        tnb_dltensor t = {.data = zeros, .ndim = 2, .dtype = dtypes[k], .shape = shape};
        tnb_err err;
        if (tnb_tensor_pb_encode(&out[*n], "x", &t, &err) == TNB_OK)
            ++*n;
    }
    /* dims 2, type FLOAT, float_data packed; int32_data one by one; external */
    seed(out, n, "\x08\x02\x10\x01\x22\x08\0\0\x80\x3f\0\0\0\x40", 14);
    seed(out, n, "\x08\x03\x10\x06\x28\x01\x28\x02\x28\x03", 10);
    seed(out, n,
         "\x08\x02\x10\x01\x70\x01\x6a\x0d\x0a\x08location\x12\x01"
         "f",
         21);
}

static void
read_tensor(const void *data, size_t n)
{
    tnb_tensor_pb t;
    tnb_err err;
    volatile uint8_t sum = 0;
    if (tnb_tensor_pb_parse(data, n, &t, &err) != TNB_OK)
        return;
    reader_taken++;
    for (uint64_t i = 0; t.data && i < t.n_bytes; i++)
        sum = (uint8_t)(sum + ((const uint8_t *)t.data)[i]);
    tnb_tensor_pb_free(&t);
}

/* ---- INI, manifests ---- */

static void
ini_seeds(tnb_buf *out, uint32_t *n)
{
    seed_text(
        out, n,
        "[tenon]\nplugins = a, b\n  c\n; comment\n[target cpu]\nkind=c\nmcpu = x86-64-v3 # x\n");
    seed_text(out, n,
              "[pipeline cpu]\ninsert.here = after legalize: FuseOps{fuse_opt_level=2}\ndrop =\n");
    seed_text(out, n, "\xef\xbb\xbf[a]\r\nx=1\r\n[b \"c\"]\n\tmore\n");
}

static void
read_ini(const void *data, size_t n)
{
    tnb_arena *a = tnb_arena_new();
    tnb_diags *d = tnb_diags_new();
    tnb_ini_entry *e;
    uint32_t count;
    if (a && d && tnb_ini_read(a, "fuzz", data, n, &e, &count, d))
        reader_taken++;
    tnb_diags_free(d);
    tnb_arena_free(a);
}

static void
manifest_seeds(tnb_buf *out, uint32_t *n)
{
    seed_text(
        out, n,
        "[plugin]\nname = fuzz\nversion = 0.1.0\nabi = 0.1\nkind = compiler\nmodule = "
        "fuzz.so\nlicence = MIT\n"
        "summary = nothing\nprovides = target:fuzz, pass:Fuzz\n  op:relax.fuzz\nrequires = ops\n");
}

/* The folders of plugins would be read for each input: their manifests are no input. */
static bool
manifest_begin(void)
{
    static const char *const nowhere = "";
    const tnb_places *places = tnb_places_get();
    unsetenv("TENON_PLUGIN_PATH");
    if (places)
        memcpy((void *)(uintptr_t)&places->plugins, &nowhere, sizeof nowhere);
    return places != NULL;
}

static void
read_manifest(const void *data, size_t n)
{
    static const tnb_plugin_head head = {.size = sizeof head, .name = "fuzz"};
    char *text = malloc(n + 1);
    tnb_err err;
    tnb_plugins *p = NULL;
    if (!text)
        return;
    memcpy(text, data, n);
    text[n] = 0;
    const tnb_static_plugin table[] = {{"fuzz", text, &head}, {0}};
    tnb_plugins_linked(table);
    if (tnb_plugins_open(NULL, NULL, &p, &err) == TNB_OK) {
        const tnb_plugin *it = tnb_plugins_named(p, "fuzz");
        reader_taken += it != NULL;
    }
    tnb_plugins_close(p);
    tnb_plugins_linked(NULL);
    free(text);
}

/* ---- JSON, databases ---- */

static tn_registry *registry;

static bool
core_begin(void)
{
    registry = tn_registry_new(NULL);
    return registry != NULL;
}

static void
core_end(void)
{
    tn_registry_free(registry);
}

static void
json_seeds(tnb_buf *out, uint32_t *n)
{
    seed_text(out, n,
              "{\"a\": [1, -2, 3.5, true, false, null, \"x\\\"\\n\\u00e9\"], \"b\": {}, \"c\": "
              "9223372036854775807}");
    seed_text(out, n, "{\"$dtype\": \"float16x4\", \"$x\": {\"$int\": [\"int32\", \"-7\"]}}");
    seed_text(out, n,
              "[{\"$real\": [\"float32\", \"0.1\"]}, {\"$float\": \"-inf\"}, {\"$target\": "
              "[\"cuda\", {\"a\": 1}]}]");
}

/* What was read is written so that it reads as the same. */
static void
read_json(const void *data, size_t n)
{
    tn_ctx *ctx = tn_ctx_new(registry);
    tnb_err err;
    tnb_buf b = {0};
    const tn_node *v = ctx ? tn_value_from_json(ctx, data, n, &err) : NULL;
    if (v && tn_value_to_json(v, &b) == TNB_OK) {
        const tn_node *again = tn_value_from_json(ctx, b.s, b.n, &err);
        if (!again || !tn_equal(ctx, v, again, false, NULL)) {
            fprintf(stderr, "does not come back: %.*s\n", (int)(b.n < 2000 ? b.n : 2000), b.s);
            abort();
        }
        reader_taken++;
    }
    tnb_buf_free(&b);
    tn_ctx_free(ctx);
}

static void
tuning_seeds(tnb_buf *out, uint32_t *n)
{
    seed_text(
        out, n,
        "{\"tenon_tuning\": 1}\n"
        "{\"target\": \"cpu {}\", \"function\": \"5f0c5f0c5f0c5f0c\", \"name\": \"f\", \"rule\": "
        "\"cpu.Matmul\", \"choices\": "
        "{\"tile_y\": 6, \"tile_vectors\": 2}, \"threads\": 2, \"machine\": \"m\", \"seconds\": "
        "1.5e-05}\n"
        "{\"target\": \"cpu {}\", \"function\": \"5f0c5f0c5f0c5f0c\", \"name\": \"f\", \"rule\": "
        "\"cpu.GEMV\", "
        "\"choices\": {}, "
        "\"threads\": 1, \"machine\": \"m\", \"failed\": \"gave another result\"}\n{\"target");
}

static void
read_tuning(const void *data, size_t n)
{
    char path[64];
    tnb_err err;
    tnk_tuning *t = tnk_tuning_new();
    int fd = reader_file(data, n, path);
    if (t && fd >= 0 && tnk_tuning_read(t, path, &err) == TNB_OK) {
        reader_taken++;
        (void)tnk_tuning_best(t, "cpu {}", "5f0c5f0c5f0c5f0c", 2);
    }
    if (fd >= 0)
        close(fd);
    tnk_tuning_free(t);
}

/* ---- modules and kernels ---- */

/* A shared object of headers alone: notes, a dynamic section, names and symbols. */
static void
elf_seeds(tnb_buf *out, uint32_t *n)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segments[3];
        uint32_t note[8];
        Elf64_Dyn dynamic[4];
        char names[64];
        Elf64_Sym symbols[2];
        Elf64_Shdr sections[3];
    } f = {.head = {.e_type = ET_DYN,
                    .e_machine = EM_X86_64,
                    .e_version = 1,
                    .e_phoff = sizeof f.head,
                    .e_ehsize = sizeof f.head,
                    .e_phentsize = sizeof(Elf64_Phdr),
                    .e_phnum = 3,
                    .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = 3}};
#if defined(__aarch64__)
    f.head.e_machine = EM_AARCH64;
#endif
#define AT(member) ((uint64_t)((const char *)&f.member - (const char *)&f))
    memcpy(f.head.e_ident, ELFMAG "\2\1\1", 7);
    f.head.e_shoff = AT(sections);
    f.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof f, .p_memsz = sizeof f};
    f.segments[1] = (Elf64_Phdr){.p_type = PT_NOTE,
                                 .p_offset = AT(note),
                                 .p_filesz = sizeof f.note,
                                 .p_align = 4};
    f.segments[2] =
        (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_offset = AT(dynamic), .p_filesz = sizeof f.dynamic};
    f.note[0] = 6;
    f.note[1] = 12;
    f.note[2] = 1;
    memcpy(&f.note[3], "Tenon", 6);
    f.dynamic[0] = (Elf64_Dyn){.d_tag = DT_STRTAB, .d_un.d_ptr = AT(names)};
    f.dynamic[1] = (Elf64_Dyn){.d_tag = DT_STRSZ, .d_un.d_val = sizeof f.names};
    f.dynamic[2] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 1};
    memcpy(f.names, "\0libtenon-base.so.1\0kernel", 26);
    f.symbols[1] = (Elf64_Sym){.st_name = 20, .st_shndx = 1};
    f.sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
                                 .sh_offset = AT(symbols),
                                 .sh_size = sizeof f.symbols,
                                 .sh_link = 2};
    f.sections[2] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = AT(names), .sh_size = sizeof f.names};
#undef AT
    seed(out, n, &f, sizeof f);
}

static void
read_kernels(const void *data, size_t n)
{
    static const char *const names[] = {"kernel"};
    tnb_arena *a = tnb_arena_new();
    tnb_err err;
    if (a && cpu_produced_check(a, data, n, names, 1, &err) == TNB_OK)
        reader_taken++;
    tnb_arena_free(a);
}

static void
read_module(const void *data, size_t n)
{
    char path[64];
    tnb_module_facts facts;
    tnb_err err;
    int fd = reader_file(data, n, path);
    if (fd < 0)
        return;
    reader_taken += tnb_module_read(fd, path, &facts, &err) == TNB_OK;
    close(fd);
}

const reader readers[] = {
    {"npy", npy_seeds, read_npy, NULL, NULL, NULL},
    {"gguf", gguf_seeds, read_gguf, NULL, NULL, NULL},
    {"safetensors", safetensors_seeds, read_safetensors, NULL, NULL, NULL},
#ifdef HAVE_LM
    {"tokenizer_json", tokenizer_json_seeds, read_tokenizer, NULL, NULL, NULL},
    {"tokenizer_model", tokenizer_model_seeds, read_tokenizer, NULL, NULL, NULL},
    {"tokenizer_gguf", tokenizer_gguf_seeds, read_tokenizer, NULL, NULL, NULL},
    {"tokenizer_bin", tokenizer_bin_seeds, read_tokenizer, NULL, NULL, NULL},
    {"tokenizer_folder", tokenizer_folder_seeds, read_tokenizer_folder, tokenizer_folder_begin,
     NULL, NULL},
    {"chat_template", template_seeds, read_template, NULL, NULL, NULL},
#endif
    {"tensor_pb", tensor_seeds, read_tensor, NULL, NULL, NULL},
    {"ini", ini_seeds, read_ini, NULL, NULL, NULL},
    {"manifest", manifest_seeds, read_manifest, manifest_begin, NULL, NULL},
    {"json", json_seeds, read_json, core_begin, core_end, NULL},
    {"tuning", tuning_seeds, read_tuning, NULL, NULL, NULL},
    {"kernels", elf_seeds, read_kernels, NULL, NULL, NULL},
    {"module", elf_seeds, read_module, NULL, NULL, NULL},
    {"artifact", artifact_seeds, read_artifact, payloads_begin, payloads_end, NULL},
    {"dnnl", dnnl_seeds, read_dnnl, payloads_begin, payloads_end, NULL},
    {"llama_gguf", llama_gguf_seeds, read_checkpoint, models_begin, models_end, NULL},
    {"llama2c", llama2c_seeds, read_llama2c, folder_begin, models_end, NULL},
    {"huggingface", folder_seeds, read_folder, folder_begin, models_end, NULL},
    {"mlc", mlc_seeds, read_mlc, mlc_begin, models_end, NULL},
    {"compile_onnx", onnx_seeds, read_onnx, models_begin, models_end, mutate_onnx},
    {"compile_text", module_seeds, read_text_module, models_begin, models_end, mutate_text},
};
const uint32_t n_readers = sizeof readers / sizeof *readers;
