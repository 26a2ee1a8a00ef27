/* Sessions of two processes, which are two threads here: their transport and their group are made of shared memory.
 * What holds for all transports between processes is shown without MPI: the same bits, one failure for all, one end for
 * all, one checkpoint. */
#include "runtime/base/digest.h"
#include "runtime/exec/session_group.h"
#include "runtime/transport/mailbox.h"
#include "test/runtime/exec/tiny.h"

#include <pthread.h>
#include <sys/stat.h>

enum { PROCESSES = 2, STEPS = 4, NORMS_MAX = 8 };

/* ---- The processes: a meeting point where each leaves a record, and takes what the others left ---- */

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t met;
  int arrived;
  uint64_t meetings;
  void *records[PROCESSES];
  const void *blobs[PROCESSES];
  size_t blob_bytes[PROCESSES];
  char abort_reason[512];
  zb_mailboxes *boxes;
} world = {.mutex = PTHREAD_MUTEX_INITIALIZER, .met = PTHREAD_COND_INITIALIZER};

struct zb_group {
  int process;
};

static _Thread_local int this_process;

/* Waits for all processes; PEER once one has given up. */
static zb_status meet(void) {
  zb_status status = NULL;
  pthread_mutex_lock(&world.mutex);
  uint64_t meeting = world.meetings;
  if (++world.arrived == PROCESSES) {
    world.arrived = 0;
    ++world.meetings;
    pthread_cond_broadcast(&world.met);
  }
  while (world.meetings == meeting && !world.abort_reason[0])
    pthread_cond_wait(&world.met, &world.mutex);
  if (world.meetings == meeting) status = ZB_ERROR(PEER, "%s", world.abort_reason);
  pthread_mutex_unlock(&world.mutex);
  return status;
}

static zb_status group_open(const zb_group_params *params, zb_group **out) {
  (void)params;
  *out = zb_alloc(sizeof **out);
  if (!*out) return ZB_OUT_OF_MEMORY();
  (*out)->process = this_process;
  return NULL;
}

static void group_close(zb_group *group, bool together) {
  if (together) zb_status_free(meet());
  zb_free(group);
}

static int group_process(const zb_group *group) { return group->process; }

static int group_processes(const zb_group *group) {
  (void)group;
  return PROCESSES;
}

static zb_status group_merge(zb_group *group, void *record, size_t bytes,
                             void (*merge)(void *total, const void *one, size_t bytes)) {
  world.records[group->process] = record;
  ZB_TRY(meet());
  for (int i = 1; i < PROCESSES && group->process == 0; ++i)
    merge(record, world.records[i], bytes);
  ZB_TRY(meet());
  if (group->process > 0) memcpy(record, world.records[0], bytes);
  return meet();
}

static zb_status group_gather(zb_group *group, const void *mine, size_t bytes, void **out, size_t *out_bytes) {
  *out = NULL;
  *out_bytes = 0;
  world.blobs[group->process] = mine;
  world.blob_bytes[group->process] = bytes;
  ZB_TRY(meet());
  char *all = group->process == 0 ? zb_alloc(world.blob_bytes[0] + world.blob_bytes[1] + 1) : NULL;
  for (int i = 0; all && i < PROCESSES; ++i) {
    if (world.blob_bytes[i] > 0) memcpy(all + *out_bytes, world.blobs[i], world.blob_bytes[i]);
    *out_bytes += world.blob_bytes[i];
  }
  *out = all;
  return meet();
}

static void group_abort(zb_group *group, int rank, const char *reason) {
  (void)group;
  pthread_mutex_lock(&world.mutex);
  if (!world.abort_reason[0])
    snprintf(world.abort_reason, sizeof world.abort_reason, "rank %d gave up: %s", rank, reason);
  pthread_cond_broadcast(&world.met);
  pthread_mutex_unlock(&world.mutex);
  zb_mailboxes_abort(world.boxes, rank, reason);
}

static const zb_group_def group_def = {.open = group_open,
                                       .close = group_close,
                                       .process = group_process,
                                       .processes = group_processes,
                                       .merge = group_merge,
                                       .gather = group_gather,
                                       .abort = group_abort};

/* ---- The transport: the mailboxes of all processes ---- */

struct zb_transport {
  zb_group *group;
};

