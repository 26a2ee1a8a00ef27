/* Strings of layouts: see layer_string.h. Characters are read one by one; what repeats is read again from its begin, so
 * that every token knows its place in the text.
 *
 * Tests: test/passes/mesh/layers_test.c, test/passes/mesh/groups.py. */

#include "passes/mesh/layer_string.h"

#include "runtime/base/text.h"

#include <string.h>

static const char tokens[] = "EtmL|";

bool zb_layers_is_string(const char *layout) {
  return !*layout || strpbrk(layout, "|*()EL") != NULL || strspn(layout, "tm,") == strlen(layout);
}

/* ---- Tokens ---- */

typedef struct token {
  char letter;
  int place; /* from 1 */
} token;

typedef struct reader {
  zb_arena *arena;
  const char *text;
  token *items;
  size_t count, capacity;
} reader;

static int place_of(const reader *r, const char *at) { return (int)(at - r->text) + 1; }

static const char *skip(const char *at) { return at + strspn(at, ","); }

static zb_status wrong(const reader *r, const char *at, const char *expected) {
  if (!*at)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': expected %s at its end", r->text, expected),
                          "for example Et|(tt|)*2tL");
  return zb_status_hint(
      ZB_ERROR(USAGE, "layout '%s': expected %s at character %d, got '%c'", r->text, expected, place_of(r, at), *at),
      "E is the embedding, t a layer, m a head, L the loss; | ends a stage, x*n and (..)*n repeat");
}

static zb_status add(reader *r, char letter, int place) {
  if (r->count >= ZB_LAYERS_MAX)
    return ZB_ERROR(USAGE, "layout '%s': more than %d letters when repetitions are written out", r->text,
                    ZB_LAYERS_MAX);
  ZB_LIST(token) list = {r->items, r->count, r->capacity};
  if (!ZB_PUSH(r->arena, &list, (token){letter, place})) return zb_arena_status(r->arena);
  r->items = list.items;
  r->count = list.count;
  r->capacity = list.capacity;
  return NULL;
}

/* "*29" at *at, if there; else 1. Commas are not read, not even between digits. */
static zb_status read_times(const reader *r, const char **at, int *out) {
  const char *digit = skip(*at);
  *out = 1;
  if (*digit != '*') return NULL;
  digit = skip(digit + 1);
  if (*digit < '0' || *digit > '9') return wrong(r, digit, "a number");
  for (*out = 0; *digit >= '0' && *digit <= '9'; digit = skip(digit + 1))
    if (*out <= ZB_LAYERS_MAX) *out = *out * 10 + (*digit - '0');
  *at = digit;
  return NULL;
}

/* A letter, perhaps with how often. */
static zb_status read_letter(reader *r, const char **at) {
  const char letter = **at;
  const int place = place_of(r, *at);
  int times;
  if (!letter || !strchr(tokens, letter)) return wrong(r, *at, "one of E, t, m, L, | and (");
  ++*at;
  ZB_TRY(read_times(r, at, &times));
  for (int i = 0; i < times; ++i)
    ZB_TRY(add(r, letter, place));
  return NULL;
}

/* "(tt|)*29". */
static zb_status read_group(reader *r, const char **at) {
  const char *begin = *at, *end = begin + strcspn(begin, ")");
  const size_t first = r->count;
  int times;
  if (!*end) return wrong(r, end, "a ')'");
  if (skip(begin + 1) == end) return wrong(r, end, "a letter");
  for (*at = skip(begin + 1); *at != end; *at = skip(*at)) {
    if (**at == '(') return wrong(r, *at, "no '(' within another");
    ZB_TRY(read_letter(r, at));
  }
  ++*at;
  if (*skip(*at) != '*') return wrong(r, skip(*at), "a '*' and a number behind ')'");
  ZB_TRY(read_times(r, at, &times));
  const size_t length = r->count - first;
  if (times == 0) r->count = first;
  for (size_t i = length; i < length * (size_t)times; ++i)
    ZB_TRY(add(r, r->items[first + i % length].letter, r->items[first + i % length].place));
  return NULL;
}

static zb_status read_tokens(reader *r) {
  for (const char *at = skip(r->text); *at; at = skip(at))
    ZB_TRY(*at == '(' ? read_group(r, &at) : read_letter(r, &at));
  return NULL;
}

/* ---- Stages ---- */

static zb_status misplaced(const reader *r, const token *t, const char *why, const char *hint) {
  return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': %c at character %d %s", r->text, t->letter, t->place, why), "%s",
                        hint);
}

