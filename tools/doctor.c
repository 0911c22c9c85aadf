/* SPDX-License-Identifier: Apache-2.0 */
/* tenon doctor: what is installed, which drivers and libraries were found, what is missing, and the command that adds it. A line
 * for each thing: its state, what it is; below it what to do. */
#include "config.h"
#include "tool.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/threads.h"

static const tnt_option options[] = {{"target", 't', TNT_VALUE, "NAME[,NAME...]",
                                      "exit with 1 if something is missing that these targets need "
                                      "(default: default_target, or cpu)"},
                                     {0}};

/* What the chosen targets need. */
typedef struct doctor {
    tnt_session *s;
    const tnt_args *a;
    const char *kinds[64], *devices[64], *compilers[64]; /* of each chosen target */
    uint32_t n;
    bool ok;
} doctor;

/* One line, and below it `cure`, if there is any. */
static void
say(const char *state, const char *cure, const char *fmt, ...) TNB_PRINTF(3, 4);
static void
say(const char *state, const char *cure, const char *fmt, ...)
{
    va_list ap;
    printf("%-8s ", state);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    if (cure && *cure)
        printf("\n         %s", cure);
    puts("");
}

static bool
is_kind(const doctor *d, const char *kind)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (strcmp(d->kinds[i], kind) == 0)
            return true;
    return false;
}

/* Something is missing of what a backend needs: that counts when the backend was chosen. */
static void
missing(doctor *d, const char *kind, const char *cure, const char *what)
{
    bool needed = is_kind(d, kind);
    say(needed ? "missing" : "absent", cure, "%s", what);
    d->ok &= !needed;
}

/* ---- what was chosen ---- */

static void
choose(doctor *d)
{
    uint32_t n;
    const char **names = tnt_targets(d->s, d->a, &n);
    d->ok &= names != NULL;
    for (uint32_t i = 0; i < n && d->n < 64; i++) {
        tnk_target t;
        bool found = tnk_target_find(d->s->ctx, d->s->conf, names[i], &t);
        tnt_report(d->s);
        if (!found) {
            say("missing", "tenon list targets shows the available ones", "target %s", names[i]);
            d->ok = false;
            continue;
        }
        d->kinds[d->n] = t.kind->base.name;
        d->devices[d->n] = t.kind->device ? t.kind->device : t.kind->base.name;
        d->compilers[d->n++] = tn_dict_str(t.target->attrs, "cc", "");
        const char *today = tnt_target_today(d->s, d->a, t.kind->base.name, names[i]);
        say(today == tnt_runs_here ? "ok" : "warning", NULL, "target %s, served by %s: %s", t.name,
            t.kind->base.name, today);
    }
}

/* What the backends can do that are not of the chosen targets. */
static void
check_other_targets(doctor *d)
{
    uint32_t n;
    const tnb_provided *p = tnb_plugins_provided(d->s->plugins, tn_arena(d->s->ctx), "target", &n);
    for (uint32_t i = 0; i < n; i++) {
        if (is_kind(d, p[i].name))
            continue;
        const char *today = tnt_target_today(d->s, d->a, p[i].name, NULL);
        say(today == tnt_runs_here ? "ok" : "absent", NULL, "target %s: %s", p[i].name, today);
    }
}

/* ---- plugins ---- */

