// Command-line help that helps: the nearest option of a help text, the nearest name of a table. Tested in test/runtime/base.

#include "runtime/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { OPTIONS_MAX = 128, OPTION_BYTES = 64 };

bool zb_nearest_option(const char *help, const char *argument, char out[64]) {
  char names[OPTIONS_MAX][OPTION_BYTES];
  const char *candidates[OPTIONS_MAX];
  int count = 0;
  for (const char *at = strstr(help, "--"); at && count < OPTIONS_MAX; at = strstr(at, "--")) {
    size_t length = 2;
    while (isalnum((unsigned char)at[length]) || at[length] == '-') ++length;
    if (length > 2 && length < OPTION_BYTES) {
      memcpy(names[count], at, length);
      names[count][length] = '\0';
      candidates[count] = names[count];
      ++count;
    }
    at += length;
  }
  char word[OPTION_BYTES];
  size_t length = strcspn(argument, "=");
  if (length >= sizeof word) return false;
  memcpy(word, argument, length);
  word[length] = '\0';
  const char *nearest = zb_nearest(word, candidates, count);
  if (!nearest) return false;
  snprintf(out, OPTION_BYTES, "%s", nearest);
  return true;
}

zb_status zb_unknown_name(const char *what, const char *name, const char *const *names, int count) {
  zb_status status = ZB_ERROR(USAGE, "there is no %s '%s'", what, name);
  const char *nearest = zb_nearest(name, names, count);
  if (nearest) return zb_status_hint(status, "did you mean '%s'?", nearest);
  zb_text known;
  zb_text_init(&known);
  for (int i = 0; i < count; ++i)
    zb_text_add(&known, "%s%s", i ? ", " : "", names[i]);
  if (!known.failed) status = zb_status_hint(status, "known: %s", known.data);
  zb_text_deinit(&known);
  return status;
}
