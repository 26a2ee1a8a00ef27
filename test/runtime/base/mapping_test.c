/* Files that change while they are mapped. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/mapping.h"
#include "test/suite.h"

#define FOLDER ZB_BINARY_DIR "/test-files/mapping"
enum { BYTES = 1 << 16 };
static sigjmp_buf caught;

static zb_code take_code(zb_status status) {
  zb_code code = zb_status_code(status);
  zb_status_free(status);
  return code;
}

static void handler(int number) {
  (void)number;
  siglongjmp(caught, 1);
}

/* Before any mapping: of an embedder. */
static int begin(void) {
  sigaction(SIGBUS, &(struct sigaction){.sa_handler = handler}, NULL);
  return take_code(zb_make_folder(FOLDER)) == ZB_OK_CODE ? 0 : 1;
}

static void write_file(const char *path) {
  static char bytes[BYTES];
  memset(bytes, 7, sizeof bytes);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_file_write_atomic(path, bytes, sizeof bytes)), ZB_OK_CODE);
}

static zb_mapping open_new(const char *path) {
  zb_mapping mapping;
  write_file(path);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_mapping_open("the file", path, &mapping)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(mapping.count, BYTES);
  CU_ASSERT_EQUAL(take_code(zb_mapping_check(&mapping)), ZB_OK_CODE);
  return mapping;
}

static int byte_of(const zb_mapping *mapping, size_t at) { return ((const volatile char *)mapping->bytes)[at]; }

static void test_shorter(void) {
  zb_mapping a = open_new(FOLDER "/a"), b = open_new(FOLDER "/b");
  const unsigned then = zb_mappings_lost();
  CU_ASSERT_EQUAL_FATAL(truncate(FOLDER "/a", 5000), 0);
  CU_ASSERT_EQUAL(byte_of(&a, 4999), 7);
  CU_ASSERT_EQUAL(byte_of(&a, BYTES - 1), 0);
  CU_ASSERT_EQUAL(byte_of(&b, BYTES - 1), 7);
  CU_ASSERT_EQUAL(take_code(zb_mapping_check(&b)), ZB_OK_CODE);
  for (int i = 0; i < 2; ++i) { /* while it is open, and behind that */
    zb_status lost = zb_mappings_lost_since(then, ZB_ERROR(INVALID, "what follows"));
    CU_ASSERT_EQUAL(zb_status_code(lost), ZB_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_message(lost), FOLDER "/a"));
    zb_status_free(lost);
    zb_mapping_close(&a);
  }
  CU_ASSERT_EQUAL(take_code(zb_mappings_lost_since(zb_mappings_lost(), NULL)), ZB_OK_CODE);
  zb_mapping_close(&b);
}

/* Written anew in place, also with as many bytes; a file that is put in its place is another one. */
static void test_changed(void) {
  zb_mapping mapping = open_new(FOLDER "/c");
  const struct timespec other[2] = {{1, 0}, {1, 0}};
  write_file(FOLDER "/c");
  CU_ASSERT_EQUAL(take_code(zb_mapping_check(&mapping)), ZB_OK_CODE);
  zb_mapping_close(&mapping);
  mapping = open_new(FOLDER "/c");
  CU_ASSERT_EQUAL_FATAL(utimensat(AT_FDCWD, FOLDER "/c", other, 0), 0);
  CU_ASSERT_EQUAL(take_code(zb_mapping_check(&mapping)), ZB_IO);
  zb_mapping_close(&mapping);
  zb_mapping_close(&mapping); /* an empty one */
}

static void *touch(void *argument) {
  const zb_mapping *mapping = argument;
  int sum = 0;
  for (size_t i = 0; i < BYTES; i += 1024)
    sum += byte_of(mapping, i);
  return sum < 7 * BYTES / 1024 ? argument : NULL;
}

static void test_threads(void) {
  enum { THREADS = 4 };
  zb_mapping mapping = open_new(FOLDER "/d");
  pthread_t threads[THREADS];
  CU_ASSERT_EQUAL_FATAL(truncate(FOLDER "/d", 0), 0);
  for (int i = 0; i < THREADS; ++i)
    CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, touch, &mapping), 0);
  for (int i = 0; i < THREADS; ++i) {
    void *found = NULL;
    pthread_join(threads[i], &found);
    CU_ASSERT_PTR_EQUAL(found, &mapping);
  }
  CU_ASSERT_EQUAL(take_code(zb_mapping_check(&mapping)), ZB_IO);
  zb_mapping_close(&mapping);
}

/* What is of nobody's mapping is for the handler that was there. */
static void test_others(void) {
  write_file(FOLDER "/e");
  const int file = open(FOLDER "/e", O_RDONLY);
  volatile char *bytes = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, file, 0);
  CU_ASSERT_EQUAL_FATAL(truncate(FOLDER "/e", 0), 0);
  bool came_back = sigsetjmp(caught, 1) != 0;
  if (!came_back) (void)bytes[0];
  CU_ASSERT_TRUE(came_back);
  munmap((void *)bytes, BYTES);
  close(file);
}

SUITE_MAIN_WITH("mapping", begin, NULL, {"shorter", test_shorter}, {"changed", test_changed}, {"threads", test_threads},
                {"others", test_others})
