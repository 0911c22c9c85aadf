/* SPDX-License-Identifier: Apache-2.0 */
/* INI files: layers, origins, and everything that is refused with file and line. */
#include "tests/base/scratch.h"
#include "tenon/base/conf.h"

static tnb_diags *diags;
static tnb_arena *arena;

/* Loads one text as --config, and nothing else. */
static tnb_conf *
load(const char *text, const char *const *sets, uint32_t n_sets)
{
    const char *path = write_scratch("test.ini", text, strlen(text));
    tnb_diags_clear(diags);
    return tnb_conf_load(&(tnb_conf_options){.files = &path,
                                             .n_files = 1,
                                             .sets = sets,
                                             .n_sets = n_sets,
                                             .only_these = true},
                         diags);
}

static void
refused(const char *text, unsigned line, const char *message, const char *hint)
{
    tnb_conf *c = load(text, NULL, 0);
    const tnb_diag *d = tnb_diags_get(diags, 0);
    assert_null(c);
    assert_non_null(d);
    if (!strstr(d->message, message) || d->place.line != line ||
        !tnb_ends_with(d->place.file, "test.ini") || (hint && (!d->hint || !strstr(d->hint, hint))))
        fail_msg("line %u: %s (hint %s)", d->place.line, d->message, d->hint ? d->hint : "none");
}

static void
values_know_where_they_stand(void **state)
{
    (void)state;
    tnb_conf *c = load("; comment\n\xEF\xBB\xBF[tenon]\nthreads = 3 ; three\n", NULL, 0);
    assert_null(c); /* a mark of byte order in the middle is no blank */
    c = load("\xEF\xBB\xBF[tenon]\r\nthreads = 3 ; three\r\nprefer.relax.add=ops\n\n[target h200]\n"
             "kind = cuda\nlibs = cudnn,\n   cublas  ; fast\n\tcutlass\n",
             NULL, 0);
    assert_non_null(c);
    int64_t threads;
    assert_true(tnb_conf_int(c, "tenon", NULL, "threads", 9, &threads, diags) && threads == 3);
    const tnb_conf_value *v = tnb_conf_find(c, "target", "h200", "libs");
    assert_int_equal(v->line, 7);
    assert_int_equal(v->layer, TNB_CONF_OPTION);
    uint32_t n;
    const char **items = tnb_conf_split(arena, v->value, &n);
    assert_int_equal(n, 3);
    assert_string_equal(items[0], "cudnn");
    assert_string_equal(items[1], "cublas");
    assert_string_equal(items[2], "cutlass");
    assert_string_equal(tnb_conf_text(c, "tenon", NULL, "prefer.relax.add"), "ops");
    assert_string_equal(tnb_conf_text(c, "tenon", NULL, "default_target"), "cpu");
    assert_string_equal(tnb_conf_find(c, "tenon", "", "default_target")->file, "built-in");
    bool b;
    assert_true(tnb_conf_bool(c, "tenon", NULL, "fallback", true, &b, diags) && !b);
    const char **names = tnb_conf_names(c, arena, "target", &n);
    assert_int_equal(n, 1);
    assert_string_equal(names[0], "h200");
    assert_true(tnb_conf_has(c, "target", "h200"));
    assert_false(tnb_conf_has(c, "target", "t4"));
    tnb_conf_all(c, arena, &n);
    assert_true(n >= 9);
    static const char *const attributes[] = {"lib", "arch"};
    assert_false(tnb_conf_check(c, "target", "h200", attributes, 2, diags));
    assert_string_equal(tnb_diags_get(diags, 0)->hint, "did you mean 'lib'?");
    tnb_conf_free(c);
    tnb_conf_free(NULL);
}

static void
lists_keep_what_is_bracketed(void **state)
{
    (void)state;
    uint32_t n;
    const char **s = tnb_conf_split(arena, " A{x=1,y=[a,b]} ,B,\n, C{s=\"},\\\",\"} ", &n);
    assert_int_equal(n, 3);
    assert_string_equal(s[0], "A{x=1,y=[a,b]}");
    assert_string_equal(s[1], "B");
    assert_string_equal(s[2], "C{s=\"},\\\",\"}");
    tnb_conf_split(arena, "", &n);
    assert_int_equal(n, 0);
    s = tnb_conf_split(arena, "a}],b{", &n);
    assert_int_equal(n, 2);
}

