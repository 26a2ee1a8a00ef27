/* Processes over TCP, which are threads here: they meet, exchange, carry messages without buffers, and end; strangers
 * and nonsense do no harm. */
#include "runtime/base/clock.h"
#include "runtime/base/module_id.h"
#include "runtime/transport/tcp/rendezvous.h"
#include "runtime/transport/tcp/sockets.h"
#include "runtime/transport/transport.h"
#include "test/runtime/exec/tiny.h"

#include <netinet/in.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>

enum { PROCESSES_MAX = 5, SECOND_MS = 1000 };

/* A port that was free a moment ago. */
static int free_port(void) {
  int port = 0, listener = zb_tcp_listen(NULL, 0, &port);
  close(listener);
  return port;
}

typedef struct process {
  zb_group_params params;
  const zb_transport_def *def;
  zb_group *group;
  zb_status (*run)(struct process *self);
  zb_status status;
  pthread_t thread;
} process;

static void *run_process(void *argument) {
  process *self = argument;
  self->status = self->def->group_def->open(&self->params, &self->group);
  if (!self->status && self->run) self->status = self->run(self);
  if (self->group) self->def->group_def->close(self->group, !self->status);
  return NULL;
}

static zb_group_params params_of(int number, int processes, int port) {
  return (zb_group_params){.launcher = "test",
                           .process = number,
                           .processes = processes,
                           .timeout_ms = 20 * SECOND_MS,
                           .address = "127.0.0.1",
                           .port = port,
                           .ports = 1,
                           .run = 7};
}

static void begin(process *self, zb_group_params params, zb_status (*run)(process *self)) {
  *self = (process){.params = params, .run = run};
  TINY_OK(zb_transport_find("tcp", &self->def));
  CU_ASSERT_EQUAL_FATAL(pthread_create(&self->thread, NULL, run_process, self), 0);
}

/* Its status, which the caller owns. */
static zb_status end(process *self) {
  pthread_join(self->thread, NULL);
  return self->status;
}

static void run_all(int processes, zb_status (*run)(process *self)) {
  process all[PROCESSES_MAX];
  int port = free_port();
  for (int i = processes - 1; i >= 0; --i) /* process 0 comes last: the others wait for it */
    begin(&all[i], params_of(i, processes, port), run);
  for (int i = 0; i < processes; ++i) {
    zb_status status = end(&all[i]);
    if (status) printf("\nprocess %d: %s", i, zb_status_text(status));
    CU_ASSERT_PTR_NULL(status);
    zb_status_free(status);
  }
}

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) return ZB_ERROR(RUNTIME, "line %d: " #condition, __LINE__);                                      \
  } while (0)

/* ---- The group ---- */

static void add(void *total, const void *one, size_t bytes) {
  uint64_t *all = total;
  const uint64_t *next = one;
  for (size_t i = 0; i < bytes / sizeof *all; ++i)
    all[i] += next[i];
}

static zb_status exchange(process *self) {
  enum { ROUNDS = 20, WORDS = 100 * 1000 };
  const zb_group_def *def = self->def->group_def;
  int number = def->process(self->group), processes = def->processes(self->group);
  uint64_t *words = zb_alloc(sizeof(uint64_t) * WORDS);
  EXPECT(number == self->params.process && processes == self->params.processes);
  for (int round = 0; round < ROUNDS; ++round) {
    size_t count = round % 2 ? WORDS : 1;
    for (size_t i = 0; i < count; ++i)
      words[i] = i + (uint64_t)number;
    ZB_TRY(def->merge(self->group, words, sizeof *words * count, add));
    for (size_t i = 0; i < count; ++i)
      EXPECT(words[i] == (uint64_t)processes * i + (uint64_t)(processes * (processes - 1) / 2));
    void *all = NULL;
    size_t bytes = 0;
    memset(words, number, sizeof *words * WORDS);
    ZB_TRY(def->gather(self->group, words, (size_t)(number * round), &all, &bytes)); /* of process 0: nothing */
    EXPECT((number == 0) == (all != NULL));
    EXPECT(number > 0 || bytes == (size_t)(round * processes * (processes - 1) / 2));
    for (size_t i = 0, at = 0; number == 0 && i < (size_t)processes; ++i)
      for (size_t k = 0; k < i * (size_t)round; ++k)
        EXPECT(((unsigned char *)all)[at++] == i);
    zb_free(all);
  }
  zb_free(words);
  return NULL;
}

