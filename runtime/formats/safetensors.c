/* Sets of named tensors and their file form: runtime/formats/safetensors.h.
 *
 * Reading maps the file and checks every number of the header before it is used: known dtype, rank, no overflow, length
 * equal to the shape's, and tensors that fill the data without hole or overlap, as the format's reference reader does.
 * Tensors come in the order of their data. Writing pads the header with spaces so that data starts at a multiple of 64
 * bytes, and streams.
 *
 * Tests: test/runtime/base/safetensors_test.c
 */
#include "runtime/formats/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/arena.h"
#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/mapping.h"
#include "runtime/base/text.h"

static const char METADATA[] = "__metadata__";                   /* the key of the header that is no tensor */
enum { LENGTH_BYTES = 8, HEADER_BYTES_MAX = 100 * 1000 * 1000 }; /* the limit of the reference reader */

struct zb_store {
  zb_arena memory; /* of all but the mapping and the parts */
  ZB_LIST(zb_stored_tensor) tensors;
  ZB_LIST(char *) metadata;  /* key, value, key, value */
  ZB_LIST(zb_store *) parts; /* of a set in several files: what its tensors are borrowed from */
  zb_map *by_name;
  zb_mapping file;
};

zb_store *zb_store_create(void) {
  zb_store *store = zb_alloc(sizeof *store);
  if (!store) return NULL;
  store->by_name = zb_arena_map(&store->memory);
  if (store->by_name) return store;
  zb_store_destroy(store);
  return NULL;
}

void zb_store_destroy(zb_store *store) {
  if (!store) return;
  for (size_t i = 0; i < store->parts.count; ++i)
    zb_store_destroy(store->parts.items[i]);
  zb_arena_deinit(&store->memory);
  zb_mapping_close(&store->file);
  zb_free(store);
}

zb_status zb_store_check(const zb_store *store) {
  ZB_TRY(zb_mapping_check(&store->file));
  for (size_t i = 0; i < store->parts.count; ++i)
    ZB_TRY(zb_store_check(store->parts.items[i]));
  return NULL;
}

int zb_store_count(const zb_store *store) { return (int)store->tensors.count; }

const zb_stored_tensor *zb_store_at(const zb_store *store, int index) {
  if (index < 0 || (size_t)index >= store->tensors.count) return NULL;
  return &store->tensors.items[index];
}

const zb_stored_tensor *zb_store_find(const zb_store *store, const char *name) {
  return zb_store_at(store, (int)zb_map_get_or(store->by_name, name, -1));
}

zb_status zb_store_add(zb_store *store, const char *name, const zb_shape *shape, const void *data, bool copy) {
  int64_t bytes = zb_shape_bytes(shape);
  if (shape->rank < 0 || shape->rank > ZB_DIMS_MAX || bytes < 0)
    return ZB_ERROR(USAGE, "tensor '%s' has no valid shape", name);
  if (zb_map_get(store->by_name, name, NULL)) return ZB_ERROR(USAGE, "there are two tensors named '%s'", name);
  if (store->tensors.count >= INT32_MAX) return ZB_ERROR(USAGE, "too many tensors");
  zb_stored_tensor tensor = {
      .name = zb_arena_strdup(&store->memory, name), .shape = *shape, .data = data, .bytes = (uint64_t)bytes};
  if (copy) {
    void *own = zb_arena_take(&store->memory, (size_t)bytes, 1);
    if (own && bytes > 0) memcpy(own, data, (size_t)bytes);
    tensor.data = own;
  }
  if (!tensor.name || (copy && !tensor.data) || !zb_map_set(store->by_name, name, (int64_t)store->tensors.count) ||
      !ZB_PUSH(&store->memory, &store->tensors, tensor))
    return ZB_OUT_OF_MEMORY();
  return NULL;
}

const char *zb_store_metadata(const zb_store *store, const char *key) {
  for (size_t i = 0; i < store->metadata.count; i += 2)
    if (strcmp(store->metadata.items[i], key) == 0) return store->metadata.items[i + 1];
  return NULL;
}

