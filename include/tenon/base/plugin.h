/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins: what a module declares, how modules are found, judged and loaded.
 *
 * A plugin is a module NAME.so with its manifest NAME.plugin beside it:
 *
 *     [plugin]
 *     name = opencl
 *     version = 1.0
 *     abi = 0.1                    the Tenon ABI it was built for
 *     kind = compiler              or runtime
 *     module = opencl.so
 *     licence = Apache-2.0
 *     summary = OpenCL code generation
 *     provides = target:opencl, pass:CLMLDispatch
 *     requires = ops               plugins to be loaded before it
 *     settings = threads, licence_server     keys of [plugin opencl] in INI files, which its init may ask for
 *
 * Settings stand with what reads them: in the manifest those of the plugin as a whole (a library's path, a licence), which are known
 * without loading it; in the driver's table (tnr_driver.settings) those of a device, keys of [device NAME]; in the target's schema
 * (tn_target_kind.attrs) what kernels are made for, keys of [target NAME]; in a pass's (tn_pass.options) keys of [pass NAME].
 *
 * The index reads manifests only. A module is loaded when something that it provides is first asked
 * for, after its file, note and needs have been checked. This header knows nothing about what the
 * tables behind a descriptor's head mean; the compiler (tenon/core/registry.h) and the runtime
 * (tenon/rt/plugin.h) put their own on top.
 */
#ifndef TENON_BASE_PLUGIN_H
#define TENON_BASE_PLUGIN_H

#include "tenon/base/conf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A change that breaks plugins raises the major number; an addition the minor one. Before 1.0 every
 * change raises the minor one, and a plugin loads in the very version that it was built for. */
#define TNB_ABI_MAJOR 0
#define TNB_ABI_MINOR 1

/* ---- the descriptor's head ---- */

#define TNB_PLUGIN_MAGIC 0x4E4F4E4554u /* "TENON", lowest byte first */

typedef enum tnb_plugin_kind { TNB_PLUGIN_COMPILER = 1, TNB_PLUGIN_RUNTIME = 2 } tnb_plugin_kind;

/* Build bits: what must be the same in a plugin and its host. */
#define TNB_BUILD_BITS                                       \
    ((uint32_t)sizeof(void *) | (uint32_t)sizeof(int) << 8 | \
     (uint32_t)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1 : 2) << 16)

/* Processor features that the compiler was told to use. ORDER CPUBIT */
#define TNB_CPU_SSE4_2 1u
#define TNB_CPU_AVX 2u
#define TNB_CPU_AVX2 4u
#define TNB_CPU_FMA 8u
#define TNB_CPU_AVX512F 16u
#if defined(__SSE4_2__)
#define TNB_CPU_HAS_0 TNB_CPU_SSE4_2
#else
#define TNB_CPU_HAS_0 0u
#endif
#if defined(__AVX__)
#define TNB_CPU_HAS_1 TNB_CPU_AVX
#else
#define TNB_CPU_HAS_1 0u
#endif
#if defined(__AVX2__)
#define TNB_CPU_HAS_2 TNB_CPU_AVX2
#else
#define TNB_CPU_HAS_2 0u
#endif
#if defined(__FMA__)
#define TNB_CPU_HAS_3 TNB_CPU_FMA
#else
#define TNB_CPU_HAS_3 0u
#endif
#if defined(__AVX512F__)
#define TNB_CPU_HAS_4 TNB_CPU_AVX512F
#else
#define TNB_CPU_HAS_4 0u
#endif
#define TNB_CPU_BITS (TNB_CPU_HAS_0 | TNB_CPU_HAS_1 | TNB_CPU_HAS_2 | TNB_CPU_HAS_3 | TNB_CPU_HAS_4)

/* The first member of every descriptor. `size` is that of the whole descriptor. */
typedef struct tnb_plugin_head {
    uint64_t magic;
    uint32_t size;
    uint16_t abi_major, abi_minor;
    uint32_t build, cpu;
    uint32_t kind; /* a tnb_plugin_kind */
    uint32_t reserved;
    const char *name, *version, *licence, *summary;
} tnb_plugin_head;

/* How every entry of a descriptor's tables begins: its member `base`, the first one. */
typedef struct tnb_entry {
    uint32_t size;    /* of the whole entry: sizeof(tn_pass) */
    const char *name; /* by which it is found, as manifests have it; legalizers: the operator's */
    const char *doc;  /* one line, then details; may be NULL */
} tnb_entry;

