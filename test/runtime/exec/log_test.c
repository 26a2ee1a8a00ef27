/* Logs: their text, going on after a resume, event files record by record, and what cannot be written. */
#include "test/runtime/exec/tiny.h"
#include "zb/log.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

#include "runtime/base/digest.h"

static const char *const names[] = {"loss", "idle/0", "norm"};
static const double values[][3] = {{2.5, 0.125, NAN}, {1.0 / 3, 0.1, 1e-300}, {-7, INFINITY, 0}};

static char *text_of(const char *path) {
  char *text = NULL;
  size_t bytes = 0;
  TINY_OK(zb_file_read(path, 0, &text, &bytes));
  return text;
}

static void expect_text(const char *path, const char *wanted) {
  char *text = text_of(path);
  if (strcmp(text, wanted) != 0) printf("\nexpected %sgot %s", wanted, text);
  CU_ASSERT_STRING_EQUAL(text, wanted);
  zb_free(text);
}

static zb_log_params params_of(const char *path, int64_t first) {
  return (zb_log_params){.path = path, .names = names, .count = 3, .config = "{\"ranks\": 2}", .first_step = first};
}

/* Rows first .. end - 1, each of the values of its number; how many rows were cut. */
static int64_t write_rows(const zb_log_params *params, int64_t first, int64_t end) {
  zb_log *log = NULL;
  TINY_OK(zb_log_open(params, &log));
  const int64_t cut = zb_log_cut(log);
  for (int64_t step = first; step < end; ++step)
    TINY_OK(zb_log_add(log, step, 1000.5 + (double)step, values[step % 3]));
  TINY_OK(zb_log_close(log));
  return cut;
}

static void test_csv(void) {
  char path[600];
  zb_log_params params = params_of(tiny_path(path, "log.csv"), 0);
  CU_ASSERT_EQUAL(write_rows(&params, 0, 3), 0);
  expect_text(path, "step,loss,idle/0,norm\n0,2.5,0.125,\n1,0.3333333333333333,0.1,1e-300\n2,-7,,0\n");
  params.first_step = 1;
  CU_ASSERT_EQUAL(write_rows(&params, 1, 2), 2);
  expect_text(path, "step,loss,idle/0,norm\n0,2.5,0.125,\n1,0.3333333333333333,0.1,1e-300\n");
  params.first_step = 0;
  CU_ASSERT_EQUAL(write_rows(&params, 0, 1), 0);
  expect_text(path, "step,loss,idle/0,norm\n0,2.5,0.125,\n");
}

static void test_jsonl(void) {
  char path[600];
  zb_log_params params = params_of(tiny_path(path, "log.jsonl"), 0);
  CU_ASSERT_EQUAL(write_rows(&params, 0, 3), 0);
  expect_text(path, "{\"config\": {\"ranks\": 2}}\n{\"step\": 0, \"loss\": 2.5, \"idle/0\": 0.125}\n"
                    "{\"step\": 1, \"loss\": 0.3333333333333333, \"idle/0\": 0.1, \"norm\": 1e-300}\n"
                    "{\"step\": 2, \"loss\": -7, \"norm\": 0}\n");
  params.first_step = 2;
  CU_ASSERT_EQUAL(write_rows(&params, 2, 2), 1);
  expect_text(path, "{\"config\": {\"ranks\": 2}}\n{\"step\": 0, \"loss\": 2.5, \"idle/0\": 0.125}\n"
                    "{\"step\": 1, \"loss\": 0.3333333333333333, \"idle/0\": 0.1, \"norm\": 1e-300}\n");
}

/* A row that is there before all its numbers are: it is completed in its place, by what is no shorter. */
static void test_early(void) {
  static const double before[] = {0.1, NAN, NAN}, after[] = {0.1, 1.0 / 3, 4}, none[] = {NAN, NAN, NAN};
  static const char *const rows[] = {"step,loss,idle/0,norm\n0,0.1,,\n",
                                     "step,loss,idle/0,norm\n0,0.1,0.3333333333333333,4\n",
                                     "step,loss,idle/0,norm\n0,0.1,0.3333333333333333,4\n1,,,\n"};
  static const char *const objects[] = {
      "{\"config\": {\"ranks\": 2}}\n{\"step\": 0, \"loss\": 0.1}\n",
      "{\"config\": {\"ranks\": 2}}\n{\"step\": 0, \"loss\": 0.1, \"idle/0\": 0.3333333333333333, \"norm\": 4}\n",
      "{\"config\": {\"ranks\": 2}}\n{\"step\": 0, \"loss\": 0.1, \"idle/0\": 0.3333333333333333, \"norm\": 4}\n"
      "{\"step\": 1}\n"};
  for (int form = 0; form < 2; ++form) {
    char path[600];
    zb_log *log = NULL;
    const zb_log_params params = params_of(tiny_path(path, form ? "early.jsonl" : "early.csv"), 0);
    const char *const *wanted = form ? objects : rows;
    TINY_OK(zb_log_open(&params, &log));
    TINY_OK(zb_log_add_early(log, 0, 1, before));
    expect_text(path, wanted[0]);
    TINY_OK(zb_log_add(log, 0, 1, after));
    expect_text(path, wanted[1]);
    TINY_OK(zb_log_add_early(log, 1, 1, none));
    TINY_OK(zb_log_add(log, 1, 1, none));
    expect_text(path, wanted[2]);
    TINY_OK(zb_log_close(log));
  }
}

