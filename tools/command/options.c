/* See options.h. */
#include "tools/command/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static zb_status parse_number(const option_row *row, const char *value, int64_t *out) {
  const int64_t lowest = row->highest ? row->lowest : 1, highest = row->highest ? row->highest : INT_MAX;
  char *end = NULL;
  errno = 0;
  const long long number = strtoll(value, &end, 10);
  const bool whole = end != value && !*end;
  *out = number;
  if (whole && !errno && number >= lowest && number <= highest) return NULL;
  zb_status status = NULL;
  if (highest <= 1000000)
    status = ZB_ERROR(USAGE, "%s: expected a whole number of %lld to %lld, got '%s'", row->option, (long long)lowest,
                      (long long)highest, value);
  else if (whole && (number > highest || (errno && number > 0)))
    status = ZB_ERROR(USAGE, "%s: '%s' is too large", row->option, value);
  else
    status = ZB_ERROR(USAGE, "%s: expected a whole number of at least %lld, got '%s'", row->option, (long long)lowest,
                      value);
  return zb_status_hint(status, "for example %s 4", row->option);
}

static zb_status set_number(const option_row *row, const char *value, void *field) {
  int64_t number = 0;
  ZB_TRY(parse_number(row, value, &number));
  if (row->kind == OPTION_COUNT)
    *(int *)field = (int)number;
  else
    *(int64_t *)field = number;
  return NULL;
}

static zb_status set_bytes(const option_row *row, const char *value, uint64_t *out) {
  if (zb_bytes_parse(value, out)) return NULL;
  return zb_status_hint(
      ZB_ERROR(USAGE, "%s: expected a number of bytes, with K, M or G after it, got '%s'", row->option, value),
      "for example %s 2G, which is 2 GiB, 2 x 2^30 bytes", row->option);
}

/* Where the items of lists are, which a command line has once in a program. */
static const char *list_items[OPTION_LISTS_MAX][OPTION_LIST_MAX];
static int lists_begun;

static zb_status add_to_list(const option_row *row, const char *value, void *settings) {
  const char **items = *(const char ***)((char *)settings + row->offset);
  int *count = (int *)((char *)settings + (row->second ? row->second : row->offset + offsetof(option_list, count)));
  if (*count == OPTION_LIST_MAX || lists_begun == OPTION_LISTS_MAX)
    return zb_status_hint(ZB_ERROR(USAGE, "%s is given more than %d times", row->option, OPTION_LIST_MAX),
                          "name more parameters at once with * and ?");
  if (!items) *(const char ***)((char *)settings + row->offset) = items = list_items[lists_begun++];
  items[(*count)++] = value;
  return NULL;
}

static zb_status set_groups(const option_row *row, const char *value, void *settings) {
  char *end = NULL;
  const long groups = strtol(value, &end, 10);
  if (end == value || groups < 1 || groups > INT_MAX || (*end && strcmp(end, ":inner") != 0))
    return zb_status_hint(ZB_ERROR(USAGE,
                                   "%s: expected a whole number of at least 1, with :inner behind it or not, got '%s'",
                                   row->option, value),
                          "for example %s 4, or %s 4:inner", row->option, row->option);
  *(int *)((char *)settings + row->offset) = (int)groups;
  *(bool *)((char *)settings + row->second) = *end != '\0';
  return NULL;
}

static zb_status set_value(const options_table *table, const option_row *row, const char *value, void *settings) {
  void *field = (char *)settings + row->offset;
  if (!value || !value[0])
    return zb_status_hint(ZB_ERROR(USAGE, "%s needs a value", row->option), "write %s %s; %s --help says what it is",
                          row->option, row->argument, tool_programs[table->program].name);
  if (row->kind == OPTION_COUNT || row->kind == OPTION_NUMBER) return set_number(row, value, field);
  if (row->kind == OPTION_BYTES) return set_bytes(row, value, field);
  if (row->kind == OPTION_LIST) return add_to_list(row, value, settings);
  if (row->kind == OPTION_GROUPS) return set_groups(row, value, settings);
  *(const char **)field = value;
  return NULL;
}

static const option_row *find_row(const options_table *table, const char *word, size_t length) {
  for (int i = 0; i < table->count; ++i)
    if (strlen(table->rows[i].option) == length && strncmp(table->rows[i].option, word, length) == 0)
      return &table->rows[i];
  return NULL;
}

/* Takes one option; *index ends on its last word. */
static zb_status parse_option(const options_table *table, int count, char **words, int *index, void *settings) {
  const char *word = strcmp(words[*index], "-h") == 0 ? "--help" : words[*index];
  const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
  const option_row *row = find_row(table, word, equals ? (size_t)(equals - word) : strlen(word));
  if (!row || row->kind == OPTION_OTHER)
    return table->other ? table->other(settings, word) : tool_unknown_option(table->program, word);
  if (row->kind != OPTION_FLAG)
    return set_value(table, row, equals ? equals + 1 : *index + 1 < count ? words[++*index] : NULL, settings);
  if (equals)
    return zb_status_hint(ZB_ERROR(USAGE, "%s takes no value, got '%s'", row->option, equals + 1), "write %s alone",
                          row->option);
  *(bool *)((char *)settings + row->offset) = true;
  return NULL;
}

zb_status options_parse(const options_table *table, int count, char **words, void *settings) {
  lists_begun = 0;
  for (int i = 1; i < count && words[i]; ++i) { /* the list ends with NULL, which sanitizers like to be told */
    if (words[i][0] == '-' && words[i][1])
      ZB_TRY(parse_option(table, count, words, &i, settings));
    else
      ZB_TRY(table->word(settings, words[i]));
  }
  return NULL;
}

bool option_is_given(const option_row *row, const void *settings) {
  const void *field = (const char *)settings + row->offset;
  if (row->kind == OPTION_FLAG) return *(const bool *)field;
  if (row->kind == OPTION_COUNT || row->kind == OPTION_GROUPS) return *(const int *)field != 0;
  return row->kind == OPTION_NUMBER ? *(const int64_t *)field != 0 : *(const char *const *)field != NULL;
}

void options_print(const options_table *table) {
  for (int i = 0; i < table->count; ++i) {
    const option_row *row = &table->rows[i];
    char left[64];
    if (row->group && *row->group) printf("\n%s:\n", row->group);
    snprintf(left, sizeof left, "%s%s%s", row->option, strchr("=[", *row->argument) ? "" : " ", row->argument);
    printf("  %-*s ", table->column - 3, left);
    for (const char *at = row->help; *at; ++at) {
      putchar(*at);
      if (*at == '\n') printf("%*s", table->column, "");
    }
    putchar('\n');
    if (table->more) table->more(row, table->column);
  }
}
