/* SPDX-License-Identifier: Apache-2.0 */
/* The allocation functions of the C library, failing where memory_fails() says so. Included by one file of a
 * program, which defines that function; not in a build with sanitizers, whose allocator takes their place. */
#ifndef TESTS_FAILING_MEMORY_H
#define TESTS_FAILING_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

static bool
memory_fails(void);

#ifndef TENON_ASAN
#pragma GCC visibility push(default)
extern void *
__libc_malloc(size_t n);
extern void *
__libc_calloc(size_t n, size_t size);
extern void *
__libc_realloc(void *p, size_t n);
extern void *
__libc_memalign(size_t align, size_t n);

void *
malloc(size_t n)
{
    return memory_fails() ? (errno = ENOMEM, NULL) : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
    return memory_fails() ? (errno = ENOMEM, NULL) : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
    return memory_fails() ? (errno = ENOMEM, NULL) : __libc_realloc(p, n);
}

int
posix_memalign(void **out, size_t align, size_t n)
{
    void *p = memory_fails() ? NULL : __libc_memalign(align, n);
    if (p)
        *out = p;
    return p ? 0 : ENOMEM;
}

void *
aligned_alloc(size_t align, size_t n)
{
    return memory_fails() ? (errno = ENOMEM, NULL) : __libc_memalign(align, n);
}
#pragma GCC visibility pop
#endif

#endif