static void write_text(const char *path, const char *text) { TINY_OK(zb_file_write_atomic(path, text, strlen(text))); }

/* A row that a stop or a full disk left half. */
static void test_torn(void) {
  char path[600];
  const zb_log_params csv = params_of(tiny_path(path, "torn.csv"), 5);
  write_text(path, "step,loss,idle/0,norm\n3,1,2,3\n4,1,2");
  CU_ASSERT_EQUAL(write_rows(&csv, 5, 6), 0);
  expect_text(path, "step,loss,idle/0,norm\n3,1,2,3\n5,-7,,0\n");
  const zb_log_params jsonl = params_of(tiny_path(path, "torn.jsonl"), 5);
  write_text(path, "{\"config\": {}}\n{\"step\": 3}\n{\"step\": 4, \"lo");
  CU_ASSERT_EQUAL(write_rows(&jsonl, 5, 5), 0);
  expect_text(path, "{\"config\": {}}\n{\"step\": 3}\n");
}

static void expect_refused(const zb_log_params *params, zb_code code, const char *part) {
  zb_log *log = NULL;
  zb_status status = zb_log_open(params, &log);
  CU_ASSERT_EQUAL(zb_status_code(status), code);
  CU_ASSERT(status && strstr(zb_status_text(status), part) != NULL);
  CU_ASSERT_PTR_NULL(log);
  zb_status_free(status);
}

static void test_refused(void) {
  char path[600];
  zb_log_params params = params_of(tiny_path(path, "other.csv"), 2);
  write_text(path, "step,loss\n0,1\n");
  expect_refused(&params, ZB_USAGE, "has other columns than this run");
  write_text(path, "step,loss,idle/0,norm\nhello\n");
  expect_refused(&params, ZB_INVALID, "line 2: not a row of a log");
  expect_text(path, "step,loss,idle/0,norm\nhello\n");
  params = params_of(tiny_path(path, "other.jsonl"), 2);
  write_text(path, "{\"a\": 1}\n");
  expect_refused(&params, ZB_INVALID, "line 1: not a row of a log");
  static const char *const wrong[] = {"a,b", "", "a b", "a\"", "a\\"};
  for (int i = 0; i < 5; ++i) {
    zb_log_params named = params_of(tiny_path(path, "name.csv"), 0);
    named.names = &wrong[i];
    named.count = 1;
    expect_refused(&named, ZB_INVALID, "the name of number 0 of a log");
  }
  params = params_of(tiny_path(path, "log.txt"), 0);
  expect_refused(&params, ZB_USAGE, "end it in one of .csv .jsonl");
  params = params_of(tiny_path(path, "nowhere/log.csv"), 0);
  expect_refused(&params, ZB_IO, "nowhere/log.csv");
  params = params_of(tiny_path(path, "folder.csv"), 0);
  TINY_OK(zb_make_folder(path));
  expect_refused(&params, ZB_IO, "is a folder, expected a file");
  params = params_of(tiny_path(path, "log.csv"), 0);
  params.events = true;
  expect_refused(&params, ZB_IO, "is not a folder");
}

/* A device that is full: the error has the name, and the second row is not silent either. */
static void test_full(void) {
  char path[600];
  const zb_log_params params = params_of(tiny_path(path, "full.csv"), 0);
  CU_ASSERT_EQUAL(symlink("/dev/full", path), 0);
  expect_refused(&params, ZB_IO, "full.csv': No space left on device");
}

/* ---- Event files ---- */

static uint64_t little(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i)
    value = value << 8 | at[i];
  return value;
}

