/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a shared object of kernels from memory. */
#include "config.h"
#include "object.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenon/base/file.h"

/* A path of an open file that no other file has while it is loaded. The system's loader takes equal
 * paths for the same object, and the number of a descriptor is soon given to another file: so the
 * bits of the file's number, which stays its own, are spelled with "./" and "/". */
static bool
unique_path(int fd, char path[256])
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    size_t at = (size_t)snprintf(path, 256, "/proc/self/fd/");
    for (uint64_t number = st.st_ino; number; number >>= 1)
        at += (size_t)snprintf(path + at, 256 - at, "%s", number & 1 ? "./" : "/");
    snprintf(path + at, 256 - at, "%d", fd);
    return true;
}

/* Through an anonymous file, so that nothing is left on disk and no place for it has to be found.
 */
static void *
open_from_memory(const void *code, size_t n, char *why, size_t why_n)
{
    char path[256];
    void *so = NULL;
    int fd = memfd_create("tenon-kernels", MFD_CLOEXEC);
    if (fd < 0 || !tnb_write_all(fd, code, n, -1) || !unique_path(fd, path)) {
        snprintf(why, why_n, "anonymous file: %s", strerror(errno));
    } else {
        so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!so)
            snprintf(why, why_n, "%s", dlerror());
    }
    if (fd >= 0)
        close(fd);
    return so;
}

/* Where /proc is not there, or anonymous files may not be executed: through a private file that is
 * removed at once. */
static void *
open_from_file(const void *code, size_t n, char *why, size_t why_n)
{
    const char *dir = tnb_env("TMPDIR");
    char path[512];
    void *so = NULL;
    if (snprintf(path, sizeof path, "%s/tenon-kernels-XXXXXX",
                 dir && dir[0] == '/' ? dir : "/tmp") >= (int)sizeof path) {
        snprintf(why, why_n, "TMPDIR is too long");
        return NULL;
    }
    int fd = mkostemp(path, O_CLOEXEC); /* mode 0600 */
    if (fd < 0) {
        snprintf(why, why_n, "%.200s: %s", path, strerror(errno));
        return NULL;
    }
    if (!tnb_write_all(fd, code, n, -1)) {
        snprintf(why, why_n, "%.200s: %s", path, strerror(errno));
    } else {
        so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!so)
            snprintf(why, why_n, "%s", dlerror());
    }
    unlink(path);
    close(fd);
    return so;
}

/* Whether the program headers and what they load lie inside the file: the system's loader would
 * touch pages behind its end. */
static bool
is_whole_elf(const uint8_t *code, size_t n)
{
    Elf64_Ehdr e;
    if (n < sizeof e)
        return false;
    memcpy(&e, code, sizeof e);
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
        e.e_type != ET_DYN || e.e_phentsize != sizeof(Elf64_Phdr) || e.e_phoff > n ||
        (uint64_t)e.e_phnum * sizeof(Elf64_Phdr) > n - e.e_phoff || e.e_shoff > n ||
        (uint64_t)e.e_shnum * e.e_shentsize > n - e.e_shoff)
        return false;
    for (uint32_t i = 0; i < e.e_phnum; i++) {
        Elf64_Phdr h;
        memcpy(&h, code + e.e_phoff + i * sizeof h, sizeof h);
        if (h.p_type != PT_GNU_STACK && (h.p_offset > n || h.p_filesz > n - h.p_offset))
            return false;
    }
    return e.e_phnum > 0;
}

tnb_status
cpu_object_open(const void *code, size_t n, void **object, tnb_err *err)
{
    char first[300] = "", second[300] = "";
    if (!is_whole_elf(code, n))
        return tnb_fail(err, TNB_FORMAT, "the code is no whole shared object (%zu bytes)", n);
    *object = open_from_memory(code, n, first, sizeof first);
    if (!*object)
        *object = open_from_file(code, n, second, sizeof second);
    if (!*object)
        return tnb_fail(err, TNB_FORMAT,
                        "the shared object of the kernels cannot be loaded: %s; %s", first, second);
    return TNB_OK;
}

tnb_status
cpu_object_kernel(void *object, const char *name, void **kernel, tnb_err *err)
{
    *kernel = dlsym(object, name);
    return *kernel ? TNB_OK
                   : tnb_fail(err, TNB_NOT_FOUND, "the shared object has no kernel '%s'", name);
}

void
cpu_object_close(void *object)
{
    if (object)
        dlclose(object);
}
