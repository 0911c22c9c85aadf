/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: from a program put together by hand to an open artifact. */
#ifndef TENON_TESTS_RUNTIME_ASSEMBLE_H
#define TENON_TESTS_RUNTIME_ASSEMBLE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tenon/base/hash.h"
#include "tenon/kit/artifact.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

#define OK(expr)                                    \
    do {                                            \
        tnb_err err = {0};                          \
        if ((expr) != TNB_OK)                       \
            fail_msg("%s: %s", #expr, err.message); \
    } while (0)
/* The expression fails with the status and a message that contains the text. */
#define FAILS(expr, want, text)                                       \
    do {                                                              \
        tnb_err err = {0};                                            \
        assert_int_equal((expr), (want));                             \
        if (!strstr(err.message, (text)))                             \
            fail_msg("message '%s' lacks '%s'", err.message, (text)); \
    } while (0)

#define V(i) TNB_VM_OPERAND(TNB_VM_VALUE, i)
#define I(i) TNB_VM_OPERAND(TNB_VM_INT, i)
#define F(i) TNB_VM_OPERAND(TNB_VM_FLOAT, i)
#define C(i) TNB_VM_OPERAND(TNB_VM_CONST_, i)
#define LIST(...) \
    (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define OP(name, ...) tnk_program_emit(p, TNB_VM_##name, __VA_ARGS__)
#define OPL(name, a, b, ...) tnk_program_emit_list(p, TNB_VM_##name, a, b, LIST(__VA_ARGS__))

static inline void
load_int(tnk_program *p, uint32_t reg, int64_t v)
{
    OP(LDI, 0, reg, (uint32_t)(uint64_t)v, (uint32_t)((uint64_t)v >> 32));
}

/* An anonymous artifact of one variant for `device`. */
static inline int
assemble_fd(tnk_program *p, const char *device, const void *constants, size_t n_constants)
{
    char json[512];
    tnb_buf bytes = {0};
    tnk_artifact *a = NULL;
    uint64_t offset, total;
    int fd = -1;
    snprintf(
        json, sizeof json,
        "{\"functions\": {\"main\": {\"params\": [], \"results\": []}}, \"variants\": [{\"name\": "
        "\"t\", \"target\": "
        "\"{}\", \"device\": \"%s\", \"format\": \"test\", \"features\": [], \"packed\": []}]}",
        device);
    OK(tnk_program_write(p, &bytes, &err));
    OK(tnk_artifact_new(NULL, 1, &a, &err));
    if (n_constants)
        OK(tnk_artifact_constant(a, constants, n_constants, &offset, &err));
    OK(tnk_artifact_section(a, TNB_TNO_METADATA, 0, json, strlen(json), &err));
    OK(tnk_artifact_section(a, TNB_TNO_PROGRAM, 0, bytes.s, bytes.n, &err));
    OK(tnk_artifact_section(a, TNB_TNO_CODE, 0, "code", 4, &err));
    OK(tnk_artifact_finish(a, &fd, &total, &err));
    tnb_buf_free(&bytes);
    return fd;
}

static inline tnr_artifact *
assemble(tnk_program *p, const char *device, const void *constants, size_t n_constants)
{
    tnr_artifact *a = NULL;
    int fd = assemble_fd(p, device, constants, n_constants);
    OK(tnr_artifact_open_fd(fd, "test", &a, &err));
    close(fd);
    return a;
}

/* Makes all hashes right for sections that lie inside the file. */
static inline void
rehash(uint8_t *bytes, size_t n)
{
    tnb_tno_header h;
    memcpy(&h, bytes, sizeof h);
    uint64_t table = (uint64_t)h.n_sections * sizeof(tnb_tno_section);
    if (table > n - sizeof h)
        return;
    for (uint32_t i = 0; i < h.n_sections; i++) {
        tnb_tno_section s;
        uint8_t *at = bytes + sizeof h + i * sizeof s;
        memcpy(&s, at, sizeof s);
        if (s.offset <= n && s.size <= n - s.offset)
            s.hash = tnb_hash_128(bytes + s.offset, s.size).lo;
        memcpy(at, &s, sizeof s);
    }
    h.table_hash = tnb_hash_128(bytes + sizeof h, table).lo;
    memcpy(bytes, &h, sizeof h);
}

static inline uint64_t
next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

#endif