zb_status zb_store_set_metadata(zb_store *store, const char *key, const char *value) {
  char *own_key = NULL, *own_value = zb_arena_strdup(&store->memory, value);
  if (!own_value) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < store->metadata.count; i += 2) {
    if (strcmp(store->metadata.items[i], key) != 0) continue;
    store->metadata.items[i + 1] = own_value;
    return NULL;
  }
  own_key = zb_arena_strdup(&store->memory, key);
  if (!own_key || !ZB_PUSH(&store->memory, &store->metadata, own_key) ||
      !ZB_PUSH(&store->memory, &store->metadata, own_value))
    return ZB_OUT_OF_MEMORY();
  return NULL;
}

/* ---- Reading ---- */

/* A tensor of the header before it is checked against its neighbours. */
typedef struct header_entry {
  const char *name;
  zb_shape shape;
  uint64_t begin, end;
  size_t order; /* in the header: ties of empty tensors keep it */
} header_entry;

static int compare_entries(const void *a, const void *b) {
  const header_entry *left = a, *right = b;
  if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
  if (left->end != right->end) return left->end < right->end ? -1 : 1;
  return left->order < right->order ? -1 : left->order > right->order;
}

static zb_status parse_shape(const char *path, const char *name, const json_t *value, zb_shape *out) {
  const char *dtype = json_string_value(json_object_get(value, "dtype"));
  if (!dtype) return ZB_ERROR(INVALID, "%s: tensor '%s': \"dtype\" is missing or no text", path, name);
  if (!zb_dtype_parse(dtype, &out->dtype) || strcmp(zb_dtype_safetensors(out->dtype), dtype) != 0)
    return zb_status_hint(ZB_ERROR(INVALID, "%s: tensor '%s': dtype \"%s\" is not known", path, name, dtype),
                          "known are F32, F64, BF16, F16, I64, I32, BOOL: cast the tensor before saving it");
  const json_t *dims = json_object_get(value, "shape");
  if (!json_is_array(dims)) return ZB_ERROR(INVALID, "%s: tensor '%s': \"shape\" is missing or no list", path, name);
  if (json_array_size(dims) > ZB_DIMS_MAX)
    return ZB_ERROR(INVALID, "%s: tensor '%s' has %zu dimensions, at most %d are supported", path, name,
                    json_array_size(dims), ZB_DIMS_MAX);
  out->rank = (int)json_array_size(dims);
  for (int i = 0; i < out->rank; ++i) {
    const json_t *dim = json_array_get(dims, (size_t)i);
    if (!json_is_integer(dim) || json_integer_value(dim) < 0)
      return ZB_ERROR(INVALID, "%s: tensor '%s': dimension %d is not an integer >= 0", path, name, i);
    out->dims[i] = json_integer_value(dim);
  }
  return NULL;
}

static zb_status parse_entry(const char *path, const char *name, const json_t *value, uint64_t data_bytes,
                             header_entry *out) {
  if (!json_is_object(value)) return ZB_ERROR(INVALID, "%s: the entry of tensor '%s' is not an object", path, name);
  out->name = name;
  ZB_TRY(parse_shape(path, name, value, &out->shape));
  int64_t bytes = zb_shape_bytes(&out->shape);
  if (bytes < 0) return ZB_ERROR(INVALID, "%s: tensor '%s': the size of its shape overflows", path, name);
  const json_t *offsets = json_object_get(value, "data_offsets");
  const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
  if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
      json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
    return ZB_ERROR(INVALID, "%s: tensor '%s': \"data_offsets\" is not [begin, end] with 0 <= begin <= end", path,
                    name);
  out->begin = (uint64_t)json_integer_value(begin);
  out->end = (uint64_t)json_integer_value(end);
  if (out->end > data_bytes)
    return ZB_ERROR(INVALID, "%s: tensor '%s' ends at byte %" PRIu64 " of the data, which has %" PRIu64, path, name,
                    out->end, data_bytes);
  if (out->end - out->begin != (uint64_t)bytes)
    return ZB_ERROR(INVALID, "%s: tensor '%s' has %" PRIu64 " bytes of data, its shape needs %" PRId64, path, name,
                    out->end - out->begin, bytes);
  return NULL;
}

static zb_status read_metadata(zb_store *store, const char *path, json_t *metadata) {
  if (!json_is_object(metadata)) return ZB_ERROR(INVALID, "%s: \"__metadata__\" is not an object", path);
  const char *key;
  json_t *value;
  json_object_foreach(metadata, key, value) {
    if (!json_is_string(value)) return ZB_ERROR(INVALID, "%s: metadata '%s' is not text", path, key);
    ZB_TRY(zb_store_set_metadata(store, key, json_string_value(value)));
  }
  return NULL;
}

