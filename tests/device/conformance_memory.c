/* SPDX-License-Identifier: Apache-2.0 */
/* The device conformance suite: what the device says of itself, memory, copies. */
#include "conformance.h"

bool
up(struct suite *s, void *mem, uint64_t offset, const void *host, uint64_t n)
{
    tnr_copy c = copy_of(TNR_COPY_TO_DEVICE, mem, host, n);
    c.dst_offset = offset;
    DONE(s->d->copy(s->dev, NULL, &c, &err));
    return true;
}

bool
down(struct suite *s, const void *mem, uint64_t offset, void *host, uint64_t n)
{
    tnr_copy c = copy_of(TNR_COPY_TO_HOST, host, mem, n);
    c.src_offset = offset;
    DONE(s->d->copy(s->dev, NULL, &c, &err));
    return true;
}

bool
across(struct suite *s, void *to, uint64_t to_offset, const void *from, uint64_t from_offset,
       uint64_t n)
{
    tnr_copy c = copy_of(TNR_COPY_ON_DEVICE, to, from, n);
    c.dst_offset = to_offset;
    c.src_offset = from_offset;
    DONE(s->d->copy(s->dev, NULL, &c, &err));
    return true;
}

tnr_copy
copy_of(int kind, void *dst, const void *src, uint64_t bytes)
{
    return (tnr_copy){.kind = kind, .dst = dst, .src = src, .bytes = bytes};
}

void
pattern(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((i * 31 + seed * 17) ^ (i >> 8));
}

/* ---- checks ---- */

static bool
describes_itself(struct suite *s)
{
    char text[200], tiny[4] = "xxx";
    int n = 0;
    memset(text, 'x', sizeof text);
    s->d->describe(s->dev, text, sizeof text);
    NEED(memchr(text, '\0', sizeof text) != NULL && text[0] != '\0');
    s->d->describe(s->dev, tiny, sizeof tiny);
    NEED(tiny[3] == '\0');
    NEED(s->d->base.doc && s->d->base.doc[0]);
    DONE(s->d->count(s->d->self, &n, &err));
    NEED(n >= 1);
    return true;
}

static bool
unknown_features_are_refused(struct suite *s)
{
    static const char *const odd[] = {"no-such-feature"};
    DONE(s->d->check_features(s->dev, NULL, 0, &err));
    REFUSED(s->d->check_features(s->dev, odd, 1, &err));
    return true;
}

static bool
memory_keeps_what_is_written(struct suite *s)
{
    static uint8_t out[100003], back[100003];
    void *mem;
    DONE(s->d->alloc(s->dev, sizeof out, "global", &mem, &err));
    NEED(mem != NULL);
    pattern(out, sizeof out, 1);
    NEED(up(s, mem, 0, out, sizeof out) && down(s, mem, 0, back, sizeof back));
    s->d->free(s->dev, mem);
    NEED(memcmp(out, back, sizeof out) == 0);
    return true;
}

static bool
allocations_are_apart_and_aligned(struct suite *s)
{
    enum { N = 50 };
    void *mem[N];
    uint8_t v;
    for (int i = 0; i < N; i++) {
        DONE(s->d->alloc(s->dev, (uint64_t)(i * 37 + 1), "global", &mem[i], &err));
        if (s->d->flags & TNR_DRIVER_HOST_MEMORY)
            NEED(s->d->alignment >= 64 && (uintptr_t)mem[i] % s->d->alignment == 0);
        v = (uint8_t)i;
        for (int k = 0; k < i * 37 + 1; k++)
            NEED(up(s, mem[i], (uint64_t)k, &v, 1));
    }
    for (int i = 0; i < N; i++) {
        NEED(down(s, mem[i], (uint64_t)(i * 37), &v, 1) && v == (uint8_t)i);
        NEED(down(s, mem[i], 0, &v, 1) && v == (uint8_t)i);
        s->d->free(s->dev, mem[i]);
    }
    return true;
}

static bool
no_bytes_are_no_error(struct suite *s)
{
    void *mem;
    uint8_t v = 7;
    DONE(s->d->alloc(s->dev, 0, "global", &mem, &err));
    NEED(up(s, mem, 0, &v, 0) && down(s, mem, 0, &v, 0) && across(s, mem, 0, mem, 0, 0));
    DONE(s->d->zero(s->dev, NULL, mem, 0, 0, &err));
    s->d->free(s->dev, mem);
    NEED(v == 7);
    return true;
}

static bool
copies_honour_offsets(struct suite *s)
{
    uint8_t out[256], back[256], want[256];
    void *a, *b;
    DONE(s->d->alloc(s->dev, 256, "global", &a, &err));
    DONE(s->d->alloc(s->dev, 256, "global", &b, &err));
    pattern(out, 256, 2);
    memset(want, 0, 256);
    DONE(s->d->zero(s->dev, NULL, b, 0, 256, &err));
    NEED(up(s, a, 0, out, 256) && across(s, b, 13, a, 101, 59) && down(s, b, 0, back, 256));
    memcpy(want + 13, out + 101, 59);
    NEED(memcmp(back, want, 256) == 0);
    NEED(up(s, b, 200, out, 3) && down(s, b, 201, back, 2) && memcmp(back, out + 1, 2) == 0);
    s->d->free(s->dev, a);
    s->d->free(s->dev, b);
    return true;
}

static bool
copies_may_overlap(struct suite *s)
{
    uint8_t out[300], back[300], want[300];
    void *a;
    DONE(s->d->alloc(s->dev, 300, "global", &a, &err));
    pattern(out, 300, 3);
    memcpy(want, out, 300);
    NEED(up(s, a, 0, out, 300) && across(s, a, 10, a, 0, 200));
    memmove(want + 10, want, 200);
    NEED(across(s, a, 0, a, 50, 200) && down(s, a, 0, back, 300));
    memmove(want, want + 50, 200);
    s->d->free(s->dev, a);
    NEED(memcmp(back, want, 300) == 0);
    return true;
}

static bool
zero_touches_its_range_only(struct suite *s)
{
    uint8_t out[64], back[64];
    void *a;
    DONE(s->d->alloc(s->dev, 64, "global", &a, &err));
    memset(out, 0xff, 64);
    NEED(up(s, a, 0, out, 64));
    DONE(s->d->zero(s->dev, NULL, a, 5, 17, &err));
    NEED(down(s, a, 0, back, 64));
    s->d->free(s->dev, a);
    memset(out + 5, 0, 17);
    NEED(memcmp(out, back, 64) == 0);
    return true;
}

static bool
too_much_memory_is_an_error(struct suite *s)
{
    void *mem;
    REFUSED(s->d->alloc(s->dev, (uint64_t)1 << 62, "global", &mem, &err));
    REFUSED(s->d->alloc(s->dev, UINT64_MAX, "global", &mem, &err));
    DONE(s->d->alloc(s->dev, 4096, "global", &mem, &err)); /* and does no harm */
    s->d->free(s->dev, mem);
    return true;
}

const struct check memory_checks[] = {
    CHECK(describes_itself),
    CHECK(unknown_features_are_refused),
    CHECK(memory_keeps_what_is_written),
    CHECK(allocations_are_apart_and_aligned),
    CHECK(no_bytes_are_no_error),
    CHECK(copies_honour_offsets),
    CHECK(copies_may_overlap),
    CHECK(zero_touches_its_range_only),
    CHECK(too_much_memory_is_an_error),
    {0},
};
