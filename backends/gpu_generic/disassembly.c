/* SPDX-License-Identifier: Apache-2.0 */
#include "disassembly.h"

#include "tenon/base/mem.h"

#ifdef HAVE_SPIRV_TOOLS
#include <spirv-tools/libspirv.h>

const char *
gpu_generic_disassembly(tn_ctx *ctx, const uint32_t *words, size_t n)
{
    spv_context tools = spvContextCreate(SPV_ENV_VULKAN_1_1);
    spv_text text = NULL;
    const char *s = NULL;
    uint32_t options = SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_NO_HEADER |
                       SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
    if (spvBinaryToText(tools, words, n, options, &text, NULL) == SPV_SUCCESS)
        s = tnb_strndup(tn_arena(ctx), text->str, text->length);
    spvTextDestroy(text);
    spvContextDestroy(tools);
    return s;
}
#else
const char *
gpu_generic_disassembly(tn_ctx *ctx, const uint32_t *words, size_t n)
{
    (void)ctx, (void)words, (void)n;
    return NULL;
}
#endif
