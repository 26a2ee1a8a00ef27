/* Timing a sequence after a change.
 *
 * A job that is reached from a changed place starts no earlier than the job before the first changed place ends: at
 * that time T or later. What a job waits for starts no later than the job itself; so jobs that started before T depend
 * on nothing that changed, and keep their times. On every rank they are the first ones of the list. The others run
 * again, each rank until an input is missing, as in the simulator.
 *
 * Messages are pulled: an input arrives when its sender has ended, and the message has taken its time. That leaves out
 * waiting for the channel, which cannot be where every job takes at least as long as each message on the channels it
 * sends on, one message a channel. Elsewhere messages are sent, and the arrival of each is kept: all messages of a
 * channel come from one rank, in the order of its list, so those of jobs that keep their times keep theirs. The jobs of
 * one stage and micro-batch need no check: their order in the list is F, B, W. Tests:
 * test/passes/schedule/retime_test.c.
 */
#include "passes/schedule/search/retime.h"

#include <string.h>

/* In place of a time when a channel is free: it belongs to the list, or nothing is known yet. */
static const int64_t TAKEN = -1;

static int mirrored(int class) { return class - class % ZB_KIND_COUNT + ZB_KIND_COUNT - 1 - class % ZB_KIND_COUNT; }

/* Whether a message may find its channel busy. */
static bool may_wait(const zb_scheduler *w) {
  const zb_direction *d = &w->forwards;
  for (int class = 0; class < w->classes; ++class)
    for (int i = d->link_begin[class]; i < d->link_begin[class + 1]; ++i) {
      const zb_link *link = &d->links[i];
      if (link->channel < 0) continue;
      for (int k = d->link_begin[class]; k < i; ++k)
        if (d->links[k].channel == link->channel) return true;
      /* The message before it on this channel was sent by a job of the same rank, which ended before this one began. */
      const int rank = link->channel / w->ranks;
      for (int j = 0; j < w->chunks * ZB_KIND_COUNT; ++j) {
        const int other = zb_class_at(w, rank, j / ZB_KIND_COUNT, j % ZB_KIND_COUNT);
        for (int k = d->link_begin[other]; k < d->link_begin[other + 1]; ++k)
          if (d->links[k].channel == link->channel && d->links[k].time_ps > d->time_ps[class]) return true;
      }
    }
  return false;
}

/* The mirror of the problem has the senders. */
static void fill_inputs(zb_retimer *x) {
  const zb_scheduler *w = x->scheduler;
  const zb_direction *d = &w->mirror;
  int count = 0;
  for (int class = 0; class < w->classes; ++class) {
    x->input_begin[class] = count;
    for (int i = d->link_begin[mirrored(class)]; i < d->link_begin[mirrored(class) + 1]; ++i) {
      const int from = mirrored(d->links[i].stage);
      x->inputs[count++] = (zb_retime_input){from, w->model->problem->stage_rank[from / ZB_KIND_COUNT],
                                             w->forwards.time_ps[from] + d->links[i].time_ps};
    }
  }
  x->input_begin[w->classes] = count;
}

/* The input that each message is, and the channels that each rank sends on. */
static void fill_outputs(zb_retimer *x) {
  const zb_scheduler *w = x->scheduler;
  const zb_direction *d = &w->forwards;
  int count = 0;
  for (int class = 0; class < w->classes; ++class)
    for (int i = d->link_begin[class]; i < d->link_begin[class + 1]; ++i) {
      int input = x->input_begin[d->links[i].stage];
      while (x->inputs[input].class != class)
        ++input;
      x->outputs[i] = input;
    }
  for (int rank = 0; rank < w->ranks; ++rank) {
    x->channel_begin[rank] = count;
    for (int j = 0; j < w->chunks * ZB_KIND_COUNT; ++j) {
      const int class = zb_class_at(w, rank, j / ZB_KIND_COUNT, j % ZB_KIND_COUNT);
      for (int i = d->link_begin[class]; i < d->link_begin[class + 1]; ++i) {
        const int channel = d->links[i].channel;
        if (channel < 0 || x->channel[channel] == TAKEN) continue;
        x->channel[channel] = TAKEN;
        x->channels[count++] = channel;
      }
    }
  }
  x->channel_begin[w->ranks] = count;
}

