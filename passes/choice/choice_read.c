/* Reading a choice: a fact a line, a word that says which, then its values. See passes/choice/choice.h. Tests:
 * test/passes/choice/choice_test.c, choice_mutate_test.c. */

#include "passes/choice/choice.h"

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 1 << 28, STAGES_MAX = 1 << 20 };

typedef struct word {
  const char *text;
  bool quoted;
  zb_choice_at at;
} word;

typedef struct reader reader;
typedef struct fact {
  const char *keyword, *form;
  bool once, needed;
  int least; /* words behind the keyword */
  zb_status (*take)(reader *r, const word *words, int count);
  size_t field; /* of the choice, where it is taken as it is */
} fact;

struct reader {
  zb_choice *out;
  ZB_LIST(word) words;
  int line;
  const fact *now;
  zb_choice_at placement_at;
};

/* ---- Errors ---- */

zb_status zb_choice_error(const zb_choice *choice, zb_choice_at at, const char *format, ...) {
  zb_text text = {0};
  va_list arguments;
  va_start(arguments, format);
  zb_text_add_arguments(&text, format, arguments);
  va_end(arguments);
  const char *file = choice->file ? choice->file : "the choice", *message = text.data ? text.data : "";
  zb_status status = at.line ? ZB_ERROR(INVALID, "%s:%d:%d: %s", file, at.line, at.column, message)
                             : ZB_ERROR(INVALID, "%s: %s", file, message);
  zb_text_deinit(&text);
  return status;
}

/* The same with its place. */
static zb_status place_error(const zb_choice *choice, zb_choice_at at, zb_status status) {
  const char *hint = zb_status_hint_text(status);
  zb_status placed = zb_choice_error(choice, at, "%s", zb_status_message(status));
  if (hint) placed = zb_status_hint(placed, "%s", hint);
  zb_status_free(status);
  return placed;
}

zb_status zb_choice_order_error(const zb_choice *choice, zb_status status) {
  int rank = -1, job = -1;
  if (!status || zb_status_code(status) != ZB_INVALID) return status;
  const int found = sscanf(zb_status_message(status), "rank %d, job %d", &rank, &job);
  if (found < 1 || !choice->job_at || rank < 0 || rank >= choice->ranks || !choice->job_at[rank].count)
    return zb_status_note(status, "the order of %s", choice->file ? choice->file : "the choice");
  const bool is_job = found == 2 && job >= 0 && (size_t)job < choice->job_at[rank].count;
  return place_error(choice, choice->job_at[rank].items[is_job ? job : 0], status);
}

static zb_status expected_error(const reader *r, zb_choice_at at, const char *what, const char *got) {
  return zb_status_hint(zb_choice_error(r->out, at, "expected %s, got '%s'", what, got), "the line is: %s",
                        r->now->form);
}

/* ---- Values ---- */

/* The digits at *text, which then is behind them; -1: there is no number up to NUMBER_MAX. */
static int take_number(const char **text) {
  int64_t number = 0;
  const char *at = *text;
  while (*at >= '0' && *at <= '9' && number <= NUMBER_MAX)
    number = 10 * number + (*at++ - '0');
  const bool good = at > *text && number <= NUMBER_MAX;
  *text = at;
  return good ? (int)number : -1;
}

/* least .. most */
static zb_status read_number(const reader *r, const word *w, int least, int most, int *out) {
  const char *at = w->text;
  char what[64];
  *out = w->quoted ? -1 : take_number(&at);
  if (*out >= least && *out <= most && !*at) return NULL;
  snprintf(what, sizeof what, "a number of %d to %d", least, most);
  return expected_error(r, w->at, what, w->text);
}

static zb_status take_program(reader *r, const word *words, int count) {
  char *end;
  (void)count;
  r->out->program = strtoull(words->text, &end, 16);
  r->out->program_at = words->at;
  if (strlen(words->text) == 16 && strspn(words->text, "0123456789abcdef") == 16) return NULL;
  return expected_error(r, words->at, "16 hexadecimal digits", words->text);
}

static void *field_of(const reader *r) { return (char *)r->out + r->now->field; }

static zb_status take_text(reader *r, const word *words, int count ZB_UNUSED) {
  *(const char **)field_of(r) = words->text;
  return NULL;
}

