/* Save and resume: bitwise, atomic, and only for the same model. */
#define _GNU_SOURCE /* renameat2 */
#include "test/runtime/exec/tiny.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void run(zb_session *session, int steps, double *losses) {
  for (int i = 0; i < steps; ++i) {
    zb_step_result result;
    TINY_OK(zb_session_step(session, &result));
    losses[i] = result.loss;
  }
}

static bool same_file(const char *a, const char *b) {
  char *left = NULL, *right = NULL;
  size_t left_bytes = 0, right_bytes = 0;
  TINY_OK(zb_file_read(a, 0, &left, &left_bytes));
  TINY_OK(zb_file_read(b, 0, &right, &right_bytes));
  bool same = left_bytes == right_bytes && memcmp(left, right, left_bytes) == 0;
  zb_free(left);
  zb_free(right);
  return same;
}

static bool same_checkpoint(const char *a, const char *b) {
  static const char *const files[] = {"weights.safetensors", "optimizer.safetensors"};
  char left[700], right[700];
  for (int i = 0; i < 2; ++i) {
    snprintf(left, sizeof left, "%s/%s", a, files[i]);
    snprintf(right, sizeof right, "%s/%s", b, files[i]);
    if (!same_file(left, right)) return false;
  }
  return true;
}

static bool exists(const char *path, const char *suffix) {
  char text[700];
  struct stat info;
  snprintf(text, sizeof text, "%s%s", path, suffix);
  return stat(text, &info) == 0;
}

static void test_resume_is_bitwise(void) {
  char half[600], full[600], other[600];
  double losses[6], resumed[6];
  zb_session *session = NULL;
  zb_session_params params = {.data = tiny_data()};
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  run(session, 3, losses);
  TINY_OK(zb_session_save(session, tiny_path(half, "half/")));
  run(session, 3, losses + 3);
  TINY_OK(zb_session_save(session, tiny_path(full, "deep/er/full")));
  zb_session_destroy(session);
  params.resume = half;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  CU_ASSERT_EQUAL(zb_session_steps(session), 3);
  run(session, 3, resumed + 3);
  CU_ASSERT_EQUAL(memcmp(losses + 3, resumed + 3, sizeof(double) * 3), 0);
  TINY_OK(zb_session_save(session, tiny_path(other, "other")));
  zb_session_destroy(session);
  CU_ASSERT(same_checkpoint(full, other));
  CU_ASSERT_FALSE(same_checkpoint(full, half));
}

static void test_names_and_metadata(void) {
  char folder[600], path[700];
  double losses[2];
  zb_session *session = NULL;
  zb_session_params params = {.data = tiny_data()};
  zb_plan *plan = tiny_plan();
  zb_plan_tensor first = plan->ranks[1].states[0]; /* another order in the plan is the same order in the file */
  plan->ranks[1].states[0] = plan->ranks[1].states[1];
  plan->ranks[1].states[1] = first;
  plan->ranks[0].parameters[1].trained = false; /* frozen parameters are saved, too */
  plan->ranks[0].parameters[0].owner = false;   /* a copy of what another rank owns is not */
  TINY_OK(tiny_session(&params, plan, false, &session));
  run(session, 2, losses);
  TINY_OK(zb_session_save(session, tiny_path(folder, "names")));
  zb_session_destroy(session);
  zb_store *store = NULL;
  snprintf(path, sizeof path, "%s/weights.safetensors", folder);
  TINY_OK(zb_store_open(path, &store));
  CU_ASSERT_EQUAL(zb_store_count(store), 2);
  CU_ASSERT_STRING_EQUAL(zb_store_at(store, 0)->name, "head.weight");
  CU_ASSERT_STRING_EQUAL(zb_store_at(store, 1)->name, "mid.weight");
  CU_ASSERT_STRING_EQUAL(zb_store_metadata(store, "zb.step"), "2");
  zb_store_destroy(store);
  snprintf(path, sizeof path, "%s/optimizer.safetensors", folder);
  TINY_OK(zb_store_open(path, &store));
  CU_ASSERT_STRING_EQUAL(zb_store_at(store, 0)->name, "head.weight.exp_avg");
  CU_ASSERT_STRING_EQUAL(zb_store_at(store, 1)->name, "head.weight.exp_avg_sq");
  CU_ASSERT_PTR_NULL(zb_store_find(store, "wte.exp_avg"));
  CU_ASSERT_STRING_EQUAL(zb_store_metadata(store, "zb.data_position"), "16");
  zb_store_destroy(store);
}

