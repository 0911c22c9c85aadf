/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: what tuning of CLML's operations found, kept in a file.
 *
 * [device opencl] clml_tuning names the file, clml_tune = yes makes a run that fills it: the first call of
 * each function tunes its operations. Without these settings the environment counts that other
 * callers of the extension read: CLML_TUNING_CACHE and CLML_IS_TUNING_RUN=1.
 *
 * The file: eight characters, then records of four 64-bit numbers (two of a hash over device, driver,
 * version and function, the length, a hash of the bytes) and the bytes that the device gave, little
 * endian. A record that is damaged ends what is read, with a message; so does one that the device does
 * not take. Neither keeps a program from running.
 */
#include "clml_rt.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/base/log.h"

static const char magic[8] = "TNCLTUN1";
enum { MOST_BYTES = 64 << 20 };
struct record {
    uint64_t key[2], bytes, hash;
};

static struct record
record_for(const struct module *m, const void *data, size_t n)
{
    const struct opencl_info *i = &m->device->info;
    struct record r = {.bytes = n, .hash = tnb_hash64(data, n, 0)};
    tnb_hash128 h = tnb_hash_128(m->desc->payload, strlen(m->desc->payload));
    r.key[0] = tnb_hash_mix(h.lo, tnb_hash64(i->name, strlen(i->name), 0));
    r.key[1] = tnb_hash_mix(h.hi, tnb_hash64(i->driver, strlen(i->driver), (uint64_t)m->api.major));
    return r;
}

/* The record at *at of the file; moves *at behind it. False: there is none, or (*damaged) no sound one.
 */
static bool
next_record(const char *file, size_t size, size_t *at, struct record *r, const char **data,
            bool *damaged)
{
    size_t left = size - *at;
    *damaged = left > 0 && left < sizeof *r;
    if (left < sizeof *r)
        return false;
    memcpy(r, file + *at, sizeof *r);
    *data = file + *at + sizeof *r;
    *damaged = r->bytes > left - sizeof *r || tnb_hash64(*data, (size_t)r->bytes, 0) != r->hash;
    if (!*damaged)
        *at += sizeof *r + (size_t)r->bytes;
    return !*damaged;
}

/* The file's content from malloc, and how much of it is sound; empty where there is no file. */
static char *
read_file(const char *path, size_t *size)
{
    char *file = NULL;
    size_t n = 0, at = sizeof magic;
    struct record r;
    const char *data;
    bool damaged;
    tnb_err why = {0};
    *size = 0;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return NULL;
    if (tnb_read_file(path, MOST_BYTES, &file, &n, &why) != TNB_OK) {
        tnb_log(TNB_LOG_WARN, "clml: results of tuning are not read: %s", why.message);
        return NULL;
    }
    if (n < sizeof magic || memcmp(file, magic, sizeof magic) != 0) {
        tnb_log(TNB_LOG_WARN, "clml: %s holds no results of tuning; it is left out", path);
        free(file);
        return NULL;
    }
    while (next_record(file, n, &at, &r, &data, &damaged))
        ;
    if (damaged)
        tnb_log(TNB_LOG_WARN, "clml: %s is damaged from byte %zu on; that part is left out", path,
                at);
    *size = at;
    return file;
}

/* The function's record in the file; NULL: it has none. */
static const char *
find(const struct module *m, const char *file, size_t size, size_t *n)
{
    const struct record want = record_for(m, "", 0);
    struct record r;
    const char *data;
    size_t at = sizeof magic;
    bool damaged;
    while (file && next_record(file, size, &at, &r, &data, &damaged))
        if (memcmp(r.key, want.key, sizeof r.key) == 0) {
            *n = (size_t)r.bytes;
            return data;
        }
    return NULL;
}