/* What a plugin's init gets, compiler half or device half. Borrowed for the call. */
typedef struct tnb_plugin_start {
    uint32_t size;
    const char *folder; /* where the module lies; NULL: it is linked into the program */
    /* The value of KEY in [plugin NAME] of the configuration, NAME being the plugin's name in its manifest; NULL: not set. The
     * manifest says which keys there are: `settings = KEY, ...`. */
    const char *(*setting)(const struct tnb_plugin_start *start, const char *key);
    const struct tnb_conf *conf; /* of whoever made this */
    const char *name;
} tnb_plugin_start;

/* The head of a descriptor of type T. */
#define TNB_PLUGIN_HEAD(T, kind_, name_, version_, licence_, summary_)                       \
    {                                                                                        \
        TNB_PLUGIN_MAGIC, (uint32_t)sizeof(T), TNB_ABI_MAJOR, TNB_ABI_MINOR, TNB_BUILD_BITS, \
            TNB_CPU_BITS, (kind_), 0, (name_), (version_), (licence_), (summary_)            \
    }

/* The same facts as an ELF note, read from the file before any of its code runs. */
typedef struct tnb_plugin_note {
    uint32_t name_size, desc_size, type;
    char name[8]; /* "Tenon" */
    uint32_t abi_major, abi_minor, build, cpu, kind;
} tnb_plugin_note;
#define TNB_NOTE_TYPE 1u

/* Stands once in every plugin, before its descriptor (the compiler's and the runtime's entry macros
 * do it). */
#define TNB_PLUGIN_NOTE(kind_)                                                                   \
    __attribute__((section(".note.tenon"), used,                                                 \
                   aligned(4))) static const tnb_plugin_note tnb_plugin_note_ = {6,              \
                                                                                 20,             \
                                                                                 TNB_NOTE_TYPE,  \
                                                                                 "Tenon",        \
                                                                                 TNB_ABI_MAJOR,  \
                                                                                 TNB_ABI_MINOR,  \
                                                                                 TNB_BUILD_BITS, \
                                                                                 TNB_CPU_BITS,   \
                                                                                 (kind_)}

/* The symbol of a descriptor: `tn_plugin` or `tnr_plugin`. Where plugins are linked into the
 * program (TNB_STATIC_PLUGINS), NAME_LTX_tn_plugin, libtool's form for preloaded modules, so that
 * several fit. */
#if defined(TNB_STATIC_PLUGINS)
#define TNB_PLUGIN_SYMBOL(name_, symbol_) name_##_LTX_##symbol_
#else
#define TNB_PLUGIN_SYMBOL(name_, symbol_) symbol_
#endif

/* ---- the index ---- */

typedef struct tnb_plugins tnb_plugins; /* the index */

typedef enum tnb_plugin_state {
    TNB_PLUGIN_READY, /* may be loaded */
    TNB_PLUGIN_LOADED,
    TNB_PLUGIN_HIDDEN,  /* another plugin of the same name comes earlier in the search order */
    TNB_PLUGIN_BLOCKED, /* not in [tenon] plugins */
    TNB_PLUGIN_REFUSED  /* `why` says what is wrong with it */
} tnb_plugin_state;

/* One candidate. Owned by the index. */
typedef struct tnb_plugin {
    const char *name, *version, *licence, *summary; /* never NULL */
    uint32_t abi_major, abi_minor;                  /* as the manifest says */
    tnb_plugin_kind kind;
    const char *manifest, *module; /* absolute paths */
    const char *folder;
    const char *const *provides; /* "kind:name", sorted by bytes */
    uint32_t n_provides;
    const char *const *requires_;
    uint32_t n_requires;
    const char *const *settings; /* keys of its own section */
    uint32_t n_settings;
    tnb_plugin_state state;
    const char *why;             /* the rule that decided; never NULL */
    const char *cure;            /* what to do about it; "" if nothing */
    const tnb_plugin_head *head; /* once loaded */
} tnb_plugin;

/* A plugin that is linked into the program. */
typedef struct tnb_static_plugin {
    const char *name;            /* NULL ends a table */
    const char *manifest;        /* the text of its manifest */
    const tnb_plugin_head *head; /* its descriptor */
} tnb_static_plugin;
/* Says which plugins the program holds; before tnb_plugins_open, on the main thread. The table must
 * stay. They come in the search order just before the installed folder. */
TNB_EXPORT void
tnb_plugins_linked(const tnb_static_plugin *table);

