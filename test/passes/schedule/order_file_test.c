/* Orders as files: what is read, what is written, and every way in which a file can be wrong, at its line and column.
 * PyTorch's own files are read by test/e2e/pytorch_schedules.py. */
#include "fixture.h"

static zb_status read_text(const char *text, const zb_order_expected *expected, zb_order_file *out) {
  return zb_order_read("f.csv", text, strlen(text), expected, out);
}

/* The jobs of all ranks, lines with '|' between, whole backwards as they stand in the order. */
static void expect_jobs(const zb_order_file *file, const char *expected) {
  char text[2048], job[32];
  size_t length = 0;
  for (int rank = 0; rank < file->order.ranks; ++rank)
    for (int i = 0; i < file->order.counts[rank]; ++i)
      length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                 i      ? " "
                                 : rank ? "|"
                                        : "",
                                 zb_job_text(file->order.jobs[rank][i], job));
  if (strcmp(text, expected) != 0) fprintf(stderr, "\nexpected %s\n     got %s\n", expected, text);
  CU_ASSERT_STRING_EQUAL(text, expected);
}

/* Reads it; it is this order, and is printed as it was (again NULL: as it is). */
static void expect_read(const char *text, zb_order_form form, bool whole, const char *jobs, const char *again) {
  zb_order_file file;
  expect_ok(read_text(text, NULL, &file));
  if (!file.cells) return;
  CU_ASSERT_EQUAL(file.form, form);
  CU_ASSERT_EQUAL(file.order.whole_backward, whole);
  expect_jobs(&file, jobs);
  char *printed = zb_order_file_text(&file);
  CU_ASSERT_PTR_NOT_NULL_FATAL(printed);
  CU_ASSERT_STRING_EQUAL(printed, again ? again : text);
  zb_free(printed);
  zb_order_file_deinit(&file);
}

static const char one_rank[] = "0F0 0F1 0B0 0W0 0B1 0W1";
static const char two_ranks[] = "0F0 0F1 0B0 0W0 0B1 0W1|1F0 1B0 1W0 1F1 1B1 1W1";

static void test_read(void) {
  const zb_order_form only = ZB_FORM_COMPUTE_ONLY, text = ZB_FORM_TEXT, comms = ZB_FORM_COMPUTE_COMMS;
  expect_read("0F0,0F1,0I0,0W0,0I1,0W1\r\n", only, false, one_rank, NULL);
  expect_read("0F0,0F1,0B0,0B1\r\n", only, true, one_rank, NULL);
  expect_read("0F0,0F1,0B0,0I1,0W1", only, false, one_rank, NULL);
  expect_read("0F0 0F1 0B0 0W0 0B1 0W1\n", text, false, one_rank, NULL);
  expect_read("0F0 0F1 0I0 0W0 0B1 0W1\n", text, false, one_rank, NULL);
  expect_read("0F0 0F1 0BW0 0BW1\n", text, true, one_rank, NULL);
  expect_read("  0F0\t0F1 0BW0  0BW1 ", text, true, one_rank, "0F0 0F1 0BW0 0BW1");
  expect_read(" 0F0 ,0F1\t,  ,0B0,0B1,\n", only, true, one_rank, "0F0,0F1,,0B0,0B1,\n");
  expect_read("0F0,0F1,,0B0,0B1\n,1F0,1B0,1F1,1B1,,,\n", only, true, two_ranks, NULL);
  expect_read("0UNSHARD,0F0,0F1,0B0,0B1,0REDUCE_GRAD,0RESHARD\r\n", only, true, one_rank, NULL);
  expect_read(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\r\n1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\r\n",
      comms, true, two_ranks, NULL);
  /* Files of 2024. */
  expect_read("0F0,0F1,0BW0,0BW1\n", only, true, one_rank, NULL);
  expect_read("0F0,0F1,0BW0,0B1,0W1\n", only, false, one_rank, NULL);
  expect_read("0F0,0F1,0B0,0W0,0B1,0W1\n", only, false, one_rank, NULL);
  /* Parts of one cell. */
  expect_read("(0F0)OVERLAP_F_B,(0F1;0B0)OVERLAP_F_B,0B1\r\n", only, true, one_rank, NULL);
  /* As spreadsheets and editors write them: byte order mark, quotes, blank lines, blanks at ends of lines. */
  expect_read("\xEF\xBB\xBF"
              "0F0,0F1,0B0,0B1\r\n\r\n\"1F0\",\" 1B0\",1F1,1B1 \r\n\r\n",
              only, true, two_ranks, "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n");
  expect_read("\xEF\xBB\xBF\n\"0F0\" 0F1 0BW0 0BW1 \n \n", text, true, one_rank, "0F0 0F1 0BW0 0BW1\n");
  expect_read("( 0F0 )OVERLAP_F_B,0F1,0B0,0B1\r\n", only, true, one_rank, "(0F0)OVERLAP_F_B,0F1,0B0,0B1\r\n");
}