/* Values as long as a line may be, of several long lines, behind long runs of blanks, and with
 * comments: nothing is cut where inih's own lines end. */
static void
long_values_are_read_whole(void **state)
{
    (void)state;
    static char text[200000], blanks[300], a[65535 - 6];
    memset(a, 'a', sizeof a);
    a[sizeof a - 1] = 0;
    a[300] = ' ';
    memset(blanks, ' ', sizeof blanks);
    blanks[sizeof blanks - 1] = 0;
    snprintf(text, sizeof text, "[tenon]\nlog = %s\n %s\n", a, a);
    tnb_conf *c = load(text, NULL, 0);
    assert_non_null(c);
    const char *v = tnb_conf_text(c, "tenon", NULL, "log");
    assert_int_equal(strlen(v), 2 * (sizeof a - 1) + 1);
    assert_memory_equal(v, a, sizeof a - 1);
    assert_string_equal(v + sizeof a, a);
    tnb_conf_free(c);
    snprintf(text, sizeof text, "%s[tenon]%s\n%scache_dir%s =%s/%.400s ; no more\n%s; none\n",
             blanks, blanks, blanks, blanks, blanks, a, blanks);
    c = load(text, NULL, 0);
    assert_non_null(c);
    v = tnb_conf_text(c, "tenon", NULL, "cache_dir");
    assert_int_equal(strlen(v), 401);
    assert_memory_equal(v + 1, a, 400);
    tnb_conf_free(c);
}

static void
bad_files_are_refused_with_their_line(void **state)
{
    (void)state;
    static char text[71000], a[70000];
    memset(a, 'a', sizeof a);
    a[sizeof a - 1] = 0;
    snprintf(text, sizeof text, "[tenon]\nlog = %s\n", a);
    refused(text, 2, "a line of 70005 bytes; at most 65535", "continue");
    snprintf(text, sizeof text, "[tenon]\nlog = info\n  %.*s\n", 65534, a);
    refused(text, 3, "a line of 65536 bytes", "continue");
    snprintf(text, sizeof text, "[tenon]\n\n%.*s = 1\n", 50, a);
    refused(text, 3, "a key of 50 characters; at most 49", NULL);
    snprintf(text, sizeof text, "[target %.*s]\nkind = x\n", 50, a);
    refused(text, 1, "a section header of 57 characters", NULL);
    refused("[tenon]\nlog = a\nthreads = 1\nlog = b\n", 4, "key 'log' of [tenon] is set twice",
            NULL);
    refused("[target a]\nkind = x\n[tenon]\n[target a]\nkind = y\n", 5, "set twice", NULL);
    refused("[tenon]\nthread = 1\n", 2, "unknown key 'thread' in [tenon]", "'threads'");
    refused("[tenno]\nthreads = 1\n", 2, "unknown section [tenno]", "'tenon'");
    refused("[pipeline cpu]\nlegalise = X\n", 2, "unknown key 'legalise' in [pipeline cpu]",
            "'legalize'");
    refused("[target]\nkind = x\n", 2, "lacks a name", "[target NAME]");
    refused("[tenon x]\nlog = x\n", 2, "takes no name", NULL);
    refused("[target a.b]\nkind = x\n", 1, "letters, digits", NULL);
    refused("[target a b]\n", 1, "letters, digits", NULL);
    refused("[tenon\nlog = x\n", 1, "no ']'", NULL);
    refused("[tenon] log = x\n", 1, "nothing but a comment", NULL);
    refused("log = x\n", 1, "before the first section", NULL);
    refused("[tenon]\nlog\n", 2, "expected [SECTION] or KEY = VALUE", NULL);
    refused("[tenon]\n= 3\n", 2, "expected [SECTION] or KEY = VALUE", NULL);
    refused("[tenon]\nthreads = many\n", 2, "expected an integer", NULL);
    refused("[tenon]\nfallback = maybe\n", 2, "true or false", NULL);
    refused("[tenon]\nlog = \x01\n", 2, "control character 1", NULL);
    refused("[tenon]\n[", 2, "no ']'", NULL);
}

