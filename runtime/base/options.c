// Command-line help that helps: the nearest option of a help text. Tested in test/runtime/base.

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