static void test_placement(void) {
  zb_order_file file;
  expect_ok(read_text("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", NULL, &file));
  CU_ASSERT(file.stages == 4 && file.micro_batches == 1 && file.order.ranks == 2);
  CU_ASSERT(file.stage_rank[0] == 0 && file.stage_rank[1] == 1 && file.stage_rank[2] == 1 && file.stage_rank[3] == 0);
  zb_order_file_deinit(&file);
}

/* W must rise in ours: the file's numbers are kept beside. */
static void test_numbers(void) {
  zb_order_file file;
  expect_ok(read_text("0F0,0F1,0F2,0B2,0B0,0B1\n1F0,1F1,1F2,1B2,1B0,1B1\n", NULL, &file));
  expect_jobs(&file, "0F1 0F2 0F0 0B0 0W0 0B1 0W1 0B2 0W2|1F1 1F2 1F0 1B0 1W0 1B1 1W1 1B2 1W2");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file.file_micro_batch);
  CU_ASSERT(file.file_micro_batch[0] == 2 && file.file_micro_batch[1] == 0 && file.file_micro_batch[2] == 1);
  zb_order_file_deinit(&file);
  expect_ok(read_text("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n", NULL, &file));
  CU_ASSERT_PTR_NULL(file.file_micro_batch);
  zb_order_file_deinit(&file);
  expect_status(read_text("0F0,0F1,0B0,0B1\n1F0,1F1,1B1,1B0\n", NULL, &file), ZB_INVALID,
                "f.csv:2:9: 1W1: expected 1W0 here, because stage 0 runs 0W0 then");
  CU_ASSERT(file.cells == NULL && file.order.jobs == NULL);
}

/* ---- Wrong files ---- */

typedef struct wrong {
  const char *text, *message;
} wrong;

static void expect_wrong(const wrong *rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    zb_order_file file;
    expect_status(read_text(rows[i].text, NULL, &file), ZB_INVALID, rows[i].message);
    CU_ASSERT(file.cells == NULL && file.order.jobs == NULL && file.stage_rank == NULL);
  }
}