static zb_status transport_open(const zb_transport_params *params, zb_transport **out) {
  *out = zb_alloc(sizeof **out);
  if (!*out) return ZB_OUT_OF_MEMORY();
  (*out)->group = params->group;
  return NULL;
}

static void transport_close(zb_transport *transport) { zb_free(transport); }

static zb_status post(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                      int part_count) {
  (void)transport;
  zb_transport_side side = {arena, parts, part_count};
  return zb_mailboxes_post(world.boxes, rank, message, &side);
}

static zb_status transport_wait(zb_transport *transport, int rank, int message) {
  (void)transport;
  return zb_mailboxes_wait(world.boxes, rank, message);
}

static bool transport_test(zb_transport *transport, int rank, int message) {
  (void)transport;
  (void)rank;
  return zb_mailboxes_test(world.boxes, rank, message);
}

/* Between two steps all processes come here: one of them resets for all. */
static zb_status transport_reset(zb_transport *transport) {
  ZB_TRY(meet());
  zb_status status = transport->group->process == 0 ? zb_mailboxes_reset(world.boxes) : NULL;
  return zb_status_first((zb_status[]){status, meet()}, 2);
}

static void transport_abort(zb_transport *transport, int rank, const char *reason) {
  group_abort(transport->group, rank, reason);
}

static int64_t complete_ps(zb_transport *transport, int rank, int message) {
  (void)transport;
  (void)rank;
  return zb_mailboxes_complete_ps(world.boxes, message);
}

static const zb_transport_def transport_def = {.name = "meeting",
                                               .summary = "two threads that play processes",
                                               .copies = true,
                                               .group_def = &group_def,
                                               .open = transport_open,
                                               .close = transport_close,
                                               .post = post,
                                               .wait = transport_wait,
                                               .test = transport_test,
                                               .reset = transport_reset,
                                               .abort = transport_abort,
                                               .complete_ps = complete_ps};

/* ---- What each process does; nothing is asserted before they are joined ---- */

typedef struct scenario {
  zb_session_params params;
  const char *save;
  int stop_process;               /* asks for the end before the second step; -1: nobody */
  int fail_process;               /* gives up after the first step; -1: nobody */
  bool other_plan;                /* process 1 reads another */
  bool other_machine;             /* process 1 has another instruction set */
  const zb_session_params *other; /* parameters of process 1; NULL: the same */
  float other_weight;             /* is added to the first weight of process 1 */
} scenario;

typedef struct player {
  const scenario *play;
  int process;
  pthread_t thread;
  zb_status status;
  double losses[STEPS];
  int steps, norms;
  double norm[NORMS_MAX];
  char names[NORMS_MAX][32];
  float values[NORMS_MAX][2048]; /* of parameters, once the norms are known */
  char value_names[NORMS_MAX][32];
  int64_t elements[NORMS_MAX];
  int value_count;
  zb_session_info info;
  char warning[256];
} player;

static void keep_norm(void *context, const char *name, double norm) {
  player *p = context;
  if (p->norms >= NORMS_MAX) return;
  snprintf(p->names[p->norms], sizeof p->names[0], "%s", name);
  p->norm[p->norms++] = norm;
}

static void *keep_value(void *context, const char *name, const zb_shape *shape) {
  player *p = context;
  const int64_t elements = zb_shape_elements(shape);
  if (p->value_count >= NORMS_MAX || shape->dtype != ZB_F32 || elements > 2048) return NULL;
  snprintf(p->value_names[p->value_count], sizeof p->value_names[0], "%s", name);
  p->elements[p->value_count] = elements;
  return p->values[p->value_count++];
}

static zb_status act(player *p, zb_session *session) {
  const scenario *play = p->play;
  bool ends = false;
  p->info = zb_session_describe(session);
  if (p->info.warning) snprintf(p->warning, sizeof p->warning, "%s", p->info.warning);
  for (int i = 0; i < STEPS && !ends; ++i) {
    zb_step_result result;
    if (i == 1 && play->stop_process == p->process) zb_session_stop(session);
    if (i == 1 && play->fail_process == p->process) {
      zb_session_abort(session, "out of luck");
      return ZB_ERROR(RUNTIME, "gave up on purpose");
    }
    ZB_TRY(zb_session_step(session, &result));
    p->losses[p->steps++] = result.loss;
    ends = result.stopping;
  }
  ZB_TRY(zb_session_gradient_norms(session, keep_norm, p));
  ZB_TRY(zb_session_values(session, keep_value, p));
  return play->save ? zb_session_save(session, play->save) : NULL;
}

