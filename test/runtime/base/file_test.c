/* Whole files, atomic writing, folders. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "test/suite.h"

#define FOLDER ZB_BINARY_DIR "/test-files/file/a/b"

static zb_code take_code(zb_status status) {
  zb_code code = zb_status_code(status);
  zb_status_free(status);
  return code;
}

static void test_round_trip(void) {
  CU_ASSERT_EQUAL_FATAL(take_code(zb_make_folder(FOLDER)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_make_folder(FOLDER "/")), ZB_OK_CODE); /* it exists */
  static char bytes[100000];
  for (size_t i = 0; i < sizeof bytes; ++i)
    bytes[i] = (char)(i * 31 % 127);
  const size_t sizes[] = {0, 1, 4096, sizeof bytes};
  for (int i = 0; i < 4; ++i) {
    char *back = NULL;
    size_t count = 0;
    CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(FOLDER "/bytes", bytes, sizes[i])), ZB_OK_CODE);
    CU_ASSERT_EQUAL_FATAL(take_code(zb_file_read(FOLDER "/bytes", 0, &back, &count)), ZB_OK_CODE);
    CU_ASSERT_EQUAL(count, sizes[i]);
    CU_ASSERT_EQUAL(memcmp(back, bytes, count), 0);
    CU_ASSERT_EQUAL(back[count], '\0');
    zb_free(back);
  }
}

static void test_errors(void) {
  char *back = NULL;
  size_t count = 0;
  CU_ASSERT_EQUAL(take_code(zb_file_read(FOLDER "/none", 0, &back, &count)), ZB_IO);
  CU_ASSERT_EQUAL(take_code(zb_file_read(FOLDER, 0, &back, &count)), ZB_IO);
  CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(FOLDER "/four", "four", 4)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_file_read(FOLDER "/four", 3, &back, &count)), ZB_INVALID);
  CU_ASSERT_EQUAL(take_code(zb_make_folder(FOLDER "/four")), ZB_IO);
  CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(FOLDER "/none/file", "x", 1)), ZB_IO);
  CU_ASSERT_PTR_NULL(back);
  CU_ASSERT_EQUAL(take_code(zb_file_read(FOLDER "/four", 4, &back, &count)), ZB_OK_CODE);
  CU_ASSERT_STRING_EQUAL(back, "four");
  zb_free(back);
}

/* Asking whether a file can be written changes nothing. */
static void test_output_check(void) {
  char *back = NULL;
  size_t count = 0;
  CU_ASSERT_EQUAL(take_code(zb_output_check("--picture", FOLDER "/new.svg", ".svg .json")), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_output_check("--picture", FOLDER "/new.json", ".svg .json")), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_output_check("--file", FOLDER "/new", NULL)), ZB_OK_CODE);
  CU_ASSERT_NOT_EQUAL(access(FOLDER "/new", F_OK), 0);
  CU_ASSERT_NOT_EQUAL(access(FOLDER "/new.svg", F_OK), 0);
  CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(FOLDER "/old.svg", "old", 3)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_output_check("--picture", FOLDER "/old.svg", ".svg")), ZB_OK_CODE);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_file_read(FOLDER "/old.svg", 0, &back, &count)), ZB_OK_CODE);
  CU_ASSERT_STRING_EQUAL(back, "old");
  zb_free(back);
  CU_ASSERT_EQUAL(take_code(zb_output_check("--picture", FOLDER "/new.png", ".svg .json")), ZB_USAGE);
  CU_ASSERT_EQUAL(take_code(zb_output_check("--picture", ".svg", ".svg")), ZB_USAGE);
  CU_ASSERT_EQUAL(take_code(zb_output_check("--picture", FOLDER "/none/new.svg", ".svg")), ZB_IO);
  CU_ASSERT_EQUAL(take_code(zb_make_folder(FOLDER "/folder.svg")), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_output_check("--picture", FOLDER "/folder.svg", ".svg")), ZB_IO);
  CU_ASSERT_EQUAL(take_code(zb_output_folder_check("-o", FOLDER "/some/where")), ZB_OK_CODE);
  CU_ASSERT_NOT_EQUAL(access(FOLDER "/some", F_OK), 0);
  CU_ASSERT_EQUAL(take_code(zb_output_folder_check("-o", FOLDER)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_output_folder_check("-o", "/")), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_output_folder_check("-o", "none-of-that-name")), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_output_folder_check("-o", FOLDER "/old.svg")), ZB_IO);
  CU_ASSERT_EQUAL(take_code(zb_output_folder_check("-o", FOLDER "/old.svg/below")), ZB_IO);
  zb_status status = zb_output_check("--picture", FOLDER "/none/new.svg", ".svg");
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_message(status), "--picture: cannot write"));
  zb_status_free(status);
}

