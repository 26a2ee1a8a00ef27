/* See memo.h. A table of chains by the digest of the question; questions are compared whole. Tests:
 * test/runtime/base/memo_test.c */
#include "runtime/base/memo.h"

#include "runtime/base/digest.h"

#include <pthread.h>
#include <string.h>

enum { CHAINS = 4096 };

typedef struct entry {
  struct entry *next;
  uint64_t digest;
  const char *function;
  size_t question_bytes, answer_bytes;
  unsigned char bytes[]; /* the question, then the answer */
} entry;

struct zb_memo {
  pthread_mutex_t mutex;
  size_t bytes, most_bytes;
  int64_t spent;
  entry *chains[CHAINS];
};

zb_memo *zb_memo_create(size_t most_bytes) {
  zb_memo *memo = zb_alloc(sizeof *memo);
  if (!memo) return NULL;
  pthread_mutex_init(&memo->mutex, NULL);
  memo->most_bytes = most_bytes;
  return memo;
}

static void forget(zb_memo *memo) {
  for (int i = 0; i < CHAINS; ++i)
    for (entry *e = memo->chains[i], *next; e; e = next) {
      next = e->next;
      zb_free(e);
    }
  memset(memo->chains, 0, sizeof memo->chains);
  memo->bytes = 0;
}

void zb_memo_destroy(zb_memo *memo) {
  if (!memo) return;
  forget(memo);
  pthread_mutex_destroy(&memo->mutex);
  zb_free(memo);
}

static const entry *find(const zb_memo *memo, const zb_question *q, uint64_t digest) {
  for (const entry *e = memo->chains[digest % CHAINS]; e; e = e->next)
    if (e->digest == digest && e->question_bytes == q->count && strcmp(e->function, q->function) == 0 &&
        memcmp(e->bytes, q->bytes, q->count) == 0)
      return e;
  return NULL;
}

zb_status zb_memo_find(zb_memo *memo, const zb_question *question, void **out_answer, size_t *out_bytes) {
  *out_answer = NULL;
  *out_bytes = 0;
  if (!memo) return NULL;
  const uint64_t digest = zb_digest_of(question->bytes, question->count);
  pthread_mutex_lock(&memo->mutex);
  const entry *found = find(memo, question, digest);
  if (found) {
    *out_answer = zb_alloc(found->answer_bytes + 1);
    *out_bytes = found->answer_bytes;
  }
  if (*out_answer) memcpy(*out_answer, found->bytes + found->question_bytes, found->answer_bytes);
  pthread_mutex_unlock(&memo->mutex);
  return found && !*out_answer ? ZB_OUT_OF_MEMORY() : NULL;
}

zb_status zb_memo_keep(zb_memo *memo, const zb_question *question, const void *answer, size_t bytes) {
  const size_t all = sizeof(entry) + question->count + bytes;
  if (!memo || all > memo->most_bytes) return NULL;
  entry *kept = zb_alloc(all);
  if (!kept) return ZB_OUT_OF_MEMORY();
  *kept = (entry){.digest = zb_digest_of(question->bytes, question->count),
                  .function = question->function,
                  .question_bytes = question->count,
                  .answer_bytes = bytes};
  memcpy(kept->bytes, question->bytes, question->count);
  memcpy(kept->bytes + question->count, answer, bytes);
  pthread_mutex_lock(&memo->mutex);
  if (memo->bytes + all > memo->most_bytes) forget(memo);
  if (find(memo, question, kept->digest)) { /* another thread was asked the same meanwhile */
    zb_free(kept);
  } else {
    kept->next = memo->chains[kept->digest % CHAINS];
    memo->chains[kept->digest % CHAINS] = kept;
    memo->bytes += all;
  }
  pthread_mutex_unlock(&memo->mutex);
  return NULL;
}

void zb_memo_spend(zb_memo *memo, int64_t work) {
  if (!memo) return;
  pthread_mutex_lock(&memo->mutex);
  memo->spent += work;
  pthread_mutex_unlock(&memo->mutex);
}

int64_t zb_memo_spent(zb_memo *memo) {
  if (!memo) return 0;
  pthread_mutex_lock(&memo->mutex);
  const int64_t spent = memo->spent;
  pthread_mutex_unlock(&memo->mutex);
  return spent;
}
