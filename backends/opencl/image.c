/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: images, for data that kernels read through the texture units.
 *
 * Scope "global.texture:WIDTHxHEIGHT:DTYPE", or WIDTHxHEIGHTxLAYERS for an array of images; a suffix
 * of "global.texture" (as in "global.texture-weight") tells kernels how tensors lie in it, and is
 * nothing to the device. An element has four channels of float16, float32, int8, int16, int32 or their unsigned forms. Copies
 * see an image as its elements one behind the other, row by row and layer by layer.
 */
#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tenon/base/dtype.h"

struct shape {
    uint64_t width, height, layers; /* layers 0: no array */
    cl_channel_type channel;
    uint32_t texel;
};

static bool
channel_of(tnb_dtype t, struct shape *out)
{
    static const struct {
        uint8_t code, bits;
        cl_channel_type channel;
    } known[] = {
        {TNB_FLOAT, 16, CL_HALF_FLOAT},    {TNB_FLOAT, 32, CL_FLOAT},
        {TNB_INT, 8, CL_SIGNED_INT8},      {TNB_INT, 16, CL_SIGNED_INT16},
        {TNB_INT, 32, CL_SIGNED_INT32},    {TNB_UINT, 8, CL_UNSIGNED_INT8},
        {TNB_UINT, 16, CL_UNSIGNED_INT16}, {TNB_UINT, 32, CL_UNSIGNED_INT32},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].code == t.code && known[i].bits == t.bits && t.lanes == 1) {
            out->channel = known[i].channel;
            out->texel = 4u * t.bits / 8;
            return true;
        }
    return false;
}

/* ":64x32x4:float16" */
static bool
parse(const char *s, struct shape *out)
{
    uint64_t n[3] = {0};
    int k = 0, used = 0;
    tnb_dtype t;
    do {
        unsigned long v = 0;
        if (k == 3 || s[1] < '1' || s[1] > '9' || sscanf(s + 1, "%9lu%n", &v, &used) != 1)
            return false;
        n[k++] = v;
        s += 1 + used;
    } while (*s == 'x');
    *out = (struct shape){.width = n[0], .height = n[1], .layers = n[2]};
    return k >= 2 && *s == ':' && tnb_dtype_parse(s + 1, strlen(s + 1), &t) && channel_of(t, out);
}

static tnb_status
check(const struct opencl_device *d, const char *scope, struct shape *s, tnb_err *err)
{
    const struct opencl_info *i = &d->info;
    const char *colon = strchr(scope, ':');
    if (!i->images) {
        (void)tnb_fail(err, TNB_UNSUPPORTED, "scope '%s': device '%s' has no images", scope,
                       i->name);
        tnb_hint(err, "compile the model for buffers: leave 'texture' out of the target's keys");
        return TNB_UNSUPPORTED;
    }
    if (!colon || !parse(colon, s)) {
        (void)tnb_fail(err, TNB_INVALID, "scope '%s' does not say what the image is", scope);
        tnb_hint(err, "write 'global.texture:WIDTHxHEIGHT:DTYPE' or, for an array, "
                      "'global.texture:WIDTHxHEIGHTxLAYERS:DTYPE', with DTYPE as float16");
        return TNB_INVALID;
    }
    if (s->width > i->image_width || s->height > i->image_height || s->layers > i->image_layers)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "scope '%s': device '%s' has images of at most %zux%zu elements, in arrays "
                        "of at most %zu",
                        scope, i->name, i->image_width, i->image_height, i->image_layers);
    return TNB_OK;
}

tnb_status
opencl_image_new(struct opencl_device *d, const char *scope, cl_mem *out, tnb_err *err)
{
    struct shape s;
    cl_int e;
    TNB_TRY(check(d, scope, &s, err));
    uint64_t used = atomic_load(&d->in_use),
             bytes = s.width * s.height * (s.layers ? s.layers : 1) * s.texel;
    if (used > d->info.memory || bytes > d->info.memory - used)
        return tnb_fail(err, TNB_NO_MEMORY,
                        "an image of %" PRIu64 " bytes: device '%s' has %" PRIu64
                        " bytes, of which %" PRIu64 " are in use",
                        bytes, d->info.name, (uint64_t)d->info.memory, used);
    cl_image_format format = {.image_channel_order = CL_RGBA, .image_channel_data_type = s.channel};
    cl_image_desc desc = {.image_type =
                              s.layers ? CL_MEM_OBJECT_IMAGE2D_ARRAY : CL_MEM_OBJECT_IMAGE2D,
                          .image_width = (size_t)s.width,
                          .image_height = (size_t)s.height,
                          .image_array_size = (size_t)s.layers};
    *out = clCreateImage(d->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &e);
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(d, e, err, "an image of scope '%s'", scope);
}

