/* Opens an ONNX file: maps it, takes the raw data of initializers out of it, and parses what is left with protobuf-c.
 *
 * protobuf-c copies every byte field. Weights are nearly all of a model, so they are cut out first: a short walk over
 * the wire format copies everything else into a skeleton and notes where each initializer's raw_data (field 9) lies in
 * the mapping. The walk checks every length against the file, so a damaged file is reported with the byte where it
 * stops making sense. Wire format: https://protobuf.dev/programming-guides/encoding.
 * Tests: test/ir/import/import_test.c, mutate_test.c.
 */
#include "ir/import/onnx/onnx.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { FIELD_GRAPH = 7, FIELD_INITIALIZER = 5, FIELD_RAW_DATA = 9 };

/* A part of the file that is being walked. */
typedef struct reader {
  const uint8_t *data; /* of the whole file */
  size_t at, end;
} reader;

typedef struct field {
  uint32_t number;
  size_t start;         /* of its tag */
  size_t value, length; /* of a byte field: its content */
  size_t end;
} field;

static bool read_varint(reader *r, uint64_t *out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (r->at >= r->end) return false;
    uint8_t byte = r->data[r->at++];
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *out = value;
      return true;
    }
  }
  return false;
}

/* Reads one field, leaving r->at behind it; false where the bytes are no field (r->at is then near the place). */
static bool read_field(reader *r, field *out) {
  uint64_t tag, value;
  out->start = r->at;
  if (!read_varint(r, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX) return false;
  out->number = (uint32_t)(tag >> 3);
  out->value = r->at;
  out->length = 0;
  switch (tag & 7) {
  case WIRE_VARINT:
    if (!read_varint(r, &value)) return false;
    break;
  case WIRE_64:
  case WIRE_32:
    value = (tag & 7) == WIRE_64 ? 8 : 4;
    if (r->end - r->at < value) return false;
    r->at += value;
    break;
  case WIRE_BYTES:
    if (!read_varint(r, &value) || value > r->end - r->at) return false;
    out->value = r->at;
    out->length = (size_t)value;
    r->at += out->length;
    break;
  default:
    return false;
  }
  out->end = r->at;
  return true;
}

static void put_varint(zb_text *out, uint64_t value) {
  char bytes[10];
  size_t count = 0;
  do {
    bytes[count++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value);
  zb_text_add_bytes(out, bytes, count);
}

static void put_message(zb_text *out, uint32_t number, const zb_text *content) {
  put_varint(out, (uint64_t)number << 3 | WIRE_BYTES);
  put_varint(out, content->length);
  if (content->length) zb_text_add_bytes(out, content->data, content->length);
}

/* The path to raw data, from the outermost message: the field of each message that leads to the next. */
static const uint32_t way[] = {FIELD_GRAPH, FIELD_INITIALIZER, FIELD_RAW_DATA};
enum { DEPTH_TENSOR = 2 };

/* Copies a message without raw data, whose places go into file->raw, one a tensor. On failure r->at is the byte that is
 * wrong, unless out->failed: then memory ran out. */
static bool strip(reader *r, zb_text *out, zb_onnx_file *file, int depth) {
  bool seen = false;
  while (r->at < r->end) {
    field f;
    if (!read_field(r, &f)) return false;
    bool bytes = f.value + f.length == f.end && (depth == DEPTH_TENSOR || f.length);
    bool leads_on = f.number == way[depth] && bytes;
    if (leads_on && depth == DEPTH_TENSOR) file->raw[file->raw_count - 1] = (zb_onnx_extent){f.value, f.length, true};
    if (!leads_on) zb_text_add_bytes(out, (const char *)r->data + f.start, f.end - f.start);
    if (!leads_on || depth == DEPTH_TENSOR) continue;
    if (seen && depth == 0) return false; /* two graphs would be merged by protobuf, and the raw data counted wrongly */
    seen = true;
    zb_text inside = {0};
    reader inner = {r->data, f.value, f.end};
    bool has_room = depth + 1 < DEPTH_TENSOR ||
                    zb_grow((void **)&file->raw, &file->raw_capacity, file->raw_count + 1, sizeof *file->raw);
    if (has_room && depth + 1 == DEPTH_TENSOR) file->raw[file->raw_count++] = (zb_onnx_extent){0};
    bool good = has_room && strip(&inner, &inside, file, depth + 1);
    if (has_room && !good) r->at = inner.at;
    if (good) put_message(out, f.number, &inside);
    if (!has_room || inside.failed) out->failed = true;
    zb_text_deinit(&inside);
    if (!good || out->failed) return false;
  }
  return true;
}

/* protobuf-c ends a text at its first zero byte, so that 'a.bin\\0b' would be taken as 'a.bin'. Messages nest as deep
 * as onnx.proto says. What does not read as the message is left to the parser. */
static zb_status check_texts(const char *path, reader *r, const ProtobufCMessageDescriptor *message) {
  field f;
  while (r->at < r->end && read_field(r, &f)) {
    const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(message, f.number);
    if (!known || f.value + f.length != f.end) continue;
    const char *text = (const char *)r->data + f.value;
    if (known->type == PROTOBUF_C_TYPE_STRING && f.length && memchr(text, '\0', f.length))
      return zb_status_hint(ZB_ERROR(INVALID, "'%s': the %s of a %s holds a zero byte, behind '%s'", path, known->name,
                                     message->short_name, text),
                            "was it damaged, or changed by a tool? export it again");
    if (known->type != PROTOBUF_C_TYPE_MESSAGE) continue;
    reader inner = {r->data, f.value, f.end};
    ZB_TRY(check_texts(path, &inner, known->descriptor));
  }
  return NULL;
}

static void *take(void *data, size_t size) { return zb_import_take(data, size ? size : 1); }

static void keep(void *data ZB_UNUSED, void *memory ZB_UNUSED) {}

Onnx__GraphProto *zb_onnx_graph_unpack(zb_import_node *n, const ProtobufCBinaryData *bytes) {
  zb_import *im = n->im;
  reader r = {bytes->data, 0, bytes->len};
  zb_status status = check_texts(im->params->path, &r, &onnx__graph_proto__descriptor);
  if (status) zb_import_refuse(n, zb_status_hint_text(status), "%s", zb_status_message(status));
  zb_status_free(status);
  if (status) return NULL;
  ProtobufCAllocator arena = {.alloc = take, .free = keep, .allocator_data = im};
  Onnx__GraphProto *graph = onnx__graph_proto__unpack(&arena, bytes->len, bytes->data);
  if (!graph && !im->out_of_memory)
    zb_import_refuse(n, "was the file copied completely? export it again", "its graph cannot be decoded");
  return graph;
}

/* Whether the start of the file looks like text. */
static bool looks_like_text(const zb_import_source *map) {
  size_t count = map->bytes < 64 ? map->bytes : 64;
  for (size_t i = 0; i < count; ++i) {
    uint8_t c = map->data[i];
    if (c != '\n' && c != '\r' && c != '\t' && (c < 0x20 || c > 0x7e)) return false;
  }
  return true;
}

static zb_status not_onnx(const char *path, const zb_import_source *map, size_t byte) {
  zb_status status;
  if (looks_like_text(map)) {
    status = ZB_ERROR(INVALID, "'%s' is a text file, not an ONNX model", path);
    return zb_status_hint(
        status,
        "expected the binary file that torch.onnx.export or tools/export_onnx.py writes; MLIR text ends in .mlir");
  }
  status = ZB_ERROR(INVALID, "'%s' is damaged or not an ONNX model: it makes no sense from byte %zu of %zu on", path,
                    byte, map->bytes);
  return zb_status_hint(status, "was it copied completely? export it again");
}

zb_status zb_onnx_file_open(const char *path, zb_onnx_file *out) {
  *out = (zb_onnx_file){0};
  ZB_TRY(zb_import_source_open(path, NULL, &out->map));
  if (out->map.bytes == 0)
    return zb_status_hint(ZB_ERROR(INVALID, "'%s' is empty, not an ONNX model", path),
                          "was it copied completely? export it again");
  zb_text skeleton = {0};
  zb_status status = NULL;
  reader r = {out->map.data, 0, out->map.bytes};
  if (!strip(&r, &skeleton, out, 0)) {
    status = skeleton.failed ? ZB_OUT_OF_MEMORY() : not_onnx(path, &out->map, r.at);
  } else if (skeleton.failed) {
    status = ZB_OUT_OF_MEMORY();
  } else if (!(status = check_texts(path, &(reader){(const uint8_t *)skeleton.data, 0, skeleton.length},
                                    &onnx__model_proto__descriptor))) {
    bool refused = false;
    ProtobufCAllocator allocator = {.alloc = zb_import_allocate, .free = zb_import_release, .allocator_data = &refused};
    out->model = onnx__model_proto__unpack(&allocator, skeleton.length, (const uint8_t *)skeleton.data);
    if (refused) {
      status = ZB_OUT_OF_MEMORY();
    } else if (!out->model) {
      status = ZB_ERROR(INVALID, "'%s' is damaged or not an ONNX model: a message in it cannot be decoded", path);
    } else if (!out->model->has_ir_version || !out->model->graph ||
               out->raw_count != out->model->graph->n_initializer) {
      status = not_onnx(path, &out->map, 0);
    }
  }
  zb_text_deinit(&skeleton);
  return status;
}

void zb_onnx_file_close(zb_onnx_file *file) {
  ProtobufCAllocator allocator = {.alloc = zb_import_allocate, .free = zb_import_release};
  if (file->model) onnx__model_proto__free_unpacked(file->model, &allocator);
  zb_free(file->raw);
  zb_import_source_close(&file->map);
  *file = (zb_onnx_file){0};
}
