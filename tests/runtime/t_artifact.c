/* SPDX-License-Identifier: Apache-2.0 */
/* The artifact reader on damaged and hostile files: every truncation, and random changes with
 * hashes made right again, so that the checks behind the hashes are reached. Each must end in an
 * error or in a program that runs without harm.
 */
#include "assemble.h"
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

static tnb_arena *arena;
static tnr_vm *volatile running; /* stopped by a timer when a mutant loops for ever */

static void
stop(int signal_number)
{
    (void)signal_number;
    if (running)
        tnr_vm_cancel(running);
}

/* A program with one of everything that has an index. */
static tnk_program *
sample(void)
{
    static const int64_t dims[] = {2, 4};
    tnk_program *p = tnk_program_new(arena);
    tnk_program_device(p, "host", 0, "global");
    uint32_t c = tnk_program_tensor(p, TNB_F32, dims, 2, 0, 32), s = tnk_program_shape(p, dims, 2),
             t = tnk_program_string(p, "text"), i = tnk_program_value(p, TNB_TNO_INT, TNB_I64, 5),
             fn = tnk_program_value(p, TNB_TNO_FUNCTION, TNB_VOID, 0);
    uint32_t apart = tnk_program_tensor_on(p, c, tnk_program_device(p, "host", 0, "apart"));
    uint32_t helper = tnk_program_function(p, "helper", 0, 1);
    tnk_program_begin(p, helper);
    uint32_t a = tnk_program_scalar_reg(p), b = tnk_program_scalar_reg(p),
             h = tnk_program_value_reg(p);
    load_int(p, a, 3);
    OPL(HOSTT, h, TNB_VM_DTYPE(TNB_I64) | 1u << 16, I(a));
    OP(DIM, 0, b, h, 0);
    OP(SUB, 0, a, a, b);
    OP(STOREI, TNB_VM_DTYPE(TNB_I64), b, h, a);
    OP(LOADI, TNB_VM_DTYPE(TNB_I64), a, h, a);
    OP(ASSERT, 0, a, tnk_program_text(p, "no"), 0);
    OP(RET, 0, h, 0, 0);
    tnk_program_end(p);
    uint32_t f = tnk_program_function(p, "main", TNB_TNO_PUBLIC, 0);
    tnk_program_begin(p, f);
    for (int k = 0; k < 4; k++)
        tnk_program_value_reg(p);
    uint32_t n = tnk_program_scalar_reg(p), z = tnk_program_scalar_reg(p);
    OP(CONST, 0, 0, c, 0);
    OPL(CALL, 1, helper, C(i));
    OPL(CALLP, 2, tnk_program_packed(p, "vm.builtin.reshape"), V(0), C(s));
    load_int(p, n, 64);
    OP(ALLOCS, 0, 3, n, 0);
    OPL(ALLOCT, 3, TNB_VM_DTYPE(TNB_F32) | 1u << 16, V(3), I(z), C(s));
    OPL(TUPLE, 1, 0, V(0), V(1), V(3), C(t), C(fn), C(apart));
    uint32_t skip = OP(JZ, 0, z, 0, 0);
    OP(FMATH1, TNB_VM_MATH_exp, n, z, 0);
    tnk_program_patch(p, skip, tnk_program_here(p));
    OP(EXT, 32 + 256, n, n, 0);
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    return p;
}

static uint8_t *
sample_bytes(size_t *n)
{
    int fd = assemble_fd(sample(), "host", (const float[]){1, 2, 3, 4, 5, 6, 7, 8}, 32);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    *n = (size_t)st.st_size;
    uint8_t *bytes = malloc(*n);
    assert_int_equal(pread(fd, bytes, *n, 0), (ssize_t)*n);
    close(fd);
    return bytes;
}

/* Opens, makes a machine, calls main; nothing may crash. True when all of it worked. */
static bool
survives(tnr_runtime *rt, const uint8_t *bytes, size_t n)
{
    tnb_err err = {0};
    tnr_artifact *a = NULL;
    tnr_vm *vm = NULL;
    tnr_value ret = tnr_null();
    bool done = false;
    if (tnr_artifact_open_memory(bytes, n, "mutant", &a, &err) == TNB_OK &&
        tnr_vm_new(rt, a, 0, &vm, &err) == TNB_OK) {
        running = vm;
        done = tnr_vm_call(vm, "main", NULL, 0, &ret, &err) == TNB_OK;
        running = NULL;
    }
    if (!done)
        assert_true(err.message[0] != '\0' && err.status != TNB_OK);
    tnr_release(&ret);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
    return done;
}

static int
setup(void **state)
{
    arena = tnb_arena_new();
    tnr_runtime *rt = NULL;
    tnr_runtime_options opt = {.memory_limit = 1 << 20};
    struct itimerval every = {.it_interval = {.tv_usec = 20000}, .it_value = {.tv_usec = 20000}};
    struct sigaction act = {.sa_handler = stop, .sa_flags = SA_RESTART};
    OK(tnr_runtime_new(&opt, &rt, &err));
    *state = rt;
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    return 0;
}

static int
teardown(void **state)
{
    tnr_runtime_free(*state);
    tnb_arena_free(arena);
    return 0;
}

static void
test_the_sample_itself_runs(void **state)
{
    size_t n;
    uint8_t *bytes = sample_bytes(&n);
    assert_true(survives(*state, bytes, n));
    tnr_artifact *a = NULL;
    OK(tnr_artifact_open_memory(bytes, n, "sample", &a, &err));
    OK(tnr_artifact_check_data(a, &err));
    tnr_artifact_close(a);
    free(bytes);
}