static uint32_t masked(const void *bytes, size_t count) {
  const uint32_t crc = zb_crc32c(0, bytes, count);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

/* The newest event file of a folder; how many there are. */
static int find_file(const char *folder, char *out, size_t size) {
  int count = 0;
  char newest[300] = "";
  DIR *entries = opendir(folder);
  for (const struct dirent *e = entries ? readdir(entries) : NULL; e; e = readdir(entries)) {
    if (e->d_name[0] == '.') continue;
    CU_ASSERT_EQUAL(strncmp(e->d_name, "events.out.tfevents.", 20), 0);
    ++count;
    if (strcmp(e->d_name, newest) > 0) snprintf(newest, sizeof newest, "%s", e->d_name);
  }
  if (entries) closedir(entries);
  snprintf(out, size, "%s/%s", folder, newest);
  return count;
}

/* Every record by the rules of the format; the bytes of record `which`. */
static int read_records(const char *path, int which, unsigned char *out, size_t *out_bytes) {
  char *data = NULL;
  size_t bytes = 0, at = 0;
  int count = 0;
  TINY_OK(zb_file_read(path, 0, &data, &bytes));
  const unsigned char *all = (const unsigned char *)data;
  for (; at + 16 <= bytes; ++count) {
    const size_t length = (size_t)little(all + at, 8);
    CU_ASSERT_EQUAL(little(all + at + 8, 4), masked(all + at, 8));
    CU_ASSERT_FATAL(at + 16 + length <= bytes);
    CU_ASSERT_EQUAL(little(all + at + 12 + length, 4), masked(all + at + 12, length));
    if (count == which) memcpy(out, all + at + 12, *out_bytes = length);
    at += 16 + length;
  }
  CU_ASSERT_EQUAL(at, bytes);
  zb_free(data);
  return count;
}

/* Bytes by hand: field 1 (double), 2 (varint), 3 (text), 5 (message) with field 1 (message) {1 text, 2 float}. */
static void test_events(void) {
  static const unsigned char version[] = "\x1a\x0d"
                                         "brain.Event:2";
  static const unsigned char row[] = "\x09\0\0\0\0\0\x54\x8f\x40\x10\x02\x2a\x1a\x0a\x0b\x0a\x04loss\x15\0\0\xe0\xc0"
                                     "\x0a\x0b\x0a\x04norm\x15\0\0\0\0";
  char folder[600], path[1000];
  unsigned char record[4096];
  size_t bytes = 0;
  zb_log_params params = params_of(tiny_path(folder, "board/run"), 0);
  params.events = true;
  CU_ASSERT_EQUAL(write_rows(&params, 0, 3), 0);
  CU_ASSERT_EQUAL(find_file(folder, path, sizeof path), 1);
  CU_ASSERT_EQUAL(read_records(path, 0, record, &bytes), 5);
  CU_ASSERT_EQUAL(bytes, 9 + sizeof version - 1);
  CU_ASSERT_EQUAL(memcmp(record + 9, version, sizeof version - 1), 0);
  read_records(path, 4, record, &bytes);
  CU_ASSERT_EQUAL(bytes, sizeof row - 1);
  CU_ASSERT_EQUAL(memcmp(record, row, sizeof row - 1), 0);
  params.first_step = 300; /* a second file, read after the first; it begins with a start at step 300 */
  CU_ASSERT_EQUAL(write_rows(&params, 300, 301), 0);
  CU_ASSERT_EQUAL(find_file(folder, path, sizeof path), 2);
  CU_ASSERT_EQUAL(read_records(path, 1, record, &bytes), 3);
  CU_ASSERT_EQUAL(memcmp(record + 9, "\x10\xac\x02\x3a\x02\x08\x01", 7), 0);
}

static void test_memory(void) {
  char path[600];
  for (int events = 0; events < 2; ++events)
    for (uint64_t at = 1;; ++at) {
      zb_log_params params = params_of(tiny_path(path, events ? "memory" : "memory.jsonl"), events ? 0 : 1);
      params.events = events == 1;
      zb_log *log = NULL;
      zb_allocation_fail_at(at);
      zb_status status = zb_log_open(&params, &log);
      if (!status) status = zb_log_add(log, 1, 0, values[1]);
      zb_allocation_fail_at(0);
      zb_status end = zb_log_close(log);
      CU_ASSERT(!status || zb_status_code(status) == ZB_MEMORY);
      const bool good = !status && !end;
      zb_status_free(status);
      zb_status_free(end);
      if (good) break;
    }
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"csv", test_csv},         {"json lines", test_jsonl}, {"torn rows", test_torn},     {"early rows", test_early},
      {"refused", test_refused}, {"full disk", test_full},   {"event files", test_events}, {"no memory", test_memory},
      CU_TEST_INFO_NULL,
  };
  return tiny_run("log", tests);
}
