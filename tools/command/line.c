/* See line.h. */
#include "tools/command/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS = 80 };

bool tool_has_line(void) {
  const char *terminal = getenv("TERM");
  return isatty(STDERR_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0);
}

void tool_draw_line(const char *text) {
  struct winsize size = {0};
  size_t length = strlen(text);
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size.ws_col = COLUMNS;
  if (length > size.ws_col - 1U) length = size.ws_col - 1U; /* a line that wraps cannot be taken back */
  fprintf(stderr, "\r%.*s\x1b[K", (int)length, text);
  fflush(stderr);
}

void tool_hide_line(void) {
  fputs(TOOL_HIDE_LINE, stderr);
  fflush(stderr);
}
