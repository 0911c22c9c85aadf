/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins: the good one loads; each bad one is refused with a reason and a cure, before its code
 * runs where that can be, and the others go on working. */
#include "tests/base/scratch.h"
#include "tenon/base/hash.h"
#include "tenon/base/plugin.h"
#include <fcntl.h>
#include <malloc.h>

static const char good_manifest[] =
    "[plugin]\nname = test\nversion = 1.5\nabi = 0.1\nkind = compiler\n"
    "module = test.so\nprovides = pass:A, pass:B,\n  op:x.y\n";

static tnb_plugins *index_;
static tnb_conf *conf;
static tnb_err err;
static int folders;
static char folder[4200];

/* Puts a module of this build into a folder of its own, with a manifest. */
static void
put(const char *module, const char *manifest)
{
    char source[1024], path[4400];
    char *data;
    size_t n;
    tnb_err e;
    const char *top = getenv("top_builddir");
    snprintf(folder, sizeof folder, "%s/p%d", scratch, folders++);
    assert_int_equal(mkdir(folder, 0755), 0);
    if (module) {
        snprintf(source, sizeof source, "%s/tests/base/.libs/%s.so", top ? top : ".", module);
        if (tnb_read_file(source, 0, &data, &n, &e) != TNB_OK)
            fail_msg("%s", e.message);
        snprintf(path, sizeof path, "%s/test.so", folder);
        assert_int_equal(tnb_write_file(path, data, n, &e), TNB_OK);
        free(data);
    }
    snprintf(path, sizeof path, "%s/test.plugin", folder);
    assert_int_equal(tnb_write_file(path, manifest, strlen(manifest), &e), TNB_OK);
}

static const tnb_plugin *
look(const char *const *sets, uint32_t n)
{
    tnb_diags *d = tnb_diags_new();
    tnb_plugins_close(index_);
    tnb_conf_free(conf);
    unsetenv("TENON_TEST_MODULE_RAN");
    conf = tnb_conf_load(&(tnb_conf_options){.only_these = true, .sets = sets, .n_sets = n}, d);
    assert_non_null(conf);
    tnb_diags_free(d);
    assert_int_equal(tnb_plugins_open(conf, folder, &index_, &err), TNB_OK);
    assert_null(getenv("TENON_TEST_MODULE_RAN"));
    return tnb_plugins_get(index_, 0);
}

static void
has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' lacks '%s'", text, part);
}

static void
refused_on_loading(const char *module, const char *message, const char *hint, bool code_ran)
{
    put(module, good_manifest);
    const tnb_plugin *p = look(NULL, 0);
    assert_int_equal(p->state, TNB_PLUGIN_READY);
    assert_null(tnb_plugins_load(index_, p, &err));
    has(err.message, message);
    has(err.hint, hint);
    assert_int_equal(p->state, TNB_PLUGIN_REFUSED);
    assert_string_equal(p->why, err.message);
    assert_string_equal(p->cure, err.hint);
    assert_int_equal(getenv("TENON_TEST_MODULE_RAN") != NULL, code_ran);
    /* What it promised is now missed with that reason. */
    assert_null(tnb_plugins_find(index_, "pass", "A", &err));
    has(err.message, "plugin 'test' promises it but cannot be used");
    has(err.message, message);
}

static void
refused_on_listing(const char *manifest, const char *message, const char *hint)
{
    put("module_good", manifest);
    const tnb_plugin *p = look(NULL, 0);
    assert_int_equal(p->state, TNB_PLUGIN_REFUSED);
    has(p->why, message);
    has(p->cure, hint);
}

static void
a_good_plugin_is_found_and_loaded(void **state)
{
    (void)state;
    put("module_good", good_manifest);
    const tnb_plugin *p = look(NULL, 0);
    assert_int_equal(p->state, TNB_PLUGIN_READY);
    assert_string_equal(p->why, "found through --plugin-path");
    assert_int_equal(p->n_provides, 3);
    tnb_arena *a = tnb_arena_new();
    uint32_t n;
    const tnb_provided *all = tnb_plugins_provided(index_, a, "pass", &n);
    assert_true(n >= 2);
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        found = found || (strcmp(all[i].name, "B") == 0 && all[i].plugin == p);
    assert_true(found);
    tnb_arena_free(a);
    assert_null(getenv("TENON_TEST_MODULE_RAN"));
    assert_ptr_equal(tnb_plugins_find(index_, "op", "x.y", &err), p);
    const tnb_plugin_head *h = tnb_plugins_load(index_, p, &err);
    if (!h)
        fail_msg("%s", err.message);
    assert_non_null(getenv("TENON_TEST_MODULE_RAN"));
    assert_string_equal(h->licence, "Apache-2.0");
    assert_int_equal(p->state, TNB_PLUGIN_LOADED);
    assert_ptr_equal(tnb_plugins_load(index_, p, &err), h);
    assert_int_equal(tnb_plugin_size_check(h, h->size, &err), TNB_OK);
    assert_int_equal(tnb_plugin_size_check(h, h->size + 8, &err), TNB_ABI);
    has(err.hint, "rebuild the plugin");
    static const char *const holds[] = {"pass:B", "op:x.y", "pass:A"};
    assert_int_equal(tnb_plugins_check(index_, p, holds, 3, &err), TNB_OK);
    assert_null(tnb_plugins_find(index_, "pass", "AA", &err));
    has(err.message, "no pass 'AA'");
    has(err.hint, "did you mean 'A'?");
}