static void test_wrong_cells(void) {
  static const wrong rows[] = {
      {"", "f.csv: expected a line of jobs for each rank, got an empty file"},
      {"\n \r\n", "f.csv: expected a line of jobs for each rank, got an empty file"},
      {"0F0,0B0\n \n\n1F0,1X0\n", "f.csv:4:5: expected an action like 0F2"},
      {",,\n", "f.csv:1:1: expected jobs, got none in the whole file"},
      {"0F0,0X0,0B0\n", "f.csv:1:5: expected an action like 0F2 (F, I, W, B, SEND_F, ...), got '0X0'"},
      {"0F0, F0,0B0\n", "f.csv:1:6: expected an action like 0F2 (F, I, W, B, SEND_F, ...), got 'F0'"},
      {"0F0,-1F0,0B0\n", "f.csv:1:5: expected an action like 0F2"},
      {"0F0,0f0\n", "f.csv:1:5: expected an action like 0F2"},
      {"0F0,0F\n", "f.csv:1:7: expected the number of a micro-batch, got ''"},
      {"0F0,0F0xyz\n", "f.csv:1:8: expected the end of the cell after '0F0', got 'xyz'"},
      {"0F0,0F0 0B0\n", "f.csv:1:8: expected the end of the cell after '0F0', got ' 0B0'"},
      {"0F0,0B00\n", "f.csv:1:7: expected the number of a micro-batch without leading zeros"},
      {"00F0,0B0\n", "f.csv:1:1: expected the number of a stage without leading zeros"},
      {"0F0,0B2147483647\n", "f.csv:1:7: the number of a micro-batch is too large"},
      {"0F0,99999999999999999999B0\n", "f.csv:1:5: the number of a stage is too large"},
      {"0F0,0UNSHARD3,0B0\n", "f.csv:1:13: 0UNSHARD is of a stage: expected no micro-batch, got '3'"},
      {"\"0F0\",\"0X0\"\n", "f.csv:1:8: expected an action like 0F2 (F, I, W, B, SEND_F, ...), got '0X0'"},
      {"\"0F0,0B0\n", "f.csv:1:1: expected an action like 0F2"},
      {"\xEF\xBB\xBF"
       "0F0,0X0\n",
       "f.csv:1:5: expected an action like 0F2 (F, I, W, B, SEND_F, ...), got '0X0'"},
      {"0F0,\xC2\xA0"
       "0B0\n",
       "f.csv:1:5: expected an action like 0F2 (F, I, W, B, SEND_F, ...), got '\\xc2\\xa00B0'"},
      {"0F0,(0B0\n", "f.csv:1:5: expected ')'"},
      {"0F0,(0B0)OVERLAP\n", "f.csv:1:10: expected OVERLAP_F_B after ')', got 'OVERLAP'"},
      {"0F0,()OVERLAP_F_B\n", "f.csv:1:6: expected an action like 0F2"},
      {"0F0,(0B0;)OVERLAP_F_B\n", "f.csv:1:10: expected an action like 0F2"},
      {"0F0,(0B0;0RESHARD)OVERLAP_F_B\n", "f.csv:1:10: expected jobs (F, I, W, B) in OVERLAP_F_B, got '0RESHARD'"},
      {"0F0,0F1,0BW0,0I1,0W1\n", "f.csv:1:14: expected no I in a file with BW"},
      {"0F0 0X0\n", "f.csv:1:5: expected a job like 0F2 (F, B, W or BW), got '0X0'"},
      {"0F0 0SEND_F0\n", "f.csv:1:5: expected a job like 0F2 (F, B, W or BW), got '0SEND_F0'"},
      {"0F0\r0B0\r0W0", "f.csv:1:4: expected the end of the cell"},
      {"0F0,0B0\n1F0,1B0,,1Q0\n", "f.csv:2:10: expected"},
  };
  expect_wrong(rows, sizeof rows / sizeof *rows);
}

static void test_caret(void) {
  zb_order_file file;
  expect_status(read_text("0F0,0B0\n1F0,1X0,1B0\n", NULL, &file), ZB_INVALID, "rank 1:\n    1F0,1X0,1B0\n        ^");
  expect_status(
      read_text("0F0,0F1,0F2,0F3,0F4,0F5,0F6,0F7,0F8,0F9,0Q0,0F10,0F11,0F12,0F13,0F14,0F15,0F16,0F17,0F18\n", NULL,
                &file),
      ZB_INVALID,
      "    ...2,0F3,0F4,0F5,0F6,0F7,0F8,0F9,0Q0,0F10,0F11,0F12,0F13,0F14,0...\n                                     ^");
}

static void test_wrong_jobs(void) {
  static const wrong rows[] = {
      {"0F0,0F0,0B0\n", "f.csv:1:5: 0F0 is there twice: expected one, and 0F0 stands in column 1"},
      {"0F0,0B0,0I0,0W0\n", "f.csv:1:9: 0I0 is there twice: expected one, and 0B0 stands in column 5"},
      {"0F0,0I0,0W0,0W0\n", "f.csv:1:13: 0W0 is there twice"},
      {"0F0,0I0,0W0,0F1,0I1\n", "f.csv:1:13: 0W1 is missing: 0F1 is here"},
      {"0F0,0B0,0B1\n", "f.csv:1:9: 0F1 is missing: 0B1 is here"},
      {"0F0,0B0,0F1,0B1\n1F0,1B0\n",
       "f.csv:1:9: 1F1 is missing: 0F1 is here, expected every stage to run micro-batch 1"},
      {"0F0,0B0,0F2,0B2\n", "f.csv:1:9: 0F1 is missing: expected micro-batches 0..2, micro-batch 1 is nowhere"},
      {"0B0,0F0\n", "f.csv:1:1: 0B0 stands before 0F0, which it needs"},
      {"0F0,0W0,0I0\n", "f.csv:1:5: 0W0 stands before 0I0, which it needs"},
      {"0F0,0W0,0B0\n", "f.csv:1:5: 0W0 stands before 0B0, which it needs"}, /* of 2024 */
      {"0F0,0B0,1F0,1B0\n1F1,0B1,0F1,1B1\n",
       "f.csv:2:1: 1F1: stage 1 stands on line 1 too (column 9), expected every stage on one rank"},
      {"0F0,0B0,2F0,2B0\n", "f.csv:1:9: stage 1 stands on no line: expected stages 0..2"},
      {"0F0,1F0,1B0,0B0\n2F0,2B0\n",
       "f.csv:2:1: rank 1 has 1 stages, rank 0 has 2: expected the same number on every rank"},
      {"0F0,0B0\n,\n", "rank 1 has 0 stages"},
      {"0F0,0B0\n2000000000F0,2000000000B0\n",
       "f.csv:2:1: 2000000000F0: expected F, B and W of 2000000001 stages and 1 micro-batches"},
      {"0F0,0B0,0F2000000000\n",
       "f.csv:1:9: 0F2000000000: expected F, B and W of 1 stages and 2000000001 micro-batches"},
      {"0F0,7UNSHARD,0B0\n", "f.csv:1:5: 7UNSHARD: expected stages 0..0"},
      {"0F0,0F1,0B0,0B1\n1F0,1F1,1B0,0RESHARD,1B1\n", "f.csv:2:13: 0RESHARD: stage 0 stands on line 1 too"},
      /* Rank 0 wants a gradient before it forwards more; rank 1 wants more forwards before it sends one. */
      {"0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", "f.csv:1:5: the order deadlocks: 0B0 waits for ever"},
      {"0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", "rank 1 at 1F1 (job 1) waits for 0F1 of rank 0"},
  };
  expect_wrong(rows, sizeof rows / sizeof *rows);
}