/* One E first, then layers, then heads, then losses. */
static zb_status check_sequence(const reader *r) {
  static const char letters[] = "EtmL";
  const token *before = NULL;
  for (size_t i = 0; i < r->count; ++i) {
    const token *t = &r->items[i];
    if (t->letter == '|') continue;
    if (!before && t->letter != 'E') return misplaced(r, t, "stands before an E", "the embedding is first");
    if (before && t->letter == 'E')
      return misplaced(r, t, "is not the first", "there is one embedding, and it is first");
    if (before && strchr(letters, t->letter) < strchr(letters, before->letter))
      return misplaced(r, t, before->letter == 'L' ? "stands behind an L" : "stands behind an m",
                       "layers are first, then heads, then losses");
    before = t;
  }
  if (before && before->letter == 'L') return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': there is no %s", r->text, before ? "L" : "E"),
                        "E, the embedding, is first; L, the loss, is last");
}

static zb_status add_stage(reader *r, zb_layer_stages *out, int first_layer) {
  ZB_LIST(zb_layer_stage) list = {out->items, out->count, out->capacity};
  if (!ZB_PUSH(r->arena, &list, (zb_layer_stage){.first_layer = first_layer})) return zb_arena_status(r->arena);
  out->items = list.items;
  out->count = list.count;
  out->capacity = list.capacity;
  return NULL;
}

/* Where one stage has all losses, it has all heads' too, and the heads are together; where several have them, each head
 * has an L of its own. */
static zb_status check_losses(const reader *r, const zb_layer_stages *s) {
  int losses = 0, loss_stages = 0, head_stages = 0;
  for (size_t i = 0; i < s->count; ++i) {
    losses += s->items[i].losses;
    loss_stages += s->items[i].losses > 0;
    head_stages += s->items[i].heads > 0;
  }
  if ((losses > 1 || loss_stages > 1) && losses != s->heads + 1)
    return zb_status_hint(ZB_ERROR(USAGE, "layout '%s': expected 1 L, or %d for the model and its %d heads, got %d",
                                   r->text, s->heads + 1, s->heads, losses),
                          "each L is the loss of the model or of one head m");
  if (head_stages > 1 && loss_stages == 1)
    return zb_status_hint(
        ZB_ERROR(USAGE, "layout '%s': the heads m are on %d stages, the losses on one", r->text, head_stages),
        "put all m into one stage, or an L for each and one for the model on several");
  return NULL;
}

zb_status zb_layer_string_read(zb_arena *arena, const char *text, zb_layer_stages *out) {
  reader r = {.arena = arena, .text = text};
  *out = (zb_layer_stages){0};
  ZB_TRY(read_tokens(&r));
  ZB_TRY(check_sequence(&r));
  ZB_TRY(add_stage(&r, out, 0));
  for (size_t i = 0; i < r.count; ++i) {
    zb_layer_stage *last = &out->items[out->count - 1];
    switch (r.items[i].letter) {
    case 'E':
      last->embedding = true;
      break;
    case 't':
      ++last->layers, ++out->layers;
      break;
    case 'm':
      ++last->heads, ++out->heads;
      break;
    case 'L':
      ++last->losses;
      break;
    default:
      ZB_TRY(add_stage(&r, out, out->layers));
    }
  }
  return check_losses(&r, out);
}

/* ---- Writing ---- */

static void add_letters(zb_text *text, char letter, int count) {
  if (count > 2) {
    zb_text_add(text, "%c*%d", letter, count);
    return;
  }
  for (int i = 0; i < count; ++i)
    zb_text_add(text, "%c", letter);
}

static void add_stage_text(zb_text *text, const zb_layer_stage *stage) {
  if (stage->embedding) zb_text_add(text, "E");
  add_letters(text, 't', stage->layers);
  add_letters(text, 'm', stage->heads);
  add_letters(text, 'L', stage->losses);
}

static bool same_stage(const zb_layer_stage *a, const zb_layer_stage *b) {
  return a->embedding == b->embedding && a->layers == b->layers && a->heads == b->heads && a->losses == b->losses;
}

char *zb_layer_layout_string(const zb_layer_layout *layout) {
  zb_text text = {0};
  for (int s = 0, same; s < layout->stages; s += same) {
    const bool is_last = s + 1 == layout->stages;
    for (same = 1; s + same + 1 < layout->stages && same_stage(&layout->stage[s], &layout->stage[s + same]);)
      ++same;
    const bool short_form = same > 1;
    if (short_form) zb_text_add(&text, "(");
    add_stage_text(&text, &layout->stage[s]);
    if (!is_last) zb_text_add(&text, "|");
    if (short_form) zb_text_add(&text, ")*%d", same);
  }
  return zb_text_take(&text);
}
