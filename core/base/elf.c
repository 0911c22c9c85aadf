/* SPDX-License-Identifier: Apache-2.0 */
/* What an ELF module says of itself, read from the file before any of its code runs: Tenon's note,
 * and the Tenon libraries that it needs. Every offset is checked against the file.
 */
#include "config.h"
#include "tenon/base/file.h"
#include "tenon/base/plugin.h"
#include <elf.h>
#include <link.h>
#include <stdlib.h>

typedef struct image {
    const char *b;
    uint64_t size;
    const char *path;
    tnb_err *err;
    const ElfW(Phdr) * ph;
    unsigned n_ph;
} image;

static tnb_status
bad(const image *m, const char *what)
{
    tnb_fail(m->err, TNB_FORMAT, "'%s' is not a module: %s", m->path, what);
    tnb_hint(m->err, "build or install the plugin again");
    return TNB_FORMAT;
}

static bool
inside(const image *m, uint64_t at, uint64_t n)
{
    return at <= m->size && n <= m->size - at;
}

static tnb_status
read_header(image *m)
{
    const ElfW(Ehdr) *h = (const void *)m->b;
    if (m->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return bad(m, "it has no ELF header");
    unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    unsigned char data = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    if (h->e_ident[EI_CLASS] != class || h->e_ident[EI_DATA] != data)
        return bad(m, "it was built for another kind of machine");
#if defined(__x86_64__)
    if (h->e_machine != EM_X86_64)
        return bad(m, "it was built for another processor than x86-64");
#elif defined(__aarch64__)
    if (h->e_machine != EM_AARCH64)
        return bad(m, "it was built for another processor than AArch64");
#endif
    if (h->e_type != ET_DYN)
        return bad(m, "it is no shared object");
    if (h->e_phentsize != sizeof(ElfW(Phdr)) || h->e_phoff % 8 ||
        !inside(m, h->e_phoff, (uint64_t)h->e_phnum * sizeof(ElfW(Phdr))))
        return bad(m, "it is cut off or damaged");
    m->ph = (const void *)(m->b + h->e_phoff);
    m->n_ph = h->e_phnum;
    return TNB_OK;
}

/* Looks for Tenon's note in one segment of notes. */
static void
read_notes(const image *m, uint64_t at, uint64_t n, uint64_t align, tnb_module_facts *out)
{
    const char *p = m->b + at, *end = p + n;
    uint64_t up = align == 8 ? 7 : 3;
    while (end - p >= 12) {
        uint32_t h[3];
        memcpy(h, p, sizeof h);
        uint64_t name = ((uint64_t)h[0] + up) & ~up, desc = ((uint64_t)h[1] + up) & ~up;
        if (name > (uint64_t)(end - p) - 12 || h[1] > (uint64_t)(end - p) - 12 - name)
            return;
        if (h[0] == 6 && memcmp(p + 12, "Tenon", 6) == 0 && h[2] == TNB_NOTE_TYPE && h[1] >= 20) {
            uint32_t d[5];
            memcpy(d, p + 12 + name, sizeof d);
            out->has_note = true;
            out->abi_major = d[0];
            out->abi_minor = d[1];
            out->build = d[2];
            out->cpu = d[3];
            out->kind = d[4];
            return;
        }
        if (desc > (uint64_t)(end - p) - 12 - name)
            return;
        p += 12 + name + desc;
    }
}

/* Where an address of the loaded module lies in the file. */
static bool
file_offset(const image *m, uint64_t address, uint64_t *at)
{
    for (unsigned i = 0; i < m->n_ph; i++)
        if (m->ph[i].p_type == PT_LOAD && address >= m->ph[i].p_vaddr &&
            address - m->ph[i].p_vaddr < m->ph[i].p_filesz) {
            *at = address - m->ph[i].p_vaddr + m->ph[i].p_offset;
            return *at < m->size;
        }
    return false;
}

/* "libtenon-kit.so.2": a Tenon library with another major number than ours. */
static bool
other_major(const char *needed)
{
    static const char *const ours[] = {"libtenon.so.", "libtenon-base.so.", "libtenon-kit.so.",
                                       "libtenon-rt.so.", "libtenon-lm.so."};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        size_t n = strlen(ours[i]);
        if (strncmp(needed, ours[i], n) == 0)
            return strtoul(needed + n, NULL, 10) != TNB_ABI_MAJOR;
    }
    return false;
}

static tnb_status
read_dynamic(const image *m, uint64_t at, uint64_t size, tnb_module_facts *out)
{
    uint64_t n = size / sizeof(ElfW(Dyn)), strings = 0, strings_size = 0, text;
    const char *base = m->b + at;
    ElfW(Dyn) d;
    for (uint64_t i = 0; i < n; i++) {
        memcpy(&d, base + i * sizeof d, sizeof d);
        if (d.d_tag == DT_STRTAB)
            strings = d.d_un.d_ptr;
        if (d.d_tag == DT_STRSZ)
            strings_size = d.d_un.d_val;
        if (d.d_tag == DT_NULL)
            n = i;
    }
    if (!file_offset(m, strings, &text) || !inside(m, text, strings_size))
        return bad(m, "its table of strings is damaged");
    for (uint64_t i = 0; i < n; i++) {
        memcpy(&d, base + i * sizeof d, sizeof d);
        if (d.d_tag != DT_NEEDED)
            continue;
        uint64_t k = d.d_un.d_val;
        if (k >= strings_size || !memchr(m->b + text + k, 0, (size_t)(strings_size - k)))
            return bad(m, "its table of strings is damaged");
        const char *name = m->b + text + k;
        if (other_major(name)) {
            size_t len = strlen(name);
            len = len < sizeof out->other_major - 1 ? len : sizeof out->other_major - 1;
            memcpy(out->other_major, name, len);
        }
    }
    return TNB_OK;
}

tnb_status
tnb_module_read(int fd, const char *path, tnb_module_facts *out, tnb_err *err)
{
    tnb_mapping map;
    memset(out, 0, sizeof *out);
    TNB_TRY(tnb_map_fd(fd, path, 0, &map, err));
    image m = {.b = map.data, .size = map.size, .path = path, .err = err};
    tnb_status s = read_header(&m);
    for (unsigned i = 0; s == TNB_OK && i < m.n_ph; i++) {
        const ElfW(Phdr) *h = &m.ph[i];
        if (h->p_type != PT_NOTE && h->p_type != PT_DYNAMIC && h->p_type != PT_LOAD)
            continue;
        if (!inside(&m, h->p_offset, h->p_filesz))
            s = bad(&m, "it is cut off");
        else if (h->p_type == PT_NOTE && !out->has_note)
            read_notes(&m, h->p_offset, h->p_filesz, h->p_align, out);
        else if (h->p_type == PT_DYNAMIC)
            s = read_dynamic(&m, h->p_offset, h->p_filesz, out);
    }
    tnb_unmap(&map);
    return s;
}
