/* The threads transport: copies, parts that are split differently, waiting, time-outs, giving up. */
#include "test/runtime/exec/tiny.h"

#include <pthread.h>
#include <time.h>

typedef struct peer {
  const zb_transport_def *def;
  zb_transport *transport;
  unsigned char *arena;
  int rounds;
  zb_status status;
} peer;

static zb_plan *plan_of_two(int messages) {
  zb_plan *plan = zb_plan_create();
  plan->rank_count = 2;
  plan->ranks = zb_plan_alloc(plan, sizeof(zb_plan_rank) * 2);
  plan->message_count = messages;
  plan->messages = zb_plan_alloc(plan, sizeof(zb_plan_message) * (size_t)messages);
  for (int i = 0; i < messages; ++i)
    plan->messages[i] = (zb_plan_message){.source = i % 2, .destination = 1 - i % 2, .bytes = 100, .part_count = 1};
  return plan;
}

static void test_parts_split_differently(void) {
  const zb_transport_def *def = NULL;
  TINY_OK(zb_transport_find("threads", &def));
  zb_plan *plan = plan_of_two(2);
  zb_transport *transport = NULL;
  zb_transport_params params = {.plan = plan, .timeout_ms = 1000};
  TINY_OK(def->open(&params, &transport));
  unsigned char from[200], to[200];
  for (int i = 0; i < 200; ++i)
    from[i] = (unsigned char)i, to[i] = 255;
  const zb_plan_range out[] = {{10, 30}, {100, 70}}, in[] = {{0, 64}, {64, 6}, {150, 30}};
  CU_ASSERT_FALSE(def->test(transport, 0, 0));
  TINY_OK(def->post(transport, 1, 0, to, in, 3));
  CU_ASSERT_FALSE(def->test(transport, 1, 0));
  TINY_OK(def->post(transport, 0, 0, from, out, 2));
  CU_ASSERT(def->test(transport, 1, 0) && def->test(transport, 0, 0));
  TINY_OK(def->wait(transport, 1, 0));
  for (int i = 0; i < 100; ++i) {
    int source = i < 30 ? 10 + i : 70 + i, target = i < 70 ? i : 80 + i;
    CU_ASSERT_EQUAL(to[target], source);
  }
  CU_ASSERT_EQUAL(to[70], 255);
  CU_ASSERT_EQUAL(to[180], 255);
  /* A side may be a step ahead of the other one, which has not looked yet. */
  TINY_OK(def->post(transport, 0, 0, from, out, 2));
  CU_ASSERT(def->test(transport, 1, 0));
  CU_ASSERT_FALSE(def->test(transport, 0, 0));
  tiny_expect(def->post(transport, 0, 0, from, out, 2), ZB_RUNTIME, "posted twice");
  to[70] = to[0] = 9;
  TINY_OK(def->post(transport, 1, 0, to, in, 3));
  CU_ASSERT(def->test(transport, 1, 0) && def->test(transport, 0, 0));
  CU_ASSERT_EQUAL(to[0], 10);
  TINY_OK(def->reset(transport));
  CU_ASSERT_FALSE(def->test(transport, 0, 0));
  TINY_OK(def->post(transport, 0, 0, from, out, 2));
  tiny_expect(def->reset(transport), ZB_RUNTIME, "message 0 is not complete");
  def->close(transport);
  zb_plan_destroy(plan);
}

/* Rank 1 of a ping-pong: receives an even message, adds one to it, sends it back as the odd one. */
static void *answer(void *argument) {
  peer *p = argument;
  const zb_plan_range part = {0, 100};
  for (int i = 0; i < p->rounds && !p->status; ++i) {
    p->status = p->def->post(p->transport, 1, 2 * i, p->arena, &part, 1);
    if (!p->status) p->status = p->def->wait(p->transport, 1, 2 * i);
    for (int k = 0; k < 100; ++k)
      ++p->arena[k];
    if (!p->status) p->status = p->def->post(p->transport, 1, 2 * i + 1, p->arena, &part, 1);
    if (!p->status) p->status = p->def->wait(p->transport, 1, 2 * i + 1);
  }
  return NULL;
}

static void test_ping_pong(void) {
  enum { ROUNDS = 500 };
  unsigned char here[100] = {0}, there[100] = {0};
  const zb_plan_range part = {0, 100};
  zb_plan *plan = plan_of_two(2 * ROUNDS);
  zb_transport_params params = {.plan = plan, .timeout_ms = 10000};
  peer p = {.arena = there, .rounds = ROUNDS};
  TINY_OK(zb_transport_find("threads", &p.def));
  TINY_OK(p.def->open(&params, &p.transport));
  pthread_t thread;
  CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, answer, &p), 0);
  for (int i = 0; i < ROUNDS; ++i) {
    TINY_OK(p.def->post(p.transport, 0, 2 * i, here, &part, 1));
    TINY_OK(p.def->wait(p.transport, 0, 2 * i));
    TINY_OK(p.def->post(p.transport, 0, 2 * i + 1, here, &part, 1));
    TINY_OK(p.def->wait(p.transport, 0, 2 * i + 1));
    CU_ASSERT_EQUAL(here[99], (unsigned char)(i + 1));
  }
  pthread_join(thread, NULL);
  TINY_OK(p.status);
  p.def->close(p.transport);
  zb_plan_destroy(plan);
}

