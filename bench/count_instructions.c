// SPDX-License-Identifier: Apache-2.0
// A plugin of QEMU's user emulation (API version 1) that counts the instructions of a program and writes the count to
// the file named by its argument `out`. bench/growth.py builds it. QEMU's qemu-plugin.h is not in every distribution's
// packages, so what is used of it is declared here.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

size_t
qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void
qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                      void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void
qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, enum qemu_plugin_op op,
                                         void *ptr, uint64_t imm);
void
qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, void *),
                               void *data);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

static uint64_t count;
static char out[4096];

static void
on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &count,
                                             qemu_plugin_tb_n_insns(tb));
}

static void
on_exit(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    FILE *f = fopen(out, "w");
    if (!f) {
        perror(out);
        return;
    }
    fprintf(f, "%" PRIu64 " instructions\n", count);
    fclose(f);
}

int
qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "out=", 4))
            snprintf(out, sizeof(out), "%s", argv[i] + 4);
    if (!*out)
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
    qemu_plugin_register_atexit_cb(id, on_exit, NULL);
    return 0;
}
