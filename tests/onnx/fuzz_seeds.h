/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of the ONNX fuzzer that are written here. */
#ifndef TESTS_ONNX_FUZZ_SEEDS_H
#define TESTS_ONNX_FUZZ_SEEDS_H

#include "model_writer.h"

enum { FUZZ_SEEDS = 8 };
mw
fuzz_seed(int i);

#endif
