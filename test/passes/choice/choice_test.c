/* passes/choose: a choice as text and back, and each error at its place. */
#include "passes/choice/choice.h"
#include "runtime/base/text.h"
#include "test/suite.h"

#include <stdio.h>
#include <string.h>

static const char good[] = "zbc-choice 1\n"
                           "program 0123456789abcdef  # of nothing\n"
                           "schedule \"my \\\"own\\\" #1.csv\"\n"
                           "ranks 2\r\n"
                           "chunks 1\n"
                           "placement plain\n"
                           "micro-batches 2\n"
                           "\n"
                           "stage 0 ends 17  # h.0 (gelu)\n"
                           "again 2-5 9.1\n"
                           "in-b 0 4-7 h.0.*.bias \"12\" w#1\n"
                           "backward whole\n"
                           "order 0 0F0 0F1\n"
                           "order 1 1F0 1B0 1W0 1F1 1B1 1W1\n"
                           "order 0 0B0 0W0 0B1 0W1";

static void test_read(void) {
  zb_choice c;
  CU_ASSERT_PTR_NULL_FATAL(zb_choice_read("f", good, sizeof good - 1, &c));
  CU_ASSERT_EQUAL(c.program, UINT64_C(0x0123456789abcdef));
  CU_ASSERT_STRING_EQUAL(c.schedule, "my \"own\" #1.csv");
  CU_ASSERT_STRING_EQUAL(c.placement, "plain");
  CU_ASSERT(c.ranks == 2 && c.chunks == 1 && c.micro_batches == 2 && c.after[0] == 17);
  CU_ASSERT(c.after_at[0].line == 9 && c.after_at[0].column == 14);
  CU_ASSERT_EQUAL_FATAL(c.again.count, 2);
  CU_ASSERT(c.again.items[0].begin == 2 && c.again.items[0].end == 6 && c.again.items[0].result == -1);
  CU_ASSERT(c.again.items[1].begin == 9 && c.again.items[1].end == 10 && c.again.items[1].result == 1);
  CU_ASSERT_EQUAL_FATAL(c.in_b.count, 5);
  CU_ASSERT(!c.in_b.items[1].glob && c.in_b.items[1].end == 8);
  CU_ASSERT_STRING_EQUAL(c.in_b.items[2].glob, "h.0.*.bias");
  CU_ASSERT_STRING_EQUAL(c.in_b.items[3].glob, "12");
  CU_ASSERT_STRING_EQUAL(c.in_b.items[4].glob, "w#1");
  CU_ASSERT(c.order.whole_backward && c.order.counts[0] == 6 && c.order.counts[1] == 6);
  CU_ASSERT(c.order.jobs[0][2].kind == ZB_B && c.job_at[0].items[2].line == 15 && c.job_at[0].items[2].column == 9);
  zb_choice_deinit(&c);
}

/* What a compile makes, as text: numbers that follow each other are one item, but not over the end of a stage. */
static void test_write(void) {
  zb_choice c = {.program = 1, .schedule = "zb-h1", .placement = "0,1", .micro_batches = 1}, again;
  CU_ASSERT_PTR_NULL_FATAL(zb_choice_init(&c, 2, 1));
  c.after[0] = 4;
  c.after_name[0] = "a\nb";
  const int numbers[] = {0, 1, 2, 4, 5, 6}, results[] = {-1, -1, -1, -1, -1, 1};
  for (int i = 0; i < 6; ++i)
    CU_ASSERT_PTR_NULL_FATAL(zb_choice_add(&c, &c.again, numbers[i], results[i], numbers[i] > 4, "op"));
  zb_order order;
  CU_ASSERT_PTR_NULL_FATAL(zb_order_init(&order, 2));
  for (int s = 0; s < 2; ++s)
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      CU_ASSERT_PTR_NULL_FATAL(zb_order_add(&order, s, s, (zb_kind)kind, 0));
  CU_ASSERT_PTR_NULL_FATAL(zb_choice_set_order(&c, &order));
  zb_order_deinit(&order);
  char *text = zb_choice_text(&c), *second = NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  const char *const parts[] = {"placement 0,1\n", "stage 0 ends 4  # a b\n", "again 0-2 4  # stage 0: op\n",
                               "again 5 6.1  # stage 1: op\n", "order 1 1F0 1B0 1W0\n"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i)
    CU_ASSERT_PTR_NOT_NULL(strstr(text, parts[i]));
  CU_ASSERT_PTR_NULL_FATAL(zb_choice_read("f", text, strlen(text), &again));
  CU_ASSERT(again.again.count == 4 && again.again.items[3].result == 1 && again.order.counts[1] == 3);
  second = zb_choice_text(&again);
  CU_ASSERT_PTR_NOT_NULL(second);
  zb_free(second);
  zb_free(text);
  zb_choice_deinit(&again);
  zb_choice_deinit(&c);
}

/* `old` in the good text replaced by `new`. */
static void refused(const char *old, const char *new, const char *said) {
  zb_choice c;
  zb_text text = {0};
  const char *at = strstr(good, old);
  CU_ASSERT_PTR_NOT_NULL_FATAL(at);
  zb_text_add(&text, "%.*s%s%s", (int)(at - good), good, new, at + strlen(old));
  zb_status status = zb_choice_read("f", text.data, text.length, &c);
  if (!status || strstr(zb_status_text(status), said) == NULL) {
    printf("\n%s: got %s, expected %s\n", new, status ? zb_status_text(status) : "nothing", said);
    CU_FAIL("another error");
  }
  CU_ASSERT_PTR_NULL(c.after);
  zb_status_free(status);
  zb_choice_deinit(&c);
  zb_text_deinit(&text);
}