static void test_groups(void) {
  for (int processes = 1; processes <= PROCESSES_MAX; ++processes)
    run_all(processes, exchange);
}

static zb_status give_up(process *self) {
  uint64_t word = 0;
  const zb_group_def *def = self->def->group_def;
  if (self->params.process == 2) {
    def->abort(self->group, 2, "the disk is full");
    return ZB_ERROR(IO, "the disk is full");
  }
  return def->merge(self->group, &word, sizeof word, add);
}

static void test_abort(void) {
  process all[4];
  int port = free_port();
  int64_t start = zb_monotonic_ps();
  for (int i = 0; i < 4; ++i)
    begin(&all[i], params_of(i, 4, port), give_up);
  for (int i = 0; i < 4; ++i)
    tiny_expect(end(&all[i]), i == 2 ? ZB_IO : ZB_PEER, "the disk is full");
  CU_ASSERT(zb_monotonic_ps() - start < INT64_C(10) * 1000000000000);
}

/* Process 1 comes too late, but is there. */
static zb_status dawdle(process *self) {
  uint64_t word = 0;
  const zb_group_def *def = self->def->group_def;
  if (self->params.process == 1) nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
  return def->merge(self->group, &word, sizeof word, add);
}

static void test_time_out(void) {
  process all[3];
  int port = free_port();
  for (int i = 0; i < 3; ++i) {
    zb_group_params params = params_of(i, 3, port);
    params.timeout_ms = 2 * SECOND_MS;
    begin(&all[i], params, dawdle);
  }
  for (int i = 0; i < 3; ++i)
    tiny_expect(end(&all[i]), i == 0 ? ZB_TIMEOUT : ZB_PEER, "all processes answer");
}

/* ---- Messages ---- */

enum { BIG = 6 << 20, MESSAGES = 6, STEPS = 3 };

/* Four ranks, two a process. Messages 0, 1: from rank 0 to rank 2 and from rank 1 to rank 3, on one connection; 2, 3:
 * back; 4: nothing; 5: in parts. */
static zb_plan *plan_of_four(void) {
  static const struct {
    int source, destination;
    uint64_t bytes;
  } rows[MESSAGES] = {{0, 2, BIG}, {1, 3, 100}, {2, 0, BIG}, {3, 1, BIG}, {1, 2, 0}, {0, 3, 1000}};
  zb_plan *plan = zb_plan_create();
  plan->rank_count = 4;
  plan->ranks = zb_plan_alloc(plan, sizeof(zb_plan_rank) * 4);
  plan->message_count = MESSAGES;
  plan->messages = zb_plan_alloc(plan, sizeof(zb_plan_message) * MESSAGES);
  for (int i = 0; i < MESSAGES; ++i)
    plan->messages[i] = (zb_plan_message){
        .source = rows[i].source, .destination = rows[i].destination, .bytes = rows[i].bytes, .part_count = 1};
  return plan;
}

static unsigned char byte_of(int step, int message, uint64_t at) {
  return (unsigned char)(step * 31 + message * 7 + (int)(at % 251));
}

typedef struct carrier {
  const zb_transport_def *def;
  zb_transport *transport;
  zb_plan *plan;
  int first; /* rank of this process */
  unsigned char *memory[MESSAGES];
} carrier;

/* What is cut into parts is cut differently on both sides. */
static int parts_of(int message, bool sends, uint64_t bytes, zb_plan_range parts[3]) {
  uint64_t a = sends ? bytes / 3 : bytes / 7;
  if (message < 5) {
    parts[0] = (zb_plan_range){.offset = 0, .bytes = bytes};
    return bytes > 0;
  }
  parts[0] = (zb_plan_range){.offset = 0, .bytes = a};
  parts[1] = (zb_plan_range){.offset = a, .bytes = 0};
  parts[2] = (zb_plan_range){.offset = a, .bytes = bytes - a};
  return 3;
}