static const char *other_instruction_set(void) { return "abacus"; }

static void *run_player(void *argument) {
  player *p = argument;
  zb_device_def device = zb_device_cpu;
  device.transport = &transport_def;
  if (p->process == 1 && p->play->other_machine) device.instruction_set = other_instruction_set;
  this_process = p->process;
  const scenario *it = p->play;
  zb_store *weights = tiny_weights();
  zb_session *session = NULL;
  zb_session_sources sources = {.plan = tiny_plan(), .weights = weights, .device = &device};
  if (sources.plan && p->process == 1 && it->other_plan) sources.plan->digest = 1;
  if (p->process == 1) ((float *)(uintptr_t)zb_store_at(weights, 0)->data)[0] += it->other_weight;
  p->status = zb_session_create_from(it->other && p->process == 1 ? it->other : &it->params, &sources, &session);
  if (!p->status) p->status = act(p, session);
  zb_session_destroy(session);
  zb_store_destroy(weights);
  return NULL;
}

static void play(const scenario *it, player players[PROCESSES]) {
  zb_plan *plan = tiny_plan();
  zb_mailboxes_params boxes = {.plan = plan, .rank_count = 2, .timeout_ms = 10000};
  TINY_OK(zb_mailboxes_create(&boxes, &world.boxes));
  world.arrived = 0;
  world.abort_reason[0] = '\0';
  for (int i = 0; i < PROCESSES; ++i) {
    players[i] = (player){.play = it, .process = i};
    CU_ASSERT_EQUAL_FATAL(pthread_create(&players[i].thread, NULL, run_player, &players[i]), 0);
  }
  for (int i = 0; i < PROCESSES; ++i)
    pthread_join(players[i].thread, NULL);
  zb_mailboxes_destroy(world.boxes);
  zb_plan_destroy(plan);
}

/* The losses and norms of one process. */
static void alone(const char *resume, player *out) {
  zb_session_params params = {.data = tiny_data(), .resume = resume, .timeout_ms = 10000};
  static const scenario nothing = {.stop_process = -1, .fail_process = -1};
  zb_session *session = NULL;
  *out = (player){.play = &nothing};
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  TINY_OK(act(out, session));
  zb_session_destroy(session);
}

static void test_same_bits(void) {
  static player players[PROCESSES], one;
  scenario it = {.params = {.data = tiny_data()}, .stop_process = -1, .fail_process = -1};
  play(&it, players);
  alone(NULL, &one);
  for (int i = 0; i < PROCESSES; ++i) {
    TINY_OK(players[i].status);
    CU_ASSERT_EQUAL(players[i].steps, STEPS);
    CU_ASSERT_EQUAL(memcmp(players[i].losses, one.losses, sizeof one.losses), 0); /* every process knows the loss */
    CU_ASSERT_EQUAL(players[i].info.process, i);
    CU_ASSERT_EQUAL(players[i].info.processes, PROCESSES);
    CU_ASSERT_EQUAL(players[i].info.ranks, 2);
  }
  CU_ASSERT(one.norms > 1);
  CU_ASSERT_EQUAL(players[0].norms, one.norms);
  CU_ASSERT_EQUAL(players[1].norms, 0); /* process 0 visits for all */
  CU_ASSERT_EQUAL(memcmp(players[0].norm, one.norm, sizeof one.norm), 0);
  CU_ASSERT_EQUAL(memcmp(players[0].names, one.names, sizeof one.names), 0);
  CU_ASSERT_EQUAL(one.value_count, 3);
  CU_ASSERT_EQUAL(players[0].value_count, 3);
  CU_ASSERT_EQUAL(players[1].value_count, 0); /* process 0 has those of all */
  CU_ASSERT_EQUAL(memcmp(players[0].value_names, one.value_names, sizeof one.value_names), 0);
  CU_ASSERT_EQUAL(memcmp(players[0].values, one.values, sizeof one.values), 0);
}