/* Adds the tensors of the header to the store. */
static zb_status read_entries(zb_store *store, const char *path, json_t *header, const char *data,
                              uint64_t data_bytes) {
  zb_status status = NULL;
  size_t count = 0;
  header_entry *entries = zb_alloc((json_object_size(header) + 1) * sizeof *entries);
  if (!entries) return ZB_OUT_OF_MEMORY();
  const char *key;
  json_t *value;
  json_object_foreach(header, key, value) {
    if (strcmp(key, METADATA) == 0) {
      ZB_TRY_GOTO(read_metadata(store, path, value));
      continue;
    }
    entries[count].order = count;
    ZB_TRY_GOTO(parse_entry(path, key, value, data_bytes, &entries[count]));
    ++count;
  }
  qsort(entries, count, sizeof *entries, compare_entries);
  uint64_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    if (entries[i].begin != at)
      ZB_TRY_GOTO(ZB_ERROR(INVALID,
                           "%s: tensor '%s' begins at byte %" PRIu64 " of the data, expected %" PRIu64 " (no %s)", path,
                           entries[i].name, entries[i].begin, at, entries[i].begin < at ? "overlaps" : "holes"));
    at = entries[i].end;
    ZB_TRY_GOTO(zb_store_add(store, entries[i].name, &entries[i].shape, data + entries[i].begin, false));
  }
  if (at != data_bytes)
    status = ZB_ERROR(INVALID, "%s: the tensors fill %" PRIu64 " bytes of data, the file has %" PRIu64, path, at,
                      data_bytes);

cleanup:
  zb_free(entries);
  return status;
}

static zb_status read_mapping(zb_store *store, const char *path) {
  const unsigned char *bytes = store->file.bytes;
  uint64_t header_bytes = 0;
  for (int i = LENGTH_BYTES - 1; i >= 0; --i)
    header_bytes = header_bytes << 8 | bytes[i];
  uint64_t rest = store->file.count - LENGTH_BYTES;
  if (header_bytes > rest || header_bytes > HEADER_BYTES_MAX)
    return zb_status_hint(ZB_ERROR(INVALID,
                                   "%s: the header would have %" PRIu64 " bytes, but %" PRIu64 " follow (limit %d)",
                                   path, header_bytes, rest, HEADER_BYTES_MAX),
                          "the file is cut off, or it is not a safetensors file");
  const char *header_text = (const char *)bytes + LENGTH_BYTES;
  json_error_t error;
  json_t *header = NULL;
  ZB_TRY(zb_json_parse(header_text, (size_t)header_bytes, JSON_REJECT_DUPLICATES, &header, &error));
  if (!header) return ZB_ERROR(INVALID, "%s: header byte %d: %s", path, error.position, error.text);
  zb_status status = json_is_object(header)
                         ? read_entries(store, path, header, header_text + header_bytes, rest - header_bytes)
                         : ZB_ERROR(INVALID, "%s: the header is not a JSON object", path);
  json_decref(header);
  return status;
}

zb_status zb_store_open(const char *path, zb_store **out) {
  zb_store *store = zb_store_create();
  *out = NULL;
  if (!store) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_mapping_open(NULL, path, &store->file);
  if (!status && store->file.count < LENGTH_BYTES)
    status = ZB_ERROR(INVALID, "%s: %llu bytes are too few for a safetensors file", path,
                      (unsigned long long)store->file.count);
  if (!status) status = read_mapping(store, path);
  status = zb_status_first((zb_status[]){zb_mapping_check(&store->file), status}, 2);
  if (status)
    zb_store_destroy(store);
  else
    *out = store;
  return status;
}

/* ---- Writing ---- */

static json_t *entry_to_json(const zb_stored_tensor *tensor, uint64_t begin) {
  json_t *dims = json_array();
  for (int i = 0; i < tensor->shape.rank; ++i)
    if (json_array_append_new(dims, json_integer(tensor->shape.dims[i])) != 0) {
      json_decref(dims);
      return NULL;
    }
  return json_pack("{s:s, s:o, s:[I, I]}", "dtype", zb_dtype_safetensors(tensor->shape.dtype), "shape", dims,
                   "data_offsets", (json_int_t)begin, (json_int_t)(begin + tensor->bytes));
}

