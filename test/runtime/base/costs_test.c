/* Files of measured costs: what is written is read back, and every damage is an error with a place and a hint. */
#include "zb/costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "test/suite.h"

static const char good[] =
    "{\"format\": \"zb-costs\", \"version\": 1,\n"
    "\"machine\": {\"device\": \"cpu\", \"instruction_set\": \"avx512\", \"cores\": 2, \"threads\": 1, "
    "\"virtual_clock\": false},\n"
    "\"program\": {\"model\": \"a \\\"b\\\".onnx\", \"schedule\": \"1f1b\", \"ranks\": 1, \"micro_batches\": 4, "
    "\"steps\": 9},\n"
    "\"stages\": [\n  {\"stage\": 0, \"rank\": 0, \"fb_bytes\": 64, \"fw_bytes\": 128, \"bw_bytes\": 0}],\n"
    "\"ranks\": [\n  {\"rank\": 0, \"base_bytes\": 4096}],\n"
    "\"edges\": [],\n"
    "\"subprograms\": [\n"
    "  {\"name\": \"s0_F\", \"rank\": 0, \"stage\": 0, \"kind\": \"F\", \"key\": \"00000000000000ff\", \"first_ps\": "
    "1100, \"time_ps\": 1000, \"runs\": 8},\n"
    "  {\"name\": \"s0_B\", \"rank\": 0, \"stage\": 0, \"kind\": \"B\", \"key\": \"fedcba9876543210\", \"first_ps\": "
    "2100, \"time_ps\": 2000, \"runs\": 8},\n"
    "  {\"name\": \"s0_W\", \"rank\": 0, \"stage\": 0, \"kind\": \"W\", \"key\": \"0000000000000001\", \"first_ps\": "
    "1600, \"time_ps\": 1500, \"runs\": 8},\n"
    "  {\"name\": \"s0_UPDATE\", \"rank\": 0, \"stage\": 0, \"kind\": \"UPDATE\", \"key\": \"0000000000000002\", "
    "\"first_ps\": 800, \"time_ps\": 700, \"runs\": 2}],\n"
    "\"ops\": [\n  {\"op\": \"matmul 2x3xf32 3x4xf32\", \"time_ps\": 600, \"runs\": 8},\n"
    "  {\"op\": \"relu 2x4xf32\", \"time_ps\": 40, \"runs\": 8}],\n"
    "\"messages\": [],\n"
    "\"link\": {\"latency_ps\": 100, \"ps_per_byte\": 0.125, \"copies\": true, \"wake_ps\": 20},\n"
    "\"overheads\": {\"job_ps\": 10, \"read_ps\": 50, \"step_ps\": 400},\n"
    "\"rates\": {\"op_ps\": 500, \"ps_per_byte\": 100},\n"
    "\"products\": [\n  {\"flops\": 1000, \"time_ps\": 100},\n  {\"flops\": 3000, \"time_ps\": 200}]}\n";

static zb_costs *parse_good(void) {
  zb_costs *costs = NULL;
  zb_status status = zb_costs_parse(good, strlen(good), "good", &costs);
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
  return costs;
}

static void test_round_trip(void) {
  zb_costs *costs = parse_good();
  CU_ASSERT_STRING_EQUAL(costs->program.model, "a \"b\".onnx");
  CU_ASSERT_EQUAL(costs->subprograms[1].key, UINT64_C(0xfedcba9876543210));
  CU_ASSERT_EQUAL(costs->stages[0].fw_bytes, 128);
  CU_ASSERT_TRUE(costs->link.copies);
  CU_ASSERT_EQUAL(costs->link.ps_per_byte, 0.125);
  char path[512];
  snprintf(path, sizeof path, "%s/costs-test-%d.json", ZB_BINARY_DIR, (int)getpid());
  CU_ASSERT_PTR_NULL(zb_costs_write(costs, path));
  char *text = NULL;
  size_t bytes = 0;
  CU_ASSERT_PTR_NULL_FATAL(zb_file_read(path, 0, &text, &bytes));
  CU_ASSERT_STRING_EQUAL(text, good); /* the same bytes */
  CU_ASSERT_TRUE(zb_costs_is(path));
  CU_ASSERT_FALSE(zb_costs_is(ZB_BINARY_DIR));
  zb_costs *again = NULL;
  CU_ASSERT_PTR_NULL(zb_costs_read(path, &again));
  CU_ASSERT_EQUAL(again->op_count, 2);
  unlink(path);
  zb_free(text);
  zb_costs_destroy(again);
  zb_costs_destroy(costs);
  zb_costs_destroy(NULL);
}