static void test_one_checkpoint(void) {
  char folder[600], file[700];
  static player players[PROCESSES], one, resumed;
  scenario it = {
      .params = {.data = tiny_data()}, .save = tiny_path(folder, "parts"), .stop_process = -1, .fail_process = -1};
  play(&it, players);
  for (int i = 0; i < PROCESSES; ++i)
    TINY_OK(players[i].status);
  const char *const names[] = {"weights-00001-of-00002.safetensors",   "weights-00002-of-00002.safetensors",
                               "model.safetensors.index.json",         "optimizer-00001-of-00002.safetensors",
                               "optimizer-00002-of-00002.safetensors", "optimizer.safetensors.index.json"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    snprintf(file, sizeof file, "%s/%s", folder, names[i]);
    CU_ASSERT_EQUAL(access(file, F_OK), 0);
  }
  alone(folder, &resumed); /* steps 5 to 8, of one process */
  it.params.resume = folder;
  it.save = NULL;
  play(&it, players);
  alone(NULL, &one);
  TINY_OK(players[0].status);
  CU_ASSERT_EQUAL(memcmp(players[0].losses, resumed.losses, sizeof resumed.losses), 0);
  CU_ASSERT(resumed.losses[0] < one.losses[STEPS - 1]);
  zb_status_free(players[1].status);
}

/* Whoever asks: all end after the same step. */
static void test_one_end(void) {
  for (int who = 0; who < PROCESSES; ++who) {
    static player players[PROCESSES];
    scenario it = {.params = {.data = tiny_data()}, .stop_process = who, .fail_process = -1};
    play(&it, players);
    for (int i = 0; i < PROCESSES; ++i) {
      TINY_OK(players[i].status);
      CU_ASSERT_EQUAL(players[i].steps, 2);
    }
  }
}

static void test_one_failure(void) {
  static player players[PROCESSES];
  scenario wrong = {.params = {.data = "text:nowhere.txt"}, .stop_process = -1, .fail_process = -1};
  play(&wrong, players);
  CU_ASSERT_FALSE(zb_status_told(players[0].status));
  CU_ASSERT_TRUE(zb_status_told(players[1].status));
  tiny_expect(players[0].status, ZB_IO, "cannot open the data file 'nowhere.txt'");
  tiny_expect(players[1].status, ZB_IO,
              "process 1 stops because process 0 failed: cannot open the data file 'nowhere.txt'");
  scenario other = {.params = {.data = tiny_data()}, .stop_process = -1, .fail_process = -1, .other_plan = true};
  play(&other, players);
  CU_ASSERT_TRUE(zb_status_told(players[1].status));
  tiny_expect(players[0].status, ZB_USAGE, "process 1 reads another plan than process 0");
  tiny_expect(players[1].status, ZB_USAGE, "process 1 reads another plan than process 0");
  for (int who = 0; who < PROCESSES; ++who) {
    scenario dies = {.params = {.data = tiny_data()}, .stop_process = -1, .fail_process = who};
    play(&dies, players);
    tiny_expect(players[who].status, ZB_RUNTIME, "gave up on purpose");
    tiny_expect(players[1 - who].status, ZB_PEER, "out of luck");
  }
}

/* A process has died, and another could not write for it: what it says is who died, and after that what failed. */
static void test_failure_after_a_death(void) {
  zb_group group = {.process = 1};
  zb_session session = {.group = &group, .group_def = &group_def, .process = 1, .processes = PROCESSES};
  world.arrived = 0; /* the test before may have left one waiting */
  snprintf(world.abort_reason, sizeof world.abort_reason, "process 0 has died");
  zb_status status = zb_session_agree(&session, ZB_ERROR(IO, "cannot write 'part'"));
  world.abort_reason[0] = '\0';
  world.arrived = 0;
  CU_ASSERT_TRUE(session.apart);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "note: this process failed, too: cannot write 'part'"));
  tiny_expect(status, ZB_PEER, "process 0 has died");
}

