/* Reading NumPy's arrays: see arrays.h. */
#include "runtime/formats/arrays.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *text;
  zb_dtype dtype;
} descriptions[] = {{"<f4", ZB_F32}, {"<f8", ZB_F64}, {"<f2", ZB_F16},
                    {"<i8", ZB_I64}, {"<i4", ZB_I32}, {"|b1", ZB_I1}};

/* Where a message is about: "'x' in 'batches.npz'", or the file. */
typedef struct place {
  const char *path, *name;
} place;

static zb_status damaged(const place *at, const char *why) {
  if (*at->name) return ZB_ERROR(INVALID, "the array '%s' in '%s' cannot be read: %s", at->name, at->path, why);
  return ZB_ERROR(INVALID, "'%s' cannot be read: %s", at->path, why);
}

/* ---- .npy ---- */

/* The text of a header, a dictionary of Python's: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }. */
typedef struct header {
  const char *at, *end;
} header;

static void skip_blanks(header *h) {
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\n'))
    ++h->at;
}

static bool take(header *h, const char *text) {
  skip_blanks(h);
  const size_t length = strlen(text);
  if ((size_t)(h->end - h->at) < length || memcmp(h->at, text, length) != 0) return false;
  h->at += length;
  return true;
}

/* 'text', with no quotes inside, into out. */
static bool take_text(header *h, char out[64]) {
  if (!take(h, "'")) return false;
  size_t length = 0;
  while (h->at < h->end && *h->at != '\'' && length < 63)
    out[length++] = *h->at++;
  out[length] = '\0';
  return take(h, "'");
}

static bool take_number(header *h, int64_t *out) {
  skip_blanks(h);
  const char *begin = h->at;
  *out = 0;
  while (h->at < h->end && *h->at >= '0' && *h->at <= '9') {
    if (*out > (INT64_MAX - 9) / 10) return false;
    *out = *out * 10 + (*h->at++ - '0');
  }
  take(h, "L"); /* Python 2 */
  return h->at > begin;
}

static bool take_shape(header *h, zb_shape *out) {
  if (!take(h, "(")) return false;
  while (!take(h, ")")) {
    if (out->rank == ZB_DIMS_MAX || !take_number(h, &out->dims[out->rank])) return false;
    ++out->rank;
    if (!take(h, ",")) return take(h, ")");
  }
  return true;
}

static zb_status take_dtype(const place *at, const char *text, zb_dtype *out) {
  for (size_t i = 0; i < sizeof descriptions / sizeof descriptions[0]; ++i)
    if (strcmp(descriptions[i].text, text) == 0) {
      *out = descriptions[i].dtype;
      return NULL;
    }
  char why[128];
  snprintf(why, sizeof why, "its type is '%s'", text);
  return zb_status_hint(damaged(at, why), "f32, f64, f16, i64, i32 and bool are read: array.astype('float32')");
}

static zb_status parse_header(const place *at, header h, zb_shape *out) {
  char key[64], text[64];
  bool has_dtype = false, has_order = false, has_shape = false, good = take(&h, "{");
  while (good && !take(&h, "}")) {
    good = take_text(&h, key) && take(&h, ":");
    if (good && strcmp(key, "descr") == 0) {
      if (!take_text(&h, text)) return damaged(at, "it has fields: an array of numbers is expected");
      ZB_TRY(take_dtype(at, text, &out->dtype));
      has_dtype = true;
    } else if (good && strcmp(key, "fortran_order") == 0) {
      if (take(&h, "True"))
        return zb_status_hint(damaged(at, "it is stored by columns"), "numpy.ascontiguousarray(array) is by rows");
      good = has_order = take(&h, "False");
    } else if (good && strcmp(key, "shape") == 0) {
      good = has_shape = take_shape(&h, out);
    } else {
      good = false;
    }
    if (good && !take(&h, ",")) good = take(&h, "}") && (--h.at, true);
  }
  return good && has_dtype && has_order && has_shape ? NULL : damaged(at, "its header is not that of an array");
}

static uint64_t little(const unsigned char *bytes, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i)
    value = value << 8 | bytes[i];
  return value;
}