static void test_questions(void) {
  zb_costs *costs = parse_good();
  CU_ASSERT_EQUAL(zb_costs_op(costs, "relu 2x4xf32"), 40);
  CU_ASSERT_EQUAL(zb_costs_op(costs, "relu 2x5xf32"), -1);
  CU_ASSERT_PTR_EQUAL(zb_costs_subprogram(costs, "F", 0, 255), &costs->subprograms[0]);
  CU_ASSERT_PTR_EQUAL(zb_costs_subprogram(costs, "F", 7, 255),
                      &costs->subprograms[0]); /* the same ops on another stage */
  CU_ASSERT_PTR_NULL(zb_costs_subprogram(costs, "B", 0, 255));
  CU_ASSERT_EQUAL(zb_costs_product(costs, 500), 50); /* outside: the rate of the nearest */
  CU_ASSERT_EQUAL(zb_costs_product(costs, 1000), 100);
  CU_ASSERT_EQUAL(zb_costs_product(costs, 2000), 150);
  CU_ASSERT_EQUAL(zb_costs_product(costs, 6000), 400);
  costs->product_count = 0;
  CU_ASSERT_EQUAL(zb_costs_product(costs, 6000), -1);
  costs->product_count = 2;
  zb_costs_destroy(costs);
}

static void expect(const char *text, size_t bytes, const char *message) {
  zb_costs *costs = NULL;
  zb_status status = zb_costs_parse(text, bytes, "f.json", &costs);
  CU_ASSERT_PTR_NULL(costs);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  if (!status || !strstr(zb_status_text(status), message))
    printf("\n  expected '%s' in: %s", message, zb_status_text(status));
  CU_ASSERT_PTR_NOT_NULL(status ? strstr(zb_status_text(status), message) : NULL);
  CU_ASSERT_PTR_NOT_NULL(status ? zb_status_hint_text(status) : NULL); /* every one says what to do */
  zb_status_free(status);
}

/* The good file with one text replaced by another. */
static void expect_changed(const char *from, const char *to, const char *message) {
  zb_text text = {0};
  const char *at = strstr(good, from);
  CU_ASSERT_PTR_NOT_NULL_FATAL(at);
  zb_text_add_bytes(&text, good, (size_t)(at - good));
  zb_text_add(&text, "%s%s", to, at + strlen(from));
  expect(text.data, text.length, message);
  zb_text_deinit(&text);
}

