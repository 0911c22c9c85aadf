/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts of several variants: which one runs, by the file's order, the settings' and the caller's, and what is said of it;
 * and containers of several with random changes behind right hashes.
 */
#include <string.h>

#include "assemble.h"
#include "tenon/base/conf.h"
#include "tenon/rt/session.h"

static tnb_arena *arena;

/* A program whose main gives `number`, from the constants of all. */
static tnk_program *
program(int64_t number)
{
    static const int64_t dims[] = {2};
    tnk_program *p = tnk_program_new(arena);
    tnk_program_device(p, "host", 0, "global");
    uint32_t c = tnk_program_tensor(p, TNB_F32, dims, 1, 0, 8);
    tnk_program_begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 0));
    uint32_t v = tnk_program_value_reg(p), n = tnk_program_scalar_reg(p);
    OP(CONST, 0, v, c, 0);
    load_int(p, n, number);
    OP(BOXI, 0, v, n, 0);
    OP(RET, 0, v, 0, 0);
    tnk_program_end(p);
    return p;
}

/* fast needs what no device has, small, large and host run on the device "host", lost is for a
 * device that is not here. */
/* What the code of the target host needs. */
static const char *host_needs = "";

static uint8_t *
several(size_t *n)
{
    static const char format[] =
        "{\"functions\": {\"main\": {\"params\": [], \"results\": []}}, \"variants\": ["
        "{\"name\": \"fast\", \"target\": \"{}\", \"device\": \"host\", \"format\": \"test\", "
        "\"features\": [\"wings\"], \"packed\": []},"
        "{\"name\": \"small\", \"target\": \"{}\", \"device\": \"host\", \"format\": \"test\", "
        "\"features\": [], \"packed\": []},"
        "{\"name\": \"lost\", \"target\": \"{}\", \"device\": \"elsewhere\", \"format\": \"test\", "
        "\"features\": [], \"packed\": []},"
        "{\"name\": \"large\", \"target\": \"{}\", \"device\": \"host\", \"format\": \"test\", "
        "\"features\": [], \"packed\": []},"
        "{\"name\": \"host\", \"target\": \"{}\", \"device\": \"host\", \"format\": \"test\", "
        "\"features\": [%s], \"packed\": []}]}";
    const float constants[2] = {1, 2};
    char json[1000];
    snprintf(json, sizeof json, format, host_needs);
    tnk_artifact *a = NULL;
    uint64_t offset, total;
    int fd = -1;
    OK(tnk_artifact_new(NULL, 5, &a, &err));
    OK(tnk_artifact_constant(a, constants, sizeof constants, &offset, &err));
    OK(tnk_artifact_section(a, TNB_TNO_METADATA, 0, json, strlen(json), &err));
    for (uint32_t i = 0; i < 5; i++) {
        tnb_buf bytes = {0};
        OK(tnk_program_write(program(i), &bytes, &err));
        OK(tnk_artifact_section(a, TNB_TNO_PROGRAM, i, bytes.s, bytes.n, &err));
        tnb_buf_free(&bytes);
    }
    OK(tnk_artifact_finish(a, &fd, &total, &err));
    *n = (size_t)total;
    uint8_t *bytes = aligned_alloc(64, (*n + 63) / 64 * 64);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, *n, 0), (ssize_t)*n);
    close(fd);
    return bytes;
}

static tnb_conf *
settings(const char *set, tnb_diags *d)
{
    tnb_conf_options o = {.sets = &set, .n_sets = set ? 1 : 0, .only_these = true};
    tnb_conf *c = tnb_conf_load(&o, d);
    assert_non_null(c);
    return c;
}

