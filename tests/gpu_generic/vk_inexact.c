/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan layer for tests: quotients and square roots of float32 are off by one or two units in the last place, as GPUs' may be and
 * lavapipe's are not. It rewrites the modules of shaders: behind OpFDiv, Sqrt and InverseSqrt comes an addition to the bits.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
    PFN_vkGetInstanceProcAddr instance_get;
    PFN_vkGetDeviceProcAddr device_get;
    PFN_vkCreateShaderModule CreateShaderModule;
} below;

/* ---- modules ---- */

/* Numbers of SPIR-V. */
enum {
    EXT_INST_IMPORT = 11,
    EXT_INST = 12,
    TYPE_BOOL = 20,
    TYPE_INT = 21,
    TYPE_FLOAT = 22,
    TYPE_VECTOR = 23,
    CONSTANT = 43,
    FUNCTION = 54,
    COMPOSITE_CONSTRUCT = 80,
    COMPOSITE_EXTRACT = 81,
    BITCAST = 124,
    I_ADD = 128,
    I_SUB = 130,
    I_MUL = 132,
    F_DIV = 136,
    SELECT = 169,
    U_LESS_THAN = 176,
    SHIFT_RIGHT_LOGICAL = 194,
    BITWISE_AND = 199,
    SQRT = 31,
    INVERSE_SQRT = 32,
    MAX_TYPES = 4096,
    ROOM = 64 /* words that one instruction's may become, each */
};

struct module {
    uint32_t *out, n, next;
    uint32_t glsl, boolean, word, single;
    uint32_t vectors[MAX_TYPES][2], n_vectors; /* of float32: type, lanes */
    uint32_t spread, thirty, two, one, mask, exponent, most, zero;
};

static void
put(struct module *m, uint32_t op, const uint32_t *args, uint32_t n)
{
    m->out[m->n++] = (n + 1) << 16 | op;
    memcpy(m->out + m->n, args, n * sizeof *args);
    m->n += n;
}

static uint32_t
result(struct module *m, uint32_t op, uint32_t type, uint32_t a, uint32_t b)
{
    const uint32_t args[] = {type, m->next++, a, b};
    put(m, op, args, op == BITCAST ? 3 : 4);
    return args[1];
}

static uint32_t
constant(struct module *m, uint32_t v)
{
    const uint32_t args[] = {m->word, m->next++, v};
    put(m, CONSTANT, args, 3);
    return args[1];
}

/* In front of the first function: what the additions need. */
static void
declare(struct module *m)
{
    if (!m->word) {
        const uint32_t args[] = {m->word = m->next++, 32, 0};
        put(m, TYPE_INT, args, 3);
    }
    if (!m->boolean) {
        m->boolean = m->next++;
        put(m, TYPE_BOOL, &m->boolean, 1);
    }
    m->spread = constant(m, 2654435761u), m->thirty = constant(m, 30);
    m->zero = constant(m, 0), m->one = constant(m, 1), m->two = constant(m, 2);
    m->mask = constant(m, 255), m->exponent = constant(m, 23), m->most = constant(m, 251);
}

/* -2, -1, 1 or 2 units, by the bits; not for zeros, infinities, NaN and numbers close to the ends of the range. */
static uint32_t
off(struct module *m, uint32_t value)
{
    uint32_t u = m->word, bits = result(m, BITCAST, u, value, 0),
             pick =
                 result(m, SHIFT_RIGHT_LOGICAL, u, result(m, I_MUL, u, bits, m->spread), m->thirty),
             up = result(m, I_ADD, u, pick, result(m, SHIFT_RIGHT_LOGICAL, u, pick, m->one)),
             by = result(m, I_SUB, u, up, m->two),
             e = result(m, BITWISE_AND, u, result(m, SHIFT_RIGHT_LOGICAL, u, bits, m->exponent),
                        m->mask),
             normal = result(m, U_LESS_THAN, m->boolean, result(m, I_SUB, u, e, m->two), m->most);
    const uint32_t args[] = {u, m->next++, normal, by, m->zero};
    put(m, SELECT, args, 5);
    return result(m, BITCAST, m->single, result(m, I_ADD, u, bits, args[1]), 0);
}

static uint32_t
lanes_of(const struct module *m, uint32_t type)
{
    for (uint32_t i = 0; i < m->n_vectors; i++)
        if (m->vectors[i][0] == type)
            return m->vectors[i][1];
    return type == m->single ? 1 : 0;
}

/* w: an instruction that makes w[2], of type w[1]. */
static void
perturb(struct module *m, const uint32_t *w, uint32_t lanes)
{
    uint32_t parts[6] = {w[1], w[2]}, own = m->next++, copy[8], n = w[0] >> 16;
    memcpy(copy, w + 1, (n - 1) * sizeof *copy);
    copy[1] = own;
    put(m, w[0] & 0xffff, copy, n - 1);
    for (uint32_t i = 0; i < lanes; i++)
        parts[2 + i] = off(m, lanes == 1 ? own : result(m, COMPOSITE_EXTRACT, m->single, own, i));
    if (lanes > 1) {
        put(m, COMPOSITE_CONSTRUCT, parts, 2 + lanes);
    } else { /* the last one is the value */
        m->out[m->n - 2] = w[2];
    }
}

