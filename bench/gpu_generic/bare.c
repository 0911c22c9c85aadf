/* SPDX-License-Identifier: Apache-2.0 */
/* What dispatches cost the first Vulkan device in a program of nothing else: an empty kernel of 64 threads, 100 times in a submit, with a
 * barrier behind each, without, and barriers alone. Prints microseconds on the wall, the least of 500 submits, one line each.
 *
 *     cc -O2 bare.c -lvulkan && ./a.out
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vulkan/vulkan.h>

enum { EACH = 100, SUBMITS = 500 };

/* OpEntryPoint GLCompute %main "main", LocalSize 64 1 1; OpReturn */
static const uint32_t empty[] = {0x07230203, 0x00010300, 0,          5,          0,
                                 0x00020011, 1,          0x0003000e, 0,          1,
                                 0x0005000f, 5,          1,          0x6e69616d, 0,
                                 0x00060010, 1,          0x11,       64,         1,
                                 1,          0x00020013, 2,          0x00030021, 3,
                                 2,          0x00050036, 2,          1,          0,
                                 3,          0x000200f8, 4,          0x000100fd, 0x00010038};

static void
check(VkResult r, const char *call)
{
    if (r == VK_SUCCESS)
        return;
    fprintf(stderr, "bare: %s: %d\n", call, (int)r);
    exit(1);
}
#define CHECK(call) check(call, #call)

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static VkPipeline
make_pipeline(VkDevice d)
{
    const VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = sizeof empty,
                                             .pCode = empty};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = "main"}};
    VkPipeline p;
    CHECK(vkCreateShaderModule(d, &module, NULL, &info.stage.module));
    CHECK(vkCreatePipelineLayout(d, &layout, NULL, &info.layout));
    CHECK(vkCreateComputePipelines(d, VK_NULL_HANDLE, 1, &info, NULL, &p));
    return p;
}

/* Seconds of one submit. */
static double
submit(VkDevice d, VkQueue q, VkCommandBuffer c, VkFence f, VkPipeline p, int dispatches,
       int barriers)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_SHADER_READ_BIT};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &c};
    CHECK(vkBeginCommandBuffer(c, &begin));
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, p);
    for (int i = 0; i < EACH; i++) {
        if (dispatches)
            vkCmdDispatch(c, 1, 1, 1);
        if (barriers)
            vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                 VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0,
                                 NULL);
    }
    CHECK(vkEndCommandBuffer(c));
    double from = now();
    CHECK(vkQueueSubmit(q, 1, &info, f));
    CHECK(vkWaitForFences(d, 1, &f, VK_TRUE, UINT64_MAX));
    double took = now() - from;
    CHECK(vkResetFences(d, 1, &f));
    return took;
}

int
main(void)
{
    static const struct {
        const char *what;
        int dispatches, barriers;
    } rows[] = {{"dispatch and barrier", 1, 1}, {"dispatch", 1, 0}, {"barrier", 0, 1}};
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                           .pApplicationInfo = &app};
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                       .queueCreateInfoCount = 1,
                                       .pQueueCreateInfos = &queue};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VkCommandBufferAllocateInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandBufferCount = 1};
    VkInstance in;
    VkPhysicalDevice physical;
    VkDevice d;
    VkQueue q;
    VkCommandBuffer c;
    VkFence f;
    uint32_t n = 1;
    CHECK(vkCreateInstance(&instance, NULL, &in));
    VkResult r = vkEnumeratePhysicalDevices(in, &n, &physical);
    if (n == 0 || (r != VK_SUCCESS && r != VK_INCOMPLETE))
        check(r == VK_SUCCESS ? VK_ERROR_INITIALIZATION_FAILED : r, "no Vulkan device");
    CHECK(vkCreateDevice(physical, &device, NULL, &d));
    vkGetDeviceQueue(d, 0, 0, &q);
    CHECK(vkCreateCommandPool(d, &pool, NULL, &buffer.commandPool));
    CHECK(vkAllocateCommandBuffers(d, &buffer, &c));
    CHECK(vkCreateFence(d, &fence, NULL, &f));
    VkPipeline p = make_pipeline(d);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double least = 1e9;
        for (int k = 0; k < SUBMITS; k++) {
            double took = submit(d, q, c, f, p, rows[i].dispatches, rows[i].barriers);
            least = took < least ? took : least;
        }
        printf("%s: %.2f\n", rows[i].what, 1e6 * least / EACH);
    }
    return 0; /* the process ends with all of it */
}
