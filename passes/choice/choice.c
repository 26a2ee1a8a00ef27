/* A choice as a value, and its text: see passes/choice/choice.h; read by choice_read.c. Test: test/passes/choose. */

#include "passes/choice/choice.h"

#include "runtime/base/digest.h"
#include "runtime/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void zb_choice_deinit(zb_choice *choice) {
  zb_order_deinit(&choice->order);
  zb_arena_deinit(&choice->arena);
  *choice = (zb_choice){0};
}

zb_status zb_choice_init(zb_choice *choice, int ranks, int chunks) {
  const size_t stages = (size_t)ranks * (size_t)chunks;
  choice->ranks = ranks;
  choice->chunks = chunks;
  choice->after = ZB_NEW(&choice->arena, int, stages);
  choice->after_at = ZB_NEW(&choice->arena, zb_choice_at, stages);
  choice->after_name = ZB_NEW(&choice->arena, const char *, stages);
  return zb_arena_status(&choice->arena);
}

zb_status zb_choice_add(zb_choice *choice, zb_choice_items *items, int number, int result, int stage,
                        const char *name) {
  zb_choice_item *last = items->count ? &items->items[items->count - 1] : NULL;
  if (last && last->stage == stage && last->end == number && last->result < 0 && result < 0) {
    ++last->end;
    if (name) last->last = name;
  } else {
    (void)ZB_PUSH(
        &choice->arena, items,
        (zb_choice_item){
            .begin = number, .end = number + 1, .result = result, .stage = stage, .first = name, .last = name});
  }
  return zb_arena_status(&choice->arena);
}

uint64_t zb_order_digest(uint64_t digest, const zb_order *order) {
  for (int rank = 0; rank < order->ranks; ++rank) {
    digest = zb_fnv1a(digest, &order->counts[rank], sizeof order->counts[rank]);
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job *job = &order->jobs[rank][i];
      const int fields[] = {job->stage, job->kind, job->micro_batch};
      digest = zb_fnv1a(digest, fields, sizeof fields);
    }
  }
  return digest;
}

zb_status zb_choice_set_order(zb_choice *choice, const zb_order *order) {
  zb_order_deinit(&choice->order);
  ZB_TRY(zb_order_init(&choice->order, order->ranks));
  choice->order.whole_backward = order->whole_backward;
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      ZB_TRY(zb_order_add(&choice->order, rank, job.stage, job.kind, job.micro_batch));
    }
  return NULL;
}

static zb_status take_items(zb_choice *choice, zb_choice_items *items, const zb_choice_items *from) {
  items->count = 0;
  for (size_t i = 0; i < from->count; ++i)
    if (!ZB_PUSH(&choice->arena, items, from->items[i])) return zb_arena_status(&choice->arena);
  return NULL;
}

zb_status zb_choice_take(zb_choice *choice, const zb_choice *from, unsigned decisions) {
  decisions &= from->decided;
  choice->decided |= decisions;
  if (decisions & ZB_CHOICE_PLACEMENT) {
    choice->placement = zb_arena_strdup(&choice->arena, from->placement);
    choice->ranks = from->ranks;
    choice->chunks = from->chunks;
  }
  if (decisions & ZB_CHOICE_CUTS) {
    const size_t cuts = (size_t)(from->ranks * from->chunks - 1);
    choice->program = from->program;
    ZB_TRY(zb_choice_init(choice, from->ranks, from->chunks));
    memcpy(choice->after, from->after, cuts * sizeof *from->after);
    memcpy(choice->after_name, from->after_name, cuts * sizeof *from->after_name);
  }
  if (decisions & ZB_CHOICE_AGAIN) ZB_TRY(take_items(choice, &choice->again, &from->again));
  if (decisions & ZB_CHOICE_IN_B) ZB_TRY(take_items(choice, &choice->in_b, &from->in_b));
  if (!(decisions & ZB_CHOICE_ORDER)) return NULL;
  choice->schedule = zb_arena_strdup(&choice->arena, from->schedule);
  choice->micro_batches = from->micro_batches;
  ZB_TRY(zb_arena_status(&choice->arena));
  return zb_choice_set_order(choice, &from->order);
}

static uint64_t digest_items(uint64_t digest, const zb_choice_items *items) {
  for (size_t i = 0; i < items->count; ++i) {
    const int numbers[] = {items->items[i].begin, items->items[i].end, items->items[i].result};
    digest = zb_fnv1a(digest, numbers, sizeof numbers);
  }
  return digest;
}

