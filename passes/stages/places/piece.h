/* A piece of memory whose life is known: what pack.c gives an address. No MLIR. */
#pragma once

#include <stdint.h>

/* Bytes [begin, end) of a piece. */
typedef struct zb_piece_part {
  uint64_t begin, end;
} zb_piece_part;

/* A piece is held whole from start to end, a part of it before that from `first` on, and another after that until
 * `last`. All times are included; first = start, last = end: no part. */
typedef struct zb_piece {
  uint64_t bytes;
  int first, start, end, last;
  zb_piece_part before, after;
  uint64_t offset; /* the answer */
} zb_piece;
