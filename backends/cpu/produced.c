/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a compiler made is what was asked for: a shared object of this machine, whole, that
 * defines every kernel. Nothing of it is run.
 */
#include "config.h"
#include "cpu.h"

#include <elf.h>

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE }; /* any */
#endif

typedef struct object {
    const char *bytes;
    size_t n;
    Elf64_Ehdr head;
} object;

static bool
inside(const object *o, uint64_t at, uint64_t bytes)
{
    return at <= o->n && bytes <= o->n - at;
}

static bool
section(const object *o, uint32_t i, Elf64_Shdr *out)
{
    if (i >= o->head.e_shnum || o->head.e_shentsize != sizeof *out ||
        !inside(o, o->head.e_shoff, (uint64_t)o->head.e_shnum * sizeof *out))
        return false;
    memcpy(out, o->bytes + o->head.e_shoff + i * sizeof *out, sizeof *out);
    return out->sh_type == SHT_NOBITS || inside(o, out->sh_offset, out->sh_size);
}

static tnb_status
check_header(object *o, tnb_err *err)
{
    if (o->n < sizeof o->head || memcmp(o->bytes, ELFMAG, SELFMAG) != 0)
        return tnb_fail(err, TNB_FORMAT, "%zu bytes that are no ELF file", o->n);
    memcpy(&o->head, o->bytes, sizeof o->head);
    if (o->head.e_ident[EI_CLASS] != ELFCLASS64 || o->head.e_ident[EI_DATA] != ELFDATA2LSB)
        return tnb_fail(err, TNB_FORMAT, "an ELF file that is not of 64 bits, little-endian");
    if (o->head.e_type != ET_DYN)
        return tnb_fail(err, TNB_FORMAT, "an ELF file that is no shared object (type %u)",
                        o->head.e_type);
    if (MACHINE != EM_NONE && o->head.e_machine != MACHINE)
        return tnb_fail(err, TNB_FORMAT, "a shared object for machine %u, this one is %d",
                        o->head.e_machine, (int)MACHINE);
    if (!inside(o, o->head.e_phoff, (uint64_t)o->head.e_phnum * sizeof(Elf64_Phdr)))
        return tnb_fail(err, TNB_FORMAT, "a shared object that is cut off");
    for (uint32_t i = 0; i < o->head.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, o->bytes + o->head.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_LOAD && !inside(o, p.p_offset, p.p_filesz))
            return tnb_fail(err, TNB_FORMAT, "a shared object that is cut off");
    }
    return TNB_OK;
}

/* The names that it defines; false: it has no whole table of them. */
static bool
defined_names(const object *o, tnb_strmap *out)
{
    Elf64_Shdr s, names;
    uint32_t i = 0;
    while (section(o, i, &s) && s.sh_type != SHT_DYNSYM)
        i++;
    if (!section(o, i, &s) || !section(o, s.sh_link, &names) || names.sh_type != SHT_STRTAB ||
        names.sh_size == 0 || o->bytes[names.sh_offset + names.sh_size - 1] != '\0')
        return false;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym sym;
        memcpy(&sym, o->bytes + s.sh_offset + at, sizeof sym);
        if (sym.st_shndx != SHN_UNDEF && sym.st_name < names.sh_size)
            tnb_strmap_set(out, o->bytes + names.sh_offset + sym.st_name, o);
    }
    return true;
}

tnb_status
cpu_produced_check(tnb_arena *a, const void *code, size_t n, const char *const *kernels,
                   uint32_t n_kernels, tnb_err *err)
{
    object o = {.bytes = code, .n = n};
    tnb_strmap names;
    TNB_TRY(check_header(&o, err));
    tnb_strmap_init(&names, a);
    if (!defined_names(&o, &names))
        return tnb_fail(err, TNB_FORMAT, "a shared object without names");
    for (uint32_t i = 0; i < n_kernels && !tnb_arena_failed(a); i++)
        if (!tnb_strmap_has(&names, kernels[i]))
            return tnb_fail(err, TNB_FORMAT, "a shared object without the kernel '%s'", kernels[i]);
    return TNB_OK;
}