static void test_refused(void) {
  refused("zbc-choice 1", "zbc-choice 2", "f:1:12: expected zbc-choice 1, got '2'\n  hint: this zbc reads version 1");
  refused("zbc-choice 1", "choice", "f:1:1: expected zbc-choice 1, got 'choice'\n  hint: zbc --choice-out FILE");
  refused("0123456789abcdef", "0123", "f:2:9: expected 16 hexadecimal digits, got '0123'");
  refused("ranks 2", "ranks 0", "f:4:7: expected a number of 1 to 1048576, got '0'\n  hint: the line is: ranks P");
  refused("chunks 1", "chunks 1048576", "f:5:8: expected at most 1048576 stages");
  refused("ranks 2", "ranks 99999999999999999999", "f:4:7: expected a number");
  refused("ranks 2", "ranks 2 3", "f:4:1: expected 1 words behind 'ranks', got 2");
  refused("ranks 2\r\n", "", "f:8:7: expected ranks, chunks and micro-batches before 'stage'");
  refused("micro-batches 2", "micro-batch 2",
          "f:7:1: there is no fact 'micro-batch' of a choice\n  hint: did you mean");
  refused("placement plain\n", "", "f:14:1: the file ends without 'placement'");
  refused("ranks 2\r\n", "ranks 2\nranks 3\n", "f:5:1: 'ranks' is there twice, on line 4 too");
  refused("stage 0 ends", "stage 0 end",
          "f:9:9: expected ends, got 'end'\n  hint: the line is: stage N ends PLACE, or NAME");
  refused("stage 0", "stage 1", "f:9:7: expected a number of 0 to 0, got '1'");
  refused("stage 0 ends 17", "stage 0 ends 17\nstage 0 ends 3", "f:10:7: stage 0 ends twice, on line 9 too");
  refused("stage 0 ends 17", "stage 0 ends 1x", "f:9:14: expected a number of 0 to 268435456, got '1x'");
  refused("stage 0 ends 17", "", "f:15:1: the file does not say where stage 0 ends\n  hint: 2 ranks x 1 chunks have 1");
  refused("2-5", "5-2", "f:10:7: expected a place or a range like 3-5, got '5-2'");
  refused("2-5", "2-", "f:10:7: expected a place or a range like 3-5, got '2-'");
  refused("9.1", "9.", "f:10:11: expected a place");
  refused("9.1", "gelu", "f:10:11: expected a place or a range like 3-5, got 'gelu'\n  hint: the line is: again PLACE");
  refused("4-7", "4x", "f:11:8: expected a number, a range like 3-5 or a name, got '4x'");
  refused("\"12\"", "\"12", "f:11:23: the quote is not closed");
  refused("backward whole", "backward half", "f:12:10: expected whole, got 'half'");
  refused("order 1", "order 2", "f:14:7: expected a number of 0 to 1, got '2'");
  refused("0F1", "0X1", "f:13:13: expected a job like 0F2, got '0X1'");
  refused("0F1", "2F1", "f:13:13: there is no job 2F1: expected stages 0..1, micro-batches 0..1");
  refused("order 1 1F0 1B0 1W0 1F1 1B1 1W1\n", "",
          "f:14:1: the file does not say the order of rank 1\n  hint: the line");
  refused("placement plain", "placement v", "f:6:11: placement v: expected 2 chunks a rank, got 1\n  hint: looped");
  refused("placement plain", "placement 0,2", "f:6:11: placement: expected the ranks of 2 virtual stages");
  refused("17", "1\x01", "f:9:15: expected text, got a byte 1");
}

static void test_empty(void) {
  zb_choice c;
  zb_status status = zb_choice_read("f", "\n# nothing\n", 11, &c);
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_STRING_EQUAL(zb_status_message(status), "f:1:1: expected zbc-choice 1, got 'nothing'");
  zb_status_free(status);
}

/* The library names a rank and a job; the file has it in some line. */
static void test_order(void) {
  zb_choice c;
  CU_ASSERT_PTR_NULL_FATAL(zb_choice_read("f", good, sizeof good - 1, &c));
  zb_status status = zb_choice_order_error(&c, ZB_ERROR(INVALID, "rank 0, job 2: 0B0 is wrong"));
  CU_ASSERT_STRING_EQUAL(zb_status_message(status), "f:15:9: rank 0, job 2: 0B0 is wrong");
  zb_status_free(status);
  status = zb_choice_order_error(&c, ZB_ERROR(INVALID, "rank 1: 1F9 is missing"));
  CU_ASSERT_STRING_EQUAL(zb_status_message(status), "f:14:9: rank 1: 1F9 is missing");
  zb_status_free(status);
  status = zb_choice_order_error(&c, ZB_ERROR(INVALID, "the order deadlocks"));
  CU_ASSERT_STRING_EQUAL(zb_status_message(status), "the order deadlocks");
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "note: the order of f"));
  zb_status_free(status);
  zb_choice_deinit(&c);
}

SUITE_MAIN("choice", {"read", test_read}, {"write", test_write}, {"refused", test_refused}, {"empty", test_empty},
           {"order", test_order})
