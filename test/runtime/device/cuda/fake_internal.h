/* The state of the fake GPU, for its own files. */
#ifndef ZB_TEST_CUDA_FAKE_INTERNAL_H
#define ZB_TEST_CUDA_FAKE_INTERNAL_H

#include "test/runtime/device/cuda/fake.h"

enum { BATCH = 7, NAME_BYTES = 64 };
enum {
  KERNEL_PS = 10 * 1000 * 1000,
  COPY_PS = 4 * 1000 * 1000,
  MEMSET_PS = 2 * 1000 * 1000
}; /* of the fake's clock, an operation */

typedef struct clocks {
  uint32_t at[FAKE_STREAMS];
} clocks;

typedef enum kind { KERNEL, COPY, MEMSET, RECORD, WAIT, SEND, RECEIVE } kind;

typedef struct operation {
  kind kind;
  int stream;
  const fake_kernel *kernel;
  unsigned char *parameters;
  unsigned char *to;
  const unsigned char *from;
  size_t bytes;
  int value, value_bytes;   /* MEMSET */
  struct CUevent_st *event; /* RECORD */
  int record;               /* WAIT: the operation that it waits for, or -1 */
  struct pair *pair;        /* SEND, RECEIVE */
  size_t place;             /* its number among those of the pair */
  bool left_out, done;
  char text[NAME_BYTES];
  clocks before;    /* what the host knew when it enqueued it */
  uint32_t tick;    /* its place on its stream, once done */
  int64_t asked_ps; /* of the host's clock, when it was enqueued: it cannot run before */
  int64_t end_ps;   /* RECORD, once done */
} operation;

/* Both ends of a channel of NCCL: operations in the order in which each end was given them. */
typedef struct pair {
  int number;
  int *sends, *receives;
  size_t send_count, receive_count, send_capacity, receive_capacity;
} pair;

struct ncclComm {
  pair *pair;
  int index;
  bool in_progress;
};

/* Bytes that the same operations have touched, from here to the next segment. */
typedef struct segment {
  uint64_t begin;
  struct touches {
    int write; /* operation + 1 */
    int reads[FAKE_STREAMS];
  } *touches;
} segment;

typedef struct memory {
  unsigned char *at;
  uint64_t bytes;
  char name[NAME_BYTES / 2];
  bool pinned, live, shown;
  segment *segments; /* sorted; before the first nothing was touched */
  size_t segment_count, segment_capacity;
} memory;

struct CUstream_st {
  int number;
  char name[NAME_BYTES];
  bool of_messages; /* by its priority */
  clocks known;
  int *queue; /* operations, in order */
  size_t count, head, capacity;
  struct CUgraph_st *capturing;
  int64_t now_ps;
  int missing; /* the record of a wait that was left out just before, or -1 */
};

struct CUevent_st {
  int number;
  int record; /* the last operation that records it, or -1 */
  clocks known;
  int64_t ps;
  bool timed;
  bool over;   /* the last record was run */
  int pending; /* records that were not run */
};

struct CUgraph_st {
  operation *items;
  size_t count, capacity;
};

struct CUgraphExec_st {
  operation *items;
  size_t count;
  int number;
};

typedef struct fake_state {
  uint64_t random;
  operation *operations;
  size_t operation_count, operation_capacity;
  memory *memories;
  size_t memory_count, memory_capacity;
  CUstream streams[FAKE_STREAMS];
  int stream_count, compute_count, channel_count, event_count, graph_count;
  clocks host;
  int64_t host_ps;
  int live;             /* contexts, streams, events, graphs */
  int contexts, astray; /* retained; calls of threads that have none */
  char *log;
  size_t log_length, log_capacity;
  const operation *running;
  int running_index;
  int races, waits, leave_out;
  bool left_out_matters, left_out_of_message, hangs;
  char first_race[512];
  pair *pairs[FAKE_STREAMS * FAKE_STREAMS];
  int group_depth, made, aborted, errors_in;
  ncclResult_t nccl_error;
  const char *fail_function;
  int fail_in;
  CUresult fail_result;
  uint64_t allocated, largest;
  int processors;
  int kernel_times; /* KERNEL_PS that a kernel takes */
} fake_state;

extern fake_state fake_gpu;

/* Not zb_alloc: tests count what the code under test allocates. Both abort without memory. */
void *fake_make(size_t bytes);
bool fake_grow(void **array, size_t *capacity, size_t needed, size_t element_bytes);
/* A new operation at the end of a stream, or of the graph that it captures. Lent until the next. */
operation *fake_enqueue(CUstream s, kind what);
void fake_log_line(CUstream s, const char *format, ...) ZB_PRINTF(2, 3);
/* "m3+64", "host". */
const char *fake_place(const void *at, char text[NAME_BYTES]);
/* Fills the functions of NCCL. */
void fake_nccl_fill(zb_cuda_api *api);

#define FAIL_IF_ASKED(name)                                                                                            \
  do {                                                                                                                 \
    if (fake_gpu.fail_function && strcmp(fake_gpu.fail_function, name) == 0 && fake_gpu.fail_in-- == 0) {              \
      fake_gpu.fail_function = NULL;                                                                                   \
      return fake_gpu.fail_result;                                                                                     \
    }                                                                                                                  \
  } while (0)

#endif