/* A file-size limit stands for a full disk: the write of a tensor fails halfway. */
static void test_full_disk_leaves_the_old_one(void) {
  char folder[600], copy[600];
  double losses[2];
  zb_session *session = NULL;
  zb_session_params params = {.data = tiny_data()};
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  run(session, 1, losses);
  TINY_OK(zb_session_save(session, tiny_path(folder, "disk")));
  TINY_OK(zb_session_save(session, tiny_path(copy, "disk-copy")));
  run(session, 1, losses);
  struct rlimit before, limit;
  CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
  static const rlim_t limits[] = {100, 10000, 20000, 40000}; /* in the first file, and in the second */
  int failures = 0;
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; ++i) {
    signal(SIGXFSZ, SIG_IGN);
    limit = before;
    limit.rlim_cur = limits[i];
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    zb_status status = zb_session_save(session, folder);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    if (!status) continue;
    ++failures;
    tiny_expect(status, ZB_IO, "what was there before is untouched");
    CU_ASSERT(same_checkpoint(folder, copy));
    CU_ASSERT_FALSE(exists(folder, ".tmp"));
    CU_ASSERT_FALSE(exists(folder, ".old"));
  }
  CU_ASSERT(failures >= 3);
  TINY_OK(zb_session_save(session, folder)); /* and with room again it works */
  CU_ASSERT_FALSE(same_checkpoint(folder, copy));
  CU_ASSERT_FALSE(exists(folder, ".old"));
  zb_session_destroy(session);
}

/* What a crash can leave: a half-written FOLDER.tmp, or FOLDER.old without FOLDER. */
static void test_after_a_crash(void) {
  char folder[600], old[700], temporary[700], junk[800];
  double losses[1];
  zb_session *session = NULL;
  zb_session_params params = {.data = tiny_data()};
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  run(session, 1, losses);
  TINY_OK(zb_session_save(session, tiny_path(folder, "crash")));
  snprintf(old, sizeof old, "%s.old", folder);
  snprintf(temporary, sizeof temporary, "%s.tmp", folder);
  CU_ASSERT_EQUAL(rename(folder, old), 0);
  CU_ASSERT_EQUAL(mkdir(temporary, 0777), 0);
  snprintf(junk, sizeof junk, "%s/weights.safetensors", temporary);
  tiny_write(junk, "half", 4);
  zb_session *resumed = NULL;
  params.resume = folder;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &resumed));
  CU_ASSERT_EQUAL(zb_session_steps(resumed), 1);
  run(resumed, 1, losses);
  TINY_OK(zb_session_save(resumed, folder));
  CU_ASSERT(exists(folder, "/optimizer.safetensors"));
  CU_ASSERT_FALSE(exists(folder, ".tmp"));
  TINY_OK(zb_session_save(resumed, folder)); /* .old is gone at the latest with the next save */
  CU_ASSERT_FALSE(exists(folder, ".old"));
  zb_session_destroy(resumed);
  zb_session_destroy(session);
}

/* Looks for the weights over and over while saves replace them. */
typedef struct watcher {
  const char *path;
  atomic_bool ends;
  uint64_t looks, missing;
} watcher;

static void *watch(void *context) {
  watcher *w = context;
  while (!atomic_load(&w->ends)) {
    ++w->looks;
    w->missing += access(w->path, F_OK) != 0;
  }
  return NULL;
}