/* This process's side of a message, with the data if it sends. */
static zb_status post_side(carrier *c, int step, int message, zb_plan_range parts[3]) {
  const zb_plan_message *m = &c->plan->messages[message];
  bool sends = m->source == c->first || m->source == c->first + 1;
  for (uint64_t i = 0; i < m->bytes; ++i)
    c->memory[message][i] = sends ? byte_of(step, message, i) : 0;
  int count = parts_of(message, sends, m->bytes, parts);
  return c->def->post(c->transport, sends ? m->source : m->destination, message, c->memory[message], parts, count);
}

static zb_status finish_side(const carrier *c, int step, int message) {
  const zb_plan_message *m = &c->plan->messages[message];
  bool sends = m->source == c->first || m->source == c->first + 1;
  ZB_TRY(c->def->wait(c->transport, sends ? m->source : m->destination, message));
  for (uint64_t i = 0; i < m->bytes; ++i)
    EXPECT(c->memory[message][i] == byte_of(step, message, i));
  return NULL;
}

/* Message 0 is sent before message 1, but its receive is posted after message 1 has come: it must not hold it up. Then
 * all others at once. */
static zb_status carry(process *self) {
  carrier c = {.def = self->def, .plan = plan_of_four(), .first = 2 * self->params.process};
  zb_plan_range parts[MESSAGES][3];
  uint64_t word = 0;
  for (int i = 0; i < MESSAGES; ++i)
    c.memory[i] = zb_alloc(c.plan->messages[i].bytes + 1);
  zb_transport_params params = {
      .plan = c.plan, .timeout_ms = 20 * SECOND_MS, .group = self->group, .group_def = self->def->group_def};
  ZB_TRY(self->def->open(&params, &c.transport));
  ZB_TRY(self->def->group_def->merge(self->group, &word, sizeof word, add)); /* all have the plan */
  for (int step = 0; step < STEPS; ++step) {
    if (self->params.process == 0) ZB_TRY(post_side(&c, step, 0, parts[0]));
    ZB_TRY(post_side(&c, step, 1, parts[1]));
    ZB_TRY(finish_side(&c, step, 1));
    if (self->params.process == 1) ZB_TRY(post_side(&c, step, 0, parts[0]));
    for (int i = 2; i < MESSAGES; ++i)
      ZB_TRY(post_side(&c, step, i, parts[i]));
    for (int i = 0; i < MESSAGES; ++i)
      ZB_TRY(finish_side(&c, step, i));
    ZB_TRY(self->def->reset(c.transport));
    ZB_TRY(self->def->group_def->merge(self->group, &word, sizeof word, add)); /* the end of a step is agreed on */
  }
  self->def->close(c.transport);
  for (int i = 0; i < MESSAGES; ++i)
    zb_free(c.memory[i]);
  zb_plan_destroy(c.plan);
  return NULL;
}

static void test_messages(void) { run_all(2, carry); }

/* ---- Sessions of a device that has a transport of its own between processes, as NCCL is ---- */

enum { IDS = 4, ID_BYTES = 128 };

static zb_transport_def between; /* TCP under another name, which exchanges ids before the first step */
static _Thread_local const zb_transport_params *between_params;
static atomic_int exchanged;

static zb_status open_between(const zb_transport_params *params, zb_transport **out) {
  static _Thread_local zb_transport_params kept;
  kept = *params;
  between_params = &kept;
  const zb_transport_def *tcp = NULL;
  ZB_TRY(zb_transport_find("tcp", &tcp));
  return tcp->open(params, out);
}

static void merge_bytes(void *total, const void *one, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    ((unsigned char *)total)[i] |= ((const unsigned char *)one)[i];
}