static void test_time_out(void) {
  zb_plan *plan = plan_of_two(1);
  const zb_transport_def *def = NULL;
  TINY_OK(zb_transport_find("threads", &def));
  zb_transport *transport = NULL;
  zb_transport_params params = {.plan = plan, .timeout_ms = 50};
  unsigned char arena[100];
  const zb_plan_range part = {0, 100};
  TINY_OK(def->open(&params, &transport));
  TINY_OK(def->post(transport, 1, 0, arena, &part, 1));
  zb_status status = def->wait(transport, 1, 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "rank 1 waited"));
  tiny_expect(status, ZB_TIMEOUT, "message 0 (from rank 0, micro-batch 0), which the other side has not posted");
  def->close(transport);
  zb_plan_destroy(plan);
}

/* A rank that sleeps in a wait is woken by another that gives up. */
static void test_abort_wakes_who_waits(void) {
  zb_plan *plan = plan_of_two(2);
  unsigned char there[100];
  zb_transport_params params = {.plan = plan, .timeout_ms = 60000};
  peer p = {.arena = there, .rounds = 1};
  TINY_OK(zb_transport_find("threads", &p.def));
  TINY_OK(p.def->open(&params, &p.transport));
  pthread_t thread;
  CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, answer, &p), 0);
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  p.def->abort(p.transport, 0, "disk on fire");
  p.def->abort(p.transport, 0, "a later reason");
  pthread_join(thread, NULL);
  tiny_expect(p.status, ZB_PEER, "rank 1 stops because rank 0 gave up: disk on fire");
  p.def->close(p.transport);
  zb_plan_destroy(plan);
}

static void test_tables(void) {
  const zb_transport_def *transport = NULL;
  const zb_device_def *device = NULL;
  tiny_expect(zb_transport_find("thread", &transport), ZB_USAGE, "did you mean 'threads'?");
  TINY_OK(zb_transport_find("virtual", &transport)); /* for the sim device */
  tiny_expect(zb_device_find("sin", &device), ZB_USAGE, "did you mean 'sim'?");
  tiny_expect(zb_device_find("quantum", &device), ZB_USAGE, "known: cpu, sim");
  for (int i = 0; i < zb_transports.count; ++i) {
    const zb_part_row *row = &zb_transports.rows[i];
    if (!row->built_in) continue;
    TINY_OK(zb_transport_find(row->name, &transport));
    CU_ASSERT_PTR_EQUAL(&transport->part, row->built_in);
    CU_ASSERT_STRING_EQUAL(row->name, row->built_in->name);
  }
  for (int i = 0; i < zb_devices.count; ++i) {
    const zb_part_row *row = &zb_devices.rows[i];
    if (!row->built_in) continue;
    TINY_OK(zb_device_find(row->name, &device));
    CU_ASSERT_PTR_EQUAL(&device->part, row->built_in);
    CU_ASSERT_STRING_EQUAL(row->name, row->built_in->name);
  }
  const char *name = NULL, *summary = NULL;
  CU_ASSERT(zb_runtime_launch_at(0, &name, &summary));
  CU_ASSERT_STRING_EQUAL(name, "threads");
  for (int i = 0; zb_runtime_launch_at(i, &name, &summary); ++i)
    CU_ASSERT_STRING_NOT_EQUAL(name, "virtual"); /* it is no way to launch */
}

/* Counts parts; each says either what it is or what is missing. */
static void count_part(void *context, const zb_runtime_part *part) {
  int *counts = context;
  ++counts[strcmp(part->kind, "device") == 0];
  CU_ASSERT(*part->summary != '\0');
  CU_ASSERT(part->missing == NULL || *part->missing != '\0');
  if (strcmp(part->name, "cpu") == 0 || strcmp(part->name, "threads") == 0) {
    CU_ASSERT_PTR_NULL(part->missing);
    CU_ASSERT_PTR_NULL(part->path);
  }
}

static void test_parts(void) {
  int counts[2] = {0, 0};
  zb_runtime_parts(count_part, counts);
  CU_ASSERT_EQUAL(counts[1], zb_devices.count);
  CU_ASSERT_EQUAL(counts[0], zb_transports.count - 1);
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"parts that are split differently", test_parts_split_differently},
      {"ping-pong", test_ping_pong},
      {"time-out", test_time_out},
      {"abort wakes who waits", test_abort_wakes_who_waits},
      {"tables of devices and transports", test_tables},
      {"what there is on this machine", test_parts},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("transport", tests);
}