/* A write that is given up leaves the old file and no other. */
static void test_abandon(void) {
  zb_file_writer writer;
  char *back = NULL, temporary[512];
  size_t count = 0;
  CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(FOLDER "/kept", "old", 3)), ZB_OK_CODE);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_file_writer_open(&writer, FOLDER "/kept")), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_file_writer_add(&writer, "new", 3)), ZB_OK_CODE);
  snprintf(temporary, sizeof temporary, "%s", writer.temporary);
  CU_ASSERT_EQUAL(access(temporary, F_OK), 0);
  zb_file_writer_abandon(&writer);
  CU_ASSERT_NOT_EQUAL(access(temporary, F_OK), 0);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_file_read(FOLDER "/kept", 0, &back, &count)), ZB_OK_CODE);
  CU_ASSERT_STRING_EQUAL(back, "old");
  zb_free(back);
}

/* What a name is counts, not how it is spelled: a file below /dev is replaced, an open file is not. */
static void test_names(void) {
  char path[64], link[64];
  const char *const names[] = {path, "/proc/self/cwd/zb-file-test.tmp"};
  snprintf(path, sizeof path, "/dev/shm/zb-file-test.%ld", (long)getpid());
  for (int i = 0; i < 2; ++i) {
    char *back = NULL;
    size_t count = 0;
    for (int k = 0; k < 2; ++k)
      CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(names[i], "twice", 5)), ZB_OK_CODE);
    CU_ASSERT_EQUAL_FATAL(take_code(zb_file_read(names[i], 0, &back, &count)), ZB_OK_CODE);
    CU_ASSERT_STRING_EQUAL(back, "twice");
    zb_free(back);
    unlink(names[i]);
  }
  const int file = open(FOLDER "/open", O_RDWR | O_CREAT | O_TRUNC, 0666);
  struct stat before, after;
  snprintf(link, sizeof link, "/dev/fd/%d", file);
  unlink(FOLDER "/link");
  CU_ASSERT_EQUAL(symlink(link, FOLDER "/link"), 0);
  CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(link, "one", 3)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(take_code(zb_file_write_atomic(FOLDER "/link", "two", 3)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(fstat(file, &before) | stat(FOLDER "/open", &after), 0);
  CU_ASSERT_EQUAL(before.st_ino, after.st_ino);
  CU_ASSERT_EQUAL(after.st_size, 6);
  close(file);
}

static void test_without_memory(void) {
  for (uint64_t n = 1; n <= 4; ++n) {
    char *back = NULL;
    size_t count = 0;
    zb_allocation_fail_at(n);
    zb_status written = zb_file_write_atomic(FOLDER "/memory", "x", 1);
    zb_allocation_fail_at(n);
    zb_status read = zb_file_read(FOLDER "/four", 0, &back, &count);
    zb_allocation_fail_at(0);
    zb_code written_code = take_code(written), read_code = take_code(read);
    CU_ASSERT_TRUE(written_code == ZB_OK_CODE || written_code == ZB_MEMORY);
    CU_ASSERT_TRUE(read_code == ZB_OK_CODE || read_code == ZB_MEMORY);
    CU_ASSERT_EQUAL(read_code == ZB_OK_CODE, back != NULL);
    zb_free(back);
  }
}

SUITE_MAIN("file", {"round trip", test_round_trip}, {"errors", test_errors}, {"output check", test_output_check},
           {"abandon", test_abandon}, {"names", test_names}, {"without memory", test_without_memory})