static zb_status connect_between(zb_transport *transport) {
  unsigned char ids[IDS][ID_BYTES] = {{0}};
  zb_group *group = between_params->group;
  int number = between_params->group_def->process(group);
  (void)transport;
  memset(ids[number], 7 + number, ID_BYTES);
  ZB_TRY(between_params->group_def->merge(group, ids, sizeof ids, merge_bytes));
  for (int i = 0; i < ID_BYTES; ++i)
    EXPECT(ids[0][i] == 7 && ids[1][i] == 8 && ids[2][i] == 0);
  atomic_fetch_add(&exchanged, 1);
  return NULL;
}

typedef struct trainer {
  char variables[8][64];
  const char *data;
  double loss;
  zb_status status;
  pthread_t thread;
} trainer;

static const char *variable_of(void *context, const char *name) {
  trainer *self = context;
  size_t length = strlen(name);
  for (int i = 0; i < 8; ++i)
    if (strncmp(self->variables[i], name, length) == 0 && self->variables[i][length] == '=')
      return self->variables[i] + length + 1;
  return NULL;
}

static zb_status train_one(trainer *self, zb_session *session) {
  zb_step_result result;
  EXPECT(strcmp(zb_session_describe(session).launch, "between") == 0 && zb_session_describe(session).processes == 2);
  for (int i = 0; i < 3; ++i)
    ZB_TRY(zb_session_step(session, &result));
  self->loss = result.loss;
  return NULL;
}

static void *run_trainer(void *argument) {
  trainer *self = argument;
  zb_bootstrap bootstrap;
  zb_session *session = NULL;
  zb_store *weights = tiny_weights();
  zb_device_def device = zb_device_cpu;
  zb_session_params params = {.data = self->data, .bootstrap = &bootstrap, .timeout_ms = 20 * SECOND_MS};
  zb_session_sources sources = {.plan = tiny_plan(), .weights = weights, .device = &device};
  device.transport_between = &between;
  self->status = zb_transport_find("threads", &device.transport);
  if (!self->status) self->status = zb_bootstrap_find(variable_of, self, &bootstrap);
  if (!self->status) self->status = zb_session_create_from(&params, &sources, &session);
  if (!self->status) self->status = train_one(self, session);
  zb_session_destroy(session);
  zb_store_destroy(weights);
  return NULL;
}

static void test_own_transport(void) {
  trainer trainers[2] = {0};
  const zb_transport_def *tcp = NULL;
  zb_session_params params = {.data = tiny_data(), .timeout_ms = 20 * SECOND_MS};
  zb_session *one = NULL;
  zb_step_result result;
  int port = free_port(), taken = zb_tcp_listen(NULL, port, &port); /* the store of torchrun's agent */
  TINY_OK(zb_transport_find("tcp", &tcp));
  between = *tcp;
  between.name = "between";
  between.group_def = NULL;
  between.open = open_between;
  between.connect = connect_between;
  for (int i = 0; i < 2; ++i) {
    char (*v)[64] = trainers[i].variables;
    trainers[i].data = params.data;
    snprintf(v[0], sizeof v[0], "RANK=%d", i);
    snprintf(v[1], sizeof v[1], "WORLD_SIZE=2");
    snprintf(v[2], sizeof v[2], "MASTER_ADDR=127.0.0.1");
    snprintf(v[3], sizeof v[3], "MASTER_PORT=%d", port);
    snprintf(v[4], sizeof v[4], "TORCHELASTIC_USE_AGENT_STORE=True");
    snprintf(v[5], sizeof v[5], "TORCHELASTIC_RUN_ID=%d", port);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&trainers[i].thread, NULL, run_trainer, &trainers[i]), 0);
  }
  for (int i = 0; i < 2; ++i)
    pthread_join(trainers[i].thread, NULL);
  TINY_OK(tiny_session(&params, tiny_plan(), false, &one));
  for (int i = 0; i < 3; ++i)
    TINY_OK(zb_session_step(one, &result));
  for (int i = 0; i < 2; ++i) {
    TINY_OK(trainers[i].status);
    CU_ASSERT(trainers[i].loss == result.loss);
  }
  CU_ASSERT_EQUAL(atomic_load(&exchanged), 2);
  zb_session_destroy(one);
  close(taken);
}

