/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a plugin.
 *
 * ORDER: trust, digest, note and needed libraries are checked on the open file before the system's
 * loader sees it, because loading runs constructors; the descriptor is checked again afterwards.
 */
#include "config.h"
#include "loader.h"
#include "plugin_private.h"
#include "tenon/base/call.h"
#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* Processor features that `bits` wants and this machine lacks, as text; "" if none. ORDER CPUBIT */
static const char *
lacking(uint32_t bits, char *out, size_t size)
{
    out[0] = 0;
#if defined(__x86_64__)
    const struct {
        uint32_t bit;
        bool here;
        const char *name;
    } known[] = {
        {TNB_CPU_SSE4_2, __builtin_cpu_supports("sse4.2") != 0, "SSE4.2"},
        {TNB_CPU_AVX, __builtin_cpu_supports("avx") != 0, "AVX"},
        {TNB_CPU_AVX2, __builtin_cpu_supports("avx2") != 0, "AVX2"},
        {TNB_CPU_FMA, __builtin_cpu_supports("fma") != 0, "FMA"},
        {TNB_CPU_AVX512F, __builtin_cpu_supports("avx512f") != 0, "AVX-512"},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((bits & known[i].bit) && !known[i].here && n + 16 < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", known[i].name);
#else
    (void)bits;
    (void)size;
#endif
    return out;
}

static tnb_status
check_facts(const tnb_plugin *c, const tnb_module_facts *f, tnb_err *err)
{
    char text[128];
    if (f->other_major[0]) {
        tnb_fail(err, TNB_ABI, "'%s' needs %s; this Tenon has ABI %d.%d", c->module, f->other_major,
                 TNB_ABI_MAJOR, TNB_ABI_MINOR);
        tnb_hint(err, "rebuild the plugin against the libraries of this Tenon");
        return TNB_ABI;
    }
    if (!f->has_note) {
        tnb_fail(err, TNB_ABI, "'%s' has no Tenon note: it was not built as a plugin", c->module);
        tnb_hint(err, "declare the plugin with the entry macro of the Tenon headers");
        return TNB_ABI;
    }
    TNB_TRY(tnb_plugin_abi_check(c->module, f->abi_major, f->abi_minor, err));
    if (f->build != TNB_BUILD_BITS) {
        tnb_fail(err, TNB_ABI, "'%s' has build bits %#x; this Tenon has %#x", c->module, f->build,
                 TNB_BUILD_BITS);
        tnb_hint(err, "rebuild the plugin with the compiler options of this Tenon");
        return TNB_ABI;
    }
    if (*lacking(f->cpu, text, sizeof text)) {
        tnb_fail(err, TNB_UNSUPPORTED,
                 "'%s' was compiled for processors with %s, which this one lacks", c->module, text);
        tnb_hint(err, "rebuild the plugin without -march options");
        return TNB_UNSUPPORTED;
    }
    if (f->abi_major != c->abi_major || f->abi_minor != c->abi_minor ||
        f->kind != (uint32_t)c->kind) {
        tnb_fail(err, TNB_ABI,
                 "the manifest '%s' says ABI %u.%u, %s; the module says ABI %u.%u, %s", c->manifest,
                 c->abi_major, c->abi_minor,
                 c->kind == TNB_PLUGIN_COMPILER ? "compiler" : "runtime", f->abi_major,
                 f->abi_minor, f->kind == TNB_PLUGIN_COMPILER ? "compiler" : "runtime");
        tnb_hint(err, "install module and manifest of one version");
        return TNB_ABI;
    }
    return TNB_OK;
}

static tnb_status
check_digest(const tnb_plugins *p, const tnb_plugin *c, int fd, tnb_err *err)
{
    const char *wanted = tnb_conf_text(p->conf, "plugin", c->name, "digest");
    if (!wanted || !*wanted)
        return TNB_OK;
    if (strlen(wanted) != 64 || strspn(wanted, "0123456789abcdefABCDEF") != 64) {
        const tnb_conf_value *v = tnb_conf_find(p->conf, "plugin", c->name, "digest");
        tnb_fail(err, TNB_UNTRUSTED, "%s:%u: [plugin %s] digest is no SHA-256: %.80s", v->file,
                 v->line, c->name, wanted);
        tnb_hint(err, "64 hexadecimal digits are wanted, as sha256sum '%s' prints them", c->module);
        return TNB_UNTRUSTED;
    }
    tnb_mapping m;
    char found[65];
    TNB_TRY(tnb_map_fd(fd, c->module, 0, &m, err));
    tnb_sha256(m.data, (size_t)m.size, found);
    tnb_unmap(&m);
    if (strcasecmp(wanted, found) == 0)
        return TNB_OK;
    tnb_fail(err, TNB_UNTRUSTED, "'%s' has SHA-256 %s; [plugin %s] digest demands %s", c->module,
             found, c->name, wanted);
    tnb_hint(err, "install the module that the site expects, or correct the digest");
    return TNB_UNTRUSTED;
}

static tnb_status
check_file(const tnb_plugins *p, const tnb_plugin *c, tnb_err *err)
{
    char reason[128];
    tnb_module_facts facts;
    int fd = open(c->module, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        tnb_fail(err, TNB_IO, "cannot open '%s': %s", c->module,
                 strerror_r(errno, reason, sizeof reason));
        tnb_hint(err, "the manifest '%s' names it; reinstall the plugin or remove the manifest",
                 c->manifest);
        return TNB_IO;
    }
    tnb_status s = tnb_trust_fd(fd, c->module, p->owners, p->n_owners, err);
    if (s == TNB_OK)
        s = check_digest(p, c, fd, err);
    if (s == TNB_OK)
        s = tnb_module_read(fd, c->module, &facts, err);
    if (s == TNB_OK)
        s = check_facts(c, &facts, err);
    close(fd);
    return s;
}

/* What is linked in has no file of its own: only a demanded digest can speak against it. */
static tnb_status
check_linked(const tnb_plugins *p, const tnb_plugin *c, tnb_err *err)
{
    const char *wanted = tnb_conf_text(p->conf, "plugin", c->name, "digest");
    if (!wanted || !*wanted)
        return TNB_OK;
    tnb_fail(err, TNB_UNTRUSTED,
             "'%s' is linked into the program; [plugin %s] digest demands a module with SHA-256 %s",
             c->name, c->name, wanted);
    tnb_hint(err, "give the module's folder with --plugin-path, or remove the digest");
    return TNB_UNTRUSTED;
}

static tnb_status
check_head(const tnb_plugin *c, const tnb_plugin_head *h, tnb_err *err)
{
    if (h->magic != TNB_PLUGIN_MAGIC || h->size < sizeof *h || !h->name || !h->version) {
        tnb_fail(err, TNB_ABI, "'%s' has a descriptor that is none of Tenon's", c->module);
        tnb_hint(err, "declare the plugin with the entry macro of the Tenon headers");
        return TNB_ABI;
    }
    TNB_TRY(tnb_plugin_abi_check(c->module, h->abi_major, h->abi_minor, err));
    if (h->kind != (uint32_t)c->kind)
        return tnb_fail(err, TNB_ABI, "'%s' has a descriptor of another kind than its note",
                        c->module);
    if (strcmp(h->name, c->name) != 0 || (*c->version && strcmp(h->version, c->version) != 0)) {
        tnb_fail(err, TNB_ABI, "the manifest '%s' says %s %s; the module is %s %s", c->manifest,
                 c->name, c->version, h->name, h->version);
        tnb_hint(err, "install module and manifest of one version");
        return TNB_ABI;
    }
    return TNB_OK;
}

static tnb_status
load_required(tnb_plugins *p, const tnb_plugin *c, tnb_err *err)
{
    for (uint32_t i = 0; i < c->n_requires; i++) {
        const tnb_plugin *needed = tnb_plugins_named(p, c->requires_[i]);
        if (!needed) {
            const char *why = "there is none", *cure = "";
            for (uint32_t k = 0; k < p->all.n; k++)
                if (strcmp(p->all.at[k]->pub.name, c->requires_[i]) == 0) {
                    why = p->all.at[k]->pub.why;
                    cure = p->all.at[k]->pub.cure;
                }
            tnb_fail(err, TNB_NOT_FOUND,
                     "plugin '%s' requires plugin '%s', which cannot be used: %s", c->name,
                     c->requires_[i], why);
            tnb_hint(err, "%s",
                     *cure ? cure
                           : "tenon list plugins --why shows every plugin and what became of it");
            return TNB_NOT_FOUND;
        }
        if (!tnb_plugins_load(p, needed, err)) {
            tnb_err_prefix(err, "plugin '%s' requires plugin '%s'", c->name, c->requires_[i]);
            return err ? err->status : TNB_NOT_FOUND;
        }
    }
    return TNB_OK;
}

const tnb_plugin_head *
tnb_plugins_load(tnb_plugins *p, const tnb_plugin *plugin, tnb_err *err)
{
    tnb_err local;
    tnb_candidate *c = tnb_candidate_of(p, plugin);
    if (!err)
        err = &local;
    if (!c) {
        tnb_fail(err, TNB_INVALID, "this plugin is not of this index");
        return NULL;
    }
    if (plugin->head && plugin->state == TNB_PLUGIN_LOADED)
        return plugin->head;
    if (plugin->state != TNB_PLUGIN_READY) {
        tnb_fail(err, TNB_UNSUPPORTED, "plugin '%s' cannot be used: %s", plugin->name, plugin->why);
        tnb_hint(err, "%s", plugin->cure);
        return NULL;
    }
    if (c->loading) {
        tnb_fail(err, TNB_INVALID, "plugin '%s' requires itself through others", plugin->name);
        return NULL;
    }
    c->loading = true;
    const void *found = NULL;
    const tnb_plugin_head *head = NULL;
    tnb_status s = c->linked ? check_linked(p, plugin, err) : check_file(p, plugin, err);
    if (s == TNB_OK)
        s = load_required(p, plugin, err);
    if (s == TNB_OK && c->linked)
        found = c->linked;
    else if (s == TNB_OK)
        s = TNB_WITHIN("plugin", plugin->name, "constructors", NULL,
                       tnb_loader_open(plugin->module,
                                       plugin->kind == TNB_PLUGIN_COMPILER ? "tn_plugin"
                                                                           : "tnr_plugin",
                                       &found, err));
    if (s == TNB_OK) {
        head = found;
        s = check_head(plugin, head, err);
    }
    c->loading = false;
    if (s != TNB_OK) {
        tnb_plugins_refuse(p, plugin, err);
        return NULL;
    }
    c->pub.head = head;
    c->pub.state = TNB_PLUGIN_LOADED;
    return head;
}

tnb_status
tnb_plugins_examine(tnb_plugins *p, const tnb_plugin *plugin, tnb_err *err)
{
    tnb_candidate *c = tnb_candidate_of(p, plugin);
    tnb_err local;
    if (!err)
        err = &local;
    if (!c)
        return tnb_fail(err, TNB_INVALID, "this plugin is not of this index");
    if (plugin->state != TNB_PLUGIN_READY)
        return TNB_OK;
    tnb_status s = c->linked ? check_linked(p, plugin, err) : check_file(p, plugin, err);
    if (s != TNB_OK)
        tnb_plugins_refuse(p, plugin, err);
    return s;
}

static int
by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tnb_status
tnb_plugins_check(tnb_plugins *p, const tnb_plugin *plugin, const char *const *holds, uint32_t n,
                  tnb_err *err)
{
    tnb_err local;
    if (!err)
        err = &local;
    const char **sorted = TNB_NEW_N(p->arena, const char *, n + 1);
    if (n)
        memcpy(sorted, holds, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_bytes);
    uint32_t i = 0, k = 0;
    while (i < n || k < plugin->n_provides) {
        int order = i == n                    ? 1
                    : k == plugin->n_provides ? -1
                                              : strcmp(sorted[i], plugin->provides[k]);
        if (order == 0) {
            i++;
            k++;
            continue;
        }
        if (order < 0 && i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0) {
            tnb_fail(err, TNB_ABI, "the module of '%s' holds %s twice", plugin->manifest,
                     sorted[i]);
            tnb_hint(err, "leave one of the two entries out of the descriptor's tables");
            tnb_plugins_refuse(p, plugin, err);
            return TNB_ABI;
        }
        tnb_fail(err, TNB_ABI, "the manifest '%s' %s %s, which the module %s", plugin->manifest,
                 order < 0 ? "does not promise" : "promises",
                 order < 0 ? sorted[i] : plugin->provides[k],
                 order < 0 ? "holds" : "does not hold");
        tnb_hint(
            err,
            "correct 'provides' in the manifest, or install module and manifest of one version");
        tnb_plugins_refuse(p, plugin, err);
        return TNB_ABI;
    }
    return TNB_OK;
}
