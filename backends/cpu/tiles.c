/* SPDX-License-Identifier: Apache-2.0 */
/* The processor's matrix tiles (AMX). Linux gives their registers, of eight KiB a thread, to processes
 * that ask. */
#include "config.h"
#include "tiles.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)

enum { ASK_PERMISSION = 0x1023 /* ARCH_REQ_XCOMP_PERM */, TILE_DATA = 18 /* XFEATURE_XTILEDATA */ };

tnb_status
cpu_tiles_allow(tnb_err *err)
{
    if (syscall(SYS_arch_prctl, (long)ASK_PERMISSION, (long)TILE_DATA) == 0)
        return TNB_OK;
    (void)tnb_fail(err, TNB_UNSUPPORTED,
                   "the system does not let this process use the processor's matrix tiles: %s",
                   strerror(errno));
    tnb_hint(err, "Linux 5.16 or later is needed; compile the model without the features amx-*");
    return TNB_UNSUPPORTED;
}

void
cpu_tiles_configure(void)
{
    /* as the instruction reads it: palette, first row, 14 reserved; bytes of a row; rows */
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } form __attribute__((aligned(64))) = {
        .palette = 1,
        .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, 16, 16},
    };
    _Static_assert(sizeof form == 64, "the instruction reads 64 bytes");
    /* ldtilecfg (%rax), for assemblers that do not know it */
    __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x00" : : "a"(&form), "m"(form));
}

void
cpu_tiles_release(void)
{
    __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0" : : : "memory"); /* tilerelease */
}

#else

tnb_status
cpu_tiles_allow(tnb_err *err)
{
    return tnb_fail(err, TNB_UNSUPPORTED, "this system gives no matrix tiles to processes");
}

void
cpu_tiles_configure(void)
{
}

void
cpu_tiles_release(void)
{
}
#endif