static void
a_manifest_that_lies_is_refused(void **state)
{
    (void)state;
    static const char *const more[] = {"pass:A", "pass:B", "op:x.y", "op:z"};
    put("module_good", good_manifest);
    const tnb_plugin *p = look(NULL, 0);
    assert_non_null(tnb_plugins_load(index_, p, &err));
    assert_int_equal(tnb_plugins_check(index_, p, more, 4, &err), TNB_ABI);
    has(err.message, "does not promise op:z, which the module holds");
    assert_int_equal(p->state, TNB_PLUGIN_REFUSED);
    p = look(NULL, 0);
    assert_non_null(tnb_plugins_load(index_, p, &err));
    assert_int_equal(tnb_plugins_check(index_, p, more, 2, &err), TNB_ABI);
    has(err.message, "promises op:x.y, which the module does not hold");
    static const char *const twice[] = {"op:x.y", "pass:A", "pass:B", "op:x.y"};
    p = look(NULL, 0);
    assert_non_null(tnb_plugins_load(index_, p, &err));
    assert_int_equal(tnb_plugins_check(index_, p, twice, 4, &err), TNB_ABI);
    has(err.message, "holds op:x.y twice");
    put("module_good",
        "[plugin]\nname = test\nversion = 2.0\nabi = 0.1\nkind = compiler\nmodule = test.so\n");
    p = look(NULL, 0);
    assert_null(tnb_plugins_load(index_, p, &err));
    has(err.message, "says test 2.0; the module is test 1.5");
    put("module_good",
        "[plugin]\nname = test\nversion = 1.5\nabi = 0.1\nkind = runtime\nmodule = test.so\n");
    p = look(NULL, 0);
    assert_null(tnb_plugins_load(index_, p, &err));
    has(err.message, "says ABI 0.1, runtime; the module says ABI 0.1, compiler");
    assert_null(getenv("TENON_TEST_MODULE_RAN"));
}

static void
bad_modules_are_refused(void **state)
{
    (void)state;
    refused_on_loading("module_abi", "was built for Tenon ABI 9.1; this Tenon has ABI 0.1",
                       "rebuild the plugin", false);
    refused_on_loading("module_minor", "was built for Tenon ABI 0.77; this Tenon has ABI 0.1",
                       "update Tenon", false);
    refused_on_loading("module_nonote", "has no Tenon note", "entry macro", false);
    refused_on_loading("module_nosymbol", "has no symbol 'tn_plugin'", "entry macro", true);
    refused_on_loading("module_unresolved", "undefined symbol: tenon_no_such_function",
                       "defines 'tenon_no_such_function'", false);
    refused_on_loading(NULL, "cannot open", "reinstall the plugin", false);
}

static void
damaged_modules_are_refused(void **state)
{
    (void)state;
    char path[4400], *data;
    size_t n;
    put("module_good", good_manifest);
    snprintf(path, sizeof path, "%s/test.so", folder);
    assert_int_equal(tnb_read_file(path, 0, &data, &n, &err), TNB_OK);
    static const size_t sizes[] = {0, 3, 40, 64, 100, 500, 1000, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] < n; i++) {
        assert_int_equal(tnb_write_file(path, data, sizes[i], &err), TNB_OK);
        const tnb_plugin *p = look(NULL, 0);
        assert_null(tnb_plugins_load(index_, p, &err));
        assert_int_equal(err.status, TNB_FORMAT);
        has(err.message, "is not a module");
    }
    /* No change of a byte of the headers leads the reader out of the file. */
    const char *probe = in_scratch("probe.so");
    char kept[4400];
    snprintf(kept, sizeof kept, "%s", probe);
    tnb_module_facts facts;
    srand(5);
    for (int i = 0; i < 3000; i++) {
        size_t at = i < 64 * 8 ? (size_t)i / 8 : (size_t)rand() % (n < 4096 ? n : 4096);
        char was = data[at];
        data[at] = (char)(i < 64 * 8 ? was ^ 1 << i % 8 : rand());
        int fd = open(kept, O_RDWR | O_CREAT | O_TRUNC, 0644);
        assert_true(fd >= 0 && write(fd, data, n) == (ssize_t)n);
        tnb_status s = tnb_module_read(fd, kept, &facts, &err);
        assert_true(s == TNB_OK || s == TNB_FORMAT);
        close(fd);
        data[at] = was;
    }
    free(data);
}

