/* NAME:option=number,... as zb_schedule_parse reads it, and the options that the rows of schedules.def have. */
#include "fixture.h"

static void expect_wrong(const char *text, const char *part) {
  zb_schedule_choice choice;
  expect_status(zb_schedule_parse(text, &choice), ZB_USAGE, part);
  CU_ASSERT_PTR_NULL(choice.schedule);
}

static void test_values(void) {
  zb_schedule_choice choice;
  expect_ok(zb_schedule_parse("1f1b", &choice));
  CU_ASSERT_STRING_EQUAL(choice.schedule->name, "1f1b");
  expect_ok(zb_schedule_parse("interleaved-1f1b", &choice));
  CU_ASSERT_STRING_EQUAL(choice.schedule->name, "interleaved-1f1b");
  CU_ASSERT(choice.options[0] == 0 && choice.options[1] == 0);
  expect_ok(zb_schedule_parse("interleaved-1f1b:ahead=1", &choice));
  CU_ASSERT(choice.options[0] == 0 && choice.options[1] == 1);
  expect_ok(zb_schedule_parse("interleaved-1f1b:ahead=2,group=12", &choice));
  CU_ASSERT(choice.options[0] == 12 && choice.options[1] == 2);
  expect_ok(zb_schedule_parse("interleaved-1f1b:group=2147483647", &choice));
  CU_ASSERT_EQUAL(choice.options[0], 2147483647);
}

static void test_wrong(void) {
  expect_wrong("interleaved-1f1c", "unknown schedule 'interleaved-1f1c', did you mean 'interleaved-1f1b'?");
  expect_wrong("interleaved-1f1c:group=4", "unknown schedule 'interleaved-1f1c', did you mean 'interleaved-1f1b'?");
  expect_wrong("", "unknown schedule ''");
  expect_wrong(":group=4", "unknown schedule ''");
  expect_wrong("1f1b:group=4", "1f1b has no option 'group'");
  expect_wrong("1f1b:group=4", "it takes none");
  expect_wrong("1f1b:", "1f1b has no option ''");
  expect_wrong("interleaved-1f1b:", "interleaved-1f1b has no option ''");
  expect_wrong("interleaved-1f1b:groups=4", "has no option 'groups'");
  expect_wrong("interleaved-1f1b:groups=4", "group: micro-batches that a chunk takes at a turn");
  expect_wrong("interleaved-1f1b:grou=4", "has no option 'grou'");
  expect_wrong("interleaved-1f1b:Group=4", "has no option 'Group'");
  expect_wrong("interleaved-1f1b: group=4", "has no option ' group'");
  expect_wrong("interleaved-1f1b:group", "group: expected a whole number of 0 to 2147483647, got ''");
  expect_wrong("interleaved-1f1b:group=", "group: expected a whole number of 0 to 2147483647, got ''");
  expect_wrong("interleaved-1f1b:group=-1", "got '-1'");
  expect_wrong("interleaved-1f1b:group=+1", "got '+1'");
  expect_wrong("interleaved-1f1b:group= 1", "got ' 1'");
  expect_wrong("interleaved-1f1b:group=4x,ahead=1", "got '4x'");
  expect_wrong("interleaved-1f1b:group=4.5", "got '4.5'");
  expect_wrong("interleaved-1f1b:group=0x4", "got '0x4'");
  expect_wrong("interleaved-1f1b:group=2147483648", "got '2147483648'");
  expect_wrong("interleaved-1f1b:group=99999999999999999999", "got '99999999999999999999'");
  expect_wrong("interleaved-1f1b:group=4,", "expected name=number after the last comma");
  expect_wrong("interleaved-1f1b:group=4,,ahead=1", "has no option ''");
  expect_wrong("interleaved-1f1b:,group=4", "has no option ''");
  expect_wrong("interleaved-1f1b:group=4:ahead=1", "got '4:ahead=1'");
  expect_wrong("interleaved-1f1b:group=4,ahead=1,group=5", "group is given twice");
}

/* The least and the default value of an option give an order or say where the rule is defined. */
static void check_option(const zb_schedule_def *schedule, const zb_schedule_option *option, int64_t value) {
  char text[128];
  zb_schedule_choice choice;
  snprintf(text, sizeof text, "%s:%s=%lld", schedule->name, option->name, (long long)value);
  expect_ok(zb_schedule_parse(text, &choice));
  CU_ASSERT_PTR_EQUAL(choice.schedule, schedule);
  CU_ASSERT_EQUAL(choice.options[option - schedule->options], value);
  fixture x;
  zb_order order;
  fixture_for(&x, schedule, 2, schedule->chunks_min, 6, 6, 6, 6, 1, 0.5);
  zb_status status = zb_schedule_run_choice(&choice, &x.problem, &order);
  if (status) expect_status(status, zb_status_code(status) == ZB_INFEASIBLE ? ZB_INFEASIBLE : ZB_USAGE, schedule->name);
  zb_order_deinit(&order);
}

/* Every option of every row: described, its default within its range, just outside refused. */
static void test_rows(void) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    int count = 0;
    for (const zb_schedule_option *option = schedule->options; option && option->name; ++option, ++count) {
      char text[128];
      CU_ASSERT(strlen(option->help) > 10);
      CU_ASSERT(option->least >= 0); /* a sign is not read */
      CU_ASSERT(option->least <= option->value && option->value <= option->most);
      check_option(schedule, option, option->value);
      check_option(schedule, option, option->least);
      snprintf(text, sizeof text, "%s:%s=%lld", schedule->name, option->name, (long long)option->most + 1);
      if (option->most < INT64_MAX) expect_wrong(text, "expected a whole number");
      for (int other = 0; other < count; ++other)
        CU_ASSERT(strcmp(schedule->options[other].name, option->name) != 0);
    }
    CU_ASSERT(count <= ZB_SCHEDULE_OPTIONS_MAX);
  }
}

int main(void) {
  static const CU_TestInfo tests[] = {{"values", test_values},
                                      {"wrong options", test_wrong},
                                      {"the options of every schedule", test_rows},
                                      CU_TEST_INFO_NULL};
  return run_suite("options", tests);
}
