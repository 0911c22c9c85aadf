/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: what OpenCL's codes mean here. */
#include "device.h"

#include <stdio.h>
#include <string.h>

enum { ENDS = 1 }; /* nothing works on the device after it */

static const struct meaning {
    cl_int code;
    tnb_status status;
    int ends;
    const char *name, *means, *hint;
} meanings[] = {
#define MEANING(code, status, ends, means, hint)     \
    {                                                \
        code, TNB_##status, ends, #code, means, hint \
    }
    MEANING(CL_DEVICE_NOT_FOUND, DEVICE, 0, "the platform has no device", ""),
    MEANING(CL_DEVICE_NOT_AVAILABLE, DEVICE, ENDS, "the device has gone, or is in use by others",
            "look into the system's log for a reset of the device, and start again"),
    MEANING(CL_COMPILER_NOT_AVAILABLE, DEVICE, 0, "the device has no compiler of OpenCL C",
            "install the vendor's full OpenCL package"),
    MEANING(CL_MEM_OBJECT_ALLOCATION_FAILURE, NO_MEMORY, 0, "the device's memory is used up",
            "use smaller inputs, or a device with more memory"),
    MEANING(CL_OUT_OF_RESOURCES, DEVICE, 0,
            "the device ran out of memory, registers or time, or a kernel went astray",
            "if a kernel runs for seconds, the system's watchdog may have ended it"),
    MEANING(CL_OUT_OF_HOST_MEMORY, NO_MEMORY, 0, "the driver has no memory on the host", ""),
    MEANING(CL_PROFILING_INFO_NOT_AVAILABLE, UNSUPPORTED, 0, "times are not taken on this queue",
            "leave out 'profiling = no' of [device opencl]"),
    MEANING(CL_MEM_COPY_OVERLAP, INTERNAL, 0, "ranges of a copy overlap", ""),
    MEANING(CL_IMAGE_FORMAT_MISMATCH, INTERNAL, 0, "formats of images differ", ""),
    MEANING(CL_IMAGE_FORMAT_NOT_SUPPORTED, UNSUPPORTED, 0,
            "the device has no images of this format", ""),
    MEANING(CL_BUILD_PROGRAM_FAILURE, BUILD, 0, "the compiler refused the program", ""),
    MEANING(CL_MAP_FAILURE, DEVICE, 0, "memory of the device cannot be seen from the host", ""),
    MEANING(CL_MISALIGNED_SUB_BUFFER_OFFSET, INTERNAL, 0,
            "the offset of a sub-buffer is not aligned", ""),
    MEANING(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, DEVICE, 0,
            "work that was waited for failed",
            "look into the system's log for what befell the device"),
    MEANING(CL_COMPILE_PROGRAM_FAILURE, BUILD, 0, "the compiler refused the program", ""),
    MEANING(CL_LINKER_NOT_AVAILABLE, DEVICE, 0, "the device has no linker", ""),
    MEANING(CL_LINK_PROGRAM_FAILURE, BUILD, 0, "the linker refused the program", ""),
    MEANING(CL_DEVICE_PARTITION_FAILED, DEVICE, 0, "the device cannot be divided", ""),
    MEANING(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, UNSUPPORTED, 0,
            "the driver keeps no facts of arguments", ""),
    MEANING(CL_INVALID_VALUE, INVALID, 0, "the driver does not take a value or range", ""),
    MEANING(CL_INVALID_DEVICE_TYPE, INVALID, 0, "no such type of device", ""),
    MEANING(CL_INVALID_PLATFORM, DEVICE, 0, "the platform is not valid",
            "the system's OpenCL packages may be of different versions"),
    MEANING(CL_INVALID_DEVICE, DEVICE, ENDS, "the device is not valid any more", ""),
    MEANING(CL_INVALID_CONTEXT, DEVICE, ENDS,
            "the device was reset, its context is not valid any more",
            "look into the system's log for a reset of the device, and start again"),
    MEANING(CL_INVALID_QUEUE_PROPERTIES, UNSUPPORTED, 0, "the device has no such queues",
            "set 'profiling = no' in [device opencl]"),
    MEANING(CL_INVALID_COMMAND_QUEUE, DEVICE, ENDS,
            "the device was reset or a kernel went astray, its queue is not valid any more",
            "look into the system's log for a reset of the device, and start again"),
    MEANING(CL_INVALID_HOST_PTR, INTERNAL, 0, "an address of the host is not valid", ""),
    MEANING(CL_INVALID_MEM_OBJECT, INVALID, 0, "this is no memory of the device", ""),
    MEANING(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, INTERNAL, 0, "the format of an image is not valid",
            ""),
    MEANING(CL_INVALID_IMAGE_SIZE, UNSUPPORTED, 0, "the device has no images of this size", ""),
    MEANING(CL_INVALID_SAMPLER, INTERNAL, 0, "the sampler is not valid", ""),
    MEANING(CL_INVALID_BINARY, FORMAT, 0, "the driver does not take the compiled program", ""),
    MEANING(CL_INVALID_BUILD_OPTIONS, INVALID, 0, "the compiler does not know an option",
            "see 'build_options' of [device opencl]"),
    MEANING(CL_INVALID_PROGRAM, INTERNAL, 0, "the program is not valid", ""),
    MEANING(CL_INVALID_PROGRAM_EXECUTABLE, BUILD, 0, "the program was not built for this device",
            ""),
    MEANING(CL_INVALID_KERNEL_NAME, NOT_FOUND, 0, "the program has no such kernel", ""),
    MEANING(CL_INVALID_KERNEL_DEFINITION, BUILD, 0, "the kernel differs from device to device", ""),
    MEANING(CL_INVALID_KERNEL, INTERNAL, 0, "the kernel is not valid", ""),
    MEANING(CL_INVALID_ARG_INDEX, INVALID, 0, "the kernel takes fewer arguments", ""),
    MEANING(CL_INVALID_ARG_VALUE, INVALID, 0, "the argument is not what the kernel takes", ""),
    MEANING(CL_INVALID_ARG_SIZE, INVALID, 0, "the argument is of another size than the kernel's",
            ""),
    MEANING(CL_INVALID_KERNEL_ARGS, INVALID, 0, "arguments of the kernel are not set", ""),
    MEANING(CL_INVALID_WORK_DIMENSION, INTERNAL, 0, "a launch of so many dimensions", ""),
    MEANING(CL_INVALID_WORK_GROUP_SIZE, INVALID, 0, "the kernel cannot run in groups of this size",
            "compile for the device: its limits are attributes of the target"),
    MEANING(CL_INVALID_WORK_ITEM_SIZE, INVALID, 0, "a group has too many work items in a dimension",
            "compile for the device: its limits are attributes of the target"),
    MEANING(CL_INVALID_GLOBAL_OFFSET, INTERNAL, 0, "the offset of a launch is not valid", ""),
    MEANING(CL_INVALID_EVENT_WAIT_LIST, INTERNAL, 0, "an event is not valid", ""),
    MEANING(CL_INVALID_EVENT, INTERNAL, 0, "an event is not valid", ""),
    MEANING(CL_INVALID_OPERATION, UNSUPPORTED, 0, "the device cannot do this", ""),
    MEANING(CL_INVALID_GL_OBJECT, INTERNAL, 0, "no object of OpenGL", ""),
    MEANING(CL_INVALID_BUFFER_SIZE, NO_MEMORY, 0, "the device has no buffers of this size", ""),
    MEANING(CL_INVALID_MIP_LEVEL, INTERNAL, 0, "no such level of an image", ""),
    MEANING(CL_INVALID_GLOBAL_WORK_SIZE, INVALID, 0, "a launch of no or too many work items", ""),
    MEANING(CL_INVALID_PROPERTY, UNSUPPORTED, 0, "the driver does not know a property", ""),
    MEANING(CL_INVALID_IMAGE_DESCRIPTOR, UNSUPPORTED, 0, "the device has no such images", ""),
    MEANING(CL_INVALID_COMPILER_OPTIONS, INVALID, 0, "the compiler does not know an option",
            "see 'build_options' of [device opencl]"),
    MEANING(CL_INVALID_LINKER_OPTIONS, INVALID, 0, "the linker does not know an option", ""),
    MEANING(CL_INVALID_DEVICE_PARTITION_COUNT, INTERNAL, 0, "the device cannot be divided so", ""),
#undef MEANING
    {-1001, TNB_DEVICE, 0, "CL_PLATFORM_NOT_FOUND_KHR", "no OpenCL driver is installed",
     "install the driver of your device, or pocl-opencl-icd for the processor"},
    {-9999, TNB_DEVICE, ENDS, "NVIDIA's -9999", "a kernel read or wrote where it must not", ""},
};

