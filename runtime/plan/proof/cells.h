/* What the walk of dataflow.c remembers of memory: the cells that cells.c cuts, the pieces that they are, homes of
 * bases, what reads found the first time. Both include it, and nothing else. */
#pragma once

#include "runtime/base/memory.h"
#include "runtime/base/sorted.h"
#include "runtime/plan/proof/rules.h"

/* Of a piece of the slots, in the row of its first cell: what was written there last. Where cells begin and what is in
 * flight is in arrays of their own, since most walks read little else. */
typedef struct piece {
  uint64_t source;      /* what kind of writer: see source_of_* */
  uint64_t writer_base; /* address that the writer counts from */
  int32_t writer;       /* job */
  int32_t micro_batch;  /* of what it wrote */
  int32_t touched_by;   /* job that last used it, and through which base, to find bases that share bytes */
  int32_t touched;      /* touch_of */
} piece;

typedef struct flight {
  int32_t filling; /* RECV that is in flight */
  int32_t sending; /* number of SENDs in flight */
} flight;

/* Where base `base` of subprogram `subprogram` begins when a job puts it at `address`. */
typedef struct home {
  uint64_t address;
  uint32_t id; /* 1 + row of `first_read`; 0: empty entry */
  uint32_t first_cell;
} home;

/* How the reads of one (subprogram, base), or of one kind of message, were satisfied the first time. */
typedef struct signature {
  uint64_t hash;
  int32_t job; /* NOBODY: not yet */
} signature;

/* A piece of what messages carry from or to fixed memory (gradients, parameters), cut where a part of one begins or
 * ends; it ends where the next one begins. */
typedef struct fixed_cell {
  uint64_t begin;
  int32_t filling; /* RECV that is in flight */
  int32_t sending; /* number of SENDs in flight */
  int32_t sender;  /* the last SEND of this step */
} fixed_cell;

typedef struct message_signature {
  zb_payload payload;
  int32_t source_stage, destination_stage, part;
  signature found;
} message_signature;

enum { WORD_BITS = 64 };
enum { NOTED = 1 }; /* a range whose boundaries are known */
enum { NOBODY = -1, ANY_MICRO_BATCH = -2 /* of parameters that were gathered */ };

typedef struct dataflow {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  const zb_access *accesses;
  zb_plan_range slots, gradients, workspace;
  uint64_t *begins; /* [cell_count + 1] where each begins; the last one ends where the slots do */
  uint64_t *starts; /* [cell_count + 1] bits: a piece begins there */
  piece *pieces;    /* [cell_count + 1] */
  flight *flights;  /* [cell_count + 1] of pieces */
  size_t cell_count;
  home *homes;          /* open addressing */
  size_t home_capacity; /* a power of two */
  size_t home_count;
  uint32_t *first_id;    /* [subprogram_count] id of its base 1 */
  int32_t *known_as;     /* [subprogram_count] itself, or the first one that is the same part of the same W */
  signature *signatures; /* [id] */
  message_signature *message_signatures;
  size_t message_signature_count, message_signature_capacity;
  fixed_cell *fixed; /* and one more, where the last one ends */
  size_t fixed_count;
  uint32_t *range_cells; /* [pool_range_count] of what posts move: its first cell, or fixed cell */
  bool *waited;          /* [job_count] */
  int32_t *first_run;    /* [subprogram_count] first job in the step, NOBODY */
  int32_t placed;        /* the last subprogram that placed own parts of parameters, NOBODY */
  int32_t placed_for;    /* 1 + the collective that was posted behind it, and has its list; 0: none yet */
  bool fixed_posted;     /* a message of fixed memory */
} dataflow;

/* The begin of the walk of a rank: cells are cut, nothing is written. `jobs` at the begin of its list are those of
 * another rank, `like`, whose cells are cut for them, too; NULL, 0: of none. zb_dataflow_deinit also after an error. */
zb_status zb_dataflow_init(dataflow *it, const zb_plan *plan, int rank, const zb_access *accesses, const dataflow *like,
                           int jobs) ZB_MUST_USE;