static void
every_error_of_a_file_is_reported(void **state)
{
    (void)state;
    assert_null(load("[tenon]\nx = 1\nthreads = z\n[y]\nk = 1\n", NULL, 0));
    assert_int_equal(tnb_diags_errors(diags), 3);
    tnb_conf_options o = {.only_these = true,
                          .n_files = 1,
                          .files = (const char *const[]){"/no/such.ini"}};
    tnb_diags_clear(diags);
    assert_null(tnb_conf_load(&o, diags));
    assert_string_equal(tnb_diags_get(diags, 0)->place.file, "/no/such.ini");
}

static void
set_overrides_and_is_judged(void **state)
{
    (void)state;
    static const char *const good[] = {"tenon.threads=5", "target.cpu.mattr=+a,+b",
                                       "pipeline.cpu.insert.x.y=after legalize: A",
                                       "tenon.prefer.a.b=c=d"};
    tnb_conf *c = load("[tenon]\nthreads = 3\n", good, 4);
    assert_non_null(c);
    assert_string_equal(tnb_conf_text(c, "tenon", NULL, "threads"), "5");
    assert_string_equal(tnb_conf_text(c, "target", "cpu", "mattr"), "+a,+b");
    assert_string_equal(tnb_conf_text(c, "pipeline", "cpu", "insert.x.y"), "after legalize: A");
    assert_string_equal(tnb_conf_text(c, "tenon", NULL, "prefer.a.b"), "c=d");
    assert_string_equal(tnb_conf_find(c, "tenon", NULL, "threads")->file, "--set");
    tnb_conf_free(c);
    static const char *const bad[] = {"threads=5", "tenon.thread=5", "target.cpu=5", "x", "", "=",
                                      ".=",        "tenon.=1",       "target..k=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(load("", &bad[i], 1));
        assert_true(tnb_diags_errors(diags) == 1);
    }
}

static void
layers_follow_each_other(void **state)
{
    (void)state;
    tnb_err err;
    char etc[4400], data[4400], home[4400];
    snprintf(etc, sizeof etc, "%s", in_scratch("etc"));
    snprintf(data, sizeof data, "%s", in_scratch("data"));
    snprintf(home, sizeof home, "%s", in_scratch("home"));
    assert_int_equal(tnb_make_dirs(in_scratch("etc/targets"), 0755, &err), TNB_OK);
    assert_int_equal(tnb_make_dirs(in_scratch("data/targets"), 0755, &err), TNB_OK);
    assert_int_equal(tnb_make_dirs(in_scratch("home/tenon"), 0755, &err), TNB_OK);
#define PUT(name, text) write_scratch(name, text, strlen(text))
    PUT("data/targets/a.ini", "[target a]\nkind = data\n");
    PUT("data/targets/b.ini", "[target b]\nkind = data\nmore = data\n");
    PUT("etc/targets/b.ini", "[target b]\nkind = etc\n");
    PUT("etc/targets/c.ini.bak", "broken");
    PUT("etc/tenon.ini", "[tenon]\nthreads = 1\nlog = info\ncache_dir = sub/cache\nlock = "
                         "tenon.cache_dir, target.a.*\n");
    PUT("home/tenon/tenon.ini", "[tenon]\nthreads = 2\n");
    PUT("env.ini", "[tenon]\nlog = debug\n");
    setenv("TENON_SYSCONFDIR", etc, 1);
    setenv("TENON_DATADIR", data, 1);
    setenv("XDG_CONFIG_HOME", home, 1);
    setenv("TENON_CONFIG", in_scratch("env.ini"), 1);
    tnb_diags_clear(diags);
    tnb_conf *c = tnb_conf_load(NULL, diags);
    if (!c)
        fail_msg("%s", tnb_diags_get(diags, 0)->message);
    assert_string_equal(tnb_conf_text(c, "target", "a", "kind"), "data");
    assert_string_equal(tnb_conf_text(c, "target", "b", "kind"), "etc");
    assert_null(tnb_conf_text(c, "target", "b", "more"));
    assert_int_equal(tnb_conf_find(c, "tenon", NULL, "threads")->layer, TNB_CONF_USER);
    assert_string_equal(tnb_conf_text(c, "tenon", NULL, "threads"), "2");
    assert_string_equal(tnb_conf_text(c, "tenon", NULL, "log"), "debug");
    assert_true(tnb_ends_with(tnb_conf_text(c, "tenon", NULL, "cache_dir"), "/etc/sub/cache"));
    tnb_conf_free(c);
    static const char *const sets[] = {"tenon.cache_dir=/tmp", "target.a.kind=x"};
    for (int i = 0; i < 2; i++) {
        tnb_diags_clear(diags);
        assert_null(tnb_conf_load(&(tnb_conf_options){.sets = &sets[i], .n_sets = 1}, diags));
        const tnb_diag *d = tnb_diags_get(diags, 0);
        assert_int_equal(d->status, TNB_UNTRUSTED);
        assert_non_null(strstr(d->notes[0], "etc/tenon.ini:5"));
    }
    setenv("TENON_CONFIG", "/no/such/file.ini", 1);
    tnb_diags_clear(diags);
    assert_null(tnb_conf_load(NULL, diags));
    unsetenv("TENON_CONFIG");
}