static void
check_plugins(doctor *d)
{
    static const struct {
        const char *plugin, *package, *what;
        bool always; /* nothing is compiled without it */
    } known[] = {{"ops", "tenon", "operators", true},
                 {"transform", "tenon", "graph passes", true},
                 {"tir", "tenon", "tensor-program passes", true},
                 {"interp", "tenon", "the reference interpreter", true},
                 {"onnx", "tenon", "ONNX models", false},
                 {"cpu", "tenon-backend-cpu", "processors", false},
                 {"opencl", "tenon-backend-opencl", "OpenCL devices", false},
                 {"gpu_generic", "tenon-backend-gpu-generic", "GPUs through Vulkan", false},
                 {"cuda", "tenon-backend-cuda", "NVIDIA GPUs", false},
                 {"dnnl", "tenon-dnnl", "operators for oneDNN", false}};
    enum { N_KNOWN = sizeof known / sizeof *known };
    tnb_plugins *all = d->s->plugins;
    for (uint32_t i = 0; i < tnb_plugins_count(all); i++) {
        const tnb_plugin *p = tnb_plugins_get(all, i);
        (void)tnb_plugins_examine(all, p, NULL);
        const char *base = tnb_ends_with(p->name, "_rt")
                               ? tn_strn(d->s->ctx, p->name, strlen(p->name) - 3)
                               : p->name;
        bool needed = is_kind(d, base) || is_kind(d, p->name);
        for (size_t k = 0; k < N_KNOWN; k++)
            needed |= known[k].always && strcmp(known[k].plugin, p->name) == 0;
        if (p->state <= TNB_PLUGIN_LOADED) {
            say("ok", NULL, "plugin %s %s, ABI %u.%u, %s", p->name, p->version, p->abi_major,
                p->abi_minor, p->summary);
            for (uint32_t r = 0; r < p->n_requires; r++)
                if (!tnb_plugins_named(all, p->requires_[r])) {
                    say("missing", "tenon list plugins --why shows the reason",
                        "plugin %s, required by plugin %s", p->requires_[r], p->name);
                    d->ok &= !needed;
                }
        } else if (p->state == TNB_PLUGIN_REFUSED) {
            say("refused", p->cure, "plugin %s: %s", p->name, p->why);
            d->ok &= !needed;
        } else {
            say("unused", p->cure, "plugin %s of %s: %s", p->name, p->folder, p->why);
        }
    }
    for (size_t k = 0; k < N_KNOWN; k++) {
        bool there = false; /* said above what became of it */
        for (uint32_t i = 0; i < tnb_plugins_count(all); i++)
            there |= strcmp(tnb_plugins_get(all, i)->name, known[k].plugin) == 0;
        const char *cure = tn_strf(d->s->ctx, "apt-get install %s", known[k].package);
        if (!there)
            say(known[k].always ? "missing" : "absent", cure, "plugin %s: %s", known[k].plugin,
                known[k].what);
        d->ok &= there || !known[k].always;
    }
}

static bool
has_plugin(const doctor *d, const char *name)
{
    return tnb_plugins_named(d->s->plugins, name) != NULL;
}

/* ---- the C compiler ---- */