static void test_errors(void) {
  expect("", 0, "f.json:1:1: ");
  expect("[1]", 3, "expected a file of costs");
  expect("{\"a\": 1}", 8, "expected a file of costs");
  expect(good, strlen(good) / 2, "f.json:");
  expect_changed("\"version\": 1", "\"version\": 2", "f.json:1:35: version: expected 1, got 2");
  expect_changed(", \"version\": 1", "", "version: expected 1, got none");
  expect_changed("zb-costs", "zb-plan", "expected a file of costs");
  expect_changed("\"time_ps\": 1000", "\"time_ps\": -1",
                 "subprograms[0].time_ps: expected a whole number of 0 to 10000000000000000, got -1");
  expect_changed("\"time_ps\": 1000", "\"time_ps\": 1.5", "subprograms[0].time_ps: expected a whole number of");
  expect_changed("\"time_ps\": 1000", "\"time_ps\": 1e999", "real number overflow");
  expect_changed("\"time_ps\": 1000", "\"time_ps\": Infinity",
                 "f.json:10:112: not JSON: invalid token near 'Infinity'");
  expect_changed("\"time_ps\": 1000", "\"time_ps\": 99999999999999999", "got 99999999999999999");
  expect_changed("\"time_ps\": 1000, ", "", "subprograms[0].time_ps: expected this key, it is missing");
  expect_changed("\"time_ps\": 1000", "\"time_pz\": 1000",
                 "subprograms[0]: unknown key 'time_pz', did you mean 'time_ps'?");
  expect_changed("\"time_ps\": 1000", "\"time_ps\": 1000, \"run\": 1", "did you mean 'runs'?");
  expect_changed("\"time_ps\": 1000", "\"time_ps\": 1000, \"time_ps\": 1000", "duplicate");
  expect_changed("0.125", "-0.125", "link.ps_per_byte: expected a number of 0 to 1e+16, got -0.125");
  expect_changed("\"link\"", "\"lonk\"", "did you mean 'link'?");
  expect_changed("\"copies\": true", "\"copies\": 1", "link.copies: expected true or false, got 1");
  expect_changed("\"kind\": \"F\"", "\"kind\": \"G\"",
                 "subprograms[0].kind: expected F, B, W, SUM, NORM, UPDATE, LOAD, ADD or FOLD, got G");
  expect_changed("\"kind\": \"F\"", "\"kind\": \"B\"", "F, B or W of stage 0 is there twice");
  expect_changed("\"kind\": \"F\"", "\"kind\": \"UPDATE\"", "F, B or W of stage 0 is missing");
  expect_changed("00000000000000ff", "ff", "16 hexadecimal digits");
  expect_changed("\"ranks\": 1,", "\"ranks\": 2,", "expected 2 entries in ranks, got 1");
  expect_changed("\"ranks\": 1,", "\"ranks\": 0,", "program.ranks: expected a whole number of 1");
  expect_changed("{\"stage\": 0, \"rank\": 0,", "{\"stage\": 1, \"rank\": 0,", "expected stage 0 in stages, got 1");
  expect_changed("{\"stage\": 0, \"rank\": 0,", "{\"stage\": 0, \"rank\": 3,", "stage 0 is on rank 3, which is none");
  expect_changed("\"edges\": []",
                 "\"edges\": [{\"source\": 0, \"destination\": 0, \"forward_bytes\": 1, \"backward_bytes\": 1}]",
                 "an edge leads from stage 0");
  expect_changed("\"edges\": []", "\"edges\": {}", "edges: expected a list, got an empty object");
  expect_changed("\"messages\": []",
                 "\"messages\": [{\"source\": 0, \"destination\": 9, \"bytes\": 1, \"time_ps\": 1, \"runs\": 1}]",
                 "a message goes from rank 0 to rank 9");
  expect_changed("relu 2x4xf32", "matmul 2x3xf32 3x4xf32", "ops[1] is the same op as ops[0]");
  expect_changed("\"flops\": 3000", "\"flops\": 1000", "rising flops");
  expect_changed("\"program\"", "\"programme\"", "did you mean 'program'?");
}

static void test_no_memory(void) {
  for (uint64_t n = 1; n < 2000; ++n) {
    zb_costs *costs = NULL;
    zb_allocation_fail_at(n);
    zb_status status = zb_costs_parse(good, strlen(good), "good", &costs);
    zb_allocation_fail_at(0);
    CU_ASSERT_TRUE(status ? zb_status_code(status) == ZB_MEMORY : costs != NULL);
    bool done = !status;
    zb_status_free(status);
    zb_costs_destroy(costs);
    if (done) return;
  }
  CU_FAIL("reading needs more than 2000 allocations");
}

/* Bytes changed, cut out and doubled at random: an error or costs, never a crash. */
static void test_mutations(void) {
  uint64_t seed = 1;
  int failed = 0;
  char text[2 * sizeof good];
  for (int round = 0; round < 1000; ++round) {
    size_t bytes = strlen(good);
    memcpy(text, good, bytes);
    for (int k = 0; k < 1 + round % 4; ++k) {
      static const char alphabet[] = "0123456789-+.eE\"{}[]:, \\abfnrtu\x80\xff\n";
      seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
      size_t at = (size_t)(seed >> 33) % bytes, length = 1 + (size_t)(seed >> 20) % 9;
      if (length > bytes - at) length = bytes - at;
      if (seed >> 60 < 10)
        text[at] = alphabet[(seed >> 50) % (sizeof alphabet - 1)];
      else if (seed >> 60 < 13)
        memmove(text + at, text + at + length, bytes - at - length), bytes -= length;
      else if (bytes + length < sizeof text)
        memmove(text + at + length, text + at, bytes - at), bytes += length;
    }
    zb_costs *costs = NULL;
    zb_status status = zb_costs_parse(text, bytes, "mutated", &costs);
    CU_ASSERT_TRUE((status == NULL) == (costs != NULL));
    failed += status != NULL;
    zb_status_free(status);
    zb_costs_destroy(costs);
  }
  CU_ASSERT_TRUE(failed > 500 && failed < 1000); /* digits and texts may change */
}

SUITE_MAIN("costs", {"round trip", test_round_trip}, {"questions", test_questions}, {"errors", test_errors},
           {"no memory", test_no_memory}, {"mutations", test_mutations})
