/* SPDX-License-Identifier: Apache-2.0 */
/* The null device: a kernel that never ends can be stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include "backends/null/code.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/vm.h"

static bool
after_three_questions(const void *user)
{
    int *asked = (int *)(uintptr_t)user;
    return ++*asked == 3;
}

static void
a_loop_without_an_end_can_be_stopped(void **state)
{
    tnb_diags *diags = tnb_diags_new();
    tnb_conf *conf = tnb_conf_load(NULL, diags);
    tnb_plugins *plugins = NULL;
    tnr_runtime *rt = NULL;
    tnr_device *dev = NULL;
    tnb_err err = {0};
    (void)state;
    assert_int_equal(tnb_plugins_open(conf, NULL, &plugins, &err), TNB_OK);
    tnr_runtime_options opt = {.conf = conf, .plugins = plugins};
    assert_int_equal(tnr_runtime_new(&opt, &rt, &err), TNB_OK);
    assert_int_equal(tnr_device_open(rt, "null", 0, &dev, &err), TNB_OK);
    const tnr_driver *d = tnr_device_driver(dev);

    struct {
        null_file file;
        null_kernel kernel;
        null_insn insns[2];
    } code = {.file = {.n_kernels = 1}, .kernel = {.name = "loop", .n_insns = 2}};
    memcpy(code.file.magic, NULL_MAGIC, 8);
    code.insns[0] = (null_insn){.op = NULL_JUMP, .arg = 0};
    code.insns[1] = (null_insn){.op = NULL_END};
    void *module, *kernel;
    int asked = 0;
    void *h = tnr_device_handle(dev);
    assert_int_equal(d->module_load(h, "null", &code, sizeof code, &module, &err), TNB_OK);
    assert_int_equal(d->module_kernel(h, module, "loop", &kernel, &err), TNB_OK);
    tnr_launch l = {.size = sizeof l, .cancelled = after_three_questions, .user = &asked};
    assert_int_equal(d->launch(h, NULL, kernel, &l, &err), TNB_CANCELLED);
    assert_int_equal(asked, 3);
    d->module_free(h, module);
    tnr_runtime_free(rt);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    tnb_diags_free(diags);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_loop_without_an_end_can_be_stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