/* The header as JSON; NULL when out of memory or when a name is not UTF-8. */
static json_t *make_header(const zb_store *store) {
  zb_json_watch();
  json_t *header = json_object();
  if (!header) return NULL;
  if (store->metadata.count > 0) {
    json_t *metadata = json_object();
    if (json_object_set_new(header, METADATA, metadata) != 0) goto failed;
    for (size_t i = 0; i < store->metadata.count; i += 2)
      if (json_object_set_new(metadata, store->metadata.items[i], json_string(store->metadata.items[i + 1])) != 0)
        goto failed;
  }
  uint64_t at = 0;
  for (size_t i = 0; i < store->tensors.count; ++i) {
    if (json_object_set_new(header, store->tensors.items[i].name, entry_to_json(&store->tensors.items[i], at)) != 0)
      goto failed;
    at += store->tensors.items[i].bytes;
  }
  return header;

failed:
  json_decref(header);
  return NULL;
}

static void add_start(const char *header, size_t length, zb_text *start) {
  size_t padded = (size_t)zb_align(LENGTH_BYTES + length) - LENGTH_BYTES;
  char length_bytes[LENGTH_BYTES];
  for (int i = 0; i < LENGTH_BYTES; ++i)
    length_bytes[i] = (char)(unsigned char)((uint64_t)padded >> (8 * i) & 0xff);
  zb_text_add_bytes(start, length_bytes, LENGTH_BYTES);
  zb_text_add_bytes(start, header, length);
  for (size_t i = length; i < padded; ++i)
    zb_text_add_bytes(start, " ", 1);
}

/* Length, header and padding, as the file starts. *out_plain: it has an entry for each tensor, and no more than readers
 * take. */
static zb_status make_start(const zb_store *store, const char *path, zb_text *start, bool *out_plain) {
  json_t *header = make_header(store);
  zb_status status = NULL;
  zb_text text = {0};
  if (zb_json_out_of_memory())
    status = ZB_OUT_OF_MEMORY();
  else if (!header)
    status = ZB_ERROR(INVALID, "cannot write '%s': a name or metadata is not UTF-8 text", path);
  else
    status = zb_json_print(header, JSON_COMPACT, &text);
  if (!status) add_start(text.data, text.length, start);
  *out_plain = !status && start->length <= HEADER_BYTES_MAX &&
               json_object_size(header) == store->tensors.count + (store->metadata.count > 0) &&
               !zb_store_find(store, METADATA);
  json_decref(header);
  zb_text_deinit(&text);
  if (status) return status;
  return start->failed ? ZB_OUT_OF_MEMORY() : NULL;
}
/* What of a file is not what was to be written; NULL: all is. */
static const char *find_difference(const zb_store *wanted, const zb_store *got) {
  if (got->tensors.count != wanted->tensors.count) return "number of tensors";
  if (got->metadata.count != wanted->metadata.count) return "number of metadata";
  for (size_t i = 0; i < wanted->tensors.count; ++i) {
    const zb_stored_tensor *a = &wanted->tensors.items[i], *b = &got->tensors.items[i];
    if (strcmp(a->name, b->name) != 0) b = zb_store_find(got, a->name); /* empty ones at one place come in any order */
    if (!b || !zb_shape_equal(&a->shape, &b->shape)) return "names or shapes";
    if (a->bytes > 0 && memcmp(a->data, b->data, (size_t)a->bytes) != 0) return "values";
  }
  for (size_t i = 0; i < wanted->metadata.count; i += 2) {
    const char *value = zb_store_metadata(got, wanted->metadata.items[i]);
    if (!value || strcmp(value, wanted->metadata.items[i + 1]) != 0) return "metadata";
  }
  return NULL;
}

/* Whether a file is its start and the values behind it, byte for byte. False also where it cannot be looked at. */
static bool is_as_written(const zb_store *store, const zb_text *start, const char *written) {
  zb_mapping file;
  uint64_t at = start->length;
  zb_status status = zb_mapping_open(NULL, written, &file);
  const uint64_t bytes = file.count;
  bool same = !status && bytes >= at && memcmp(file.bytes, start->data, (size_t)at) == 0;
  for (size_t i = 0; i < store->tensors.count && same; ++i) {
    const zb_stored_tensor *tensor = &store->tensors.items[i];
    same = tensor->bytes <= bytes - at &&
           (tensor->bytes == 0 || memcmp((const char *)file.bytes + at, tensor->data, (size_t)tensor->bytes) == 0);
    at += tensor->bytes;
  }
  if (!status) status = zb_mapping_check(&file);
  same &= !status;
  zb_status_free(status);
  zb_mapping_close(&file);
  return same && at == bytes;
}