/* The job that senders of no input are: timed on a rank behind the last, and there before all others. */
static void fill_classes(zb_retimer *x) {
  const zb_scheduler *w = x->scheduler;
  x->start[w->jobs] = INT64_MIN / 2;
  x->done[w->ranks] = 1;
  for (int class = 0; class < w->classes; ++class) {
    const int inputs = x->input_begin[class + 1] - x->input_begin[class];
    const zb_retime_input *first = &x->inputs[x->input_begin[class]];
    zb_retime_class *out = &x->classes[class];
    *out = (zb_retime_class){
        .time_ps = w->forwards.time_ps[class], .sender_begin = w->jobs, .sender = (int32_t)w->jobs, .rank = w->ranks};
    if (inputs == 0) continue;
    out->delay_ps = first->delay_ps;
    out->sender_begin = zb_rank_begin(w, first->rank);
    out->sender = first->class * w->micro_batches;
    out->step = 1;
    out->rank = first->rank;
    out->more = inputs - 1;
  }
}

zb_status zb_retimer_init(zb_scheduler *w, zb_retimer *out) {
  const size_t ranks = (size_t)w->ranks, classes = (size_t)w->classes;
  const size_t links = (size_t)w->mirror.link_begin[w->classes];
  zb_arena *arena = w->arena;
  *out = (zb_retimer){.scheduler = w};
  ZB_TAKE(arena, out->start, w->jobs + 1);
  ZB_TAKE(arena, out->saved, w->jobs);
  ZB_TAKE(arena, out->place, w->jobs + 1);
  ZB_TAKE(arena, out->worked, w->jobs);
  ZB_TAKE(arena, out->span, ranks);
  ZB_TAKE(arena, out->last, ranks);
  ZB_TAKE(arena, out->input_begin, classes + 1);
  ZB_TAKE(arena, out->inputs, links + 1);
  ZB_TAKE(arena, out->kept, ranks);
  ZB_TAKE(arena, out->done, ranks + 1);
  ZB_TAKE(arena, out->classes, classes);
  ZB_TAKE(arena, out->stack, ranks);
  ZB_TAKE(arena, out->waits_at, ranks);
  ZB_TAKE(arena, out->next_waiting, ranks);
  ZB_TAKE(arena, out->first_waiting, ranks);
  out->channels_wait = may_wait(w);
  if (out->channels_wait) {
    ZB_TAKE(arena, out->arrival, links * (size_t)w->micro_batches + 1);
    ZB_TAKE(arena, out->outputs, links + 1);
    ZB_TAKE(arena, out->channel, ranks * ranks);
    ZB_TAKE(arena, out->channel_begin, ranks + 1);
    ZB_TAKE(arena, out->channels, links + 1);
  }
  ZB_TRY(zb_arena_status(arena));
  fill_inputs(out);
  fill_classes(out);
  if (out->channels_wait) fill_outputs(out);
  return NULL;
}

static const zb_slot *rank_slots(const zb_retimer *x, const zb_slot *sequence, int rank) {
  return &sequence[zb_rank_begin(x->scheduler, rank)];
}

static void fill_places(zb_retimer *x, const zb_slot *sequence, const zb_change *change) {
  const zb_slot *slots = rank_slots(x, sequence, change->rank);
  const size_t m = (size_t)x->scheduler->micro_batches;
  int64_t *worked = &x->worked[zb_rank_begin(x->scheduler, change->rank)];
  int64_t sum = worked[change->first];
  for (int i = change->first; i <= change->last; ++i) {
    x->place[(size_t)slots[i].class * m + (size_t)slots[i].micro_batch] = i;
    worked[i] = sum;
    sum += x->scheduler->forwards.time_ps[slots[i].class];
  }
}

