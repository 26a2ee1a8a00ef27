/* Arrays as NumPy reads them (numpy.load): the format .npy, version 1.0
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). Row-major, little-endian. */
#pragma once

#include "runtime/base/file.h"
#include "zb/base.h"

/* A file that is written row after row. bf16, which NumPy does not know, is written as f32. */
typedef struct zb_npy_writer {
  zb_file_writer file;
  zb_dtype dtype;
} zb_npy_writer;

/* An array of `count` such shapes, one behind the other along the first dimension; of scalars a list. After success
 * exactly one of commit and abandon must follow; the file that was there stays until commit. IO, as
 * zb_file_writer_open; OUT_OF_MEMORY. */
zb_status zb_npy_open(zb_npy_writer *writer, const char *path, const zb_shape *shape, int64_t count) ZB_MUST_USE;
/* bytes: of whole elements, as they are in memory. */
zb_status zb_npy_add(zb_npy_writer *writer, const void *data, uint64_t bytes) ZB_MUST_USE;
zb_status zb_npy_commit(zb_npy_writer *writer) ZB_MUST_USE;
void zb_npy_abandon(zb_npy_writer *writer);
