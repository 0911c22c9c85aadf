/* SPDX-License-Identifier: Apache-2.0 */
/* Importing a model written by a test, through the staged plugins. */
#ifndef TESTS_ONNX_IMPORT_FIXTURE_H
#define TESTS_ONNX_IMPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model_writer.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/importer.h"

typedef struct fixture {
    tnb_conf *conf;
    tnb_plugins *plugins;
    tn_registry *registry;
    const tnk_importer *importer;
    char folder[64]; /* of the models; its own for each program */
    /* of the last import */
    tn_ctx *ctx;
    tnk_model model;
    tnb_status status;
    tnb_buf text; /* all diagnostics */
} fixture;

int
fixture_open(void **state); /* group setup and teardown of cmocka */
int
fixture_close(void **state);
/* Writes FOLDER/NAME with the bytes. */
void
fixture_write(fixture *f, const char *name, const void *p, size_t n);
/* Writes `model` (freed) as model.onnx and imports it. */
tnb_status
fixture_import(fixture *f, mw model, const tnk_import_options *opt);
/* Imports FOLDER/NAME. */
tnb_status
fixture_import_file(fixture *f, const char *name, const tnk_import_options *opt);
/* A context for making options before an import. */
tn_ctx *
fixture_ctx(fixture *f);
/* The last import failed, and its diagnostics hold each of the texts (ends with NULL). */
void
fixture_refused(fixture *f, ...) __attribute__((sentinel));
/* It succeeded and the module is well-formed. Prints the diagnostics otherwise. */
const tn_function *
fixture_main(fixture *f);

#endif
