/* Values of parameters in Paddle's own file, NAME.pdiparams beside the program: tensors one after another, in the order
 * of the names of the program's persistable variables, without names. Of each
 *
 *   u32 0, u64 levels, of each level u64 bytes and so many; u32 0, i32 bytes of a TensorDesc, that message, the
 * elements
 *
 * .pdparams are pickles of Python, which are not read.
 * Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct cursor {
  const uint8_t *at;
  size_t left;
} cursor;

static const uint8_t *take(cursor *c, uint64_t bytes) {
  if (bytes > c->left) return NULL;
  const uint8_t *at = c->at;
  c->at += bytes;
  c->left -= (size_t)bytes;
  return at;
}

static bool read_number(cursor *c, int bytes, uint64_t *out) {
  const uint8_t *at = take(c, (uint64_t)bytes);
  *out = 0;
  for (int i = 0; at && i < bytes; ++i)
    *out |= (uint64_t)at[i] << (8 * i);
  return at != NULL;
}

static bool read_varint(cursor *c, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t *byte = take(c, 1);
    if (!byte) return false;
    *out |= (uint64_t)(*byte & 0x7f) << shift;
    if (!(*byte & 0x80)) return true;
  }
  return false;
}

/* TensorDesc: 1 the number of the type, 2 dimensions, each on its own or packed. */
static bool read_description(cursor c, zb_shape *out) {
  enum { TYPE = 1 << 3, DIM = 2 << 3, DIMS = 2 << 3 | 2 };
  uint64_t tag, value;
  bool is_typed = false;
  *out = (zb_shape){.rank = 0};
  while (c.left > 0) {
    if (!read_varint(&c, &tag) || !read_varint(&c, &value)) return false;
    if (tag == TYPE) {
      const char *name = value < 64 ? zb_paddle_type_name((int64_t)value) : NULL;
      is_typed = name && zb_paddle_dtype(name, &out->dtype);
    } else if (tag == DIM || tag == DIMS) {
      cursor list = {c.at, (size_t)value};
      if (tag == DIMS && !take(&c, value)) return false;
      do {
        if (tag == DIMS && (list.left == 0 || !read_varint(&list, &value))) return tag == DIMS && list.left == 0;
        if (out->rank == ZB_DIMS_MAX || value > INT64_MAX) return false;
        out->dims[out->rank++] = (int64_t)value;
      } while (tag == DIMS && list.left > 0);
    } else {
      return false;
    }
  }
  return is_typed && zb_shape_bytes(out) >= 0;
}

static bool read_tensor(cursor *c, zb_shape *shape, const void **data) {
  uint64_t version, levels, bytes;
  if (!read_number(c, 4, &version) || version != 0 || !read_number(c, 8, &levels)) return false;
  for (uint64_t i = 0; i < levels; ++i)
    if (!read_number(c, 8, &bytes) || !take(c, bytes)) return false;
  if (!read_number(c, 4, &version) || version != 0 || !read_number(c, 4, &bytes)) return false;
  const uint8_t *description = take(c, bytes);
  if (!description || !read_description((cursor){description, (size_t)bytes}, shape)) return false;
  *data = take(c, (uint64_t)zb_shape_bytes(shape));
  return *data != NULL;
}

/* ---- The file ---- */

static int by_name(const void *a, const void *b) {
  const zb_paddle_value *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

/* The program's persistable variables that it is given, by their names. */
static zb_paddle_value **kept_values(zb_paddle *it, int *count) {
  zb_paddle_value **list = zb_import_take(&it->core, (it->program.value_count + 1) * sizeof *list);
  *count = 0;
  for (size_t i = 0; list && i < it->program.value_count; ++i) {
    zb_paddle_value *value = it->program.values[i];
    if (!value->producer && (value->is_parameter || value->is_persistable) && !value->items) list[(*count)++] = value;
  }
  if (list) qsort(list, (size_t)*count, sizeof *list, by_name);
  return list;
}

static zb_result read_tensors(zb_paddle *it, const char *path, const zb_import_source *file) {
  zb_import *im = &it->core;
  cursor c = {file->data, file->bytes};
  int count;
  zb_paddle_value **values = kept_values(it, &count);
  if (!values || !(it->values = zb_store_create())) return zb_import_memory(im);
  for (int i = 0; i < count; ++i) {
    zb_shape shape;
    const void *data;
    char own[96], declared[96];
    if (!read_tensor(&c, &shape, &data))
      return zb_import_fail(im, "was it copied completely, and is it of this program?",
                            "'%s' is damaged, or of another program: tensor %d of %d ('%s') cannot be read", path,
                            i + 1, count, values[i]->name);
    if (values[i]->is_static && values[i]->is_typed && !zb_shape_equal(&shape, &values[i]->shape))
      return zb_import_fail(im, "is it of this program?", "'%s': '%s' is a %s in the program, and its value a %s", path,
                            values[i]->name, zb_shape_text(&values[i]->shape, declared), zb_shape_text(&shape, own));
    zb_status status = zb_store_add(it->values, values[i]->name, &shape, data, true);
    if (!status) continue;
    zb_result result = zb_status_code(status) == ZB_MEMORY
                           ? zb_import_memory(im)
                           : zb_import_fail(im, NULL, "'%s': %s", path, zb_status_message(status));
    zb_status_free(status);
    return result;
  }
  return c.left == 0 ||
         zb_import_fail(im, "is it of this program?", "'%s' has %zu bytes behind its %d tensors", path, c.left, count);
}

/* The path with another ending: "model.pdmodel" -> "model.pdiparams". */
static const char *with_ending(zb_import *im, const char *path, const char *ending) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
  zb_text text = {0};
  const size_t length = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);
  zb_text_add(&text, "%.*s%s", (int)length, path, ending);
  return zb_import_take_built(im, &text);
}

zb_result zb_paddle_open_values(zb_paddle *it) {
  zb_import *im = &it->core;
  zb_import_source file;
  const char *path = with_ending(im, it->program.path, ".pdiparams");
  if (!path) return ZB_FAIL;
  if (access(path, F_OK) != 0) return ZB_OK;
  zb_status status = zb_import_source_open(path, NULL, &file);
  if (status) return zb_import_fail_status(im, status);
  im->source_bytes += file.bytes;
  zb_result result = read_tensors(it, path, &file);
  zb_import_source_close(&file);
  return result;
}
