/* A GPU that is none: the functions of zb_cuda_api on the memory of the host, for tests.
 *
 * Calls are logged and queued; nothing runs until the host asks whether a stream or an event is over, and then a few
 * operations at a time, in an order that a seed draws among all that streams and events allow. So results show missing
 * waits and host memory that is reused too early. Beside that, every operation has a vector clock (Fidge, Mattern,
 * 1988: a number a stream), every access of device memory is checked against the accesses before it, and a pair of
 * which one writes and none comes first for certain is a race, whatever the order was.
 *
 * Memory of the device can be read and written by what runs, not by the host: a pointer that the host follows ends the
 * test (of up to 4 MiB each).
 *
 * One fake at a time: the functions of a driver have no place for a context. Single-threaded. Broken use of the fake
 * itself aborts.
 */
#ifndef ZB_TEST_CUDA_FAKE_H
#define ZB_TEST_CUDA_FAKE_H

#include "runtime/device/cuda/cuda.h"

enum { FAKE_STREAMS = 112, FAKE_PARAMETER_BYTES = 4096 };

/* A kernel that runs on the host, when its turn has come. parameters: a copy of what the launch was given. */
typedef struct fake_kernel {
  const char *name;
  size_t parameter_bytes;
  void (*run)(const void *parameters);
} fake_kernel;

void fake_start(uint64_t seed);
/* Ends it; every stream, event, graph and memory that was made and not released is a failure, and every call by a
 * thread that had set no context: the number of them. */
int fake_stop(void);
/* For zb_cuda_setup.load. */
zb_status fake_load(zb_cuda_api *out);
/* A kernel as launches take it; it must stay. */
CUfunction fake_function(const fake_kernel *kernel);

/* By a kernel that runs: it reads or writes these bytes. Of 0 bytes: it uses the memory in a way that is not watched.
 */
void fake_touch(const void *at, uint64_t bytes, bool writes);
/* By a kernel that runs, of which the fake is not told all that it uses. */
void fake_show_all(void);

/* The log since the last call of fake_log_clear, one line an operation that was enqueued. Lent. */
const char *fake_log(void);
void fake_log_clear(void);
/* Memory is named m0, m1 ... in the order of its allocation; from now on these are called otherwise, like "r0". */
void fake_name(const void *memory, const char *name);

/* Races so far, and the first as text. */
int fake_races(void);
const char *fake_first_race(void);
/* The n-th wait (cuStreamWaitEvent, from 0) of the whole run does nothing; -1: none. And how many there were. */
void fake_leave_out_wait(int n);
int fake_waits(void);
/* Whether the next operation on its stream did not know, from other waits either, what the wait that was left out would
 * have told. */
bool fake_left_out_matters(void);
/* Whether that wait is of a stream that moves messages, not of one that runs jobs. */
bool fake_left_out_of_message(void);
/* Whether nothing but reading results follows on the stream of the n-th wait in the log. */
bool fake_wait_is_last(int n);
/* The n-th call of a function from now on (0: the next) fails. */
void fake_fail(const char *function, int n, CUresult result);
/* Streams stop: queries say NOT_READY for ever. */
void fake_hang(bool hangs);
/* NCCL: without buffers, so a send moves only when its receive has come to the head of its stream; every call is first
 * "in progress". From the n-th question on a communicator tells of an error (n < 0: never). Communicators made,
 * aborted, and open now. */
void fake_nccl_error_after(int n, ncclResult_t error);
int fake_nccl_made(void);
int fake_nccl_aborted(void);
/* An id for ncclCommInitRankConfig that the same number gives again: what an exchange of ids would bring. */
struct zb_nccl_id fake_nccl_id(int number);

/* Whether a stream captures. */
bool fake_captures(void);
/* From now on kernels take that many times as long by the clock of the GPU, but not by that of the host. */
void fake_slow(int times);
/* How many multiprocessors the GPU says it has; 0 (as at the start): it does not say. */
void fake_processors(int count);
/* Bytes of device memory that are allocated; the largest single allocation. */
uint64_t fake_allocated(void);
uint64_t fake_largest(void);

#endif