tnb_status
opencl_image_of(struct opencl_device *d, cl_mem mem, bool *is, struct opencl_image *out,
                tnb_err *err)
{
    cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
    cl_int e = clGetMemObjectInfo(mem, CL_MEM_TYPE, sizeof type, &type, NULL);
    *is = e == CL_SUCCESS && type != CL_MEM_OBJECT_BUFFER;
    if (*is) {
        size_t layers = 0;
        *out = (struct opencl_image){.mem = mem, .layers = 1};
        e = clGetImageInfo(mem, CL_IMAGE_WIDTH, sizeof out->width, &out->width, NULL);
        if (e == CL_SUCCESS)
            e = clGetImageInfo(mem, CL_IMAGE_HEIGHT, sizeof out->height, &out->height, NULL);
        if (e == CL_SUCCESS)
            e = clGetImageInfo(mem, CL_IMAGE_ARRAY_SIZE, sizeof layers, &layers, NULL);
        if (e == CL_SUCCESS)
            e = clGetImageInfo(mem, CL_IMAGE_ELEMENT_SIZE, sizeof out->texel, &out->texel, NULL);
        if (layers)
            out->layers = layers;
    }
    return e == CL_SUCCESS ? TNB_OK : opencl_fail(d, e, err, "asking for the kind of a memory");
}

/* ---- moving ---- */

struct box {
    size_t origin[3], region[3];
    uint64_t elements;
};

/* The largest box that begins at element `at`, and of which the elements up to at + n are the
 * first ones, row by row. */
static struct box
box_at(const struct opencl_image *m, uint64_t at, uint64_t n)
{
    uint64_t row = at / m->width;
    struct box b = {.origin = {at % m->width, row % m->height, row / m->height},
                    .region = {1, 1, 1}};
    b.region[0] = m->width - b.origin[0];
    if (b.region[0] > n)
        b.region[0] = n;
    if (b.region[0] == m->width) {
        b.region[1] = m->height - b.origin[1];
        if (b.region[1] > n / m->width)
            b.region[1] = n / m->width;
        if (b.region[1] == m->height)
            b.region[2] = n / m->width / m->height;
    }
    b.elements = (uint64_t)b.region[0] * b.region[1] * b.region[2];
    return b;
}

static cl_int
move_box(cl_command_queue q, int kind, const struct opencl_image *m, const struct box *b,
         void *host, cl_mem buffer, size_t at)
{
    static const cl_uint nothing[4];
    switch (kind) {
    case OPENCL_FROM_HOST:
        return clEnqueueWriteImage(q, m->mem, CL_TRUE, b->origin, b->region, 0, 0, host, 0, NULL,
                                   NULL);
    case OPENCL_TO_HOST:
        return clEnqueueReadImage(q, m->mem, CL_TRUE, b->origin, b->region, 0, 0, host, 0, NULL,
                                  NULL);
    case OPENCL_FROM_BUFFER:
        return clEnqueueCopyBufferToImage(q, buffer, m->mem, at, b->origin, b->region, 0, NULL,
                                          NULL);
    case OPENCL_TO_BUFFER:
        return clEnqueueCopyImageToBuffer(q, m->mem, buffer, b->origin, b->region, at, 0, NULL,
                                          NULL);
    default:
        return clEnqueueFillImage(q, m->mem, nothing, b->origin, b->region, 0, NULL, NULL);
    }
}

tnb_status
opencl_image_move(struct opencl_device *d, cl_command_queue q, int kind,
                  const struct opencl_image *image, uint64_t offset, uint64_t bytes, void *host,
                  cl_mem buffer, uint64_t at, tnb_err *err)
{
    uint64_t size = (uint64_t)image->width * image->height * image->layers * image->texel;
    if (offset > size || bytes > size - offset)
        return tnb_fail(err, TNB_BOUNDS,
                        "bytes %" PRIu64 " to %" PRIu64 " of an image of %" PRIu64 " bytes", offset,
                        offset + bytes, size);
    if (offset % image->texel || bytes % image->texel)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "%" PRIu64 " bytes at %" PRIu64 " of an image whose elements have %zu",
                        bytes, offset, image->texel);
    uint64_t next = offset / image->texel, end = next + bytes / image->texel;
    while (next < end) {
        struct box b = box_at(image, next, end - next);
        cl_int e = move_box(q, kind, image, &b, host, buffer, (size_t)at);
        if (e != CL_SUCCESS)
            return opencl_fail(d, e, err, "moving %" PRIu64 " bytes of an image", bytes);
        if (host)
            host = (char *)host + b.elements * image->texel;
        at += b.elements * image->texel;
        next += b.elements;
    }
    return TNB_OK;
}