static zb_status take_placement(reader *r, const word *words, int count) {
  r->placement_at = words->at;
  return take_text(r, words, count);
}

/* Arrays have their size once both are known. */
static zb_status make_stages(reader *r, zb_choice_at at) {
  zb_choice *c = r->out;
  if (!c->ranks || !c->chunks) return NULL;
  if (c->ranks > STAGES_MAX / c->chunks)
    return zb_choice_error(c, at, "expected at most %d stages, got %d ranks x %d chunks", STAGES_MAX, c->ranks,
                           c->chunks);
  ZB_TRY(zb_choice_init(c, c->ranks, c->chunks));
  c->job_at = zb_arena_take(&c->arena, (size_t)c->ranks, sizeof *c->job_at);
  ZB_TRY(zb_arena_status(&c->arena));
  return zb_order_init(&c->order, c->ranks);
}

static zb_status take_size(reader *r, const word *words, int count ZB_UNUSED) {
  ZB_TRY(read_number(r, words, 1, STAGES_MAX, field_of(r)));
  return r->out->after ? NULL : make_stages(r, words->at);
}

/* Lines about stages and jobs stand behind those that say how many there are. */
static zb_status check_sizes(const reader *r, zb_choice_at at) {
  if (r->out->after && r->out->micro_batches) return NULL;
  return zb_choice_error(r->out, at, "expected ranks, chunks and micro-batches before '%s'", r->now->keyword);
}

/* "0 ends 17", "0 ends h.0.mlp" */
static zb_status take_stage(reader *r, const word *words, int count) {
  zb_choice *c = r->out;
  int stage, last;
  (void)count;
  ZB_TRY(check_sizes(r, words[0].at));
  const int stages = c->ranks * c->chunks;
  if (stages == 1) return zb_choice_error(c, words[0].at, "there is one stage, which ends with the program");
  ZB_TRY(read_number(r, &words[0], 0, stages - 2, &stage));
  if (strcmp(words[1].text, "ends") != 0) return expected_error(r, words[1].at, "ends", words[1].text);
  const bool is_name = words[2].quoted || *words[2].text < '0' || *words[2].text > '9';
  if (!is_name) ZB_TRY(read_number(r, &words[2], 0, NUMBER_MAX, &last));
  if (c->after_at[stage].line)
    return zb_choice_error(c, words[0].at, "stage %d ends twice, on line %d too", stage, c->after_at[stage].line);
  c->after[stage] = is_name ? -1 : last;
  if (is_name) c->after_name[stage] = words[2].text;
  c->after_at[stage] = words[2].at;
  return NULL;
}

/* "3", "3-5", "3.1"; a name where that is one. */
static zb_status take_item(const reader *r, const word *w, bool names) {
  zb_choice_item item = {.result = -1, .at = w->at};
  const char *at = w->text;
  const bool is_number = !w->quoted && *at >= '0' && *at <= '9';
  if (!is_number && names) {
    item.glob = w->text;
  } else {
    item.begin = is_number ? take_number(&at) : -1;
    item.end = item.begin + 1;
    if (item.begin >= 0 && *at == '-') ++at, item.end = take_number(&at) + 1;
    if (item.begin >= 0 && *at == '.' && !names) ++at, item.result = take_number(&at);
    if (item.begin < 0 || item.end <= item.begin || *at || (strchr(w->text, '.') && item.result < 0))
      return expected_error(r, w->at, names ? "a number, a range like 3-5 or a name" : "a place or a range like 3-5",
                            w->text);
  }
  return ZB_PUSH(&r->out->arena, (zb_choice_items *)field_of(r), item) ? NULL : zb_arena_status(&r->out->arena);
}

static zb_status take_items(reader *r, const word *words, int count) {
  for (int i = 0; i < count; ++i)
    ZB_TRY(take_item(r, &words[i], field_of(r) == &r->out->in_b));
  return NULL;
}

static zb_status take_backward(reader *r, const word *words, int count ZB_UNUSED) {
  if (strcmp(words->text, "whole") != 0) return expected_error(r, words->at, "whole", words->text);
  r->out->order.whole_backward = true;
  return check_sizes(r, words->at);
}