/* Which variant runs, as its main says; -1: none, with its message. */
static int
picked(const char *set, const char *wanted, char what[1000])
{
    size_t n;
    uint8_t *bytes = several(&n);
    tnb_diags *d = tnb_diags_new();
    tnb_conf *conf = settings(set, d);
    tnr_runtime_options opt = {.conf = conf};
    tnr_runtime *rt = NULL;
    tnr_session *s = NULL;
    tnb_err refused = {0};
    const char *why;
    int got = -1;
    OK(tnr_runtime_new(&opt, &rt, &err));
    tnr_session_options so = {.size = sizeof so, .runtime = rt, .target = wanted};
    if (tnr_session_open_memory(bytes, n, &so, &s, &refused) == TNB_OK) {
        tnr_value ret;
        OK(tnr_vm_call(tnr_session_vm(s), "main", NULL, 0, &ret, &err));
        got = (int)ret.u.i;
        const tnr_variant *v = tnr_session_variant(s, &why);
        static const char *const names[] = {"fast", "small", "lost", "large", "host"};
        assert_string_equal(v->name, names[got]);
        assert_ptr_equal(v, tnr_session_variant(s, NULL));
        snprintf(what, 1000, "%s", why);
        tnr_release(&ret);
    } else {
        snprintf(what, 1000, "%.500s / %.400s", refused.message, refused.hint);
    }
    tnr_session_close(s);
    tnr_runtime_free(rt);
    tnb_conf_free(conf);
    tnb_diags_free(d);
    free(bytes);
    return got;
}

#define NO_WINGS "variant 0 (fast on host): the code needs 'wings', which this device does not have"

static void
test_the_first_that_can_run_is_used(void **state)
{
    static const struct {
        const char *set, *wanted;
        int runs;
        const char *says, *too; /* beside */
    } all[] = {
        {NULL, NULL, 1,
         "variant 1 (small on host) is used: the first in the file that can run here\n", NO_WINGS},
        {"tenon.target_order=large", NULL, 3,
         "variant 3 (large on host) is used: the first of [tenon] target_order that can run here",
         ""},
        {"tenon.target_order=lost, fast,large ,small", NULL, 3,
         "variant 2 (lost on elsewhere): ", NO_WINGS},
        {"tenon.target_order=elsewhere,nothing", NULL, 1, "the first in the file that can run here",
         "variant 2 (lost on elsewhere): "},
        {"tenon.target_order=host,large", NULL, 4, "the first of [tenon] target_order", ""},
        {"tenon.target_order=", NULL, 1, "the first in the file", ""},
        {"tenon.target_order=large", "small", 1, "is used: chosen by name, 'small'", ""},
        {NULL, "large,small", 3, "is used: chosen by name, 'large,small'", ""},
        {NULL, "host", 4, "variant 4 (host on host) is used: chosen by name, 'host'", ""},
        {NULL, "fast,host,large", 4, "chosen by name, 'fast,host,large'", NO_WINGS},
        {NULL, "lost,large", 3, "chosen by name, 'lost,large'", "variant 2 (lost on elsewhere): "},
        {NULL, "fast", -1, "no variant runs here: variant 0 (fast on host): the code needs", ""},
        {"tenon.target_order=large", "lost,fast", -1, NO_WINGS, "variant 2 (lost on elsewhere): "},
        {NULL, "larg", -1, "variant 3 (large on host): not among the chosen: 'larg'",
         "/ it has fast, small, lost, large, host"},
        {NULL, "", -1, "not among the chosen: ''", ""},
        {NULL, "smallest,smal", -1, "not among the chosen: 'smallest,smal'", ""},
    };
    char what[1000];
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int got = picked(all[i].set, all[i].wanted, what);
        if (got != all[i].runs || !strstr(what, all[i].says) || !strstr(what, all[i].too))
            fail_msg("%s, -t %s: %d, not %d: %s", all[i].set ? all[i].set : "no settings",
                     all[i].wanted ? all[i].wanted : "unset", got, all[i].runs, what);
    }
}

static void
test_a_device_counts_behind_a_target_of_its_name(void **state)
{
    char what[1000];
    (void)state;
    host_needs = "\"wings\"";
    assert_int_equal(picked(NULL, "host", what), 1);
    assert_non_null(strstr(what, "variant 1 (small on host) is used: chosen by name, 'host'"));
    assert_non_null(strstr(what, "variant 4 (host on host): the code needs 'wings'"));
    host_needs = "";
}

/* ---- hostile containers ---- */

