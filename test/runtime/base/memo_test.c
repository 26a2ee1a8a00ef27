/* Answers that are kept: found by the whole question, and forgotten when there are too many. */
#include <string.h>

#include "runtime/base/memo.h"
#include "test/suite.h"

static zb_question ask(const char *text) { return (zb_question){"text", text, strlen(text)}; }

/* Whether the answer to a question is that text; NULL: whether there is none. */
static bool answers(zb_memo *memo, zb_question question, const char *expected) {
  void *found = NULL;
  size_t bytes = 1;
  zb_status status = zb_memo_find(memo, &question, &found, &bytes);
  const bool is_it =
      expected ? found && bytes == strlen(expected) && memcmp(found, expected, bytes) == 0 : !found && bytes == 0;
  zb_free(found);
  CU_ASSERT_PTR_NULL(status);
  return is_it;
}

static void keep(zb_memo *memo, zb_question question, const char *answer) {
  CU_ASSERT_PTR_NULL(zb_memo_keep(memo, &question, answer, strlen(answer)));
}

static void test_find(void) {
  zb_memo *memo = zb_memo_create(1 << 20);
  zb_question other = ask("b");
  CU_ASSERT(answers(memo, ask("a"), NULL));
  keep(memo, ask("a"), "1");
  keep(memo, ask("ab"), "22");
  keep(memo, ask(""), "empty");
  keep(memo, ask("nothing"), "");
  other.function = "other";
  keep(memo, other, "of another function");
  CU_ASSERT(answers(memo, ask("a"), "1") && answers(memo, ask("ab"), "22") && answers(memo, ask(""), "empty"));
  CU_ASSERT(answers(memo, ask("b"), NULL) && answers(memo, other, "of another function"));
  CU_ASSERT(answers(memo, ask("nothing"), "")); /* an answer of no bytes is one */
  keep(memo, ask("a"), "again");
  CU_ASSERT(answers(memo, ask("a"), "1"));
  zb_memo_destroy(memo);
}

/* More than there are chains, so that several questions share one. */
static void test_many(void) {
  enum { QUESTIONS = 20000 };
  zb_memo *memo = zb_memo_create(1 << 22);
  for (int i = 0; i < QUESTIONS; ++i) {
    const zb_question q = {"square", &i, sizeof i};
    const int64_t square = (int64_t)i * i;
    CU_ASSERT_PTR_NULL(zb_memo_keep(memo, &q, &square, sizeof square));
  }
  int found = 0, wrong = 0;
  for (int i = 0; i < 2 * QUESTIONS; ++i) {
    const zb_question q = {"square", &i, sizeof i};
    void *answer;
    size_t bytes;
    int64_t square = -1;
    CU_ASSERT_PTR_NULL(zb_memo_find(memo, &q, &answer, &bytes));
    if (answer) memcpy(&square, answer, sizeof square);
    found += answer != NULL;
    wrong += answer && square != (int64_t)i * i;
    zb_free(answer);
  }
  CU_ASSERT_EQUAL(found, QUESTIONS);
  CU_ASSERT_EQUAL(wrong, 0);
  zb_memo_destroy(memo);
}

static void test_full(void) {
  zb_memo *memo = zb_memo_create(1000);
  char large[2000] = "";
  memset(large, 'x', sizeof large - 1);
  keep(memo, ask("a"), "1");
  keep(memo, ask(large), "too large");
  CU_ASSERT(answers(memo, ask(large), NULL) && answers(memo, ask("a"), "1"));
  int left = 0;
  for (char name[] = "aa"; name[0] <= 'z'; ++name[0])
    for (name[1] = 'a'; name[1] <= 'z'; ++name[1]) {
      keep(memo, ask(name), name);
      CU_ASSERT(answers(memo, ask(name), name)); /* what came last is there */
    }
  for (char name[] = "aa"; name[0] <= 'z'; ++name[0])
    for (name[1] = 'a'; name[1] <= 'z'; ++name[1])
      left += !answers(memo, ask(name), NULL);
  CU_ASSERT(left > 0 && left < 26);
  zb_memo_destroy(memo);
}

static void test_none(void) {
  keep(NULL, ask("a"), "1");
  CU_ASSERT(answers(NULL, ask("a"), NULL));
  zb_memo_destroy(NULL);
}

static void test_no_memory(void) {
  zb_memo *memo = zb_memo_create(1000);
  zb_question q = ask("a");
  void *answer = &q;
  size_t bytes;
  zb_allocation_fail_at(1);
  zb_status kept = zb_memo_keep(memo, &q, "1", 1);
  zb_allocation_fail_at(0);
  CU_ASSERT_EQUAL(zb_status_code(kept), ZB_MEMORY);
  zb_status_free(kept);
  CU_ASSERT(answers(memo, q, NULL));
  keep(memo, q, "1");
  zb_allocation_fail_at(1);
  zb_status found = zb_memo_find(memo, &q, &answer, &bytes);
  zb_allocation_fail_at(0);
  CU_ASSERT_EQUAL(zb_status_code(found), ZB_MEMORY);
  CU_ASSERT_PTR_NULL(answer);
  zb_status_free(found);
  zb_memo_destroy(memo);
}

static void test_work(void) {
  zb_memo *memo = zb_memo_create(1000);
  CU_ASSERT_EQUAL(zb_memo_spent(memo), 0);
  zb_memo_spend(memo, 5);
  zb_memo_spend(memo, 7);
  CU_ASSERT_EQUAL(zb_memo_spent(memo), 12);
  zb_memo_spend(NULL, 5);
  CU_ASSERT_EQUAL(zb_memo_spent(NULL), 0);
  zb_memo_destroy(memo);
}

SUITE_MAIN("memo", {"found by the whole question", test_find}, {"many", test_many}, {"full", test_full},
           {"none", test_none}, {"no memory", test_no_memory}, {"work", test_work})