static void test_wrong_messages(void) {
#define FIRST "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
#define SECOND "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n"
  static const wrong rows[] = {
      {FIRST "1RECV_F0,1F0,1RECV_F1,1B0,,1SEND_B0,1F1,1B1,1SEND_B1\n",
       "f.csv:2:27: expected an action, got an empty cell"},
      {"0F0,0SEND_F0,0F1,0RECV_B0,0B0,0RECV_B1,0B1\n" SECOND,
       "f.csv:2:14: 1RECV_F1: expected 0SEND_F1 on line 1, found none"},
      {FIRST "1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
       "f.csv:1:18: 0SEND_F1: expected 1RECV_F1 on line 2, found none"},
      {"0F0,0SEND_F0,0F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
       "f.csv:1:14: 0F1: expected 0SEND_F1 after it and 1RECV_F1 on line 2, found neither"},
      {"0SEND_F0,0F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n" SECOND,
       "f.csv:1:1: 0SEND_F0 stands before 0F0, expected it after"},
      {FIRST "1F0,1RECV_F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
       "f.csv:2:5: 1RECV_F0 stands after 1F0, expected it before"},
      {FIRST "1RECV_F0,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n", "f.csv:2:10: 1RECV_F0 is there twice"},
      {FIRST "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
       "f.csv:2:14: 1SEND_F0: there is no stage 2"},
      {"0RECV_F0,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n" SECOND,
       "f.csv:1:1: 0RECV_F0: there is no stage -1"},
      {FIRST "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1RECV_F7\n",
       "f.csv:2:53: 1RECV_F7: expected micro-batches 0..1"},
      {FIRST "1RECV_F1,1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n",
       "f.csv:2:1: 1RECV_F1: rank 0 sends its messages to rank 1 in another order than these are received"},
      {"0F0,0SEND_F0,1F0,1B0,0B0\n", "f.csv:1:5: 0SEND_F0: stages 0 and 1 are on the same rank, expected no message"},
      /* Rank 0 sends a second activation before it takes a gradient, rank 1 sends that before it takes the activation.
       */
      {FIRST "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
       "f.csv:1:18: sends and receives deadlock without buffers: 0SEND_F1 waits for ever"},
  };
  expect_wrong(rows, sizeof rows / sizeof *rows);
  expect_read(FIRST SECOND, ZB_FORM_COMPUTE_COMMS, true, two_ranks, NULL);
}