tnb_status
opencl_clml_load_tuning(struct module *m, tnb_err *err)
{
    const char *path = m->device->clml_tuning;
    size_t size = 0, n = 0;
    char number[16];
    if (!path)
        return TNB_OK;
    cl_int e = m->api.clCreateMLTuningCacheQCOM(&m->tuning);
    if (e != CL_SUCCESS) {
        m->tuning = NULL;
        return opencl_fail(m->device, e, err, "making a tuning cache");
    }
    if (m->device->clml_tune)
        return TNB_OK;
    char *file = read_file(path, &size);
    const char *data = find(m, file, size, &n);
    if (data) {
        e = m->api.clLoadMLTuningCacheQCOM(m->tuning, n, (const unsigned char *)data);
        if (e == CL_SUCCESS)
            tnb_log(TNB_LOG_INFO, "clml: '%s': tuned as %s says", m->desc->symbol, path);
        else
            tnb_log(TNB_LOG_WARN, "clml: '%s': the device does not take what %s has for it (%s)",
                    m->desc->symbol, path, opencl_error_name(e, number));
    } else {
        tnb_log(TNB_LOG_INFO, "clml: '%s': %s has nothing for it", m->desc->symbol, path);
    }
    free(file);
    return TNB_OK;
}

/* The file again, with this function's record in place of an older one. */
static tnb_status
write_record(const struct module *m, const void *data, size_t n, tnb_err *err)
{
    const char *path = m->device->clml_tuning;
    const struct record mine = record_for(m, data, n);
    struct record r;
    const char *other;
    size_t size = 0, at = sizeof magic;
    bool damaged;
    tnb_out *out;
    char *file = read_file(path, &size);
    tnb_status st = tnb_out_open(path, &out, err);
    if (st == TNB_OK) {
        st = tnb_out_write(out, magic, sizeof magic, err);
        while (st == TNB_OK && file && next_record(file, size, &at, &r, &other, &damaged)) {
            if (memcmp(r.key, mine.key, sizeof r.key) == 0)
                continue;
            st = tnb_out_write(out, &r, sizeof r, err);
            if (st == TNB_OK)
                st = tnb_out_write(out, other, (size_t)r.bytes, err);
        }
        if (st == TNB_OK)
            st = tnb_out_write(out, &mine, sizeof mine, err);
        if (st == TNB_OK)
            st = tnb_out_write(out, data, n, err);
        if (st == TNB_OK)
            st = tnb_out_commit(out, err);
        else
            tnb_out_abandon(out);
    }
    free(file);
    return st;
}

static tnb_status
save(struct module *m, tnb_err *err)
{
    size_t n = 0;
    cl_int e = m->api.clSaveMLTuningCacheQCOM(m->tuning, 0, NULL, &n);
    unsigned char *data = e == CL_SUCCESS && n <= MOST_BYTES ? malloc(n ? n : 1) : NULL;
    if (e == CL_SUCCESS && !data)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %zu bytes of a tuning cache", n);
    if (e == CL_SUCCESS)
        e = m->api.clSaveMLTuningCacheQCOM(m->tuning, n, data, &n);
    tnb_status st = e == CL_SUCCESS ? write_record(m, data, n, err)
                                    : opencl_fail(m->device, e, err, "reading a tuning cache");
    free(data);
    return st;
}

tnb_status
opencl_clml_tune(struct module *m, tnb_err *err)
{
    struct opencl_device *d = m->device;
    cl_int e = clFinish(d->queue); /* the operands are there */
    cl_command_queue queue =
        e == CL_SUCCESS ? clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &e)
                        : NULL;
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "making a queue to tune on");
    for (uint32_t i = 0; i < m->n_ops && e == CL_SUCCESS; i++)
        e = m->api.clTuneMLOpQCOM(queue, m->ops[i], m->set, m->tuning, NULL);
    if (e == CL_SUCCESS)
        e = clFinish(queue);
    (void)clReleaseCommandQueue(queue);
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "tuning the operations of '%s'", m->desc->symbol);
    TNB_TRY(save(m, err));
    tnb_log(TNB_LOG_INFO, "clml: '%s': tuned, %s has it", m->desc->symbol, d->clml_tuning);
    return TNB_OK;
}