/* ---- Strangers ---- */

static int connect_to(int port) {
  zb_tcp_address address = {.family = 4, .bytes = {127, 0, 0, 1}, .port = (uint16_t)port};
  for (int i = 0; i < 500; ++i) {
    int descriptor = zb_tcp_connect(&address, zb_monotonic_ps() + INT64_C(1000000000000));
    if (descriptor >= 0) return descriptor;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  return -1;
}

static zb_tcp_hello hello_of(int number, int processes) {
  zb_tcp_hello hello = {
      .magic = ZB_TCP_MAGIC, .run = 7, .process = (uint32_t)number, .processes = (uint32_t)processes, .port = 1};
  snprintf(hello.build, sizeof hello.build, "%s %s", ZB_VERSION, ZB_BUILD_ID);
  return hello;
}

/* Comes as process 1 of two and says `hello`; the connection. */
static int come(int port, const zb_tcp_hello *hello) {
  zb_tcp_hello theirs;
  int64_t until = zb_monotonic_ps() + INT64_C(5) * 1000000000000;
  int descriptor = connect_to(port);
  CU_ASSERT(descriptor >= 0 && zb_tcp_receive(descriptor, &theirs, sizeof theirs, until) &&
            theirs.magic == ZB_TCP_MAGIC && theirs.process == 0);
  CU_ASSERT(zb_tcp_send(descriptor, hello, sizeof *hello, until));
  return descriptor;
}

static void test_wrong_hellos(void) {
  zb_tcp_hello build = hello_of(1, 2), size = hello_of(1, 3), self = hello_of(0, 2), far = hello_of(9, 2);
  build.build[0] = 'x';
  const struct {
    zb_tcp_hello hello;
    zb_code code;
    const char *text;
  } cases[] = {{build, ZB_UNAVAILABLE, "process 1 runs another build of zb: x"},
               {size, ZB_INVALID, "process 1 was told that there are 3 processes, process 0 that there are 2"},
               {self, ZB_INVALID, "a second process comes as process 0 of 2"},
               {far, ZB_INVALID, "a second process comes as process 9 of 2"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    process zero;
    char answer[4096] = "";
    int port = free_port();
    begin(&zero, params_of(0, 2, port), NULL);
    int descriptor = come(port, &cases[i].hello);
    tiny_expect(end(&zero), cases[i].code, cases[i].text);
    zb_tcp_receive(descriptor, answer, sizeof answer - 1, zb_monotonic_ps() + INT64_C(1000000000000));
    bool told = false; /* the process that connects receives why */
    for (size_t k = 0; k + 16 < sizeof answer && !told; ++k)
      told = memcmp(answer + k, cases[i].text, 12) == 0;
    CU_ASSERT(told);
    close(descriptor);
  }
}

/* Any bytes, hellos of other runs, and connections that are closed again: process 1 is accepted after all of them. */
static void test_strangers(void) {
  process zero, one;
  int port = free_port(), strangers[40];
  uint64_t random = 1;
  begin(&zero, params_of(0, 2, port), exchange);
  for (int i = 0; i < 40; ++i) {
    unsigned char bytes[200];
    zb_tcp_hello other = hello_of(1, 2);
    for (size_t k = 0; k < sizeof bytes; ++k)
      bytes[k] = (unsigned char)((random = random * UINT64_C(6364136223846793005) + 1442695040888963407) >> 56);
    other.run = 8;
    if (i % 3 == 1) memcpy(bytes, &other, sizeof other);
    if (i % 3 == 2) memcpy(bytes, &other.magic, sizeof other.magic);
    strangers[i] = connect_to(port);
    send(strangers[i], bytes, i % 3 == 1 ? sizeof other : (size_t)(i * 5), MSG_NOSIGNAL);
    if (i % 5 == 0) close(strangers[i]), strangers[i] = -1;
  }
  begin(&one, params_of(1, 2, port), exchange);
  TINY_OK(end(&zero));
  TINY_OK(end(&one));
  for (int i = 0; i < 40; ++i)
    if (strangers[i] >= 0) close(strangers[i]);
}

/* Who says nothing hears that he may come again, and makes room. */
static void test_silent_connections(void) {
  enum { SILENT = 300 };
  process zero, one;
  int port = free_port(), silent[SILENT];
  zb_tcp_hello hello;
  zb_tcp_verdict later = {0};
  int64_t start = zb_monotonic_ps(), second = INT64_C(1000000000000);
  begin(&zero, params_of(0, 2, port), exchange);
  for (int i = 0; i < SILENT; ++i)
    silent[i] = connect_to(port);
  CU_ASSERT(zb_tcp_receive(silent[0], &hello, sizeof hello, start + 5 * second));
  CU_ASSERT(zb_tcp_receive(silent[0], &later, sizeof later, start + 5 * second));
  CU_ASSERT(later.magic == ZB_TCP_MAGIC && later.id == 0 && later.refused == 0);
  begin(&one, params_of(1, 2, port), exchange);
  TINY_OK(end(&zero));
  TINY_OK(end(&one));
  CU_ASSERT(zb_monotonic_ps() - start < 4 * second);
  for (int i = 0; i < SILENT; ++i)
    close(silent[i]);
}

/* The next who comes to a listener, not looked at further. */
static int accept_one(int listener) {
  int descriptor = -1;
  for (int i = 0; i < 1000 && descriptor < 0; ++i) {
    descriptor = zb_tcp_accept(listener);
    if (descriptor < 0) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  return descriptor;
}

/* A process that is told to come again does, and hears the rest. */
static void test_come_again(void) {
  process one;
  int port = 0, listener = zb_tcp_listen(&(zb_tcp_address){.family = 4, .bytes = {127, 0, 0, 1}}, 0, &port);
  zb_tcp_verdict answers[2] = {{.magic = ZB_TCP_MAGIC},
                               {.magic = ZB_TCP_MAGIC, .id = 1, .refused = ZB_INVALID, .text = "no run today"}};
  begin(&one, params_of(1, 2, port), NULL);
  for (int i = 0; i < 2; ++i) {
    int64_t until = zb_monotonic_ps() + INT64_C(5) * 1000000000000;
    zb_tcp_hello mine = hello_of(0, 2), theirs = {0};
    int descriptor = accept_one(listener);
    CU_ASSERT(descriptor >= 0 && zb_tcp_send(descriptor, &mine, sizeof mine, until));
    CU_ASSERT(zb_tcp_receive(descriptor, &theirs, sizeof theirs, until) && theirs.process == 1);
    CU_ASSERT(zb_tcp_send(descriptor, &answers[i], sizeof answers[i], until));
    close(descriptor);
  }
  tiny_expect(end(&one), ZB_INVALID, "no run today");
  close(listener);
}

/* A process that met and then sends nonsense, or nothing any more: an error that names it, never a crash or a wait
 * without end. */
static void test_nonsense_frames(void) {
  enum { CASES = 60 };
  uint64_t random = 1;
  for (int i = 0; i < CASES; ++i) {
    struct {
      uint32_t kind, tag;
      uint64_t bytes;
    } frames[8];
    process zero;
    int port = free_port();
    zb_tcp_hello hello = hello_of(1, 2);
    zb_group_params params = params_of(0, 2, port);
    params.timeout_ms = 4 * SECOND_MS;
    begin(&zero, params, exchange);
    int descriptor = come(port, &hello);
    for (size_t k = 0; k < sizeof frames / sizeof frames[0]; ++k) {
      random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
      frames[k].kind = (uint32_t)(random >> 60) % 6;
      frames[k].tag = random >> 32 & 1 ? UINT32_MAX : (uint32_t)(random >> 33 & 7);
      frames[k].bytes = random >> 34 & 1 ? random >> 20 : random >> 40 & 4095;
    }
    send(descriptor, frames, i % 6 == 0 ? 0 : sizeof frames - (size_t)(i % 5), MSG_NOSIGNAL);
    if (i % 10 == 0)
      shutdown(descriptor, SHUT_WR);
    else
      close(descriptor);
    zb_status status = end(&zero);
    CU_ASSERT_PTR_NOT_NULL_FATAL(status);
    CU_ASSERT(zb_status_code(status) == ZB_PEER || zb_status_code(status) == ZB_TIMEOUT);
    zb_status_free(status);
    if (i % 10 == 0) close(descriptor);
  }
}

/* ---- Addresses ---- */

static void test_addresses(void) {
  static const struct {
    const char *host;
    bool local;
  } cases[] = {{"localhost", true}, {"127.0.0.1", true}, {"127.9.9.9", true}, {"::1", true},
               {"10.0.0.1", false}, {"::2", false},      {"node1", false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    CU_ASSERT_EQUAL(zb_tcp_is_local_name(cases[i].host), cases[i].local);
  const char *why = "";
  char text[64];
  zb_tcp_address found[4];
  CU_ASSERT_EQUAL_FATAL(zb_tcp_resolve("10.1.2.3", 80, found, 4, &why), 1);
  CU_ASSERT_STRING_EQUAL(zb_tcp_address_text(&found[0], text), "10.1.2.3:80");
  CU_ASSERT_EQUAL_FATAL(zb_tcp_resolve("fe80::1", 80, found, 4, &why), 1);
  CU_ASSERT_STRING_EQUAL(zb_tcp_address_text(&found[0], text), "[fe80::1]:80");
  CU_ASSERT_EQUAL(zb_tcp_resolve("no such host", 80, found, 4, &why), 0);
  CU_ASSERT(*why != '\0');
}

/* Over IPv6, where this machine has it. */
static void test_ipv6(void) {
  process all[3];
  int port = 0, listener = zb_tcp_listen(&(zb_tcp_address){.family = 6, .bytes = {[15] = 1}}, 0, &port);
  if (listener < 0) {
    printf("(not here: no IPv6) ");
    return;
  }
  close(listener);
  for (int i = 0; i < 3; ++i) {
    zb_group_params params = params_of(i, 3, port);
    params.address = "::1";
    begin(&all[i], params, exchange);
  }
  for (int i = 0; i < 3; ++i)
    TINY_OK(end(&all[i]));
}

/* A start that is refused memory ends with that, and closes only what it has opened: descriptor 0 is not its own. */
static void test_memory(void) {
  zb_code code = ZB_MEMORY;
  CU_ASSERT_FATAL(fcntl(STDIN_FILENO, F_GETFD) >= 0);
  for (uint64_t n = 1; n < 100 && code == ZB_MEMORY; ++n) {
    process one;
    zb_group_params params = params_of(0, 1, free_port());
    zb_allocation_fail_at(n);
    begin(&one, params, NULL);
    zb_status status = end(&one);
    zb_allocation_fail_at(0);
    code = zb_status_code(status);
    zb_status_free(status);
    if (fcntl(STDIN_FILENO, F_GETFD) >= 0) continue;
    CU_FAIL("descriptor 0 was closed");
    return;
  }
  CU_ASSERT_EQUAL(code, ZB_OK_CODE); /* without a refusal at last */
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"addresses", test_addresses},
      {"merges and gathers of 1 to 5 processes", test_groups},
      {"one gives up", test_abort},
      {"one is late", test_time_out},
      {"messages: large, in parts, both ways, none holds up another", test_messages},
      {"IPv6", test_ipv6},
      {"a device with its own transport, started by torchrun", test_own_transport},
      {"wrong hellos", test_wrong_hellos},
      {"strangers", test_strangers},
      {"connections that send nothing", test_silent_connections},
      {"a process that comes again", test_come_again},
      {"nonsense after the rendezvous", test_nonsense_frames},
      {"no memory", test_memory},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("tcp", tests);
}