/* The text with another stage and micro-batch in the cell at `begin`, which ends at `end`. */
static void expect_place(const char *text, const char *begin, const char *end, int stage, int micro_batch,
                         bool column) {
  char *changed = zb_alloc(strlen(text) + 32), place[48];
  const char *line = text, *action = begin + strspn(begin, "0123456789"), *behind = end;
  int number = 1;
  zb_order_file file;
  CU_ASSERT_FATAL(changed != NULL);
  for (const char *at = text; at < begin; ++at)
    if (*at == '\n') ++number, line = at + 1;
  while (behind[-1] >= '0' && behind[-1] <= '9')
    --behind;
  char numbers[16] = "";
  if (behind < end) snprintf(numbers, sizeof numbers, "%d", micro_batch);
  snprintf(changed, strlen(text) + 32, "%.*s%d%.*s%s%s", (int)(begin - text), text, stage, (int)(behind - action),
           action, numbers, end);
  snprintf(place, sizeof place, column ? "f.csv:%d:%d: " : "f.csv:%d:", number, (int)(begin - line) + 1);
  zb_status status = read_text(changed, NULL, &file);
  if (!status || strncmp(zb_status_message(status), place, strlen(place)) != 0)
    fprintf(stderr, "\nexpected %s\n     got %s\n     for '%.*s' of stage %d and micro-batch %d\n", place,
            zb_status_message(status), (int)(end - begin), begin, stage, micro_batch);
  CU_ASSERT_FATAL(status && strncmp(zb_status_message(status), place, strlen(place)) == 0);
  zb_status_free(status);
  zb_free(changed);
}