static void
bad_manifests_are_refused(void **state)
{
    (void)state;
    refused_on_listing("[plugin]\nname = test\nabi = 2.0\nkind = compiler\nmodule = test.so\n",
                       "was built for Tenon ABI 2.0; this Tenon has ABI 0.1", "update Tenon");
    refused_on_listing("[plugin]\nname = test\nabi = 0.2\nkind = compiler\nmodule = test.so\n",
                       "before 1.0 both have to be the same", "rebuild the plugin");
    refused_on_listing("[plugin]\nname = test\nabi = 0.0\nkind = compiler\nmodule = test.so\n",
                       "lacks 'abi'", "");
    refused_on_listing("[plugin]\nname = test\nabi = 0.1\nkind = compiler\n", "lacks 'module'", "");
    refused_on_listing("[plugin]\nname = test\nabi = one\n",
                       ":3: abi is 'one', expected MAJOR.MINOR", "");
    refused_on_listing("[plugin]\nname = test\nabi = 0.1\nkind = compiler\nmodule = ../x.so\n",
                       "a file beside the manifest", "");
    refused_on_listing("[plugin]\nprovide = pass:A\n", ":2: unknown key 'provide'",
                       "did you mean 'provides'?");
    refused_on_listing("[plugin]\nprovides = A\n", ":2: provides 'A', expected KIND:NAME", "");
    refused_on_listing("[plugin]\nname = a\nname = b\n", "set twice", "");
    refused_on_listing("[other]\nname = a\n", "section [plugin] only", "");
    refused_on_listing("", "lacks", "");
    refused_on_listing("[plugin]\nname = a/b\nabi = 0.1\nkind = compiler\nmodule = x.so\n",
                       "letters, digits", "");
}

static void
what_others_may_write_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        mode_t mode;
        bool listing;
        const char *who, *cure;
    } cases[] = {
        {"test.so", 0646, false, "everybody may write to the file", "chmod go-w"},
        {"test.plugin", 0646, true, "everybody may write to the file", "chmod go-w"},
        {".", 0757, true, "everybody may write to its folder", "chmod go-w"},
        {".", 01777, true, "everybody may write to its folder", "chmod go-w"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("module_good", good_manifest);
        char path[4400];
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].name);
        assert_int_equal(chmod(path, cases[i].mode), 0);
        /* A sticky folder of root is fine; of someone else it is not. */
        if ((cases[i].mode & S_ISVTX) && geteuid() == 0) {
            assert_int_equal(look(NULL, 0)->state, TNB_PLUGIN_READY);
            continue;
        }
        const tnb_plugin *p = look(NULL, 0);
        if (!cases[i].listing) {
            assert_int_equal(p->state, TNB_PLUGIN_READY);
            assert_null(tnb_plugins_load(index_, p, &err));
        }
        assert_int_equal(p->state, TNB_PLUGIN_REFUSED);
        has(p->why, cases[i].who);
        has(p->cure, cases[i].cure);
        assert_null(getenv("TENON_TEST_MODULE_RAN"));
    }
}

static void
an_unknown_owner_is_refused_until_trusted(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    put("module_good", good_manifest);
    char path[4400];
    snprintf(path, sizeof path, "%s/test.so", folder);
    assert_int_equal(chown(path, 4711, 4711), 0);
    const tnb_plugin *p = look(NULL, 0);
    assert_null(tnb_plugins_load(index_, p, &err));
    has(err.message, "belongs to user 4711");
    has(err.hint, "chown 0");
    static const char *const sets[] = {"tenon.trust_owners=4711"};
    p = look(sets, 1);
    if (!tnb_plugins_load(index_, p, &err))
        fail_msg("%s", err.message);
    /* Its group may write: fine only where group, owner and user are one. */
    assert_int_equal(chmod(path, 0775), 0);
    p = look(sets, 1);
    assert_null(tnb_plugins_load(index_, p, &err));
    has(err.message, "its group may write");
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chmod(path, 0775), 0);
    p = look(NULL, 0);
    assert_non_null(tnb_plugins_load(index_, p, &err));
}

