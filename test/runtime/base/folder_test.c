/* Folders that are replaced as a whole, and who writes to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/folder.h"
#include "test/suite.h"

#define FOLDER ZB_BINARY_DIR "/test-files/folder"

static bool is_ours(const char *name) { return strncmp(name, "ours", 4) == 0; }

static const zb_folder_kind refuses = {.purpose = "save to", .who = "another run", .is_ours = is_ours};
static const zb_folder_kind keeps = {
    .purpose = "save to", .who = "another run", .is_ours = is_ours, .keeps_others = true, .first_file = "ours"};

static zb_code take_code(zb_status status) {
  zb_code code = zb_status_code(status);
  zb_status_free(status);
  return code;
}

static void expect(zb_status status, zb_code code, const char *text) {
  CU_ASSERT_EQUAL(zb_status_code(status), code);
  if (!strstr(zb_status_text(status), text)) {
    printf("\nexpected '%s', got '%s'\n", text, zb_status_text(status));
    CU_FAIL("another message");
  }
  zb_status_free(status);
}

static void write_file(const char *folder, const char *name, const char *text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(path, text, strlen(text))), ZB_OK_CODE);
}

static bool holds(const char *folder, const char *name, const char *text) {
  char path[4096], *got = NULL;
  size_t bytes = 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  zb_status status = zb_file_read(path, 0, &got, &bytes);
  bool same = !status && strcmp(got, text) == 0;
  zb_status_free(status);
  zb_free(got);
  return same;
}

static bool exists(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0;
}

/* Puts a folder with the file "ours" in the place of another. */
static void replace(const char *path, const zb_folder_kind *kind, bool by_exchange, const char *text) {
  static zb_folder folder;
  bool done = false;
  CU_ASSERT_EQUAL_FATAL(take_code(zb_folder_prepare(path, kind, &folder)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_folder_check_leftovers(&folder)), ZB_OK_CODE);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_folder_begin(&folder)), ZB_OK_CODE);
  write_file(folder.temporary, "ours", text);
  write_file(folder.temporary, "ours too", text);
  CU_ASSERT_EQUAL(take_code(zb_folder_commit(&folder, by_exchange, &done)), ZB_OK_CODE);
  CU_ASSERT(done && !exists(folder.temporary) && !exists(folder.old));
  CU_ASSERT(holds(path, "ours", text) && holds(path, "ours too", text));
}

static void test_replace(void) {
  static zb_folder folder;
  for (int by_exchange = 0; by_exchange < 2; ++by_exchange) {
    const char *path = by_exchange ? FOLDER "/a/new" : FOLDER "/b/new";
    replace(path, &keeps, by_exchange, "one");
    write_file(path, "theirs", "kept");
    CU_ASSERT_EQUAL(take_code(zb_make_folder(by_exchange ? FOLDER "/a/new/deep/er" : FOLDER "/b/new/deep/er")),
                    ZB_OK_CODE);
    replace(path, &keeps, by_exchange, "two");
    CU_ASSERT(holds(path, "theirs", "kept"));
    CU_ASSERT(exists(by_exchange ? FOLDER "/a/new/deep/er" : FOLDER "/b/new/deep/er"));
    expect(zb_folder_prepare(path, &refuses, &folder), ZB_USAGE, "it holds other files");
  }
  expect(zb_folder_prepare(FOLDER "/a/new/ours", &refuses, &folder), ZB_USAGE, "it is a file, expected a folder");
}

/* What kills leave: files in FOLDER.tmp, some of them not ours, and FOLDER.old without FOLDER. */
static void test_leftovers(void) {
  static zb_folder folder;
  replace(FOLDER "/left", &keeps, true, "one");
  CU_ASSERT_EQUAL(take_code(zb_make_folder(FOLDER "/left.tmp")), ZB_OK_CODE);
  write_file(FOLDER "/left.tmp", "ours", "half");
  write_file(FOLDER "/left.tmp", "theirs", "kept");
  replace(FOLDER "/left", &keeps, true, "two");
  CU_ASSERT(holds(FOLDER "/left", "theirs", "kept"));
  CU_ASSERT_EQUAL(rename(FOLDER "/left", FOLDER "/left.old"), 0);
  CU_ASSERT_EQUAL(take_code(zb_folder_find(FOLDER "/left", &keeps, &folder)), ZB_OK_CODE);
  CU_ASSERT_STRING_EQUAL(zb_folder_present(&folder), folder.old);
  CU_ASSERT_EQUAL(rename(FOLDER "/left.old", FOLDER "/left"), 0);
  CU_ASSERT_STRING_EQUAL(zb_folder_present(&folder), folder.path);
  CU_ASSERT_EQUAL(take_code(zb_make_folder(FOLDER "/way.tmp/theirs")), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_folder_find(FOLDER "/way", &refuses, &folder)), ZB_OK_CODE);
  expect(zb_folder_check_leftovers(&folder), ZB_IO, "is in the way");
}