static const struct meaning *
meaning_of(cl_int code)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].code == code)
            return &meanings[i];
    return NULL;
}

const char *
opencl_error_name(cl_int code, char number[16])
{
    const struct meaning *m = meaning_of(code);
    if (m)
        return m->name;
    snprintf(number, 16, "%d", (int)code);
    return number;
}

static void
remember(struct opencl_device *d, const char *why)
{
    pthread_mutex_lock(&d->lock);
    if (!atomic_load(&d->lost)) {
        snprintf(d->why_lost, sizeof d->why_lost, "%s", why);
        atomic_store(&d->lost, true);
    }
    pthread_mutex_unlock(&d->lock);
}

tnb_status
opencl_fail(struct opencl_device *d, cl_int code, tnb_err *err, const char *fmt, ...)
{
    const struct meaning *m = meaning_of(code);
    char what[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (!m)
        return tnb_fail(err, TNB_DEVICE, "%s: OpenCL's error %d", what, (int)code);
    if (d && m->ends)
        remember(d, m->name);
    (void)tnb_fail(err, m->status, "%s: %s (%d): %s", what, m->name, (int)code, m->means);
    if (m->hint[0])
        tnb_hint(err, "%s", m->hint);
    return m->status;
}

tnb_status
opencl_alive(struct opencl_device *d, tnb_err *err)
{
    if (!atomic_load(&d->lost))
        return TNB_OK;
    (void)tnb_fail(err, TNB_DEVICE, "the device '%s' was lost before (%s)", d->info.name,
                   d->why_lost);
    tnb_hint(err, "start again; nothing that lay on the device is left");
    return TNB_DEVICE;
}