/* The rank joins those that wait for a place of another. */
static void wait_for(zb_retimer *x, int rank, int sender, int place) {
  x->waits_at[rank] = place;
  x->next_waiting[rank] = x->first_waiting[sender];
  x->first_waiting[sender] = rank;
}

/* When the inputs of a job from number `first` on have arrived, or `start` if that is later. False: one has not been
 * sent, and the rank waits for it. */
static bool await_inputs(zb_retimer *x, int rank, zb_slot slot, int first, int64_t *start) {
  for (int k = x->input_begin[slot.class] + first; k < x->input_begin[slot.class + 1]; ++k) {
    const zb_retime_input *input = &x->inputs[k];
    const int at = x->place[zb_class_job(x->scheduler, input->class, slot.micro_batch)];
    if (at >= x->done[input->rank]) {
      wait_for(x, rank, input->rank, at);
      return false;
    }
    *start = zb_max64(*start, zb_retime_arrival(x, k, at, slot.micro_batch));
  }
  return true;
}

/* Runs a rank as far as it goes. Its own places count as timed one by one: a sender there may stand behind the job that
 * waits for it. */
static void run_rank(zb_retimer *x, const zb_slot *sequence, int rank) {
  const zb_scheduler *w = x->scheduler;
  const zb_slot *slots = rank_slots(x, sequence, rank);
  const int per_rank = w->per_rank;
  int64_t *starts = &x->start[zb_rank_begin(w, rank)];
  int *done = x->done, i = done[rank];
  int64_t clock = i > 0 ? starts[i - 1] + w->forwards.time_ps[slots[i - 1].class] : 0;
  for (; i < per_rank; ++i) {
    const zb_slot slot = slots[i];
    const zb_retime_class *class = &x->classes[slot.class];
    const int at = x->place[class->sender + slot.micro_batch * class->step];
    if (at >= done[class->rank]) {
      wait_for(x, rank, class->rank, at);
      return;
    }
    int64_t start = zb_max64(clock, x->start[class->sender_begin + (size_t)at] + class->delay_ps);
    if (class->more > 0 && !await_inputs(x, rank, slot, 1, &start)) return;
    starts[i] = start;
    clock = start + class->time_ps;
    done[rank] = i + 1;
  }
}

/* ---- Messages that wait ---- */

/* Sends what a job sends that ends then. */
static void send_all(zb_retimer *x, zb_slot slot, int64_t end) {
  const zb_direction *d = &x->scheduler->forwards;
  for (int i = d->link_begin[slot.class]; i < d->link_begin[slot.class + 1]; ++i)
    x->arrival[zb_class_job(x->scheduler, x->outputs[i], slot.micro_batch)] =
        zb_link_send(&d->links[i], x->channel, end);
}

/* When the channels of a rank are free behind the first `count` jobs of its list, whose messages have their times. */
static void restore_channels(zb_retimer *x, const zb_slot *sequence, int rank, int count) {
  const zb_direction *d = &x->scheduler->forwards;
  const zb_slot *slots = rank_slots(x, sequence, rank);
  int unknown = x->channel_begin[rank + 1] - x->channel_begin[rank];
  for (int i = x->channel_begin[rank]; i < x->channel_begin[rank + 1]; ++i)
    x->channel[x->channels[i]] = TAKEN;
  for (int i = count - 1; i >= 0 && unknown > 0; --i)
    for (int k = d->link_begin[slots[i].class + 1] - 1; k >= d->link_begin[slots[i].class]; --k) {
      const int channel = d->links[k].channel;
      if (channel < 0 || x->channel[channel] != TAKEN) continue;
      x->channel[channel] = x->arrival[zb_class_job(x->scheduler, x->outputs[k], slots[i].micro_batch)];
      --unknown;
    }
  for (int i = x->channel_begin[rank]; unknown > 0 && i < x->channel_begin[rank + 1]; ++i)
    if (x->channel[x->channels[i]] == TAKEN) x->channel[x->channels[i]] = 0;
}

