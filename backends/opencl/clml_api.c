/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: the entry points of Qualcomm's OpenCL ML extension. They are asked
 * of the platform, the tables for the newest version that header and device both have.
 */
#include "clml_rt.h"

bool
opencl_has_clml(const struct opencl_info *info)
{
    return opencl_has_extension(info, EXTENSION);
}

typedef cl_int (*query_fn)(cl_int *majors, cl_int *minors, cl_uint n, cl_uint *count);
typedef cl_int (*table_fn)(void **table, cl_int major, cl_int minor);

void *
opencl_clml_entry(const struct opencl_device *d, const char *name)
{
    return clGetExtensionFunctionAddressForPlatform(d->platform, name);
}

#define TAKE(name) api->name = t->name;
#define TAKE_TABLE(version)                             \
    {                                                   \
        const CLMLInterfaceV##version##QCOM *t = table; \
        ENTRIES(TAKE)                                   \
        TENSOR_##version                                \
    }
#define TENSOR_3 TAKE(clCreateMLTensorQCOM)
#define TENSOR_4 TAKE(clCreateMLTensorWithUsageQCOM)
#define TENSOR_5 \
    TAKE(clCreateMLTensorWithUsageQCOM) TAKE(clSetMLTensorDimensionsQCOM) TAKE(clUpdateMLOpQCOM)

/* The newest version that the device and this program have. */
static tnb_status
choose_version(struct opencl_device *d, cl_int *major, cl_int *minor, tnb_err *err)
{
    enum {
        MOST = 64,
        NEWEST = CL_QCOM_ML_OPS_H_MAJOR_VERSION > 5 ? 5 : CL_QCOM_ML_OPS_H_MAJOR_VERSION
    };
    query_fn query = (query_fn)opencl_clml_entry(d, "clQueryMLInterfaceVersionsQCOM");
    cl_int majors[MOST], minors[MOST], newest = 0;
    cl_uint n = 0;
    if (!opencl_has_clml(&d->info) || !query)
        return tnb_fail(err, TNB_UNSUPPORTED, "device '%s' has no extension " EXTENSION,
                        d->info.name);
    cl_int e = query(NULL, NULL, 0, &n);
    n = n > MOST ? MOST : n;
    if (e == CL_SUCCESS)
        e = query(majors, minors, n, NULL);
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "asking for the versions of " EXTENSION);
    for (cl_uint i = 0; i < n; i++) {
        newest = majors[i] > newest ? majors[i] : newest;
        if (majors[i] <= NEWEST && majors[i] >= *major) {
            *major = majors[i];
            *minor = minors[i];
        }
    }
    if (*major < 3)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "device '%s' has version %d of " EXTENSION ", this program takes 3 to %d",
                        d->info.name, newest, NEWEST);
    return TNB_OK;
}

int
opencl_clml_version(struct opencl_device *d)
{
    cl_int major = 0, minor = 0;
    tnb_err why = {0};
    return choose_version(d, &major, &minor, &why) == TNB_OK ? major : 0;
}

tnb_status
opencl_clml_load(struct opencl_device *d, struct opencl_clml_api *api, tnb_err *err)
{
    table_fn get = (table_fn)opencl_clml_entry(d, "clGetMLInterfaceQCOM");
    cl_int minor = 0;
    void *table = NULL;
    TNB_TRY(choose_version(d, &api->major, &minor, err));
    if (!get)
        return tnb_fail(err, TNB_UNSUPPORTED, "device '%s' has no entry clGetMLInterfaceQCOM",
                        d->info.name);
    cl_int e = get(&table, api->major, minor);
    if (e != CL_SUCCESS || !table)
        return opencl_fail(d, e != CL_SUCCESS ? e : CL_INVALID_VALUE, err,
                           "getting version %d.%d of " EXTENSION, api->major, minor);
    switch (api->major) {
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 5
    case 5:
        TAKE_TABLE(5)
        break;
#endif
#if CL_QCOM_ML_OPS_H_MAJOR_VERSION >= 4
    case 4:
        TAKE_TABLE(4)
        break;
#endif
    default:
        TAKE_TABLE(3)
    }
    return TNB_OK;
}