/* Reads the manifests of the search path: `path` (--plugin-path, colon-separated, may be NULL),
 * TENON_PLUGIN_PATH, [tenon] plugin_path, what is linked in, the installed folder. A plugin that is refused does not
 * make this fail; it is in the list with its reason. One index a process is enough. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_plugins_open(const tnb_conf *conf, const char *path, tnb_plugins **out, tnb_err *err);
/* Modules that were loaded stay so. */
TNB_EXPORT void
tnb_plugins_close(tnb_plugins *p);

/* All candidates in search order, refused ones included. Loads nothing. */
TNB_EXPORT uint32_t
tnb_plugins_count(const tnb_plugins *p);
TNB_EXPORT const tnb_plugin *
tnb_plugins_get(const tnb_plugins *p, uint32_t i);
/* The usable one of that name; NULL if none. */
TNB_EXPORT const tnb_plugin *
tnb_plugins_named(const tnb_plugins *p, const char *name);

/* One promise of a usable plugin. */
typedef struct tnb_provided {
    const char *kind, *name;
    const tnb_plugin *plugin;
} tnb_provided;
/* Everything of a kind ("pass") that usable plugins promise, sorted by name; the same name twice
 * where two plugins provide it and no `prefer` decides. */
TNB_EXPORT const tnb_provided *
tnb_plugins_provided(const tnb_plugins *p, tnb_arena *a, const char *kind, uint32_t *n);

/* The plugin that provides kind:name. NULL with TNB_NOT_FOUND in `err` (naming a refused plugin
 * that promised it, or the nearest known name), or TNB_INVALID when two do and [tenon] prefer.NAME
 * does not say which. */
TNB_EXPORT const tnb_plugin *
tnb_plugins_find(const tnb_plugins *p, const char *kind, const char *name, tnb_err *err);

/* A plugin that promises kind:name and cannot be used: refused, or left out by [tenon] plugins; NULL: none. Its `why` and `cure`
 * say the rest. `from`: where to begin, 0 at first, moved on behind the one found; NULL: at the first. A name that ends in '*'
 * stands for all that begin like it, here and in tnb_plugins_find. */
TNB_EXPORT const tnb_plugin *
tnb_plugins_unusable(const tnb_plugins *p, const char *kind, const char *name, uint32_t *from);

/* Loads a plugin (after those it requires), or returns what was loaded before. NULL on failure,
 * which also marks it as refused. To be called on the main thread. */
TNB_EXPORT const tnb_plugin_head *
tnb_plugins_load(tnb_plugins *p, const tnb_plugin *plugin, tnb_err *err);

/* Makes the checks that precede loading (the module's owner and permissions, digest, ABI) of a plugin that is ready, and
 * marks it as refused when one fails. Nothing of it is run. */
TNB_EXPORT tnb_status
tnb_plugins_examine(tnb_plugins *p, const tnb_plugin *plugin, tnb_err *err);

/* Compares what a loaded plugin's tables hold ("kind:name", any order) with its manifest; refuses
 * it when they differ. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_plugins_check(tnb_plugins *p, const tnb_plugin *plugin, const char *const *holds, uint32_t n,
                  tnb_err *err);
/* TNB_ABI, with what to do, unless the descriptor is as large as its type in the caller's headers. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_plugin_size_check(const tnb_plugin_head *head, size_t wanted, tnb_err *err);
/* What its init is to be given, by the configuration that the index was made with. Both may be NULL: a plugin that is linked in by hand. */
TNB_EXPORT tnb_plugin_start
tnb_plugins_start(const tnb_plugins *p, const tnb_plugin *plugin);
/* Marks a plugin as refused for a reason of the caller's, such as a failed init. */
TNB_EXPORT void
tnb_plugins_refuse(tnb_plugins *p, const tnb_plugin *plugin, const tnb_err *why);

/* ---- trust ---- */

/* Refuses (TNB_UNTRUSTED, with the curing command as a hint) an open file that someone else than
 * root, the effective user, the owner of libtenon-base or one of `owners` owns or may write, or
 * whose folders, up to the first that also contains libtenon-base, others may write. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_trust_fd(int fd, const char *path, const uint32_t *owners, uint32_t n_owners, tnb_err *err);

/* What the note and dynamic section of an ELF file say. */
typedef struct tnb_module_facts {
    bool has_note;
    uint32_t abi_major, abi_minor, build, cpu, kind;
    char other_major[64]; /* a needed Tenon library of another ABI major; "" if none */
} tnb_module_facts;
/* Reads them from an open file; nothing of it is run. TNB_FORMAT when it is no module for this
 * machine. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_module_read(int fd, const char *path, tnb_module_facts *out, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