/* Sends again what the jobs from x->kept on send, whose times are as they were. */
static void send_rest(zb_retimer *x, const zb_slot *sequence) {
  const zb_scheduler *w = x->scheduler;
  for (int rank = 0; rank < w->ranks; ++rank) {
    const zb_slot *slots = rank_slots(x, sequence, rank);
    restore_channels(x, sequence, rank, x->kept[rank]);
    for (int i = x->kept[rank]; i < w->per_rank; ++i)
      send_all(x, slots[i], zb_retime_starts(x, rank)[i] + w->forwards.time_ps[slots[i].class]);
  }
}

/* run_rank where messages wait. */
static void run_sending_rank(zb_retimer *x, const zb_slot *sequence, int rank) {
  const zb_scheduler *w = x->scheduler;
  const zb_slot *slots = rank_slots(x, sequence, rank);
  int64_t *starts = &x->start[zb_rank_begin(w, rank)];
  int i = x->done[rank];
  int64_t clock = i > 0 ? starts[i - 1] + w->forwards.time_ps[slots[i - 1].class] : 0;
  for (; i < w->per_rank; ++i) {
    int64_t start = clock;
    if (!await_inputs(x, rank, slots[i], 0, &start)) return;
    starts[i] = start;
    clock = start + w->forwards.time_ps[slots[i].class];
    send_all(x, slots[i], clock);
    x->done[rank] = i + 1;
  }
}

/* ---- All ranks ---- */

/* The least that the span of a rank can be that is timed so far. */
static int64_t least_span(const zb_retimer *x, int rank) {
  const zb_scheduler *w = x->scheduler;
  const int last = x->done[rank] - 1;
  if (last < 0) return 0;
  const size_t at = zb_rank_begin(w, rank) + (size_t)last;
  const int64_t start = w->model->problem->metric == ZB_METRIC_STAGE ? zb_retime_starts(x, rank)[0] : 0;
  return x->start[at] - x->worked[at] + w->work[rank] - start;
}

/* Runs all ranks from x->done on. False: some never end, or take longer than that. */
static bool run_all(zb_retimer *x, const zb_slot *sequence, int64_t most) {
  const int ranks = x->scheduler->ranks, per_rank = x->scheduler->per_rank;
  int count = 0, ended = 0;
  for (int rank = ranks - 1; rank >= 0; --rank) {
    x->first_waiting[rank] = -1;
    x->stack[count++] = rank;
  }
  while (count > 0) {
    const int rank = x->stack[--count];
    x->channels_wait ? run_sending_rank(x, sequence, rank) : run_rank(x, sequence, rank);
    if (least_span(x, rank) > most) return false;
    ended += x->done[rank] == per_rank;
    int *link = &x->first_waiting[rank];
    while (*link >= 0) {
      const int waiting = *link;
      if (x->waits_at[waiting] < x->done[rank] && waiting != rank) {
        *link = x->next_waiting[waiting];
        x->stack[count++] = waiting;
      } else {
        link = &x->next_waiting[waiting];
      }
    }
  }
  return ended == ranks;
}

/* When the optimizer of a rank may start, and the job that this waits for. */
static int64_t optimizer_start(zb_retimer *x, const zb_slot *sequence, int rank) {
  const zb_scheduler *w = x->scheduler;
  const int64_t *starts = zb_retime_starts(x, rank);
  int64_t stream = 0;
  int cause = x->last[rank] = w->per_rank - 1;
  const int64_t end = starts[cause] + w->forwards.time_ps[rank_slots(x, sequence, rank)[cause].class];
  for (const zb_rank_reduction *r = zb_reductions(w->model, rank); r < zb_reductions(w->model, rank + 1); ++r) {
    const int class = r->stage * ZB_KIND_COUNT + ZB_W;
    const int at = x->place[zb_class_job(w, class, r->after)];
    const int64_t w_end = starts[at] + w->forwards.time_ps[class];
    if (w_end - r->lead_ps > stream) cause = at;
    stream = zb_reduction_end(r, stream, w_end);
  }
  if (stream <= end) return end;
  x->last[rank] = cause;
  return stream;
}