/* One wrong number is said where it stands, not where it leaves something open. */
static void test_wrong_numbers(void) {
  fixture x;
  zb_order order;
  for (int form = 0; form < ZB_FORM_COUNT; ++form)
    for (int chunks = 1; chunks < 3; ++chunks) {
      const char *name = chunks == 1 ? "zb-h1" : "interleaved-zb";
      char *text = NULL;
      fixture_uniform(&x, chunks == 1 ? "plain" : "looped", 4, chunks, 8, 6, 6, 6, 0, 0.5);
      expect_ok(zb_schedule_run(zb_schedule_find(name, NULL), &x.problem, &order));
      expect_ok(zb_order_write(&x.problem, &order, &(zb_order_style){.form = (zb_order_form)form}, &text));
      for (const char *at = text, *end; *(at += strspn(at, ", \r\n")); at = end) {
        const int stage = atoi(at);
        const char *action = at + strspn(at, "0123456789");
        const int number = atoi(action + strspn(action, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"));
        const bool job = strchr("FIBW", *action) && (action[1] >= '0' && action[1] <= '9');
        end = at + strcspn(at, ", \r\n");
        if (strncmp(action, "WAIT_SEND", strlen("WAIT_SEND")) == 0) continue; /* as UNSHARD, below */
        for (int other = 0; other < 4 * chunks + 3; ++other)
          if (other != stage && (end[-1] <= '9' || x.stage_rank[stage] != other % 4))
            expect_place(text, at, end, other, number, job && x.stage_rank[stage] != other % 4);
        if (end[-1] > '9') continue; /* UNSHARD says nothing, and may be of any stage of its rank */
        for (int other = 0; other < 11; ++other)
          if (other != number) expect_place(text, at, end, stage, other, other >= 8);
      }
      zb_free(text);
      zb_order_deinit(&order);
    }
}

static void test_expected(void) {
  static const char text[] = "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n";
  static const int same[] = {0, 1}, other[] = {1, 0};
  zb_order_file file;
  expect_ok(
      read_text(text, &(zb_order_expected){.ranks = 2, .stages = 2, .micro_batches = 2, .stage_rank = same}, &file));
  zb_order_file_deinit(&file);
  expect_status(read_text(text, &(zb_order_expected){.ranks = 3}, &file), ZB_INVALID,
                "f.csv:2:1: expected 3 lines, one a rank, got 2");
  expect_status(read_text(text, &(zb_order_expected){.ranks = 1}, &file), ZB_INVALID,
                "f.csv:2:1: expected 1 lines, one a rank, got 2");
  expect_status(read_text(text, &(zb_order_expected){.stages = 1}, &file), ZB_INVALID,
                "f.csv:2:1: expected stages 0..0, got 1F0");
  expect_status(read_text(text, &(zb_order_expected){.stages = 4}, &file), ZB_INVALID,
                "stage 2 stands on no line: expected stages 0..3");
  expect_status(read_text(text, &(zb_order_expected){.micro_batches = 1}, &file), ZB_INVALID,
                "f.csv:1:5: expected micro-batches 0..0, got 0F1");
  expect_status(read_text(text, &(zb_order_expected){.micro_batches = 3}, &file), ZB_INVALID,
                "f.csv:1:1: 0F2 is missing: expected micro-batches 0..2, micro-batch 2 is nowhere");
  expect_status(read_text(text, &(zb_order_expected){.stages = 2, .stage_rank = other}, &file), ZB_INVALID,
                "f.csv:1:1: 0F0: expected stage 0 on rank 1 (line 2)");
  expect_status(read_text(text, &(zb_order_expected){.stage_rank = other}, &file), ZB_USAGE,
                "a placement needs the number of its stages");
  expect_status(read_text(text, &(zb_order_expected){.ranks = -1}, &file), ZB_USAGE, "got -1, 0 and 0");
  expect_status(read_text(text, &(zb_order_expected){.micro_batches = 2000000000}, &file), ZB_INVALID,
                "got only 12 jobs in the whole file");
  expect_status(zb_order_read_file("no/such/file.csv", NULL, &file), ZB_IO, "no/such/file.csv");
}

/* ---- Writing ---- */

static void expect_written(const zb_problem *problem, const zb_order *order, zb_order_style style,
                           const char *expected) {
  char *text = NULL;
  expect_ok(zb_order_write(problem, order, &style, &text));
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  if (strcmp(text, expected) != 0) fprintf(stderr, "\nexpected %s\n     got %s\n", expected, text);
  CU_ASSERT_STRING_EQUAL(text, expected);
  zb_free(text);
}

static void test_write(void) {
  fixture x;
  zb_order order;
  fixture_uniform(&x, "plain", 2, 1, 2, 6, 6, 6, 0, 0.5);
  expect_ok(zb_schedule_run(zb_schedule_find("zb-h1", NULL), &x.problem, &order));
  expect_written(&x.problem, &order, (zb_order_style){.form = ZB_FORM_TEXT},
                 "0F0 0F1 0B0 0W0 0B1 0W1\n1F0 1B0 1F1 1B1 1W0 1W1\n");
  expect_written(&x.problem, &order, (zb_order_style){.form = ZB_FORM_TEXT, .whole_backward = true},
                 "0F0 0F1 0BW0 0BW1\n1F0 1B0 1F1 1B1 1W0 1W1\n");
  expect_written(&x.problem, &order, (zb_order_style){.form = ZB_FORM_COMPUTE_ONLY},
                 "0F0,0F1,0I0,0W0,0I1,0W1\r\n1F0,1I0,1F1,1I1,1W0,1W1\r\n");
  expect_written(&x.problem, &order, (zb_order_style){.form = ZB_FORM_COMPUTE_ONLY, .idle_cells = true},
                 "0F0,0F1,,0I0,0W0,0I1,0W1\r\n,1F0,1I0,1F1,1I1,1W0,1W1\r\n");
  expect_written(&x.problem, &order,
                 (zb_order_style){.form = ZB_FORM_COMPUTE_ONLY, .whole_backward = true, .idle_cells = true},
                 "0F0,0F1,,0B0,,0B1\r\n,1F0,1I0,1F1,1I1,1W0,1W1\r\n");
  expect_written(&x.problem, &order, (zb_order_style){.form = ZB_FORM_COMPUTE_COMMS, .whole_backward = true},
                 "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,0RESHARD,"
                 "0WAIT_SEND_F0,0WAIT_SEND_F1\r\n"
                 "1UNSHARD,1RECV_F0,1RECV_F1,1F0,1I0,1SEND_B0,1F1,1I1,1SEND_B1,1W0,1W1,1REDUCE_GRAD,1WAIT_REDUCE_GRAD,"
                 "1RESHARD,1WAIT_SEND_B0,1WAIT_SEND_B1\r\n");
  expect_written(&x.problem, &order,
                 (zb_order_style){.form = ZB_FORM_COMPUTE_COMMS, .whole_backward = true, .no_waits = true},
                 "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\r\n"
                 "1UNSHARD,1RECV_F0,1RECV_F1,1F0,1I0,1SEND_B0,1F1,1I1,1SEND_B1,1W0,1W1,1REDUCE_GRAD,1RESHARD\r\n");
  char *text;
  expect_status(zb_order_write(&x.problem, &order, &(zb_order_style){.form = ZB_FORM_COUNT}, &text), ZB_USAGE,
                "expected a form of 0..2, got 3");
  order.jobs[0][0].micro_batch = 1;
  expect_status(zb_order_write(&x.problem, &order, &(zb_order_style){0}, &text), ZB_INVALID, "0F1 is there twice");
  CU_ASSERT_PTR_NULL(text);
  zb_order_deinit(&order);
}

/* PyTorch's stages are one chain. */
static void test_write_edges(void) {
  fixture x;
  zb_order order;
  char *text;
  fixture_uniform(&x, "plain", 3, 1, 2, 6, 6, 6, 1, 0.5);
  x.edges[0] = (zb_edge){0, 1, 8, 8}, x.edges[1] = (zb_edge){1, 2, 8, 8}, x.edges[2] = (zb_edge){0, 2, 8, 0};
  x.problem.edges = x.edges, x.problem.edge_count = 3;
  expect_ok(zb_schedule_run(zb_schedule_find("1f1b", NULL), &x.problem, &order));
  expect_status(zb_order_write(&x.problem, &order, &(zb_order_style){.form = ZB_FORM_COMPUTE_COMMS}, &text), ZB_USAGE,
                "stage 0 sends to stage 2: expected messages to the next stage alone");
  expect_ok(zb_order_write(&x.problem, &order, &(zb_order_style){.form = ZB_FORM_COMPUTE_ONLY}, &text));
  zb_free(text);
  x.problem.edge_count = 2;
  expect_ok(zb_order_write(&x.problem, &order, &(zb_order_style){.form = ZB_FORM_COMPUTE_COMMS}, &text));
  zb_free(text);
  zb_order_deinit(&order);
  /* Without the edge 1 -> 2, stage 2 may go first; in a chain it may not. */
  fixture_uniform(&x, "looped", 1, 3, 1, 6, 6, 6, 1, 0.5);
  x.edges[0] = (zb_edge){0, 1, 8, 8};
  x.problem.edges = x.edges, x.problem.edge_count = 1;
  expect_ok(zb_order_init(&order, 1));
  static const int stages[] = {2, 0, 1};
  for (int i = 0; i < 3; ++i)
    expect_ok(zb_order_add(&order, 0, stages[i], ZB_F, 0));
  for (int i = 2; i >= 0; --i) {
    expect_ok(zb_order_add(&order, 0, stages[i], ZB_B, 0));
    expect_ok(zb_order_add(&order, 0, stages[i], ZB_W, 0));
  }
  expect_ok(zb_order_write(&x.problem, &order, &(zb_order_style){.form = ZB_FORM_TEXT}, &text));
  zb_free(text);
  expect_status(zb_order_write(&x.problem, &order, &(zb_order_style){.form = ZB_FORM_COMPUTE_ONLY}, &text), ZB_INVALID,
                "PyTorch's stages are one chain");
  zb_order_deinit(&order);
}

static bool same_order(const zb_order *a, const zb_order *b) {
  if (a->ranks != b->ranks || a->whole_backward != b->whole_backward) return false;
  for (int rank = 0; rank < a->ranks; ++rank) {
    if (a->counts[rank] != b->counts[rank]) return false;
    for (int i = 0; i < a->counts[rank]; ++i) {
      const zb_job x = a->jobs[rank][i], y = b->jobs[rank][i];
      if (x.stage != y.stage || x.kind != y.kind || x.micro_batch != y.micro_batch) return false;
    }
  }
  return true;
}

/* Written in every form and read again it is the same order, on the same ranks. */
static int check_round_trips(const zb_schedule_def *schedule, int ranks, int micro_batches) {
  const char *placement = NULL;
  int chunks = 0;
  fixture x;
  zb_order order;
  zb_status status = zb_schedule_place(schedule, ranks, &placement, &chunks);
  if (!status) {
    fixture_uniform(&x, placement, ranks, chunks, micro_batches, 20 * chunks, 18 * chunks, 9 * chunks, 3, 0.5);
    status = zb_schedule_run(schedule, &x.problem, &order);
  }
  if (zb_status_code(status) == ZB_USAGE) {
    zb_status_free(status);
    return 0;
  }
  expect_ok(status);
  const zb_order_expected expected = {ranks, ranks * chunks, micro_batches, x.stage_rank};
  for (int form = 0; form < ZB_FORM_COUNT; ++form)
    for (int idle = 0; idle < 2; ++idle) {
      char *text = NULL;
      zb_order_file file = {0};
      expect_ok(zb_order_write(&x.problem, &order, &(zb_order_style){.form = (zb_order_form)form, .idle_cells = idle},
                               &text));
      expect_ok(read_text(text, &expected, &file));
      CU_ASSERT(same_order(&order, &file.order));
      CU_ASSERT(file.form == (zb_order_form)form || (ranks == 1 && file.form == ZB_FORM_COMPUTE_ONLY));
      CU_ASSERT_PTR_NULL(file.file_micro_batch);
      char *again = zb_order_file_text(&file);
      CU_ASSERT(again && !strcmp(again, text));
      zb_free(again);
      zb_free(text);
      zb_order_file_deinit(&file);
    }
  zb_order_deinit(&order);
  return 1;
}

static void test_round_trips(void) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    int checked = 0;
    for (int ranks = 1; ranks <= 6 && !zb_schedule_at(i)->two_pipelines; ++ranks)
      for (int micro_batches = 1; micro_batches <= 13; micro_batches += 3)
        checked += check_round_trips(zb_schedule_at(i), ranks, micro_batches);
    CU_ASSERT(checked > 0 || zb_schedule_at(i)->two_pipelines);
  }
}