/* Both ways to put a save in its place; by exchange there is never nothing. */
static void test_swap(void) {
  char folder[600], path[700], probe[700], other[700];
  double losses[1];
  zb_session *session = NULL;
  zb_session_params params = {.data = tiny_data()};
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  run(session, 1, losses);
  TINY_OK(zb_session_save(session, tiny_path(folder, "swapped")));
  zb_session_destroy(session);
  zb_plan *plan = tiny_plan();
  snprintf(path, sizeof path, "%s/weights.safetensors", folder);
  snprintf(probe, sizeof probe, "%s.probe-a", folder);
  snprintf(other, sizeof other, "%s.probe-b", folder);
  CU_ASSERT(mkdir(probe, 0777) == 0 && mkdir(other, 0777) == 0);
  bool has_exchange = renameat2(AT_FDCWD, probe, AT_FDCWD, other, RENAME_EXCHANGE) == 0;
  for (int by_exchange = 0; by_exchange < 2; ++by_exchange) {
    zb_checkpoint checkpoint = {0};
    TINY_OK(zb_checkpoint_open(folder, plan, &checkpoint));
    watcher w = {.path = path};
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, watch, &w), 0);
    for (int step = 10; step < 60; ++step) {
      checkpoint.step = step + 100 * by_exchange;
      TINY_OK(zb_checkpoint_begin(folder));
      TINY_OK(zb_checkpoint_write_part(folder, plan, &checkpoint, 0, 1));
      TINY_OK(zb_checkpoint_commit_by(folder, 1, by_exchange));
      CU_ASSERT(!exists(folder, ".tmp") && !exists(folder, ".old"));
    }
    atomic_store(&w.ends, true);
    pthread_join(thread, NULL);
    CU_ASSERT(w.looks > 0);
    if (by_exchange && has_exchange) CU_ASSERT_EQUAL(w.missing, 0);
    zb_checkpoint_close(&checkpoint);
    TINY_OK(zb_checkpoint_open(folder, plan, &checkpoint));
    CU_ASSERT_EQUAL(checkpoint.step, 59 + 100 * by_exchange);
    zb_checkpoint_close(&checkpoint);
  }
  if (!has_exchange) printf("\nthis file system exchanges no folders: only the two moves were tried\n");
  zb_plan_destroy(plan);
}

static void test_folder_with_other_files(void) {
  char folder[600], path[700];
  tiny_path(folder, "mine");
  TINY_OK(zb_make_folder(folder));
  TINY_OK(zb_session_save_check(folder));
  snprintf(path, sizeof path, "%s/plan.zb", folder);
  tiny_write(path, "x", 1);
  tiny_expect(zb_session_save_check(folder), ZB_USAGE, "holds other files ('plan.zb')");
  tiny_expect(zb_session_save_check(path), ZB_USAGE, "it is a file");
  CU_ASSERT(exists(path, ""));
}

static void test_checkpoint_of_another_model(void) {
  char folder[600], path[700];
  double losses[1];
  zb_session *session = NULL;
  zb_session_params params = {.data = tiny_data()};
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  run(session, 1, losses);
  TINY_OK(zb_session_save(session, tiny_path(folder, "model")));
  zb_session_destroy(session);
  params.resume = folder;
  zb_plan *plan = tiny_plan();
  plan->model_hash = 1;
  plan->ranks[0].parameters[1].tensor.name = "middle.weight";
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID, "it has no parameter 'middle.weight'");
  plan = tiny_plan();
  plan->model_hash = 1;
  plan->ranks[0].parameters[1].tensor.shape.dims[0] = 4;
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID,
              "its parameter 'mid.weight' is 8x8xf32, the model's is 4x8xf32");
  plan = tiny_plan();
  plan->model_hash = 1;
  plan->ranks[1].parameter_count = 0;
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID,
              "the model has no parameter or buffer 'head.weight'");
  plan = tiny_plan();
  plan->model_hash = 1;
  plan->optimizer = "sgd:lr=1";
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID,
              "its optimizer is 'adamw:lr=0.01', the plan's is 'sgd:lr=1'");
  char missing[600];
  params.resume = tiny_path(missing, "no-such-folder");
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_IO, "no such folder");
  params.resume = folder;
  snprintf(path, sizeof path, "%s/optimizer.safetensors", folder);
  CU_ASSERT_EQUAL(truncate(path, 1000), 0);
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_INVALID, "optimizer.safetensors");
}

/* Gives both files of a checkpoint another value of a key. */
static void set_metadata(const char *folder, const char *key, const char *value) {
  static const char *const names[] = {"weights", "optimizer"};
  for (int i = 0; i < 2; ++i) {
    char path[700];
    zb_store *store = NULL;
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, names[i]);
    TINY_OK(zb_store_open(path, &store));
    TINY_OK(zb_store_set_metadata(store, key, value));
    TINY_OK(zb_store_write(store, path));
    zb_store_destroy(store);
  }
}

