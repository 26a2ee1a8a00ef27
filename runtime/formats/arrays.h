/* Named arrays of files: .npz and .npy as NumPy writes them (numpy.savez, numpy.save), and safetensors. Mapped, so that
 * only what is read takes memory. Little-endian, row-major, of the types that zb has; compressed archives are refused.
 * Formats: numpy.lib.format of NumPy's manual; APPNOTE.TXT of PKWARE for ZIP. Tests: test/e2e/arrays.py,
 * test/runtime/exec/data_rows_test.c. */
#pragma once

#include "runtime/base/mapping.h"
#include "runtime/formats/safetensors.h"

typedef enum zb_arrays_kind { ZB_ARRAYS_NPZ, ZB_ARRAYS_NPY, ZB_ARRAYS_SAFETENSORS } zb_arrays_kind;

typedef struct zb_arrays {
  zb_store *store; /* what it has borrows from the file; of .npy one, with the name "" */
  zb_mapping file;
} zb_arrays;

/* INVALID names the file, the array and what is wrong with it; IO. On failure *out is empty. Release with
 * zb_arrays_close. */
zb_status zb_arrays_open(zb_arrays_kind kind, const char *path, zb_arrays *out) ZB_MUST_USE;
/* As zb_mapping_check: after what was read, before it counts. */
zb_status zb_arrays_check(const zb_arrays *arrays) ZB_MUST_USE;
void zb_arrays_close(zb_arrays *arrays);