/* Opens, chooses, makes a machine, calls; nothing may crash. True when all of it worked. */
static bool
survives(tnr_runtime *rt, const uint8_t *bytes, size_t n)
{
    static const char *const wanted[] = {NULL, "large,small", "host"};
    tnb_err err = {0};
    tnr_artifact *a = NULL;
    bool done = false;
    uint8_t *own = malloc(n);
    memcpy(own, bytes, n);
    if (tnr_artifact_open_memory(own, n, "mutant", &a, &err) != TNB_OK)
        assert_true(err.message[0] != '\0' && !a);
    for (int i = 0; a && i < 3; i++) {
        uint32_t v = UINT32_MAX;
        tnr_vm *vm = NULL;
        tnr_value ret = tnr_null();
        tnb_buf why = {0};
        err = (tnb_err){0};
        if (tnr_artifact_pick(rt, a, wanted[i], &v, &why, &err) == TNB_OK) {
            assert_true(v < tnr_artifact_variants(a) && why.n);
            done |= tnr_vm_new(rt, a, v, &vm, &err) == TNB_OK &&
                    tnr_vm_call(vm, "main", NULL, 0, &ret, &err) == TNB_OK;
        } else {
            assert_true(err.message[0] != '\0');
        }
        tnr_release(&ret);
        tnr_vm_free(vm);
        tnb_buf_free(&why);
    }
    tnr_artifact_close(a);
    free(own);
    return done;
}

static void
test_changed_containers_never_harm(void **state)
{
    static const uint32_t nasty[] = {0,  1,   2,     3,        4,          5,          63,  64,
                                     65, 255, 65535, 1u << 20, 0x7fffffff, 0x80000000, ~0u, 4096};
    size_t n;
    uint8_t *bytes = several(&n), *mutant = malloc(n);
    tnr_runtime *rt = NULL;
    tnr_runtime_options opt = {.memory_limit = 1 << 20};
    uint64_t seed = 88172645463325252u;
    tnb_tno_header h;
    const char *turns_text = getenv("TENON_FUZZ_TURNS");
    long turns = turns_text ? atol(turns_text) : 20000, taken = 0;
    (void)state;
    OK(tnr_runtime_new(&opt, &rt, &err));
    assert_true(survives(rt, bytes, n));
    memcpy(&h, bytes, sizeof h);
    assert_int_equal(h.n_variants, 5);
    size_t head = sizeof h + h.n_sections * sizeof(tnb_tno_section);
    for (long t = 0; t < turns; t++) {
        memcpy(mutant, bytes, n);
        for (uint64_t k = next_random(&seed) % 3 + 1; k; k--) {
            size_t at = next_random(&seed) % head / 4 * 4;
            uint32_t v = nasty[next_random(&seed) % (sizeof nasty / sizeof *nasty)], w;
            switch (next_random(&seed) % 4) {
            case 0: /* a word of another section's */
                at = sizeof h + next_random(&seed) % (head - sizeof h) / 4 * 4;
                memcpy(&v,
                       mutant + sizeof h +
                           (at - sizeof h + sizeof(tnb_tno_section)) % (head - sizeof h),
                       4);
                break;
            case 1:
                memcpy(&w, mutant + at, 4);
                v += w;
                break;
            case 2:
                memcpy(&w, mutant + at, 4);
                v = w ^ 1u << next_random(&seed) % 32;
                break;
            default:
                break;
            }
            memcpy(mutant + at, &v, 4);
        }
        rehash(mutant, n);
        taken += survives(rt, mutant, n);
    }
    assert_in_range(taken, turns / 1000, turns / 2); /* both happen */
    tnr_runtime_free(rt);
    free(mutant);
    free(bytes);
}

static int
setup(void **state)
{
    (void)state;
    arena = tnb_arena_new();
    return arena ? 0 : -1;
}

static int
teardown(void **state)
{
    (void)state;
    tnb_arena_free(arena);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_that_can_run_is_used),
        cmocka_unit_test(test_a_device_counts_behind_a_target_of_its_name),
        cmocka_unit_test(test_changed_containers_never_harm),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