/* Another optimizer, or one that needs what was not saved, cannot go on; another rate can. */
static void test_other_optimizer(void) {
  char folder[600];
  double losses[1];
  zb_session *session = NULL;
  zb_session_params params = {.data = tiny_data()};
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  run(session, 1, losses);
  TINY_OK(zb_session_save(session, tiny_path(folder, "optimizer")));
  zb_session_destroy(session);
  params.resume = folder;
  zb_plan *plan = tiny_plan();
  plan->optimizer = "sgd:lr=1";
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID,
              "was saved with the optimizer 'adamw:lr=0.01', the plan wants 'sgd:lr=1'");
  plan = tiny_plan();
  plan->optimizer = "adamw:lr=0.02";
  plan->ranks[1].states[0].name = "head.weight.max_exp_avg_sq";
  tiny_expect(tiny_session(&params, plan, false, &session), ZB_INVALID, "the plan wants 'adamw:lr=0.02'");
  plan = tiny_plan();
  plan->optimizer = "adamw:lr=0.02";
  TINY_OK(tiny_session(&params, plan, false, &session));
  zb_session_destroy(session);
}

/* A number of steps or rows near the end of its type is an error, not an overflow; 2^53 of each goes on. */
static void test_too_many_steps(void) {
  static const struct {
    const char *key, *first;
  } rows[] = {{"zb.step", "1"}, {"zb.data_position", "8"}};
  char folder[600];
  zb_session *session = NULL;
  zb_session_params params = {.data = tiny_data()};
  double losses[1];
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  run(session, 1, losses);
  TINY_OK(zb_session_save(session, tiny_path(folder, "steps")));
  zb_session_destroy(session);
  params.resume = folder;
  for (int i = 0; i < 2; ++i) {
    static const char *const wrong[] = {"9223372036854775807", "9007199254740993", "-1", "", "1e3"};
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; ++k) {
      set_metadata(folder, rows[i].key, wrong[k]);
      tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_INVALID,
                  "expected a whole number from 0 to 9007199254740992, got ");
    }
    set_metadata(folder, rows[i].key, "9007199254740992");
    TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
    run(session, 1, losses);
    zb_session_destroy(session);
    set_metadata(folder, rows[i].key, rows[i].first);
  }
}

/* The seed of random ops: what no run can have saved is an error; a plan without random ops neither needs it nor saves
 * it. */
static void test_random_seed(void) {
  char folder[600], path[700];
  zb_session *session = NULL;
  zb_session_params params = {.data = tiny_data()};
  double losses[1];
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  CU_ASSERT_EQUAL(zb_session_describe(session).random_seed, 0);
  run(session, 1, losses);
  TINY_OK(zb_session_save(session, tiny_path(folder, "seed")));
  zb_session_destroy(session);
  zb_store *store = NULL;
  snprintf(path, sizeof path, "%s/optimizer.safetensors", folder);
  TINY_OK(zb_store_open(path, &store));
  CU_ASSERT_PTR_NULL(zb_store_metadata(store, "zb.random_seed"));
  zb_store_destroy(store);
  params.resume = folder;
  static const char *const wrong[] = {"9223372036854775808", "-1", "", "seven"};
  for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; ++k) {
    set_metadata(folder, "zb.random_seed", wrong[k]);
    tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_INVALID, "has no valid 'zb.random_seed'");
  }
  set_metadata(folder, "zb.random_seed", "9223372036854775807");
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  zb_session_destroy(session);
  params.resume = NULL;
  params.random_seed = 7;
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_USAGE,
              "nothing in the plan draws random numbers");
  params.random_seed = -7;
  tiny_expect(tiny_session(&params, tiny_plan(), false, &session), ZB_USAGE, "the random seed is -7");
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"the seed of random ops", test_random_seed},
      {"resume is bitwise", test_resume_is_bitwise},
      {"names and metadata", test_names_and_metadata},
      {"a full disk leaves the old one", test_full_disk_leaves_the_old_one},
      {"after a crash", test_after_a_crash},
      {"a folder in the place of another", test_swap},
      {"a folder with other files", test_folder_with_other_files},
      {"a checkpoint of another model", test_checkpoint_of_another_model},
      {"a checkpoint of another optimizer", test_other_optimizer},
      {"too many steps", test_too_many_steps},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("checkpoint", tests);
}
