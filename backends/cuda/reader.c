/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: reads payloads (payload.h). Nothing in one is trusted but what only the driver can check: the code
 * itself. */
#include "device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 1 << 16, MAX_NAME = 1024, MAX_THREADS = 1024, ELF_HEAD = 64 };

/* Whether n bytes from `at` lie in the payload, behind the records. */
static bool
lies(size_t size, size_t records, uint64_t at, uint64_t n)
{
    return at >= records && at <= size && n <= size - at;
}

static const char *
check_params(const struct cuda_entry *e)
{
    for (uint32_t i = 0; i < e->head.n_params; i++) {
        uint32_t word = cuda_entry_param(e, i), kind = word & 0xff, written = word >> 8 & 0xff,
                 bytes = word >> 16;
        bool scalar = kind == TNB_PARAM_SCALAR || kind == TNB_PARAM_TAG;
        if (!scalar && kind != TNB_PARAM_BUFFER && kind != TNB_PARAM_REFUSED)
            return "a parameter of a kind that kernels of this device do not take";
        if (written > 1 || (written && scalar))
            return "a parameter with unknown bits";
        if (scalar ? bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 : bytes != 8)
            return "a parameter of another size than its kind has";
    }
    return NULL;
}

static const char *
check_name(const char *name, uint32_t n)
{
    if (name[n - 1] != '\0' || strlen(name) != n - 1)
        return "a name of another length than the record says";
    for (uint32_t i = 0; i + 1 < n; i++)
        if ((unsigned char)name[i] <= ' ' || (unsigned char)name[i] > '~')
            return "a name that is no text";
    return NULL;
}

static const char *
read_entry(const unsigned char *code, size_t size, size_t records, struct cuda_entry *e)
{
    const cuda_kernel *h = &e->head;
    if (h->n_name < 2 || h->n_name > MAX_NAME || !lies(size, records, h->name, h->n_name))
        return "a name that is empty, too long, or reaches beyond the end";
    const char *name = (const char *)code + h->name, *wrong = check_name(name, h->n_name);
    if (wrong)
        return wrong;
    e->name = name;
    if (h->n_params > CUDA_MAX_PARAMS)
        return "too many parameters";
    if (!lies(size, records, h->params, (uint64_t)4 * h->n_params))
        return "parameters that reach beyond the end";
    e->params = code + h->params;
    if (h->threads > MAX_THREADS)
        return "a block of too many threads";
    if (h->n_ptx < 2 || !lies(size, records, h->ptx, h->n_ptx))
        return "PTX that is missing or reaches beyond the end";
    e->ptx = code + h->ptx;
    if (memchr(e->ptx, '\0', (size_t)h->n_ptx) != e->ptx + h->n_ptx - 1)
        return "PTX of another length than the record says";
    if (h->n_cubin && (h->n_cubin < ELF_HEAD || !lies(size, records, h->cubin, h->n_cubin)))
        return "a cubin that is too short or reaches beyond the end";
    e->cubin = h->n_cubin ? code + h->cubin : NULL;
    if (e->cubin && memcmp(e->cubin, "\177ELF", 4) != 0)
        return "a cubin that is no ELF file";
    return check_params(e);
}

static const char *
read_arch(const cuda_payload *head, char arch[16])
{
    size_t n = strnlen(head->arch, sizeof head->arch);
    if (n < 5 || n == sizeof head->arch || strncmp(head->arch, "sm_", 3) != 0)
        return "an architecture of no known form";
    for (size_t i = 0; i < sizeof head->arch; i++) {
        unsigned char c = (unsigned char)head->arch[i];
        if (i < n ? c <= ' ' || c > '~' : c != '\0')
            return "an architecture that is no text";
    }
    memcpy(arch, head->arch, sizeof head->arch);
    return NULL;
}

tnb_status
cuda_payload_read(const void *code, size_t size, struct cuda_entry **out, uint32_t *n,
                  char arch[16], tnb_err *err)
{
    cuda_payload head;
    *out = NULL;
    *n = 0;
    if (size < sizeof head || (memcpy(&head, code, sizeof head), head.magic != CUDA_MAGIC))
        return tnb_fail(err, TNB_FORMAT, "%zu bytes that are no kernels of format '%s'", size,
                        CUDA_FORMAT);
    if (head.version != CUDA_VERSION) {
        (void)tnb_fail(err, TNB_FORMAT, "kernels in version %" PRIu32 " of '%s'; this is %d",
                       head.version, CUDA_FORMAT, CUDA_VERSION);
        tnb_hint(err, "compile the model again with this Tenon");
        return TNB_FORMAT;
    }
    const char *wrong = head.reserved ? "a reserved word that is not zero" : read_arch(&head, arch);
    if (wrong)
        return tnb_fail(err, TNB_FORMAT, "kernels of cuda with %s", wrong);
    if (head.n_kernels == 0 || head.n_kernels > MAX_KERNELS ||
        head.n_kernels > (size - sizeof head) / sizeof(cuda_kernel))
        return tnb_fail(err, TNB_FORMAT, "%" PRIu32 " kernels in %zu bytes", head.n_kernels, size);
    struct cuda_entry *all = calloc(head.n_kernels, sizeof *all);
    if (!all)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    size_t records = sizeof head + head.n_kernels * sizeof(cuda_kernel);
    for (uint32_t i = 0; i < head.n_kernels; i++) {
        memcpy(&all[i].head, (const char *)code + sizeof head + i * sizeof(cuda_kernel),
               sizeof(cuda_kernel));
        wrong = all[i].head.reserved ? "a reserved word that is not zero"
                                     : read_entry(code, size, records, &all[i]);
        if (wrong) {
            (void)tnb_fail(err, TNB_FORMAT, "kernel %" PRIu32 " ('%.80s') has %s", i,
                           all[i].name ? all[i].name : "?", wrong);
            free(all);
            return TNB_FORMAT;
        }
    }
    *out = all;
    *n = head.n_kernels;
    return TNB_OK;
}