static void
test_every_truncation_is_refused(void **state)
{
    (void)state;
    size_t n;
    uint8_t *bytes = sample_bytes(&n);
    for (size_t cut = 0; cut < n; cut++) {
        tnr_artifact *a = NULL;
        tnb_err err = {0};
        uint8_t *part = malloc(cut ? cut : 1); /* of exactly this size, for the sanitizer */
        memcpy(part, bytes, cut);
        assert_int_not_equal(tnr_artifact_open_memory(part, cut, "cut", &a, &err), TNB_OK);
        free(part);
    }
    free(bytes);
}

static void
test_damage_is_found_by_hashes(void **state)
{
    (void)state;
    size_t n;
    uint8_t *bytes = sample_bytes(&n);
    tnb_tno_header h;
    memcpy(&h, bytes, sizeof h);
    for (uint32_t i = 0; i < h.n_sections; i++) {
        tnb_tno_section s;
        memcpy(&s, bytes + sizeof h + i * sizeof s, sizeof s);
        tnr_artifact *a = NULL;
        tnb_err e = {0};
        bytes[s.offset + s.size / 2] ^= 0x40;
        if (s.kind == TNB_TNO_CONSTANTS) {
            OK(tnr_artifact_open_memory(bytes, n, "damaged", &a, &err));
            FAILS(tnr_artifact_check_data(a, &err), TNB_FORMAT, "constants are damaged");
        } else {
            assert_int_equal(tnr_artifact_open_memory(bytes, n, "damaged", &a, &e), TNB_FORMAT);
            assert_non_null(strstr(e.message, "damaged"));
        }
        tnr_artifact_close(a);
        bytes[s.offset + s.size / 2] ^= 0x40;
    }
    free(bytes);
}

static void
test_random_changes_never_harm(void **state)
{
    size_t n;
    uint8_t *bytes = sample_bytes(&n), *mutant = malloc(n);
    static const uint32_t nasty[] = {0,          1,          2,        63,       64,
                                     255,        65535,      1u << 20, 1u << 28, 0x3fffffff,
                                     0x7fffffff, 0x80000000, ~0u};
    const char *turns_text = getenv("TENON_FUZZ_TURNS");
    uint64_t seed = 88172645463325252u;
    long turns = turns_text ? atol(turns_text) : 20000;
    for (long turn = 0; turn < turns; turn++) {
        memcpy(mutant, bytes, n);
        /* the page of constants is dull: changes go to the header, the table and what follows the
         * constants */
        size_t tail = 4096 + 64;
        for (uint64_t k = next_random(&seed) % 3 + 1; k; k--) {
            size_t at = next_random(&seed) % 4 ? tail + next_random(&seed) % (n - tail)
                                               : next_random(&seed) % 200;
            uint32_t v = nasty[next_random(&seed) % (sizeof nasty / sizeof *nasty)];
            switch (next_random(&seed) % 3) {
            case 0:
                mutant[at] ^= (uint8_t)(1u << next_random(&seed) % 8);
                break;
            case 1:
                mutant[at] = (uint8_t)next_random(&seed);
                break;
            default:
                at -= at % 4;
                if (at + 4 <= n)
                    memcpy(mutant + at, &v, 4);
            }
        }
        rehash(mutant, n);
        survives(*state, mutant, n);
    }
    free(mutant);
    free(bytes);
}

static void
test_equal_constants_are_stored_once(void **state)
{
    (void)state;
    tnk_artifact *a = NULL;
    uint64_t x, y, z, total;
    int fd;
    float one[100] = {1}, two[100] = {2};
    OK(tnk_artifact_new(NULL, 1, &a, &err));
    OK(tnk_artifact_constant(a, one, sizeof one, &x, &err));
    OK(tnk_artifact_constant(a, two, sizeof two, &y, &err));
    OK(tnk_artifact_constant(a, one, sizeof one, &z, &err));
    OK(tnk_artifact_finish(a, &fd, &total, &err));
    assert_int_equal(x, z);
    assert_int_not_equal(x, y);
    assert_int_equal(x % 64, 0);
    assert_int_equal(y % 64, 0);
    close(fd);
}

/* A program is verified when the file is opened; what is then written into the file does not reach
 * the machine. */
static void
test_a_program_is_what_was_verified(void **state)
{
    tnr_runtime *rt = *state;
    int fd = assemble_fd(sample(), "host", (const float[]){1, 2, 3, 4, 5, 6, 7, 8}, 32);
    tnr_artifact *a;
    tnr_vm *vm;
    tnr_value ret;
    OK(tnr_artifact_open_fd(fd, "sample", &a, &err));
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    static const uint8_t ones[64] = {[0 ... 63] = 0xff};
    for (off_t at = 0; at < st.st_size; at += 64)
        assert_int_equal(pwrite(fd, ones, 64, at), 64);
    close(fd);
    OK(tnr_vm_new(rt, a, 0, &vm, &err));
    OK(tnr_vm_call(vm, "main", NULL, 0, &ret, &err));
    tnr_release(&ret);
    tnr_vm_free(vm);
    tnr_artifact_close(a);
}

static void
test_abandoned_files_leave_nothing(void **state)
{
    (void)state;
    char dir[] = "/tmp/tenon-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/model.tno", dir);
    tnk_artifact *a = NULL;
    OK(tnk_artifact_new(path, 1, &a, &err));
    tnk_artifact_abandon(a);
    assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sample_itself_runs),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_damage_is_found_by_hashes),
        cmocka_unit_test(test_random_changes_never_harm),
        cmocka_unit_test(test_equal_constants_are_stored_once),
        cmocka_unit_test(test_a_program_is_what_was_verified),
        cmocka_unit_test(test_abandoned_files_leave_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
