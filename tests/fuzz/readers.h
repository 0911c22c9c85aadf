/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz_readers.c drives: a table of readers. */
#ifndef TENON_TESTS_FUZZ_READERS_H
#define TENON_TESTS_FUZZ_READERS_H

#include "tenon/base/mem.h"

enum { MOST_SEEDS = 256 };

typedef struct reader {
    const char *name;
    void (*seeds)(tnb_buf *out, uint32_t *n); /* what is right, for mutations */
    void (*read)(const void *data, size_t n);
    bool (*begin)(void); /* false: it is not built; may be NULL */
    void (*end)(void);
    /* Changes `n` of `room` bytes in a way of its own: how many there are then; 0: it cannot. May be
     * NULL. */
    size_t (*mutate)(uint8_t *data, size_t n, size_t room, uint64_t seed);
} reader;

extern const reader readers[];
extern const uint32_t n_readers;
extern uint64_t reader_taken; /* inputs that were no error */

/* The bytes as a file without a name, for readers that take a path: "/proc/self/fd/N". -1: none. */
int
reader_file(const void *data, size_t n, char path[64]);

/* Inputs of several files have this byte between them. */
enum { READER_SEPARATOR = 0x1e };
typedef struct reader_part {
    const char *s;
    size_t n;
} reader_part;

/* In read_folders.c. The parts of an input; those that it does not have are empty. */
void
reader_split(const char *s, size_t n, reader_part *parts, int n_parts);
/* A folder of this process, made when it is first asked for and removed at the end; NULL: none. */
const char *
reader_folder(void);
/* Writes a file of the folder, whose name is a constant (at most 15 of them); false: it could not. */
bool
reader_put(const char *name, const char *s, size_t n);

/* In read_models.c. */
bool
models_begin(void);
void
models_end(void);
void
onnx_seeds(tnb_buf *out, uint32_t *n);
void
import_checkpoint(const char *path); /* and verify it */
void
read_checkpoint(const void *data, size_t n);
void
read_onnx(const void *data, size_t n);
size_t
mutate_onnx(uint8_t *data, size_t n, size_t room, uint64_t seed);
void
module_seeds(tnb_buf *out, uint32_t *n);
void
read_text_module(const void *data, size_t n);

/* In read_checkpoints.c. */
void
gguf_seeds(tnb_buf *out, uint32_t *n);
void
read_gguf(const void *data, size_t n);
void
safetensors_seeds(tnb_buf *out, uint32_t *n);
void
read_safetensors(const void *data, size_t n);

void
llama_gguf_seeds(tnb_buf *out, uint32_t *n);
void
llama2c_seeds(tnb_buf *out, uint32_t *n);
void
tokenizer_gguf_seeds(tnb_buf *out, uint32_t *n);

/* In read_folders.c. */
bool
folder_begin(void);
void
mlc_seeds(tnb_buf *out, uint32_t *n);
void
read_mlc(const void *data, size_t n);
bool
mlc_begin(void);
void
folder_seeds(tnb_buf *out, uint32_t *n);
void
read_folder(const void *data, size_t n);
void
read_llama2c(const void *data, size_t n);

#ifdef HAVE_LM
/* In read_language.c. */
void
tokenizer_json_seeds(tnb_buf *out, uint32_t *n);
void
tokenizer_model_seeds(tnb_buf *out, uint32_t *n);
void
tokenizer_bin_seeds(tnb_buf *out, uint32_t *n);
void
read_tokenizer(const void *data, size_t n);
bool
tokenizer_folder_begin(void);
void
tokenizer_folder_seeds(tnb_buf *out, uint32_t *n);
void
read_tokenizer_folder(const void *data, size_t n);
void
template_seeds(tnb_buf *out, uint32_t *n);
void
read_template(const void *data, size_t n);
#endif

/* In mutate_text.c. */
size_t
mutate_text(uint8_t *data, size_t n, size_t room, uint64_t seed);

/* In read_payloads.c. */
bool
payloads_begin(void);
void
payloads_end(void);
void
artifact_seeds(tnb_buf *out, uint32_t *n);
void
read_artifact(const void *data, size_t n);
void
dnnl_seeds(tnb_buf *out, uint32_t *n);
void
read_dnnl(const void *data, size_t n);

#endif
