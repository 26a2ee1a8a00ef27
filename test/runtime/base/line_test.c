/* Lines of options: what is read, what is refused, and that what is written reads back as the same, for lines drawn at
 * random. Groups of parameters: which count. */
#include "runtime/base/update_groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/suite.h"

static const zb_line_row first = {"first",
                                  {{"real", ZB_KEY_REAL, 0.5, 0, 1, NULL},
                                   {"whole", ZB_KEY_WHOLE, 3, 1, INFINITY, NULL},
                                   {"flag", ZB_KEY_BOOL, 1, 0, 2, NULL},
                                   {"word", ZB_KEY_WORD, 1, 0, 3, "red green blue"},
                                   {"open", ZB_KEY_REAL, NAN, 0, INFINITY, NULL}}},
                         second = {"second", {{NULL, ZB_KEY_END, 0, 0, 0, NULL}}};
static const zb_line_row *const rows[] = {&first, &second};
enum { ROWS = 2, REAL = 0, WHOLE, FLAG, WORD, OPEN };

static bool parse(const char *text, zb_line *out) {
  zb_status status = zb_line_parse("thing", text, rows, ROWS, out);
  if (status) printf("\n  %s: %s", text, zb_status_text(status));
  zb_status_free(status);
  return !status;
}

static void test_defaults(void) {
  zb_line line;
  CU_ASSERT_FATAL(parse("first", &line));
  CU_ASSERT(line.row == &first && line.values[REAL] == 0.5 && line.values[WHOLE] == 3 && line.values[FLAG] == 1 &&
            line.values[WORD] == 1 && isnan(line.values[OPEN]) && !line.given[REAL]);
  CU_ASSERT_FATAL(parse("first:flag=false,word=blue,whole=1e3,open=7", &line));
  CU_ASSERT(line.values[FLAG] == 0 && line.values[WORD] == 2 && line.values[WHOLE] == 1000 && line.values[OPEN] == 7 &&
            line.given[OPEN] && !line.given[REAL]);
  CU_ASSERT(parse("second", &line) && line.row == &second);
}

static void test_refused(void) {
  static const struct {
    const char *text, *message, *hint;
  } lines[] = {
      {"frist", "unknown thing 'frist'", "did you mean 'first'? known: first, second"},
      {"", "unknown thing ''", "known: first, second"},
      {"first:rael=1", "unknown key 'rael' of thing 'first'", "did you mean 'real'?"},
      {"second:real=1", "unknown key 'real' of thing 'second'", ""},
      {"first:real=1", "real must be a number from 0 to below 1, got '1'", ""},
      {"first:real=-0.1", "real must be a number from 0 to below 1", ""},
      {"first:real=nan", "real must be a number", ""},
      {"first:open=inf", "open must be a number from 0, got 'inf'", ""},
      {"first:open=1e999", "open must be a number from 0, got '1e999'", ""},
      {"first:open=", "open must be a number from 0, got ''", ""},
      {"first:whole=1.5", "whole must be a whole number from 1, got '1.5'", ""},
      {"first:whole=0x10", "whole must be a whole number from 1", ""},
      {"first:whole=0", "whole must be a whole number from 1, got '0'", ""},
      {"first:flag=1", "flag must be true or false, got '1'", ""},
      {"first:word=gre", "there is no word 'gre'", "known: red green blue"},
      {"first:word=", "there is no word ''", ""},
      {"first:real", "'real' has no value", "write key=value"},
      {"first:", "a setting is missing", "write first:key=value"},
      {"first:real=0,", "a setting is missing", ""},
      {"first:real=0,real=0", "real is given twice", "leave one of them out"},
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
    zb_line line;
    zb_status status = zb_line_parse("thing", lines[i].text, rows, ROWS, &line);
    const char *said = status ? zb_status_text(status) : "no error";
    const bool right =
        zb_status_code(status) == ZB_USAGE && strstr(said, lines[i].message) && strstr(said, lines[i].hint);
    if (!right) printf("\n  %s: expected '%s', got: %s", lines[i].text, lines[i].message, said);
    CU_ASSERT(right);
    zb_status_free(status);
  }
  char text[ZB_LINE_BYTES + 16] = "first:";
  memset(text + 6, 'x', ZB_LINE_BYTES);
  zb_line line;
  zb_status status = zb_line_parse("thing", text, rows, ROWS, &line);
  CU_ASSERT(zb_status_code(status) == ZB_USAGE && strstr(zb_status_text(status), "too long"));
  zb_status_free(status);
}

/* Numbers of any size and any digits. */
static void test_written(void) {
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    zb_line line, again;
    zb_text text = {0};
    CU_ASSERT_FATAL(parse("first", &line));
    for (int k = 0; k < 5; ++k) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      const double share = (double)(state >> 11) * 0x1p-53;
      line.values[k] = k == WHOLE  ? 1 + floor(share * 1e9)
                       : k == FLAG ? share < 0.5
                       : k == WORD ? floor(share * 3)
                       : k == OPEN ? ldexp(share, (int)(state >> 5 & 127) - 64)
                                   : share;
    }
    zb_line_add(&line, &text);
    CU_ASSERT_FATAL(!text.failed && parse(text.data, &again));
    CU_ASSERT(memcmp(line.values, again.values, 5 * sizeof(double)) == 0);
    zb_text_deinit(&text);
  }
}

static void test_groups(void) {
  zb_update_group groups[3];
  double values[ZB_UPDATE_NUMBERS] = {1, 2};
  CU_ASSERT_PTR_NULL_FATAL(zb_update_group_parse("a.*:lr=3", &groups[0]));
  CU_ASSERT_PTR_NULL_FATAL(zb_update_group_parse("*.bias:weight_decay=0", &groups[1]));
  CU_ASSERT_PTR_NULL_FATAL(zb_update_group_parse("a:b:lr=5,weight_decay=6", &groups[2])); /* a name with a colon */
  CU_ASSERT_EQUAL(zb_update_groups_apply(groups, 3, "b.weight", values), 0);
  CU_ASSERT(values[0] == 1 && values[1] == 2);
  CU_ASSERT_EQUAL(zb_update_groups_apply(groups, 3, "a.bias", values), 3);
  CU_ASSERT(values[0] == 3 && values[1] == 0);
  CU_ASSERT_EQUAL(zb_update_groups_apply(groups, 3, "a:b", values), 3);
  CU_ASSERT(values[0] == 5 && values[1] == 6);
  static const char *const names[] = {"a.weight", "a.bias", "a:b"};
  CU_ASSERT_PTR_NULL(zb_update_groups_check(groups, 3, names, 3));
  zb_status status = zb_update_groups_check(groups, 3, names, 2);
  CU_ASSERT(zb_status_code(status) == ZB_USAGE &&
            strstr(zb_status_text(status), "the group 'a:b' has no trained parameter"));
  zb_status_free(status);
  CU_ASSERT_PTR_NULL_FATAL(zb_update_group_parse("*.biass:lr=1", &groups[0]));
  status = zb_update_groups_check(groups, 1, names, 3);
  CU_ASSERT(strstr(zb_status_text(status), "did you mean '*.bias'?") != NULL);
  zb_status_free(status);
}

SUITE_MAIN("lines of options", {"defaults", test_defaults}, {"refused", test_refused},
           {"written reads back", test_written}, {"groups", test_groups})