/* Each byte of a bool is 0 or 1: kernels count on it. */
static zb_status check_bools(const place *at, const unsigned char *bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (bytes[i] > 1)
      return zb_status_hint(ZB_ERROR(INVALID, "the element %" PRIu64 " of the array '%s' in '%s' is a bool of value %d",
                                     i, at->name, at->path, bytes[i]),
                            "numpy.array(values) != 0 makes it True or False");
  return NULL;
}

static zb_status add_npy(const place *at, const unsigned char *bytes, uint64_t count, zb_store *store) {
  static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  zb_shape shape = {.rank = 0};
  if (count < 12 || memcmp(bytes, magic, sizeof magic) != 0) return damaged(at, "it is no array of NumPy's");
  if (bytes[6] < 1 || bytes[6] > 3) return damaged(at, "it is of a later version of the format");
  const uint64_t front = bytes[6] == 1 ? 10 : 12, length = little(bytes + 8, bytes[6] == 1 ? 2 : 4);
  if (length > count - front) return damaged(at, "it ends in its header");
  const header h = {(const char *)bytes + front, (const char *)bytes + front + length};
  ZB_TRY(parse_header(at, h, &shape));
  const int64_t needed = zb_shape_bytes(&shape);
  if (needed < 0 || (uint64_t)needed != count - front - length)
    return damaged(at, "it has not as many bytes as its header says");
  if (shape.dtype == ZB_I1) ZB_TRY(check_bools(at, bytes + front + length, (uint64_t)needed));
  if (zb_store_find(store, at->name)) return damaged(at, "the archive has two of that name");
  return zb_store_add(store, at->name, &shape, bytes + front + length, false);
}

/* ---- .npz: a ZIP archive of stored files ---- */

enum { END_BYTES = 22, END64_BYTES = 56, LOCATOR_BYTES = 20, ENTRY_BYTES = 46, LOCAL_BYTES = 30, NAME_MOST = 512 };
static const uint32_t END_MAGIC = 0x06054b50, END64_MAGIC = 0x06064b50, LOCATOR_MAGIC = 0x07064b50,
                      ENTRY_MAGIC = 0x02014b50, LOCAL_MAGIC = 0x04034b50, IN_64 = 0xffffffff;

typedef struct directory {
  uint64_t offset, bytes, entries;
} directory;

static bool find_directory(const unsigned char *bytes, uint64_t count, directory *out) {
  const uint64_t most = count < END_BYTES + 65535 ? count : END_BYTES + 65535;
  for (uint64_t back = END_BYTES; back <= most; ++back) {
    const unsigned char *end = bytes + count - back;
    if (little(end, 4) != END_MAGIC || little(end + 20, 2) != back - END_BYTES) continue;
    *out = (directory){.offset = little(end + 16, 4), .bytes = little(end + 12, 4), .entries = little(end + 10, 2)};
    const bool large = out->offset == IN_64 || out->bytes == IN_64 || out->entries == 0xffff;
    if (large && back + LOCATOR_BYTES <= count && little(end - LOCATOR_BYTES, 4) == LOCATOR_MAGIC) {
      const uint64_t at = little(end - LOCATOR_BYTES + 8, 8);
      if (count < END64_BYTES || at > count - END64_BYTES || little(bytes + at, 4) != END64_MAGIC) return false;
      *out = (directory){.offset = little(bytes + at + 48, 8),
                         .bytes = little(bytes + at + 40, 8),
                         .entries = little(bytes + at + 32, 8)};
    }
    return out->offset <= count && out->bytes <= count - out->offset;
  }
  return false;
}

typedef struct entry {
  uint64_t offset, bytes, packed;
  char name[NAME_MOST];
} entry;

/* Sizes and offsets of more than 4 GiB are in an extra field, in this order, those that are needed alone. */
static bool widen(const unsigned char *extra, uint64_t count, entry *out) {
  uint64_t *wide[] = {&out->bytes, &out->packed, &out->offset};
  for (uint64_t at = 0; at + 4 <= count;) {
    const uint64_t length = little(extra + at + 2, 2);
    if (length > count - at - 4) return false;
    for (uint64_t i = 0, used = 0; little(extra + at, 2) == 1 && i < 3; ++i) {
      if (*wide[i] != IN_64) continue;
      if (used + 8 > length) return false;
      *wide[i] = little(extra + at + 4 + used, 8);
      used += 8;
    }
    at += 4 + length;
  }
  return true;
}