/* The first line of what `program --version` prints, within five seconds; false when it prints none. */
static bool
version_of(const char *program, char *line, size_t n)
{
    int fd[2];
    pid_t pid;
    char *argv[] = {(char *)(uintptr_t)program, (char[]){"--version"}, NULL};
    posix_spawn_file_actions_t fa;
    if (pipe2(fd, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_init(&fa);
    int e = posix_spawn_file_actions_adddup2(&fa, fd[1], 1);
    e |= posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
    e |= posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    char **env = e ? NULL : tnb_child_environment();
    posix_spawnattr_t
        own; /* a group of its own, which ends with this program; it blocks no signals, as this thread does now */
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&own);
    posix_spawnattr_setpgroup(&own, 0);
    posix_spawnattr_setsigmask(&own, &none);
    posix_spawnattr_setflags(&own, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    tnb_child_begin();
    bool started = env && posix_spawn(&pid, program, &fa, &own, argv, env) == 0;
    tnb_child_started(started ? pid : 0);
    posix_spawnattr_destroy(&own);
    free(env);
    posix_spawn_file_actions_destroy(&fa);
    close(fd[1]);
    size_t have = 0;
    double until = tnt_now() + 5;
    while (started && have < n - 1 && !memchr(line, '\n', have)) {
        struct pollfd p = {.fd = fd[0], .events = POLLIN};
        int left = (int)(1000 * (until - tnt_now()));
        ssize_t got =
            left > 0 && poll(&p, 1, left) == 1 ? read(fd[0], line + have, n - 1 - have) : 0;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    close(fd[0]);
    line[have] = 0;
    line[strcspn(line, "\n")] = 0;
    if (started) {
        kill(pid, SIGKILL); /* of the child alone; what it said is read */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        tnb_child_forget(pid);
    }
    return *line != 0;
}

/* The compiler as the backend looks for it: the target's attribute, CC, then cc, gcc, clang. */
static void
check_compiler(doctor *d)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    char line[256];
    const char *where = NULL, *set = NULL, *from = "attribute cc";
    for (uint32_t i = 0; i < d->n; i++)
        set = *d->compilers[i] ? d->compilers[i] : set;
    if (!set) {
        set = tnb_env("CC");
        from = "CC";
    }
    if (set) { /* a command, whose first word is the program */
        const char *word = tn_strn(d->s->ctx, set, strcspn(set, " \t"));
        where = tnb_find_program(tn_arena(d->s->ctx), word);
        if (!where) {
            missing(d, "cpu",
                    tn_strf(d->s->ctx, "unset %s, or set it to an existing compiler", from),
                    tn_strf(d->s->ctx, "C compiler: %s is '%s', which does not exist", from, set));
            return;
        }
    }
    for (size_t i = 0; !where && i < sizeof usual / sizeof *usual; i++)
        where = tnb_find_program(tn_arena(d->s->ctx), usual[i]);
    if (!where)
        missing(d, "cpu", "apt-get install gcc libc6-dev",
                "C compiler, needed to compile kernels for the target cpu");
    else if (!version_of(where, line, sizeof line))
        missing(d, "cpu", "apt-get install --reinstall gcc libc6-dev",
                tn_strf(d->s->ctx, "C compiler: %s --version fails", where));
    else
        say("ok", NULL, "C compiler: %s (%s)", where, line);
}

/* ---- libraries of drivers ---- */

static bool
find_library(const char *const *names, char *where, size_t n)
{
    for (; *names; names++) {
        /* It stays: some drivers do not survive being taken down, and others leave memory behind. */
        void *so = dlopen(*names, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
        if (!so)
            continue;
        snprintf(where, n, "%s", *names);
        dlclose(so);
        return true;
    }
    return false;
}

static void
check_libraries(doctor *d)
{
    static const struct {
        const char *plugin, *what, *cure;
        const char *names[4];
    } known[] = {
        {"opencl", "OpenCL loader", "apt-get install ocl-icd-libopencl1", {"libOpenCL.so.1"}},
        {"gpu_generic",
         "Vulkan loader",
         "apt-get install libvulkan1 mesa-vulkan-drivers",
         {"libvulkan.so.1"}},
        {"cuda", "CUDA driver", "apt-get install libcuda1    (section non-free)", {"libcuda.so.1"}},
        {"cuda",
         "NVRTC",
         "apt-get install nvidia-cuda-toolkit    (section non-free)",
         {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}},
        {"dnnl",
         "oneDNN",
         "apt-get install libdnnl2    (libdnnl3 after Debian 12)",
         {"libdnnl.so.3", "libdnnl.so.2"}},
        {"mpi", "MPI", "apt-get install openmpi-bin", {"libmpi.so.40", "libmpi.so.12"}}};
    char where[64];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        bool used = has_plugin(d, known[i].plugin);
        if (find_library(known[i].names, where, sizeof where))
            say("ok", NULL, "%s: %s%s", known[i].what, where,
                used ? "" : " (not used by any installed plugin)");
        else if (used)
            missing(d, known[i].plugin, known[i].cure,
                    tn_strf(d->s->ctx, "%s, used by plugin %s", known[i].what, known[i].plugin));
    }
}

/* The files that name OpenCL drivers. */
static void
check_icds(doctor *d)
{
    const char *folder = tnb_env("OCL_ICD_VENDORS");
    folder = folder ? folder : "/etc/OpenCL/vendors";
    if (!has_plugin(d, "opencl"))
        return;
    tnb_buf names = {0};
    DIR *dir = opendir(folder);
    int n = 0;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (tnb_ends_with(e->d_name, ".icd"))
            tnb_buf_printf(&names, "%s%s", n++ ? ", " : "", e->d_name);
    if (dir)
        closedir(dir);
    if (n)
        say("ok", NULL, "OpenCL drivers in %s: %s", folder, names.s ? names.s : "");
    else if (tnb_ends_with(folder, ".icd") || tnb_ends_with(folder, ".so"))
        say("ok", NULL, "OpenCL driver of OCL_ICD_VENDORS: %s", folder);
    else
        missing(d, "opencl",
                "apt-get install pocl-opencl-icd    (runs on the CPU; for a GPU install its "
                "vendor's driver)",
                tn_strf(d->s->ctx, "OpenCL drivers: none in %s", folder));
    tnb_buf_free(&names);
}

/* ---- devices ---- */

static void
check_devices(doctor *d)
{
    uint32_t n;
    const tnb_provided *p = tnb_plugins_provided(d->s->plugins, tn_arena(d->s->ctx), "device", &n);
    tnr_runtime *rt = tnt_runtime(d->s, d->a);
    if (!rt) {
        d->ok = false;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        tnb_err err = {0};
        tnr_device *dev;
        bool needed = false;
        for (uint32_t k = 0; k < d->n; k++)
            needed |= strcmp(d->devices[k], p[i].name) == 0;
        if (tnr_find_driver(rt, p[i].name, &err) &&
            tnr_device_open(rt, p[i].name, 0, &dev, &err) == TNB_OK) {
            char line[4096] = "";
            if (tnr_device_driver(dev)->describe)
                tnr_device_driver(dev)->describe(tnr_device_handle(dev), line, sizeof line);
            say("ok", NULL, "device %s: %s", p[i].name, line);
        } else {
            say(needed ? "missing" : "absent", err.hint, "device %s: %s", p[i].name, err.message);
            d->ok &= !needed;
        }
    }
    for (uint32_t k = 0; k < d->n; k++) {
        bool there = false;
        for (uint32_t i = 0; i < n; i++)
            there |= strcmp(p[i].name, d->devices[k]) == 0;
        if (there)
            continue;
        say("missing", "tenon list plugins --why shows the reasons plugin",
            "device %s: no plugin provides it", d->devices[k]);
        d->ok = false;
    }
}

/* ---- the surroundings ---- */

static void
check_cache(doctor *d)
{
    tnb_err err = {0};
    const char *dir;
    if (tnb_cache_dir(tn_arena(d->s->ctx), tnb_conf_text(d->s->conf, "tenon", "", "cache_dir"),
                      &dir, &err) != TNB_OK) {
        say("warning", err.hint, "no kernel cache: %s", err.message);
        return;
    }
    uint64_t bytes = 0;
    unsigned files = 0;
    DIR *open = opendir(dir);
    for (const struct dirent *e = open ? readdir(open) : NULL; e; e = readdir(open)) {
        struct stat st;
        if (fstatat(dirfd(open), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
            bytes += (uint64_t)st.st_size;
            files++;
        }
    }
    if (open)
        closedir(open);
    int64_t most = 0;
    tnb_conf_int(d->s->conf, "tenon", "", "cache_size", 0, &most, NULL);
    if (access(dir, W_OK | X_OK) != 0)
        say("warning", tn_strf(d->s->ctx, "chmod u+wx '%s'", dir),
            "no kernel cache: %s is not writable", dir);
    else
        say("ok", NULL,
            "kernel cache in %s (%u files, %llu of at most %lld MiB; may be deleted at any time)",
            dir, files, (unsigned long long)(bytes >> 20), (long long)most);
}

/* The files that say something, in the order in which they were read. */
static void
print_configuration(doctor *d)
{
    uint32_t n;
    const tnb_conf_value **v = tnb_conf_all(d->s->conf, tn_arena(d->s->ctx), &n);
    for (uint32_t i = 0; i < n; i++) {
        bool before = !v[i]->line;
        uint32_t values = 0;
        for (uint32_t k = 0; k < n && !before; k++) {
            bool same = v[k]->line && strcmp(v[k]->file, v[i]->file) == 0;
            before = same && k < i;
            values += same;
        }
        if (before)
            continue;
        say(v[i]->trusted ? "ok" : "warning",
            v[i]->trusted ? NULL
                          : "owned by another user: its plugin folders and locks are ignored",
            "settings of %s: %u in effect", v[i]->file, values);
    }
}

static int
run(tnt_session *none, const tnt_args *a)
{
    (void)none;
    const tnb_places *p = tnb_places_get();
    tnt_session s = {0};
    say("ok", NULL, "tenon %s, ABI %d.%d, %s: libraries in %s, plugins in %s, settings in %s",
        PACKAGE_VERSION, TNB_ABI_MAJOR, TNB_ABI_MINOR,
        p && p->build_tree ? "build tree" : "installed", p ? p->library : "?", p ? p->plugins : "?",
        p ? p->conf : "?");
    say("ok", NULL, "%u processors available", tnb_threads_default());
    fflush(stdout);
    uint32_t wrong;
    int status = tnt_session_check(a, &s, &wrong);
    if (status != TNT_OK || wrong)
        say("refused",
            "correct the errors printed to standard error; tenon check-config reads the settings "
            "alone",
            "settings: %u invalid", wrong ? wrong : 1);
    if (status != TNT_OK) {
        tnt_session_close(&s);
        return status;
    }
    doctor d = {.s = &s, .a = a, .ok = !wrong};
    print_configuration(&d);
    choose(&d);
    check_other_targets(&d);
    check_plugins(&d);
    check_compiler(&d);
    check_libraries(&d);
    check_icds(&d);
    check_devices(&d);
    check_cache(&d);
    bool ok = d.ok;
    tnt_session_close(&s);
    return ok ? TNT_OK : TNT_FAILED;
}

const tnt_command tnt_command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "check the installation and report what is missing",
    .details =
        "Prints a line for each component: version and folders, settings, what each target can do "
        "here, plugins, the C compiler, driver libraries, devices, the kernel cache. Below a "
        "missing "
        "component stands the command that installs it (Debian packages). Exit status 1: a setting "
        "is invalid (tenon check-config), or something that a chosen target needs is 'missing' or "
        "'refused'; what only other targets need is 'absent'.",
    .options = options,
    .max_operands = 0,
    .bare = true,
    .examples =
        (const char *const[]){"tenon doctor", "checks everything and says what to install",
                              "tenon doctor -t opencl",
                              "exits with 1 if something is missing that this target needs", NULL},
    .ignores = "debug",
    .run = run,
};