uint64_t zb_choice_digest(const zb_choice *choice, unsigned decisions) {
  const unsigned has = decisions & choice->decided;
  uint64_t digest = zb_fnv1a(ZB_FNV_START, &has, sizeof has);
  if (has & (ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS)) {
    const int sizes[] = {choice->ranks, choice->chunks};
    digest = zb_fnv1a(digest, sizes, sizeof sizes);
    if (choice->placement) digest = zb_fnv1a(digest, choice->placement, strlen(choice->placement) + 1);
  }
  if (has & ZB_CHOICE_CUTS)
    digest = zb_fnv1a(digest, choice->after, (size_t)(choice->ranks * choice->chunks - 1) * sizeof *choice->after);
  if (has & ZB_CHOICE_AGAIN) digest = digest_items(digest, &choice->again);
  if (has & ZB_CHOICE_IN_B) digest = digest_items(digest, &choice->in_b);
  return has & ZB_CHOICE_ORDER ? zb_order_digest(digest, &choice->order) : digest;
}

/* ---- Writing ---- */

/* Behind a '#', so that no name can begin a line. */
static void write_shown(zb_text *text, const char *name) {
  for (const char *at = name; *at; ++at)
    zb_text_add_bytes(text, *at == '\n' || *at == '\r' ? " " : at, 1);
}

/* As it is, or in quotes where that would be read as another word. */
static void write_word(zb_text *text, const char *word, bool may_be_number) {
  if (*word && !strpbrk(word, " \t\r\n\"\\#") && !(may_be_number && *word >= '0' && *word <= '9')) {
    zb_text_add(text, "%s", word);
    return;
  }
  zb_text_add(text, "\"");
  for (const char *at = word; *at; ++at) {
    if (*at == '"' || *at == '\\') zb_text_add(text, "\\");
    zb_text_add_bytes(text, at, 1);
  }
  zb_text_add(text, "\"");
}

static void write_item(zb_text *text, const zb_choice_item *item) {
  zb_text_add(text, " ");
  if (item->glob) {
    write_word(text, item->glob, true);
    return;
  }
  zb_text_add(text, "%d", item->begin);
  if (item->end > item->begin + 1) zb_text_add(text, "-%d", item->end - 1);
  if (item->result >= 0) zb_text_add(text, ".%d", item->result);
}

/* One line a stage. */
static void write_items(zb_text *text, const char *keyword, const zb_choice_items *items) {
  for (size_t i = 0; i < items->count;) {
    const zb_choice_item *first = &items->items[i], *last = first;
    zb_text_add(text, "%s", keyword);
    for (; i < items->count && items->items[i].stage == first->stage; last = &items->items[i++])
      write_item(text, &items->items[i]);
    zb_text_add(text, "  # stage %d", first->stage);
    if (first->first && last->last) {
      zb_text_add(text, ": ");
      write_shown(text, first->first);
      if (strcmp(first->first, last->last) != 0) {
        zb_text_add(text, " .. ");
        write_shown(text, last->last);
      }
    }
    zb_text_add(text, "\n");
  }
}

static void write_head(zb_text *text, const zb_choice *c) {
  zb_text_add(text,
              "zbc-choice 1\n# What a compile chose. zbc MODEL --choice FILE, with the same options of the model, "
              "compiles it again.\nprogram %016" PRIx64 "\nschedule ",
              c->program);
  write_word(text, c->schedule ? c->schedule : "", false);
  zb_text_add(text, "\nranks %d\nchunks %d\nplacement ", c->ranks, c->chunks);
  write_word(text, c->placement, false);
  zb_text_add(text, "\nmicro-batches %d\n", c->micro_batches);
}

static void write_order(zb_text *text, const zb_order *order) {
  char word[32];
  zb_text_add(text, "\n# What each rank does, job after job: stage, F, B or W, micro-batch\n");
  if (order->whole_backward) zb_text_add(text, "backward whole  # each W directly behind its B\n");
  for (int rank = 0; rank < order->ranks; ++rank) {
    zb_text_add(text, "order %d", rank);
    for (int i = 0; i < order->counts[rank]; ++i)
      zb_text_add(text, " %s", zb_job_text(order->jobs[rank][i], word));
    zb_text_add(text, "\n");
  }
}

char *zb_choice_text(const zb_choice *c) {
  zb_text text = {0};
  write_head(&text, c);
  zb_text_add(&text, "\n# The last place of each stage: a forward op, counted from 0\n");
  for (int s = 0; s + 1 < c->ranks * c->chunks; ++s) {
    zb_text_add(&text, "stage %d ends ", s);
    if (c->after[s] < 0)
      write_word(&text, c->after_name[s], true);
    else
      zb_text_add(&text, "%d", c->after[s]);
    if (c->after[s] >= 0 && c->after_name[s]) {
      zb_text_add(&text, "  # ");
      write_shown(&text, c->after_name[s]);
    }
    zb_text_add(&text, "\n");
  }
  zb_text_add(&text, "\n# Places that the backward pass computes again (again 3-5 7)\n");
  write_items(&text, "again", &c->again);
  zb_text_add(&text, "\n# Gradients that B computes, the others wait in W (in-b 0-2 h.0.bias *.ln_1.*)\n");
  write_items(&text, "in-b", &c->in_b);
  write_order(&text, &c->order);
  char *out = text.failed ? NULL : zb_text_take(&text);
  zb_text_deinit(&text);
  return out;
}