/* "0 0F0 0F1 ..": a rank may have several lines, one behind the other. */
static zb_status take_order(reader *r, const word *words, int count) {
  zb_choice *c = r->out;
  int rank;
  ZB_TRY(check_sizes(r, words->at));
  ZB_TRY(read_number(r, words, 0, c->ranks - 1, &rank));
  for (int i = 1; i < count; ++i) {
    zb_job job;
    if (!zb_job_parse(words[i].text, &job)) return expected_error(r, words[i].at, "a job like 0F2", words[i].text);
    if (job.stage >= c->ranks * c->chunks || job.micro_batch >= c->micro_batches)
      return zb_choice_error(c, words[i].at, "there is no job %s: expected stages 0..%d, micro-batches 0..%d",
                             words[i].text, c->ranks * c->chunks - 1, c->micro_batches - 1);
    ZB_TRY(zb_order_add(&c->order, rank, job.stage, job.kind, job.micro_batch));
    if (!ZB_PUSH(&c->arena, &c->job_at[rank], words[i].at)) return zb_arena_status(&c->arena);
  }
  return NULL;
}

#define FIELD(name) offsetof(zb_choice, name)
static const fact facts[] = {
    {"program", "program DIGEST", true, true, 1, take_program, 0},
    {"schedule", "schedule NAME", true, true, 1, take_text, FIELD(schedule)},
    {"ranks", "ranks P", true, true, 1, take_size, FIELD(ranks)},
    {"chunks", "chunks V", true, true, 1, take_size, FIELD(chunks)},
    {"placement", "placement NAME, or the rank of every stage: 0,1,1,0", true, true, 1, take_placement,
     FIELD(placement)},
    {"micro-batches", "micro-batches M", true, true, 1, take_size, FIELD(micro_batches)},
    {"stage", "stage N ends PLACE, or NAME", false, false, 3, take_stage, 0},
    {"again", "again PLACE PLACE-PLACE ..", false, false, 1, take_items, FIELD(again)},
    {"in-b", "in-b GRADIENT GRADIENT-GRADIENT PARAMETER ..", false, false, 1, take_items, FIELD(in_b)},
    {"backward", "backward whole", true, false, 1, take_backward, 0},
    {"order", "order RANK JOB JOB ..", false, false, 1, take_order, 0},
};
enum { FACTS = sizeof facts / sizeof facts[0] };
/* These have as many words as they like. */
static bool is_list(const fact *it) { return it->take == take_items || it->take == take_order; }

/* ---- Lines ---- */

/* Cuts the line into words, in place; '#' where a word could begin is the rest of the line for people. */
static zb_status split(reader *r, char *line) {
  r->words.count = 0;
  for (char *at = line;;) {
    at += strspn(at, " \t\r");
    if (!*at || *at == '#') return NULL;
    word w = {.text = at, .quoted = *at == '"', .at = {r->line, (int)(at - line) + 1}};
    if (w.quoted) {
      char *to = ++at;
      w.text = at;
      for (; *at && *at != '"'; *to++ = *at++)
        if (*at == '\\' && at[1]) ++at;
      if (!*at) return zb_choice_error(r->out, w.at, "the quote is not closed");
      ++at;
      *to = '\0';
    } else {
      at += strcspn(at, " \t\r");
      if (*at) *at++ = '\0';
    }
    if (!ZB_PUSH(&r->out->arena, &r->words, w)) return zb_arena_status(&r->out->arena);
  }
}

static zb_status unknown_fact(const reader *r, const word *w) {
  const char *names[FACTS];
  for (int i = 0; i < FACTS; ++i)
    names[i] = facts[i].keyword;
  return zb_hint_name(zb_choice_error(r->out, w->at, "there is no fact '%s' of a choice", w->text), "fact", w->text,
                      names, FACTS);
}

/* first: [FACTS] the line of each. */
static zb_status take_line(reader *r, int *first) {
  const word *words = r->words.items;
  const int count = (int)r->words.count - 1;
  int f = 0;
  while (f < FACTS && strcmp(words->text, facts[f].keyword) != 0)
    ++f;
  if (f == FACTS) return unknown_fact(r, words);
  r->now = &facts[f];
  if (facts[f].once && first[f])
    return zb_choice_error(r->out, words->at, "'%s' is there twice, on line %d too", words->text, first[f]);
  first[f] = r->line;
  if (count < facts[f].least || (count > facts[f].least && !is_list(&facts[f])))
    return zb_status_hint(
        zb_choice_error(r->out, words->at, "expected %d words behind '%s', got %d", facts[f].least, words->text, count),
        "the line is: %s", facts[f].form);
  return facts[f].take(r, words + 1, count);
}