void zb_dataflow_deinit(dataflow *it);

static inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

static inline home *find_home(const dataflow *it, uint32_t id, uint64_t address) {
  size_t mask = it->home_capacity - 1;
  for (size_t i = (size_t)mix(address, id) & mask;; i = (i + 1) & mask) {
    home *entry = &it->homes[i];
    if (entry->id == 0 || (entry->id == id && entry->address == address)) return entry;
  }
}

static inline bool in_slots(const dataflow *it, uint64_t offset, uint64_t bytes) {
  return offset >= it->slots.offset && bytes <= it->slots.bytes && offset - it->slots.offset <= it->slots.bytes - bytes;
}

/* Index of the cell that begins at `at`, which is a boundary. */
static inline size_t cell_at(const dataflow *it, uint64_t at) {
  return zb_count_up_to(it->begins, sizeof *it->begins, 0, it->cell_count, at) - 1;
}

/* The first cell that ends behind `at`. */
static inline size_t fixed_at(const dataflow *it, uint64_t at) {
  return zb_count_up_to(it->fixed, sizeof *it->fixed, sizeof *it->fixed + offsetof(fixed_cell, begin), it->fixed_count,
                        at);
}

/* What a READ fills of its part: the input, not what the part is rounded up to. */
static inline uint64_t moved_bytes(const dataflow *it, const zb_plan_job *job, zb_plan_range part) {
  if (job->kind == ZB_JOB_READ) return (uint64_t)zb_shape_bytes(&it->plan->inputs[job->input].shape);
  return job->output ? (uint64_t)zb_shape_bytes(&it->plan->outputs[job->output - 1].shape) : part.bytes;
}

/* ---- Pieces ---- */

static inline bool begins_piece(const dataflow *it, size_t at) {
  return it->starts[at / WORD_BITS] >> at % WORD_BITS & 1;
}

/* Lets a piece begin at the cell; the cell. */
static inline size_t split(dataflow *it, size_t at) {
  if (begins_piece(it, at)) return at;
  size_t word = at / WORD_BITS;
  uint64_t before = it->starts[word] & ((UINT64_C(1) << at % WORD_BITS) - 1);
  while (!before) /* the first cell begins a piece */
    before = it->starts[--word];
  const size_t from = word * WORD_BITS + WORD_BITS - 1 - (size_t)__builtin_clzll(before);
  it->starts[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
  it->pieces[at] = it->pieces[from];
  it->flights[at] = it->flights[from];
  return at;
}

/* Where the next piece begins; the one behind the slots has none. */
static inline size_t next_piece(const dataflow *it, size_t at) {
  size_t word = ++at / WORD_BITS;
  if (at > it->cell_count) return it->cell_count;
  uint64_t behind = it->starts[word] & ~((UINT64_C(1) << at % WORD_BITS) - 1);
  while (!behind)
    behind = it->starts[++word];
  return word * WORD_BITS + (size_t)__builtin_ctzll(behind);
}

/* Makes one piece of those from a cell to another one. */
static inline void join(dataflow *it, size_t from, size_t to) {
  for (size_t at = next_piece(it, from); at < to; at = next_piece(it, at))
    it->starts[at / WORD_BITS] &= ~(UINT64_C(1) << at % WORD_BITS);
}

/* The first cell from `at` on that begins at the address or behind it, where a piece begins now. */
static inline size_t piece_from(dataflow *it, size_t at, uint64_t address) {
  for (size_t next = at; it->begins[next] <= address; next = next_piece(it, next))
    at = next;
  while (it->begins[at] < address)
    ++at;
  return split(it, at);
}

/* Where the piece at `at` ends: that of a range ends there as well. */
static inline size_t piece_end(dataflow *it, size_t at, uint64_t range_end) {
  const size_t next = next_piece(it, at);
  return it->begins[next] <= range_end ? next : piece_from(it, at + 1, range_end);
}
