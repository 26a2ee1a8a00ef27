/* NumPy's arrays: runtime/formats/npy.h. Tests: test/e2e/outputs.py. */
#include "runtime/formats/npy.h"

#include "runtime/base/text.h"

#include <inttypes.h>

static const char *const descriptions[] = {[ZB_F32] = "<f4", [ZB_F64] = "<f8", [ZB_BF16] = "<f4", [ZB_F16] = "<f2",
                                           [ZB_I64] = "<i8", [ZB_I32] = "<i4", [ZB_I1] = "|b1"};
_Static_assert(sizeof descriptions / sizeof descriptions[0] == ZB_DTYPE_COUNT, "every dtype has a description");

/* Magic, version, bytes of the text; the text, filled up with spaces to a multiple of 64 in all. */
static void write_header(zb_text *out, const zb_shape *shape, int64_t count) {
  enum { FRONT = 10, UNIT = 64 };
  zb_text text = {0};
  zb_text_add(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRId64 ",", descriptions[shape->dtype],
              shape->rank > 0 ? count * shape->dims[0] : count);
  for (int i = 1; i < shape->rank; ++i)
    zb_text_add(&text, " %" PRId64 ",", shape->dims[i]);
  zb_text_add(&text, "), }");
  while ((FRONT + text.length + 1) % UNIT != 0 && !text.failed)
    zb_text_add(&text, " ");
  zb_text_add(&text, "\n");
  const unsigned char front[FRONT] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(text.length & 255), (unsigned char)(text.length >> 8)};
  zb_text_add_bytes(out, (const char *)front, FRONT);
  if (text.data) zb_text_add_bytes(out, text.data, text.length);
  out->failed |= text.failed;
  zb_text_deinit(&text);
}

zb_status zb_npy_open(zb_npy_writer *writer, const char *path, const zb_shape *shape, int64_t count) {
  zb_text header = {0};
  write_header(&header, shape, count);
  writer->dtype = shape->dtype;
  zb_status status = header.failed ? ZB_OUT_OF_MEMORY() : zb_file_writer_open(&writer->file, path);
  if (!status) {
    status = zb_file_writer_add(&writer->file, header.data, header.length);
    if (status) zb_file_writer_abandon(&writer->file);
  }
  zb_text_deinit(&header);
  return status;
}

/* The bits of a bf16 are the upper half of those of the f32. */
static zb_status add_widened(zb_npy_writer *writer, const uint16_t *data, uint64_t count) {
  enum { AT_ONCE = 4096 };
  uint32_t wide[AT_ONCE];
  for (uint64_t done = 0; done < count;) {
    const uint64_t some = count - done < AT_ONCE ? count - done : AT_ONCE;
    for (uint64_t i = 0; i < some; ++i)
      wide[i] = (uint32_t)data[done + i] << 16;
    ZB_TRY(zb_file_writer_add(&writer->file, wide, some * sizeof *wide));
    done += some;
  }
  return NULL;
}

zb_status zb_npy_add(zb_npy_writer *writer, const void *data, uint64_t bytes) {
  if (writer->dtype == ZB_BF16) return add_widened(writer, data, bytes / sizeof(uint16_t));
  return zb_file_writer_add(&writer->file, data, (size_t)bytes);
}

zb_status zb_npy_commit(zb_npy_writer *writer) { return zb_file_writer_commit(&writer->file); }

void zb_npy_abandon(zb_npy_writer *writer) { zb_file_writer_abandon(&writer->file); }