/* Reads a file back before it replaces another one, and says what is wrong with it. */
static zb_status check_written(const zb_store *store, const char *path, const char *written) {
  zb_store *back = NULL;
  zb_status status = zb_store_open(written, &back);
  const char *difference = status ? NULL : find_difference(store, back);
  zb_store_destroy(back);
  if (zb_status_code(status) == ZB_INVALID) {
    zb_status failure =
        ZB_ERROR(IO, "cannot write '%s': what was written does not read back: %s", path, zb_status_message(status));
    zb_status_free(status);
    return failure;
  }
  if (!difference) return status;
  return zb_status_hint(ZB_ERROR(IO, "cannot write '%s': what was written reads back with other %s", path, difference),
                        "memory or the file system is not to be trusted: write to another place");
}

zb_status zb_store_write(const zb_store *store, const char *path) {
  zb_status status = NULL;
  zb_file_writer writer = {.descriptor = -1};
  zb_text start = {0};
  bool plain = false; /* bytes that are as they were written read back as what they were made of */
  ZB_TRY_GOTO(make_start(store, path, &start, &plain));
  ZB_TRY_GOTO(zb_file_writer_open(&writer, path));
  ZB_TRY_GOTO(zb_file_writer_add(&writer, start.data, start.length));
  for (size_t i = 0; i < store->tensors.count; ++i)
    ZB_TRY_GOTO(zb_file_writer_add(&writer, store->tensors.items[i].data, (size_t)store->tensors.items[i].bytes));
  ZB_TRY_GOTO(zb_file_writer_sync(&writer));
  if (writer.temporary && !(plain && is_as_written(store, &start, writer.temporary)))
    ZB_TRY_GOTO(check_written(store, path, writer.temporary));
  status = zb_file_writer_commit(&writer);

cleanup:
  if (status) zb_file_writer_abandon(&writer);
  zb_text_deinit(&start);
  return status;
}

/* ---- Several files and their index ---- */

/* Opens FOLDER OF PATH/name. */
static zb_status open_beside(const char *path, const char *name, zb_store **out) {
  const char *slash = strrchr(path, '/');
  zb_text text = {0};
  if (slash) zb_text_add_bytes(&text, path, (size_t)(slash - path) + 1);
  zb_text_add(&text, "%s", name);
  zb_status status = text.failed ? ZB_OUT_OF_MEMORY() : zb_store_open(text.data, out);
  zb_text_deinit(&text);
  return status;
}

/* Opens a file of an index into the parts of the store. */
static zb_status open_part(zb_store *store, const char *index_path, const char *file) {
  if (!*file || strchr(file, '/')) return ZB_ERROR(INVALID, "%s: the file '%s' is not one beside it", index_path, file);
  zb_store *part = NULL;
  ZB_TRY(open_beside(index_path, file, &part));
  if (ZB_PUSH(&store->memory, &store->parts, part)) return NULL;
  zb_store_destroy(part);
  return ZB_OUT_OF_MEMORY();
}

static zb_status read_weight_map(zb_store *store, const char *path, json_t *weight_map) {
  const char *name;
  json_t *value;
  zb_map *files = zb_arena_map(&store->memory);
  if (!files) return ZB_OUT_OF_MEMORY();
  json_object_foreach(weight_map, name, value) {
    const char *file = json_string_value(value);
    int64_t part = 0;
    if (!file) return ZB_ERROR(INVALID, "%s: the file of tensor '%s' is no text", path, name);
    if (!zb_map_get(files, file, &part)) {
      ZB_TRY(open_part(store, path, file));
      part = (int64_t)store->parts.count - 1;
      if (!zb_map_set(files, file, part)) return ZB_OUT_OF_MEMORY();
    }
    const zb_stored_tensor *tensor = zb_store_find(store->parts.items[part], name);
    if (!tensor) return ZB_ERROR(INVALID, "%s: tensor '%s' is not in '%s'", path, name, file);
    ZB_TRY(zb_store_add(store, name, &tensor->shape, tensor->data, false));
  }
  return NULL;
}