static zb_status add_entry(const char *path, const unsigned char *bytes, uint64_t count, entry *e, uint64_t method,
                           zb_store *store) {
  const size_t length = strlen(e->name);
  if (length > 4 && strcmp(e->name + length - 4, ".npy") == 0) e->name[length - 4] = '\0';
  const place at = {path, e->name};
  if (method != 0)
    return zb_status_hint(damaged(&at, "it is compressed"), "write it by numpy.savez, not savez_compressed");
  if (count < LOCAL_BYTES || e->offset > count - LOCAL_BYTES || little(bytes + e->offset, 4) != LOCAL_MAGIC)
    return damaged(&at, "the archive is damaged");
  const uint64_t begin =
      e->offset + LOCAL_BYTES + little(bytes + e->offset + 26, 2) + little(bytes + e->offset + 28, 2);
  if (begin > count || e->bytes > count - begin || e->packed != e->bytes) return damaged(&at, "the archive is damaged");
  return add_npy(&at, bytes + begin, e->bytes, store);
}

static zb_status add_npz(const char *path, const unsigned char *bytes, uint64_t count, zb_store *store) {
  const place whole = {path, ""};
  directory d;
  if (!find_directory(bytes, count, &d))
    return zb_status_hint(damaged(&whole, "it is no archive of NumPy's"), "numpy.savez(FILE, x=..., y=...) writes one");
  uint64_t at = d.offset;
  for (uint64_t i = 0; i < d.entries; ++i) {
    const unsigned char *from = bytes + at;
    entry e;
    if (count - at < ENTRY_BYTES || little(from, 4) != ENTRY_MAGIC) return damaged(&whole, "the archive is damaged");
    const uint64_t name = little(from + 28, 2), extra = little(from + 30, 2), comment = little(from + 32, 2);
    if (name + extra + comment > count - at - ENTRY_BYTES || name >= NAME_MOST)
      return damaged(&whole, "the archive is damaged");
    e = (entry){.offset = little(from + 42, 4), .bytes = little(from + 24, 4), .packed = little(from + 20, 4)};
    memcpy(e.name, from + ENTRY_BYTES, name);
    if (strlen(e.name) != name || !widen(from + ENTRY_BYTES + name, extra, &e))
      return damaged(&whole, "the archive is damaged");
    ZB_TRY(add_entry(path, bytes, count, &e, little(from + 10, 2), store));
    at += ENTRY_BYTES + name + extra + comment;
  }
  return NULL;
}

/* ---- Files ---- */

static zb_status read_mapping(zb_arrays_kind kind, const char *path, zb_arrays *out) {
  const place whole = {path, ""};
  ZB_TRY(zb_mapping_open("the data file", path, &out->file));
  out->store = zb_store_create();
  if (!out->store) return ZB_OUT_OF_MEMORY();
  const zb_status status = kind == ZB_ARRAYS_NPZ ? add_npz(path, out->file.bytes, out->file.count, out->store)
                                                 : add_npy(&whole, out->file.bytes, out->file.count, out->store);
  return zb_status_first((zb_status[]){zb_mapping_check(&out->file), status}, 2);
}

zb_status zb_arrays_open(zb_arrays_kind kind, const char *path, zb_arrays *out) {
  *out = (zb_arrays){0};
  if (kind == ZB_ARRAYS_SAFETENSORS) return zb_store_open(path, &out->store);
  zb_status status = read_mapping(kind, path, out);
  if (status) zb_arrays_close(out);
  return status;
}

zb_status zb_arrays_check(const zb_arrays *arrays) {
  ZB_TRY(zb_mapping_check(&arrays->file));
  return arrays->store ? zb_store_check(arrays->store) : NULL;
}

void zb_arrays_close(zb_arrays *arrays) {
  zb_store_destroy(arrays->store);
  zb_mapping_close(&arrays->file);
  *arrays = (zb_arrays){0};
}