static void test_files(void) {
  fixture x;
  zb_order order;
  zb_order_file file;
  const char *path = ZB_BINARY_DIR "/order_file_test.csv";
  fixture_uniform(&x, "plain", 2, 1, 4, 6, 6, 6, 1, 0.5);
  expect_ok(zb_schedule_run(zb_schedule_find("1f1b", NULL), &x.problem, &order));
  expect_ok(zb_order_write_file(&x.problem, &order, &(zb_order_style){.form = ZB_FORM_COMPUTE_COMMS}, path));
  expect_ok(zb_order_read_file(path, NULL, &file));
  CU_ASSERT(same_order(&order, &file.order));
  zb_order_file_deinit(&file);
  remove(path);
  expect_status(zb_order_write_file(&x.problem, &order, &(zb_order_style){0}, "no/such/folder/f.csv"), ZB_IO,
                "no/such/folder/f.csv");
  zb_order_deinit(&order);
}

static void test_out_of_memory(void) {
  fixture x;
  zb_order order;
  int failed = 0;
  fixture_uniform(&x, "plain", 3, 1, 4, 6, 6, 6, 1, 0.5);
  expect_ok(zb_schedule_run(zb_schedule_find("zb-h1", NULL), &x.problem, &order));
  for (int form = 0; form < ZB_FORM_COUNT; ++form)
    for (uint64_t n = 1;; ++n) {
      char *text = NULL;
      zb_order_file file = {0};
      zb_allocation_fail_at(n);
      zb_status status =
          zb_order_write(&x.problem, &order, &(zb_order_style){(zb_order_form)form, .idle_cells = true}, &text);
      if (!status) status = read_text(text, NULL, &file);
      zb_allocation_fail_at(0);
      if (status) CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
      if (status) CU_ASSERT_PTR_NULL(file.cells);
      const bool done = !status;
      zb_status_free(status);
      zb_free(text);
      zb_order_file_deinit(&file);
      if (done) break;
      ++failed;
    }
  CU_ASSERT(failed > 60);
  zb_order_deinit(&order);
}