/* The metadata of the parts become those of the set, once they are known to be of the same save: of each key the first
 * that has it. */
static zb_status take_metadata(zb_store *store, const char *path, const char *const *same_keys) {
  if (store->parts.count == 0) return NULL;
  const zb_store *first = store->parts.items[0];
  for (size_t i = 1; i < store->parts.count; ++i) {
    for (const char *const *key = same_keys; *key; ++key) {
      const char *expected = zb_store_metadata(first, *key), *got = zb_store_metadata(store->parts.items[i], *key);
      if (strcmp(expected ? expected : "", got ? got : "") != 0)
        return ZB_ERROR(INVALID, "%s: its files do not belong together: '%s' is '%s' in one and '%s' in another", path,
                        *key, expected ? expected : "", got ? got : "");
    }
  }
  for (size_t k = 0; k < store->parts.count; ++k)
    for (size_t i = 0; i < store->parts.items[k]->metadata.count; i += 2) {
      char *const *pair = &store->parts.items[k]->metadata.items[i];
      if (!zb_store_metadata(store, pair[0])) ZB_TRY(zb_store_set_metadata(store, pair[0], pair[1]));
    }
  return NULL;
}

zb_status zb_store_open_index(const char *path, const char *const *same_keys, zb_store **out) {
  zb_status status = NULL;
  char *text = NULL;
  size_t bytes = 0;
  json_t *index = NULL;
  json_error_t error;
  *out = NULL;
  zb_store *store = zb_store_create();
  if (!store) return ZB_OUT_OF_MEMORY();
  ZB_TRY_GOTO(zb_file_read(path, HEADER_BYTES_MAX, &text, &bytes));
  ZB_TRY_GOTO(zb_json_parse(text, bytes, JSON_REJECT_DUPLICATES, &index, &error));
  if (!index) ZB_TRY_GOTO(ZB_ERROR(INVALID, "%s:%d:%d: %s", path, error.line, error.column, error.text));
  json_t *weight_map = json_object_get(index, "weight_map");
  if (!json_is_object(weight_map)) ZB_TRY_GOTO(ZB_ERROR(INVALID, "%s: \"weight_map\" is missing or no object", path));
  ZB_TRY_GOTO(read_weight_map(store, path, weight_map));
  ZB_TRY_GOTO(take_metadata(store, path, same_keys));
  *out = store;
  store = NULL;
cleanup:
  json_decref(index);
  zb_free(text);
  zb_store_destroy(store);
  return status;
}

/* Adds the tensors of one file to the index. */
static zb_status add_to_index(const char *path, const char *file, json_t *weight_map, uint64_t *total_bytes) {
  zb_store *part = NULL;
  zb_status status = NULL;
  ZB_TRY(open_beside(path, file, &part));
  zb_json_watch();
  for (size_t i = 0; i < part->tensors.count && !status; ++i) {
    *total_bytes += part->tensors.items[i].bytes;
    if (json_object_get(weight_map, part->tensors.items[i].name))
      status = ZB_ERROR(USAGE, "two files have a tensor named '%s'", part->tensors.items[i].name);
    else if (json_object_set_new(weight_map, part->tensors.items[i].name, json_string(file)) != 0)
      status = ZB_OUT_OF_MEMORY();
  }
  if (!status && zb_json_out_of_memory()) status = ZB_OUT_OF_MEMORY();
  zb_store_destroy(part);
  return status;
}

zb_status zb_store_write_index(const char *path, const char *const *files, int count) {
  zb_status status = NULL;
  uint64_t total_bytes = 0;
  zb_text text = {0};
  zb_json_watch();
  json_t *weight_map = json_object(), *index = NULL;
  if (!weight_map) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < count; ++i)
    ZB_TRY_GOTO(add_to_index(path, files[i], weight_map, &total_bytes));
  zb_json_watch();
  index = json_pack("{s:{s:I}, s:O}", "metadata", "total_size", (json_int_t)total_bytes, "weight_map", weight_map);
  ZB_TRY_GOTO(!index || zb_json_out_of_memory() ? ZB_OUT_OF_MEMORY()
                                                : zb_json_print(index, JSON_INDENT(2) | JSON_SORT_KEYS, &text));
  status = zb_file_write_atomic(path, text.data, text.length);
cleanup:
  json_decref(weight_map);
  json_decref(index);
  zb_text_deinit(&text);
  return status;
}
