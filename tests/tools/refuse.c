/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before a program (no_memory.py): from the REFUSE_AT-th request on, the system grants no
 * memory. With REFUSE_ONCE only that request is refused. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(default)

extern void *
__libc_malloc(size_t n);
extern void *
__libc_calloc(size_t n, size_t size);
extern void *
__libc_realloc(void *p, size_t n);
void *
refusing_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);

static atomic_long requests = -1; /* not asked for yet */

static int
refused(void)
{
    static long from, once;
    if (atomic_load(&requests) < 0) {
        const char *text = getenv("REFUSE_AT");
        from = text ? atol(text) : 0;
        once = getenv("REFUSE_ONCE") != NULL;
        atomic_store(&requests, 0);
    }
    long now = atomic_fetch_add(&requests, 1) + 1;
    if (from == 0 || (once ? now != from : now < from))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *
malloc(size_t n)
{
    return refused() ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
    return refused() ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
    return refused() ? NULL : __libc_realloc(p, n);
}

/* Files are mapped; anonymous memory is refused like the rest. */
void *
refusing_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    if (flags & MAP_ANONYMOUS && refused())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}
extern void *
mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
    __attribute__((alias("refusing_mmap")));