/* A table of pairs of ranks must fit before it is made. */
static void test_many_ranks(void) {
  enum { RANKS = 4097, LINE = 48 };
  char *text = zb_alloc(RANKS * LINE);
  size_t length = 0;
  zb_order_file file;
  CU_ASSERT_FATAL(text != NULL);
  for (int rank = 0; rank < RANKS; ++rank)
    length += (size_t)snprintf(text + length, LINE, "%dF0,%dB0\n", rank, rank);
  expect_status(read_text(text, NULL, &file), ZB_INVALID,
                "f.csv:4097:1: expected a line a rank and at most 4096 ranks, got 4097 lines");
  zb_free(text);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"forms, generations, parts", test_read},
                                      {"placement", test_placement},
                                      {"numbers of micro-batches", test_numbers},
                                      {"wrong cells", test_wrong_cells},
                                      {"the place is marked", test_caret},
                                      {"wrong jobs", test_wrong_jobs},
                                      {"wrong messages", test_wrong_messages},
                                      {"a wrong number is said where it stands", test_wrong_numbers},
                                      {"what the caller expects", test_expected},
                                      {"writing", test_write},
                                      {"writing for a chain", test_write_edges},
                                      {"round trips of all schedules", test_round_trips},
                                      {"files", test_files},
                                      {"more ranks than there may be", test_many_ranks},
                                      {"out of memory", test_out_of_memory},
                                      CU_TEST_INFO_NULL};
  return run_suite("order_file", tests);
}