/* One in a process, in two, and after the other has died. */
static void test_lock(void) {
  static zb_folder folder;
  zb_folder_lock lock, other;
  CU_ASSERT_EQUAL_FATAL(take_code(zb_folder_prepare(FOLDER "/locked", &refuses, &folder)), ZB_OK_CODE);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_folder_lock_take(&folder, &lock)), ZB_OK_CODE);
  char who[64];
  snprintf(who, sizeof who, "another run is writing there: process %ld on ", (long)getpid());
  expect(zb_folder_lock_take(&folder, &other), ZB_IO, who);
  CU_ASSERT_FALSE(other.held);
  zb_folder_lock_release(&lock);
  CU_ASSERT_FALSE(exists(folder.lock));
  int ready[2], ends[2];
  CU_ASSERT(pipe(ready) == 0 && pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    zb_status status = zb_folder_lock_take(&folder, &lock);
    char byte = status ? 'n' : 'y';
    if (write(ready[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1) _exit(0);
    _exit(1);
  }
  char byte = 0;
  CU_ASSERT(read(ready[0], &byte, 1) == 1 && byte == 'y');
  snprintf(who, sizeof who, "process %ld on ", (long)child);
  expect(zb_folder_lock_take(&folder, &other), ZB_IO, who);
  CU_ASSERT_EQUAL(write(ends[1], "e", 1), 1);
  CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
  CU_ASSERT(exists(folder.lock)); /* it ended without releasing it */
  CU_ASSERT_EQUAL(take_code(zb_folder_lock_take(&folder, &other)), ZB_OK_CODE);
  zb_folder_lock_release(&other);
  zb_folder_lock_release(&other); /* nothing */
  CU_ASSERT_FALSE(exists(folder.lock));
  close(ready[0]), close(ready[1]), close(ends[0]), close(ends[1]);
}

static void test_without_memory(void) {
  static zb_folder folder;
  replace(FOLDER "/memory", &keeps, true, "old");
  CU_ASSERT_EQUAL_FATAL(take_code(zb_folder_prepare(FOLDER "/memory", &keeps, &folder)), ZB_OK_CODE);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_folder_begin(&folder)), ZB_OK_CODE);
  write_file(folder.temporary, "ours", "half");
  uint64_t before = zb_allocation_count();
  CU_ASSERT_EQUAL(take_code(zb_folder_abandon(&folder)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(zb_allocation_count(), before);
  CU_ASSERT(!exists(folder.temporary) && holds(FOLDER "/memory", "ours", "old"));
}

static void test_names(void) {
  static zb_folder folder;
  static char name[8000];
  memset(name, 'a', sizeof name - 1);
  expect(zb_folder_find(name, &keeps, &folder), ZB_IO, "is too long");
  CU_ASSERT_EQUAL(take_code(zb_folder_find("alone", &keeps, &folder)), ZB_OK_CODE);
  CU_ASSERT_STRING_EQUAL(folder.parent, ".");
  CU_ASSERT_EQUAL(take_code(zb_folder_find("/none-of-that-name///", &keeps, &folder)), ZB_OK_CODE);
  CU_ASSERT_STRING_EQUAL(folder.path, "/none-of-that-name");
  CU_ASSERT_STRING_EQUAL(folder.parent, "/");
}

static void test_must_stay(void) {
  char before[4096];
  CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(before, sizeof before));
  replace(FOLDER "/stays", &keeps, true, "one");
  CU_ASSERT_EQUAL_FATAL(chdir(FOLDER "/stays"), 0);
  struct stat old, new;
  CU_ASSERT_EQUAL(stat(".", &old), 0);
  replace(".", &keeps, true, "two");
  CU_ASSERT_EQUAL(stat(FOLDER "/stays", &new), 0);
  CU_ASSERT_EQUAL(old.st_ino, new.st_ino);
  CU_ASSERT_FALSE(exists("new.tmp"));
  CU_ASSERT_EQUAL(chdir(before), 0);
}

static void test_start(void) { CU_ASSERT_EQUAL(system("rm -rf '" FOLDER "'"), 0); /* what an earlier run left */ }

SUITE_MAIN("folder", {"start from nothing", test_start}, {"replace", test_replace}, {"leftovers", test_leftovers},
           {"lock", test_lock}, {"without memory", test_without_memory}, {"names", test_names},
           {"must stay", test_must_stay})