static void
the_site_decides(void **state)
{
    (void)state;
    static const char *const none[] = {"tenon.plugins=ops, interp"};
    put("module_good", good_manifest);
    const tnb_plugin *p = look(none, 1);
    assert_int_equal(p->state, TNB_PLUGIN_BLOCKED);
    assert_null(tnb_plugins_find(index_, "pass", "A", &err));
    has(err.message, "[tenon] plugins does not list it");
    char path[4400], *data, hex[65], set[128];
    size_t n;
    snprintf(path, sizeof path, "%s/test.so", folder);
    assert_int_equal(tnb_read_file(path, 0, &data, &n, &err), TNB_OK);
    tnb_sha256(data, n, hex);
    free(data);
    const char *sets[] = {set};
    snprintf(set, sizeof set, "plugin.test.digest=%s", hex);
    p = look(sets, 1);
    assert_non_null(tnb_plugins_load(index_, p, &err));
    snprintf(set, sizeof set, "plugin.test.digest=00%s", hex + 2);
    p = look(sets, 1);
    assert_null(tnb_plugins_load(index_, p, &err));
    has(err.message, "digest demands 00");
}

static void
one_name_of_two_plugins_needs_a_preference(void **state)
{
    (void)state;
    put("module_good", good_manifest);
    char other[4400];
    static const char text[] =
        "[plugin]\nname = twin\nabi = 0.1\nkind = compiler\nmodule = test.so\nprovides = pass:A\n"
        "requires = test, twin\n";
    snprintf(other, sizeof other, "%s/twin.plugin", folder);
    assert_int_equal(tnb_write_file(other, text, sizeof text - 1, &err), TNB_OK);
    look(NULL, 0);
    assert_null(tnb_plugins_find(index_, "pass", "A", &err));
    assert_int_equal(err.status, TNB_INVALID);
    has(err.message, "pass 'A' is provided by plugin 'test' and by plugin 'twin'");
    has(err.hint, "prefer.A = test");
    static const char *const sets[] = {"tenon.prefer.A=twin"};
    look(sets, 1);
    const tnb_plugin *p = tnb_plugins_find(index_, "pass", "A", &err);
    assert_string_equal(p->name, "twin");
    assert_null(tnb_plugins_load(index_, p, &err));
    has(err.message, "requires itself");
    /* The same plugin again, later in the path. */
    char first[4200], both[8500];
    snprintf(first, sizeof first, "%s", folder);
    put("module_good", good_manifest);
    snprintf(both, sizeof both, "%s:relative:/no/such:%s", folder, first);
    tnb_plugins_close(index_);
    assert_int_equal(tnb_plugins_open(conf, both, &index_, &err), TNB_OK);
    assert_int_equal(tnb_plugins_get(index_, 1)->state, TNB_PLUGIN_HIDDEN);
    has(tnb_plugins_get(index_, 1)->why, "comes first");
    assert_string_equal(tnb_plugins_named(index_, "test")->folder, folder);
}

static int
stop(void **state)
{
    tnb_plugins_close(index_);
    tnb_conf_free(conf);
    return scratch_free(state);
}

#ifndef __SANITIZE_ADDRESS__
static size_t
held(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}
#endif

/* A process that compiles for days asks for names that nobody has. (The sanitizers' malloc tells
 * nothing of what it holds.) */
static void
questions_leave_nothing_behind(void **state)
{
    (void)state;
#ifndef __SANITIZE_ADDRESS__
    put("module_good", good_manifest);
    look(NULL, 0);
    size_t before = 0;
    for (int i = 0; i < 2000; i++) {
        if (i == 100)
            before = held();
        assert_non_null(tnb_plugins_find(index_, "pass", "A", &err));
        assert_null(tnb_plugins_find(index_, "pass", "C", &err));
    }
    has(err.hint, "did you mean 'A'");
    assert_true(held() <= before);
#endif
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_plugin_is_found_and_loaded),
        cmocka_unit_test(a_manifest_that_lies_is_refused),
        cmocka_unit_test(bad_modules_are_refused),
        cmocka_unit_test(damaged_modules_are_refused),
        cmocka_unit_test(bad_manifests_are_refused),
        cmocka_unit_test(what_others_may_write_is_refused),
        cmocka_unit_test(an_unknown_owner_is_refused_until_trusted),
        cmocka_unit_test(the_site_decides),
        cmocka_unit_test(one_name_of_two_plugins_needs_a_preference),
        cmocka_unit_test(questions_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, scratch_make, stop);
}
