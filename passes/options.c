/* See options.h. Tests: test/passes/options_test.c, test/tools/zbc-options.test. */

#include "passes/options.h"

#include "passes/pass.h"
#include "runtime/base/assert.h"
#include "runtime/base/text.h"

#include <stdlib.h>
#include <string.h>

/* Options that others have no effect with. */
enum { PASS_PIPELINE = 1, INFERENCE = 2, CHOICE = 4 };

#define OF(ID, name) .kind = ZB_OPTION_##ID, .field = offsetof(zb_compile_params, name)
#define ROW_TEXT(name) OF(TEXT, name)
#define ROW_IN(name) OF(IN, name)
#define ROW_OUT(name, ends) OF(OUT, name), .endings = ends
#define ROW_FLAG(name) OF(FLAG, name)
#define ROW_COUNT(name, maximum, why) OF(COUNT, name), .most = maximum, .most_hint = why
#define ROW_BYTES(name) OF(BYTES, name)
#define ROW_LIST(name, count) OF(LIST, name), .second = offsetof(zb_compile_params, count)
#define ROW_GROUPS(name, maximum, why, flag)                                                                           \
  OF(GROUPS, name), .second = offsetof(zb_compile_params, flag), .most = maximum, .most_hint = why

const zb_compile_option zb_compile_options[] = {
#define ZB_COMPILE_OPTION(option, kind, argument, ...) {option, __VA_ARGS__, ROW_##kind},
#include "zb/compile_options.def"
    {0},
};

const zb_compile_option *zb_option_find(const char *name) {
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it)
    if (strcmp(it->option + 2, name) == 0) return it;
  return NULL;
}

bool zb_option_is_of(const zb_compile_option *it, const char *pass) {
  return it->passes && zb_word_index(it->passes, pass) >= 0;
}

static void *at(const zb_compile_params *p, size_t offset) { return (char *)p + offset; }

static bool is_text(const zb_compile_option *it) { return it->kind <= ZB_OPTION_OUT; }
static bool is_count(const zb_compile_option *it) {
  return it->kind == ZB_OPTION_COUNT || it->kind == ZB_OPTION_GROUPS;
}

bool zb_option_is_given(const zb_compile_option *it, const zb_compile_params *p) {
  const void *field = at(p, it->field);
  if (it->kind == ZB_OPTION_FLAG) return *(const bool *)field;
  if (it->kind == ZB_OPTION_BYTES) return *(const uint64_t *)field != 0;
  if (it->kind == ZB_OPTION_LIST) return *(const int *)at(p, it->second) > 0;
  return is_count(it) ? *(const int *)field != 0 : *(const char *const *)field != NULL;
}

const char *zb_option_path(const zb_compile_option *it, const zb_compile_params *p) {
  return is_text(it) ? *(const char *const *)at(p, it->field) : NULL;
}

const char *zb_option_text(const zb_compile_option *it, const zb_compile_params *p, zb_arena *arena) {
  const void *field = at(p, it->field);
  const char *const *items = it->kind == ZB_OPTION_LIST ? *(const char *const *const *)field : NULL;
  zb_text text = {0};
  if (is_count(it)) zb_text_add(&text, "%d", *(const int *)field);
  if (it->kind == ZB_OPTION_BYTES) zb_text_add(&text, "%llu", (unsigned long long)*(const uint64_t *)field);
  if (it->kind == ZB_OPTION_FLAG) zb_text_add(&text, "%s", *(const bool *)field ? "true" : "false");
  if (zb_option_path(it, p)) zb_text_add(&text, "%s", zb_option_path(it, p));
  for (int i = 0; items && i < *(const int *)at(p, it->second); ++i)
    zb_text_add(&text, "%s%s", i ? ";" : "", items[i]);
  const char *kept = text.failed ? NULL : zb_arena_strdup(arena, text.data ? text.data : "");
  arena->failed |= text.failed;
  zb_text_deinit(&text);
  return kept;
}

/* Given, and not as it is anyway. */
static bool has_effect(const zb_compile_option *it, const zb_compile_params *p) {
  if (!zb_option_is_given(it, p) || !it->value) return zb_option_is_given(it, p);
  if (is_count(it)) return *(const int *)at(p, it->field) != atoi(it->value);
  return !is_text(it) || strcmp(zb_option_path(it, p), it->value) != 0;
}

zb_status zb_options_check_beside(const zb_compile_params *p) {
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it) {
    if (!zb_option_is_given(it, p)) continue;
    if (p->inference && (it->without & INFERENCE))
      return zb_status_hint(ZB_ERROR(USAGE, "%s has no effect with --inference", it->option),
                            "leave one of them out: with --inference nothing is trained");
    if (p->pipeline && (it->without & PASS_PIPELINE))
      return zb_status_hint(ZB_ERROR(USAGE, "%s has no effect with --pass-pipeline", it->option),
                            "write it as an option of its pass; zbc --help-passes shows the default pipeline");
    if (p->choice && (it->without & CHOICE))
      return zb_status_hint(ZB_ERROR(USAGE, "%s has no effect with --choice", it->option),
                            "leave it out: %s says it, and can be edited", p->choice);
  }
  return NULL;
}

zb_status zb_options_check_needs(const zb_compile_params *p) {
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it)
    if (it->needs && has_effect(it, p) && !has_effect(zb_option_find(it->needs + 2), p))
      return zb_status_hint(ZB_ERROR(USAGE, "%s without %s", it->option, it->needs), "%s", it->hint);
  return NULL;
}

zb_status zb_options_check_counts(const zb_compile_params *p) {
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it) {
    const int got = is_count(it) ? *(const int *)at(p, it->field) : 0;
    if (got < 0 || got > it->most)
      return zb_status_hint(ZB_ERROR(USAGE, "%s: expected 1 to %d, got %d", it->option, it->most, got), "%s",
                            it->most_hint);
  }
  return NULL;
}

void zb_options_complete(zb_compile_params *p) {
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it) {
    if (!it->value || zb_option_is_given(it, p)) continue;
    ZB_ASSERT(is_text(it) || is_count(it) || it->kind == ZB_OPTION_BYTES);
    if (is_text(it)) *(const char **)at(p, it->field) = it->value;
    if (is_count(it)) *(int *)at(p, it->field) = atoi(it->value);
    const bool good = it->kind != ZB_OPTION_BYTES || zb_bytes_parse(it->value, at(p, it->field));
    ZB_ASSERT(good);
  }
}