static void
take(struct module *m, const uint32_t *w)
{
    uint32_t op = w[0] & 0xffff, n = w[0] >> 16, lanes;
    bool root = op == EXT_INST && w[3] == m->glsl && (w[4] == SQRT || w[4] == INVERSE_SQRT);
    if (op == EXT_INST_IMPORT)
        m->glsl = w[1];
    else if (op == TYPE_BOOL)
        m->boolean = w[1];
    else if (op == TYPE_INT && w[2] == 32 && w[3] == 0)
        m->word = w[1];
    else if (op == TYPE_FLOAT && w[2] == 32)
        m->single = w[1];
    else if (op == TYPE_VECTOR && w[2] == m->single && m->n_vectors < MAX_TYPES) {
        m->vectors[m->n_vectors][0] = w[1];
        m->vectors[m->n_vectors++][1] = w[3];
    } else if (op == FUNCTION && !m->zero)
        declare(m);
    if ((op == F_DIV || root) && (lanes = lanes_of(m, w[1])))
        perturb(m, w, lanes);
    else
        put(m, op, w + 1, n - 1);
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_CreateShaderModule(VkDevice d, const VkShaderModuleCreateInfo *i,
                       const VkAllocationCallbacks *a, VkShaderModule *o)
{
    VkShaderModuleCreateInfo changed = *i;
    size_t n = i->codeSize / sizeof(uint32_t);
    struct module *m = calloc(1, sizeof *m);
    if (m)
        m->out = malloc((n + 16) * ROOM * sizeof *m->out);
    if (!m || !m->out) {
        free(m);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    memcpy(m->out, i->pCode, 5 * sizeof *m->out);
    m->n = 5;
    m->next = i->pCode[3];
    for (size_t at = 5; at < n; at += i->pCode[at] >> 16)
        take(m, i->pCode + at);
    m->out[3] = m->next;
    changed.codeSize = m->n * sizeof(uint32_t);
    changed.pCode = m->out;
    VkResult r = below.CreateShaderModule(d, &changed, a, o);
    free(m->out);
    free(m);
    return r;
}

/* ---- the chain ---- */

static VKAPI_ATTR VkResult VKAPI_CALL
own_CreateInstance(const VkInstanceCreateInfo *i, const VkAllocationCallbacks *a, VkInstance *o)
{
    VkLayerInstanceCreateInfo *l = (VkLayerInstanceCreateInfo *)(uintptr_t)i->pNext;
    while (l && !(l->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                  l->function == VK_LAYER_LINK_INFO))
        l = (VkLayerInstanceCreateInfo *)(uintptr_t)l->pNext;
    below.instance_get = l->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)below.instance_get(NULL, "vkCreateInstance");
    l->u.pLayerInfo = l->u.pLayerInfo->pNext;
    return create(i, a, o);
}

static VKAPI_ATTR VkResult VKAPI_CALL
own_CreateDevice(VkPhysicalDevice d, const VkDeviceCreateInfo *i, const VkAllocationCallbacks *a,
                 VkDevice *o)
{
    VkLayerDeviceCreateInfo *l = (VkLayerDeviceCreateInfo *)(uintptr_t)i->pNext;
    while (l && !(l->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                  l->function == VK_LAYER_LINK_INFO))
        l = (VkLayerDeviceCreateInfo *)(uintptr_t)l->pNext;
    PFN_vkGetInstanceProcAddr get = l->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    below.device_get = l->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)get(NULL, "vkCreateDevice");
    l->u.pLayerInfo = l->u.pLayerInfo->pNext;
    VkResult r = create(d, i, a, o);
    if (r == VK_SUCCESS)
        below.CreateShaderModule =
            (PFN_vkCreateShaderModule)below.device_get(*o, "vkCreateShaderModule");
    return r;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
device_get(VkDevice d, const char *name)
{
    return strcmp(name, "vkCreateShaderModule") == 0 ? (PFN_vkVoidFunction)own_CreateShaderModule
                                                     : below.device_get(d, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
instance_get(VkInstance in, const char *name)
{
    if (strcmp(name, "vkCreateInstance") == 0)
        return (PFN_vkVoidFunction)own_CreateInstance;
    if (strcmp(name, "vkCreateDevice") == 0)
        return (PFN_vkVoidFunction)own_CreateDevice;
    if (strcmp(name, "vkGetInstanceProcAddr") == 0)
        return (PFN_vkVoidFunction)instance_get;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)device_get;
    return below.instance_get(in, name);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *v)
{
    if (v->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    v->loaderLayerInterfaceVersion = 2;
    v->pfnGetInstanceProcAddr = instance_get;
    v->pfnGetDeviceProcAddr = device_get;
    v->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