static void fill_spans(zb_retimer *x, const zb_slot *sequence) {
  const zb_scheduler *w = x->scheduler;
  const bool stage_metric = w->model->problem->metric == ZB_METRIC_STAGE;
  for (int rank = 0; rank < w->ranks; ++rank) {
    const int64_t *starts = zb_retime_starts(x, rank);
    x->span[rank] = optimizer_start(x, sequence, rank) + w->optimizer[rank] - (stage_metric ? starts[0] : 0);
  }
}

/* Times everything behind the first x->kept places of each rank. */
static bool time_rest(zb_retimer *x, const zb_slot *sequence, int64_t most) {
  const size_t ranks = (size_t)x->scheduler->ranks, per_rank = (size_t)x->scheduler->per_rank;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const size_t from = rank * per_rank + (size_t)x->kept[rank];
    memcpy(&x->saved[from], &x->start[from], (per_rank - (size_t)x->kept[rank]) * sizeof *x->saved);
  }
  for (int rank = 0; x->channels_wait && rank < x->scheduler->ranks; ++rank)
    restore_channels(x, sequence, rank, x->kept[rank]);
  ++x->scheduler->evaluations;
  memcpy(x->done, x->kept, ranks * sizeof *x->done);
  if (!run_all(x, sequence, most)) return false;
  fill_spans(x, sequence);
  return true;
}

bool zb_retime_all(zb_retimer *x, const zb_slot *sequence) {
  for (int rank = 0; rank < x->scheduler->ranks; ++rank) {
    x->kept[rank] = 0;
    fill_places(x, sequence, &(zb_change){rank, 0, x->scheduler->per_rank - 1});
  }
  return time_rest(x, sequence, INT64_MAX);
}

/* How many of the first `count` jobs of a rank started before a time. */
static int count_before(const zb_retimer *x, int rank, int count, int64_t time) {
  const int64_t *starts = zb_retime_starts(x, rank);
  int low = 0;
  while (low < count) {
    const int middle = low + (count - low) / 2;
    if (starts[middle] < time)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}

bool zb_retime(zb_retimer *x, const zb_slot *sequence, const zb_change *changes, int count, int64_t most) {
  const zb_scheduler *w = x->scheduler;
  int64_t earliest = INT64_MAX;
  for (int rank = 0; rank < w->ranks; ++rank)
    x->kept[rank] = w->per_rank;
  for (int i = 0; i < count; ++i) {
    const int rank = changes[i].rank, before = changes[i].first - 1;
    const int64_t time = before < 0 ? 0
                                    : x->start[zb_rank_begin(w, rank) + (size_t)before] +
                                          w->forwards.time_ps[rank_slots(x, sequence, rank)[before].class];
    if (time < earliest) earliest = time;
    x->kept[rank] = changes[i].first;
    fill_places(x, sequence, &changes[i]);
  }
  for (int rank = 0; rank < w->ranks; ++rank)
    x->kept[rank] = count_before(x, rank, x->kept[rank], earliest);
  return time_rest(x, sequence, most);
}

void zb_retime_undo(zb_retimer *x, const zb_slot *sequence, const zb_change *changes, int count) {
  const size_t per_rank = (size_t)x->scheduler->per_rank;
  for (int rank = 0; rank < x->scheduler->ranks; ++rank) {
    const size_t from = (size_t)rank * per_rank + (size_t)x->kept[rank];
    memcpy(&x->start[from], &x->saved[from], (per_rank - (size_t)x->kept[rank]) * sizeof *x->saved);
  }
  for (int i = 0; i < count; ++i)
    fill_places(x, sequence, &changes[i]);
  if (x->channels_wait) send_rest(x, sequence);
  fill_spans(x, sequence);
}

int64_t zb_retime_metric_ps(const zb_retimer *x) {
  const zb_scheduler *w = x->scheduler;
  int64_t last = 0, first = INT64_MAX;
  for (int rank = 0; rank < w->ranks; ++rank) {
    const int64_t start = x->start[zb_rank_begin(w, rank)];
    if (x->span[rank] > last) last = x->span[rank];
    if (start < first) first = start;
  }
  return w->model->problem->metric == ZB_METRIC_STAGE ? last : last - first;
}
