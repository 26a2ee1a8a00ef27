/* What holds of the tables that passes hand on (passes/hold.c): a good row of each is taken, and one that breaks an
 * assertion ends the process. */
#include "passes/tables.h"
#include "test/suite.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether these rows end the process. */
static bool ends(void (*check)(const void *rows, int count), const void *rows, int count) {
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    const bool quiet = freopen("/dev/null", "w", stderr) != NULL;
    check(rows, count);
    _exit(quiet ? 0 : 1);
  }
  int status = 1;
  CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

#define TABLE(table, ID)                                                                                               \
  static void check_##table(const void *rows, int count) { zb_##table##_hold(rows, count); }
ZB_TABLES(TABLE)
#undef TABLE

#define HOLDS(table, ...)                                                                                              \
  CU_ASSERT_FALSE(ends(check_##table, (const zb_##table##_row[]){__VA_ARGS__},                                         \
                       sizeof((const zb_##table##_row[]){__VA_ARGS__}) / sizeof(zb_##table##_row)))
#define BREAKS(table, ...)                                                                                             \
  CU_ASSERT_TRUE(ends(check_##table, (const zb_##table##_row[]){__VA_ARGS__},                                          \
                      sizeof((const zb_##table##_row[]){__VA_ARGS__}) / sizeof(zb_##table##_row)))

static void test_messages(void) {
  HOLDS(messages, {0, 1, 0, 1, 0, 'F', 8, 5}, {-1, -1, 0, 0, 0, 'F', 8, 5});
  BREAKS(messages, {0, 0, 0, 1, 0, 'F', 8, 5});
  BREAKS(messages, {-1, 1, 0, 1, 0, 'F', 8, 5});
  BREAKS(messages, {0, 1, 0, 1, 0, 'F', -8, 5});
  BREAKS(messages, {0, 1, 0, 1, 0, 'F', 8, -1});
  HOLDS(members, {0, 0, 1, 8, 0, -1}, {0, 1, 1, 8, 0, 3});
  BREAKS(members, {1, 0, 1, 8, 0, -1}, {0, 1, 1, 8, 0, -1});
  BREAKS(members, {0, -1, 1, 8, 0, -1});
  BREAKS(members, {0, 0, 1, -8, 0, -1});
  BREAKS(members, {0, 0, 1, 8, 0, -2});
  HOLDS(parts, {0, 8, -1, -1});
  BREAKS(parts, {-1, 8, -1, -1});
  HOLDS(gathers, {0, 0, 8, 0});
  BREAKS(gathers, {0, 0, 0, 0});
}

static void test_lists(void) {
  HOLDS(posts, {0});
  BREAKS(posts, {-1});
  HOLDS(times, {1, 1});
  BREAKS(times, {2, 1});
  HOLDS(waits, {1, 5}, {1, 0}, {2, 3});
  BREAKS(waits, {1, 0}, {0, 0});
  BREAKS(waits, {0, -1});
  HOLDS(costs, {0});
  BREAKS(costs, {.latency_ps = -1});
  BREAKS(costs, {.step_ps = -1});
  HOLDS(stage_rank, {0}, {1}, {0});
  BREAKS(stage_rank, {-1});
}

static void test_places(void) {
  HOLDS(addresses, {0}, {256}, {0});
  BREAKS(addresses, {-1});
  HOLDS(regions, {0, 256}, {256, 0}, {512, 1});
  BREAKS(regions, {0, 256}, {255, 1});
  BREAKS(regions, {0, -1});
  HOLDS(evaluation_regions, {0, 256}, {256, 1});
  BREAKS(evaluation_regions, {0, 256}, {128, 1});
  HOLDS(bases, {0});
  BREAKS(bases, {-1});
  HOLDS(at, {0});
  BREAKS(at, {-1});
}

SUITE_MAIN("hold", {"messages", test_messages}, {"lists", test_lists}, {"places", test_places})
