/* Which build of a program or module an address lies in: see module.h. Tests: test/runtime/base/module_test.c. */
#define _GNU_SOURCE /* dl_iterate_phdr */

#include <link.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/module.h"
#include "runtime/base/module_id.h"

enum { SHOWN_BYTES = 8, NOTE_GNU_BUILD_ID = 3, NOTE_ALIGNMENT = 4 };

typedef struct search {
  uintptr_t address;
  unsigned char id[SHOWN_BYTES];
  bool found;
} search;

static bool holds(const struct dl_phdr_info *object, uintptr_t address) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && address >= begin && address - begin < segment->p_memsz) return true;
  }
  return false;
}

/* A segment of notes: each is a head, a name and a description, both padded (ELF gABI, "Note Section"). */
static void look_in_notes(const unsigned char *at, size_t bytes, search *out) {
  while (bytes >= sizeof(ElfW(Nhdr)) && !out->found) {
    ElfW(Nhdr) head;
    memcpy(&head, at, sizeof head);
    size_t name = ((size_t)head.n_namesz + NOTE_ALIGNMENT - 1) / NOTE_ALIGNMENT * NOTE_ALIGNMENT;
    size_t description = ((size_t)head.n_descsz + NOTE_ALIGNMENT - 1) / NOTE_ALIGNMENT * NOTE_ALIGNMENT;
    size_t all = sizeof head + name + description;
    if (all > bytes) return;
    const unsigned char *id = at + sizeof head + name;
    out->found = head.n_type == NOTE_GNU_BUILD_ID && head.n_namesz == sizeof "GNU" &&
                 memcmp(at + sizeof head, "GNU", sizeof "GNU") == 0 && head.n_descsz >= SHOWN_BYTES;
    if (out->found) memcpy(out->id, id, SHOWN_BYTES);
    at += all;
    bytes -= all;
  }
}

static int look_in_object(struct dl_phdr_info *object, size_t size, void *context) {
  search *out = context;
  (void)size;
  if (!holds(object, out->address)) return 0;
  for (int i = 0; i < object->dlpi_phnum && !out->found; ++i) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    if (segment->p_type != PT_NOTE) continue;
    look_in_notes((const unsigned char *)object->dlpi_addr + segment->p_vaddr, (size_t)segment->p_memsz, out);
  }
  return 1;
}

bool zb_object_id(const void *address, char text[ZB_OBJECT_ID_BYTES]) {
  search wanted = {.address = (uintptr_t)address};
  dl_iterate_phdr(look_in_object, &wanted);
  snprintf(text, ZB_OBJECT_ID_BYTES, "%s", ZB_BUILD_ID);
  for (int i = 0; i < SHOWN_BYTES && wanted.found; ++i)
    snprintf(text + 2 * i, 3, "%02x", wanted.id[i]);
  return wanted.found;
}