static void
no_bytes_crash_the_reader(void **state)
{
    (void)state;
    static const char alphabet[] = "[]=:;# \n\t,.a{}\"\\\xff\r";
    srand(3);
    for (int round = 0; round < 600; round++) {
        char text[200];
        size_t n = (size_t)rand() % sizeof text;
        for (size_t i = 0; i < n; i++)
            text[i] = alphabet[(size_t)rand() % (sizeof alphabet - 1)];
        const char *path = write_scratch("fuzz.ini", text, n);
        tnb_diags_clear(diags);
        tnb_conf_free(
            tnb_conf_load(&(tnb_conf_options){.files = &path, .n_files = 1, .only_these = true},
                          diags));
    }
}

static void
near_names_are_found(void **state)
{
    (void)state;
    static const char *const names[] = {"FuseOps", "FoldConstant", "LegalizeOps"};
    assert_string_equal(tnb_nearest("fuseops", names, 3), "FuseOps");
    assert_string_equal(tnb_nearest("FoldConstnat", names, 3), "FoldConstant");
    assert_null(tnb_nearest("Zebra", names, 3));
    assert_null(tnb_nearest("", names, 3));
    /* the last word of a name */
    static const char *const dotted[] = {"relax.concat", "cpu.Matmul", "relax.nn.conv2d"};
    assert_string_equal(tnb_nearest("matmul", dotted, 3), "cpu.Matmul");
    assert_string_equal(tnb_nearest("Matmull", dotted, 3), "cpu.Matmul");
    assert_string_equal(tnb_nearest("relax.conv2d", dotted, 3), "relax.nn.conv2d");
    assert_null(tnb_nearest("cpu", dotted + 2, 1));
}

static int
start(void **state)
{
    diags = tnb_diags_new();
    arena = tnb_arena_new();
    return scratch_make(state);
}

static int
stop(void **state)
{
    tnb_diags_free(diags);
    tnb_arena_free(arena);
    return scratch_free(state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_follow_each_other), /* first: it sets what is read once */
        cmocka_unit_test(values_know_where_they_stand),
        cmocka_unit_test(lists_keep_what_is_bracketed),
        cmocka_unit_test(long_values_are_read_whole),
        cmocka_unit_test(bad_files_are_refused_with_their_line),
        cmocka_unit_test(every_error_of_a_file_is_reported),
        cmocka_unit_test(set_overrides_and_is_judged),
        cmocka_unit_test(no_bytes_crash_the_reader),
        cmocka_unit_test(near_names_are_found),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
