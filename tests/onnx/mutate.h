/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models as trees of fields that a fuzzer changes: a model stays readable protobuf, what it
 * says becomes wrong. */
#ifndef TESTS_ONNX_MUTATE_H
#define TESTS_ONNX_MUTATE_H

#include "model_writer.h"

/* A message of the model: kinds as in the table of mutate.c. */
typedef struct message message;

/* A generator with a state of its own; equal seeds give equal sequences everywhere. */
typedef struct mutator {
    uint64_t state;
    tnb_arena *arena;
} mutator;
uint32_t
mutator_below(mutator *m, uint32_t n);

/* NULL: the bytes are no model. They have to stay. */
message *
mutate_read(mutator *m, const void *bytes, size_t n);
void
mutate_write(const message *root, mw *out);

/* Adds a TensorProto as an initializer with the name of the graph's input `i`: the input then is a
 * constant of the model. False: there is no such input. */
bool
mutate_bind(mutator *m, message *root, uint32_t i, const void *tensor, size_t n);
/* One change of a field anywhere; parts of `other` (may be NULL) may come in. */
void
mutate_once(mutator *m, message *root, const message *other);

#endif
