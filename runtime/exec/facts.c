/* Names and values that must be the same in all processes: see facts.h. */
#include "runtime/exec/facts.h"

#include "runtime/base/digest.h"

#include <string.h>

enum { SHOWN_BYTES = 160, TENSORS = 1024, TENSOR_BYTES = 4 << 10 };

/* A record is three texts, each with its NUL: name, value, hint. */
void zb_facts_add(zb_facts *facts, const char *name, const char *value, const char *hint) {
  const char *const texts[] = {name, value ? value : "not given", hint};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
    zb_text_add_bytes(&facts->records, texts[i], strlen(texts[i]) + 1);
}

void zb_facts_deinit(zb_facts *facts) {
  zb_text_deinit(&facts->records);
  *facts = (zb_facts){0};
}

/* ---- Process 0 ---- */

/* The next text of a record in [*at, end); NULL if there is none. */
static const char *next_text(const char **at, const char *end) {
  const char *text = *at, *stop = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
  if (!stop) return NULL;
  *at = stop + 1;
  return text;
}

static zb_status other_program(int process) {
  return zb_status_hint(
      ZB_ERROR(USAGE, "process %d compares other options than process 0: it runs another program", process),
      "give all processes the same zb-run");
}

/* The records of one other process against those of process 0. */
static zb_status compare_one(const zb_facts *mine, int process, const char *theirs, const char *end) {
  const char *at = mine->records.data, *stop = at + mine->records.length;
  for (const char *name; (name = next_text(&at, stop));) {
    const char *value = next_text(&at, stop), *hint = next_text(&at, stop);
    const char *other_name = next_text(&theirs, end), *other = next_text(&theirs, end),
               *other_hint = next_text(&theirs, end);
    if (!other_hint || strcmp(name, other_name) != 0) return other_program(process);
    if (strcmp(value, other) == 0) continue;
    return zb_status_hint(ZB_ERROR(USAGE,
                                   "the processes do not agree: %s is '%.*s' in process 0 and '%.*s' in process %d",
                                   name, SHOWN_BYTES, value, SHOWN_BYTES, other, process),
                          "%s", hint);
  }
  return theirs == end ? NULL : other_program(process);
}

zb_status zb_facts_compare_all(const zb_facts *mine, int processes, const char *all, size_t bytes) {
  const char *end = all + bytes;
  for (int i = 0; i < processes; ++i) {
    uint64_t length = 0;
    if ((size_t)(end - all) < sizeof length) return other_program(i);
    memcpy(&length, all, sizeof length);
    all += sizeof length;
    if (length > (uint64_t)(end - all)) return other_program(i);
    if (i > 0) ZB_TRY(compare_one(mine, i, all, all + length));
    all += length;
  }
  return NULL;
}

/* ---- Contents ---- */

uint64_t zb_sample_store(const zb_store *store) {
  uint64_t sum = 0; /* of any order: a copy may be cut into other files */
  int count = zb_store_count(store);
  uint64_t distance = (uint64_t)count / TENSORS + 1;
  for (int i = 0; i < count; ++i) {
    const zb_stored_tensor *t = zb_store_at(store, i);
    char shape[96];
    zb_shape_text(&t->shape, shape);
    uint64_t digest = zb_fnv1a(ZB_FNV_START, t->name, strlen(t->name) + 1);
    bool sampled = digest % distance == 0;
    digest = zb_fnv1a(digest, shape, strlen(shape) + 1);
    if (sampled) digest = zb_fnv1a(digest, t->data, t->bytes < TENSOR_BYTES ? (size_t)t->bytes : TENSOR_BYTES);
    sum += digest;
  }
  return sum;
}
