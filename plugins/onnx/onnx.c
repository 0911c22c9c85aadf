/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin `onnx`: its descriptor with one importer. */
#include "onnx.h"

static const char *const extensions[] = {".onnx", NULL};

/* Whether a byte begins a field of ModelProto: the keys of fields 1 to 8 and 14, and the first bytes of those of 20, 25 and 26. A pointer of
 * Git LFS and archives begin otherwise; they come here by their extension when nobody knows better. */
static bool
begins_field(unsigned char byte)
{
    return byte && strchr("\x08\x12\x1a\x22\x28\x32\x3a\x42\x72\xa2\xca\xd2", byte);
}

/* A ModelProto begins with its format version (field 1, a small number), or with another small
 * field of it. */
static bool
recognize(const char *path, const void *head, size_t n)
{
    const unsigned char *p = head;
    size_t len = strlen(path);
    if (len >= 5 && strcmp(path + len - 5, ".onnx") == 0 && n && begins_field(p[0]))
        return true;
    return n > 2 && p[0] == 0x08 && p[1] > 0 && p[1] < 0x20 &&
           (p[2] == 0x12 || p[2] == 0x3a || p[2] == 0x42);
}

static const tnk_importer importer = {
    .base.size = sizeof importer,
    .base.name = "onnx",
    .base.doc = "ONNX models, opset 1 to 28",
    .extensions = extensions,
    .recognize = recognize,
    .import = onnx_import_file,
    .declared = onnx_declared,
};
static const tnk_importer *const importers[] = {&importer};

TN_PLUGIN(onnx, "0.1.0", "Apache-2.0", "the ONNX importer", .importers = importers,
          .n_importers = 1);