/* The first line; none where the file has none. */
static zb_status check_version(const reader *r) {
  const word none = {.text = "nothing", .at = {1, 1}}, *words = r->words.count ? r->words.items : &none;
  const bool is_choice = r->words.count == 2 && strcmp(words[0].text, "zbc-choice") == 0;
  if (is_choice && strcmp(words[1].text, "1") == 0) return NULL;
  return zb_status_hint(
      zb_choice_error(r->out, words[is_choice].at, "expected zbc-choice 1, got '%s'", words[is_choice].text),
      is_choice ? "this zbc reads version 1" : "zbc --choice-out FILE writes such a file");
}

static zb_status check_placement(const reader *r) {
  zb_choice *c = r->out;
  int *stage_rank = zb_arena_take(&c->arena, (size_t)c->ranks * (size_t)c->chunks, sizeof *stage_rank);
  ZB_TRY(zb_arena_status(&c->arena));
  zb_status status = zb_placement(c->placement, c->ranks, c->chunks, stage_rank);
  return status ? place_error(c, r->placement_at, status) : NULL;
}

static zb_status check_complete(const reader *r, const int *first) {
  const zb_choice *c = r->out;
  for (int f = 0; f < FACTS; ++f)
    if (facts[f].needed && !first[f])
      return zb_status_hint(
          zb_choice_error(c, (zb_choice_at){r->line, 1}, "the file ends without '%s'", facts[f].keyword),
          "the line is: %s", facts[f].form);
  for (int s = 0; s + 1 < c->ranks * c->chunks; ++s)
    if (!c->after_at[s].line)
      return zb_status_hint(
          zb_choice_error(c, (zb_choice_at){r->line, 1}, "the file does not say where stage %d ends", s),
          "%d ranks x %d chunks have %d cuts", c->ranks, c->chunks, c->ranks * c->chunks - 1);
  for (int rank = 0; rank < c->ranks; ++rank)
    if (!c->job_at[rank].count)
      return zb_status_hint(
          zb_choice_error(c, (zb_choice_at){r->line, 1}, "the file does not say the order of rank %d", rank),
          "the line is: order RANK JOB JOB ..");
  return check_placement(r);
}

static zb_status read_lines(reader *r, char *text, size_t bytes) {
  int first[FACTS] = {0};
  bool begun = false;
  for (char *at = text + zb_byte_order_mark(text, bytes), *end = text + bytes; at < end;) {
    char *next = memchr(at, '\n', (size_t)(end - at));
    if (!next) next = end;
    *next = '\0';
    ++r->line;
    for (char *c = at; c < next; ++c)
      if ((unsigned char)*c < ' ' && *c != '\t' && *c != '\r')
        return zb_choice_error(r->out, (zb_choice_at){r->line, (int)(c - at) + 1}, "expected text, got a byte %d", *c);
    ZB_TRY(split(r, at));
    at = next + 1;
    if (!r->words.count) continue;
    ZB_TRY(begun ? take_line(r, first) : check_version(r));
    begun = true;
  }
  if (!begun) return check_version(r);
  return check_complete(r, first);
}

zb_status zb_choice_read(const char *name, const char *text, size_t bytes, zb_choice *out) {
  *out = (zb_choice){.decided = ZB_CHOICE_ALL};
  reader r = {.out = out};
  char *copy = zb_arena_take(&out->arena, bytes + 1, 1);
  out->file = zb_arena_strdup(&out->arena, name);
  zb_status status = zb_arena_status(&out->arena);
  if (!status) {
    memcpy(copy, text, bytes);
    status = read_lines(&r, copy, bytes);
  }
  if (status) zb_choice_deinit(out);
  return status;
}

zb_status zb_choice_read_file(const char *path, zb_choice *out) {
  enum { FILE_MAX = 1 << 30 };
  char *text;
  size_t bytes;
  *out = (zb_choice){0};
  ZB_TRY(zb_file_read(path, FILE_MAX, &text, &bytes));
  zb_status status = zb_choice_read(path, text, bytes, out);
  zb_free(text);
  return status;
}