/* Each parameter that must be the same, in process 1 another: USAGE in both, and process 0 tells which. */
static void test_other_parameters(void) {
  char folder[600], with_slash[700], text[600], other_text[700], expected[1500];
  zb_session_params same = {.data = tiny_data(), .timeout_ms = 10000};
  zb_session_params reference = same, trace = same, profile = same, timeout = same, save = same, slash = same,
                    data = same, threads = same;
  static player players[PROCESSES];
  tiny_path(folder, "save-a");
  tiny_write(tiny_path(text, "other.txt"), "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 52);
  snprintf(other_text, sizeof other_text, "text:%s", text);
  reference.reference = trace.trace = profile.profile = true;
  timeout.timeout_ms = 9000;
  save.save = folder;
  snprintf(with_slash, sizeof with_slash, "%s/", folder);
  slash.save = with_slash;
  data.data = other_text;
  threads.threads = 2;
  snprintf(expected, sizeof expected, "--save is 'not given' in process 0 and '%s' in process 1", folder);
  const struct {
    const zb_session_params *one;
    const char *text;
  } cases[] = {{&reference, "--reference is 'off' in process 0 and 'on' in process 1"},
               {&trace, "a timeline or trace is 'off' in process 0 and 'on' in process 1"},
               {&profile, "--profile-ops is 'off' in process 0 and 'on' in process 1"},
               {&timeout, "--timeout is '10000 ms' in process 0 and '9000 ms' in process 1"},
               {&save, expected},
               {&data, "the data (--data) is '"},
               {&slash, expected},
               {&threads, NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    scenario it = {.params = same, .stop_process = -1, .fail_process = -1, .other = cases[i].one};
    play(&it, players);
    for (int k = 0; k < PROCESSES; ++k) {
      CU_ASSERT_EQUAL(zb_status_told(players[k].status), cases[i].text && k > 0);
      if (cases[i].text)
        tiny_expect(players[k].status, ZB_USAGE, cases[i].text);
      else
        TINY_OK(players[k].status);
    }
  }
}

static void test_other_settings(void) {
  static const struct {
    zb_setting zero[2], one[2];
    int one_count;
    const char *text; /* NULL: they agree */
  } cases[] = {
      {{{"--steps", "1"}, {"--json", NULL}}, {{"--steps", "1"}, {"--json", NULL}}, 2, NULL},
      {{{"--steps", "1"}, {"--json", NULL}},
       {{"--steps", "1"}, {"--json", "on"}},
       2,
       "--json is 'not given' in process 0 and 'on' in process 1"},
      {{{"--steps", "1"}, {"--json", NULL}},
       {{"--steps", ""}, {"--json", "on"}},
       2,
       "--steps is '1' in process 0 and '' in process 1"},
      {{{"--steps", "1"}, {"--json", NULL}},
       {{"--stops", "1"}, {"--json", NULL}},
       2,
       "process 1 compares other options than process 0"},
      {{{"--steps", "1"}, {"--json", NULL}}, {{"--steps", "1"}}, 1, "process 1 compares other options than process 0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    static player players[PROCESSES];
    scenario it = {.params = {.data = tiny_data(), .settings = cases[i].zero, .setting_count = 2},
                   .stop_process = -1,
                   .fail_process = -1};
    zb_session_params one = it.params;
    one.settings = cases[i].one;
    one.setting_count = cases[i].one_count;
    it.other = &one;
    play(&it, players);
    for (int k = 0; k < PROCESSES; ++k) {
      if (cases[i].text)
        tiny_expect(players[k].status, ZB_USAGE, cases[i].text);
      else
        TINY_OK(players[k].status);
    }
  }
}

/* Files of one name and one size with other contents; copies are the same. */
static void test_other_contents(void) {
  char folder[600], copy[600];
  static player players[PROCESSES];
  scenario it = {
      .params = {.data = tiny_data()}, .save = tiny_path(folder, "of-four"), .stop_process = -1, .fail_process = -1};
  play(&it, players);
  it.save = tiny_path(copy, "of-two");
  it.stop_process = 0;
  play(&it, players);
  it = (scenario){.params = {.data = tiny_data()}, .stop_process = -1, .fail_process = -1, .other_weight = 1};
  play(&it, players);
  tiny_expect(players[0].status, ZB_USAGE, "the file of weights is '");
  tiny_expect(players[1].status, ZB_USAGE, "the file of weights is '");
  zb_session_params other = it.params;
  it.other_weight = 0;
  it.params.resume = folder;
  other.resume = copy;
  it.other = &other;
  play(&it, players);
  tiny_expect(players[0].status, ZB_USAGE, "the checkpoint (--resume) is 'step 4, ");
  tiny_expect(players[1].status, ZB_USAGE, "in process 0 and 'step 2, ");
}

/* Every process tries the folder. */
static void test_save_is_tried(void) {
  char folder[600], path[700];
  struct stat info;
  static player players[PROCESSES];
  scenario it = {
      .params = {.data = tiny_data(), .save = tiny_path(folder, "tried")}, .stop_process = -1, .fail_process = -1};
  play(&it, players);
  for (int i = 0; i < PROCESSES; ++i)
    TINY_OK(players[i].status);
  snprintf(path, sizeof path, "%s.tmp", folder);
  CU_ASSERT(stat(folder, &info) != 0 && stat(path, &info) != 0); /* nothing is left */
  tiny_write(path, "x", 1);
  play(&it, players);
  tiny_expect(players[0].status, ZB_IO, "is in the way");
  tiny_expect(players[1].status, ZB_IO, "is in the way");
  CU_ASSERT_EQUAL(unlink(path), 0);
  CU_ASSERT_EQUAL(mkdir(path, 0777), 0); /* what a stopped save leaves */
  play(&it, players);
  for (int i = 0; i < PROCESSES; ++i)
    TINY_OK(players[i].status);
}

static void test_samples(void) {
  enum { LARGE = 40 << 20 };
  unsigned char *bytes = zb_alloc(LARGE);
  CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
  memset(bytes, 7, LARGE);
  uint64_t small = zb_sample_bytes(bytes, 1 << 20), large = zb_sample_bytes(bytes, LARGE);
  CU_ASSERT_NOT_EQUAL(large, zb_sample_bytes(bytes, LARGE - 1));
  CU_ASSERT_NOT_EQUAL(small, zb_sample_bytes(bytes, (1 << 20) - 1));
  const size_t places[] = {0, 1, LARGE / 255, LARGE - 1};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    bytes[places[i]] = 8;
    CU_ASSERT_NOT_EQUAL(large, zb_sample_bytes(bytes, LARGE));
    bytes[places[i]] = 7;
  }
  bytes[777777] = 8;
  CU_ASSERT_NOT_EQUAL(small, zb_sample_bytes(bytes, 1 << 20)); /* all of a small one counts */
  bytes[777777] = 7;
  CU_ASSERT_EQUAL(large, zb_sample_bytes(bytes, LARGE));
  zb_free(bytes);
}

static void test_mixed_machines(void) {
  static player players[PROCESSES];
  scenario it = {.params = {.data = tiny_data()}, .stop_process = -1, .fail_process = -1};
  for (int mixed = 0; mixed < 2; ++mixed) {
    it.other_machine = mixed;
    play(&it, players);
    for (int i = 0; i < PROCESSES; ++i) {
      TINY_OK(players[i].status);
      CU_ASSERT_EQUAL(strstr(players[i].warning, "process 1 with abacus: results may differ") != NULL, mixed);
    }
  }
}

static void test_layout(void) {
  for (int ranks = 1; ranks <= 20; ++ranks) {
    for (int processes = 1; processes <= ranks; ++processes) {
      int next = 0;
      for (int process = 0; process < processes; ++process) {
        int first = -1, count = zb_group_ranks(ranks, processes, process, &first);
        CU_ASSERT_EQUAL(first, next);
        CU_ASSERT(count >= ranks / processes && count <= ranks / processes + 1);
        for (int rank = first; rank < first + count; ++rank)
          CU_ASSERT_EQUAL(zb_group_process_of(ranks, processes, rank), process);
        next += count;
      }
      CU_ASSERT_EQUAL(next, ranks);
    }
  }
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"the same bits", test_same_bits},
      {"one checkpoint of all", test_one_checkpoint},
      {"one end for all", test_one_end},
      {"one failure for all", test_one_failure},
      {"a failure after a death", test_failure_after_a_death},
      {"other parameters", test_other_parameters},
      {"other settings of the embedder", test_other_settings},
      {"other contents of files", test_other_contents},
      {"every process tries to save", test_save_is_tried},
      {"samples of files", test_samples},
      {"machines with other instructions", test_mixed_machines},
      {"ranks over processes", test_layout},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("session_group", tests);
}
