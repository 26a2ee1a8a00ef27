/* The period of an order: what a step takes when the lists are repeated without a barrier, exactly.
 *
 * A rank begins its list again when its optimizer has ended, a channel carries the messages of the next step behind
 * those of this one, and nothing else waits for a step to end. So a step is a graph of events (jobs, messages,
 * reductions, optimizers), each the latest of its inputs plus a time, from one moment a rank and channel, its token, to
 * the same moments one step later. In the long run steps come at the greatest ratio of time to steps over all cycles of
 * tokens (Cuninghame-Green 1979; Baccelli, Cohen, Olsder, Quadrat 1992, "Synchronization and linearity", 3.2).
 *
 * The cycle is found from below: with the ratio of some cycle taken off each step, the moments are run through the
 * graph until none grows, which proves the ratio (then no cycle has more), or until the tokens from which they grew
 * form a cycle, which has a greater one. As in Bellman and Ford that takes no more rounds than there are tokens, and
 * mostly a few; each is one pass over the graph. Moments are whole picoseconds and a fraction whose denominator is the
 * number of steps of the cycle, so nothing is rounded.
 *
 * Tests: test/passes/schedule/period_test.c.
 */
#include <string.h>

#include "passes/schedule/model.h"

enum { NONE = -1 };

/* The times of tokens over all rounds stay below this. */
static const int64_t SUM_MAX = INT64_C(1) << 61;

/* A time: whole picoseconds, and the fraction of the token that it came from. */
typedef struct moment {
  int64_t ps;
  int32_t token;
} moment;

/* Moments of a step. An input is an event before it, or ~token: when the step begins. Made anew for every order. */
typedef struct graph {
  const zb_model *model;
  const zb_order *order;
  int64_t *time_ps;     /* [event] */
  size_t *input_begin;  /* [event + 1] */
  int32_t *inputs;      /* of one event after the other */
  moment *end;          /* [event] */
  int32_t *token_event; /* [token] whose end it is, one step later; ranks first, then channels */
  size_t input_count;
  int32_t events, tokens;
  /* while it is made */
  int32_t *channel_token;           /* [ranks * ranks], 0: none yet */
  int32_t *token_channel;           /* [token], of a channel */
  int32_t *arrivals[ZB_LINK_KINDS]; /* [stages * micro_batches] the last message that came, and the one before it */
  int32_t *arrival_before;          /* [event] */
  int32_t *missing[ZB_LINK_KINDS];  /* [stages * micro_batches] inputs that are not there yet */
  int32_t *w_event;                 /* [stages * micro_batches] */
  int32_t *done;                    /* [rank] jobs */
  int *queue;                       /* ranks to visit, a stack */
  bool *queued;
  int queue_count;
  zb_arena arena;
} graph;

/* ---- The graph ---- */

static size_t count_messages(const zb_model *model) {
  size_t count = 0;
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind)
    count += (size_t)(zb_links(model, (zb_kind)kind, model->problem->stages) - zb_links(model, (zb_kind)kind, 0));
  return count * (size_t)model->problem->micro_batches;
}

/* For any order of the model's problem. */
static zb_status graph_init(graph *g) {
  const zb_problem *p = g->model->problem;
  zb_arena *arena = &g->arena;
  const size_t messages = count_messages(g->model), pairs = (size_t)p->stages * (size_t)p->micro_batches;
  const size_t events = zb_model_jobs(g->model) + messages + (size_t)p->reduction_count + (size_t)p->ranks;
  ZB_TAKE(arena, g->time_ps, events);
  ZB_TAKE(arena, g->input_begin, events + 1);
  ZB_TAKE(arena, g->inputs, 2 * events + messages);
  ZB_TAKE(arena, g->end, events);
  ZB_TAKE(arena, g->arrival_before, events);
  ZB_TAKE(arena, g->w_event, pairs);
  ZB_TAKE(arena, g->done, p->ranks);
  ZB_TAKE(arena, g->queue, p->ranks);
  ZB_TAKE(arena, g->queued, p->ranks);
  ZB_TAKE(arena, g->token_event, (size_t)p->ranks + (messages < events ? messages : events));
  ZB_TAKE(arena, g->token_channel, (size_t)p->ranks + (messages < events ? messages : events));
  ZB_TAKE(arena, g->channel_token, (size_t)p->ranks * (size_t)p->ranks);
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind) {
    ZB_TAKE(arena, g->arrivals[kind], pairs);
    ZB_TAKE(arena, g->missing[kind], pairs);
  }
  return zb_arena_status(arena);
}

static void graph_begin(graph *g) {
  const zb_problem *p = g->model->problem;
  const size_t pairs = (size_t)p->stages * (size_t)p->micro_batches;
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind)
    for (size_t i = 0; i < pairs; ++i) {
      g->arrivals[kind][i] = NONE;
      g->missing[kind][i] = g->model->input_counts[kind][i / (size_t)p->micro_batches];
    }
  for (int32_t t = p->ranks; t < g->tokens; ++t)
    g->channel_token[g->token_channel[t]] = 0;
  g->events = 0;
  g->input_count = 0;
  g->tokens = p->ranks;
  for (int rank = p->ranks - 1; rank >= 0; --rank) {
    g->done[rank] = 0;
    g->token_event[rank] = ~rank;
    g->queue[g->queue_count++] = rank;
    g->queued[rank] = true;
  }
}

/* Its inputs so far are those that were added since the event before it. */
static int32_t add_event(graph *g, int64_t time_ps) {
  g->time_ps[g->events] = time_ps;
  g->input_begin[g->events + 1] = g->input_count;
  return g->events++;
}

static void add_input(graph *g, int32_t input) { g->inputs[g->input_count++] = input; }

/* What the channel did last. */
static int32_t *channel_event(graph *g, int channel) {
  int32_t *token = &g->channel_token[channel];
  if (*token == 0) {
    *token = g->tokens++;
    g->token_channel[*token] = channel;
    g->token_event[*token] = ~*token;
  }
  return &g->token_event[*token];
}

/* Hands the results of a job to their receivers. */
static void add_messages(graph *g, zb_job job, zb_kind kind, int32_t from) {
  const zb_model *model = g->model;
  for (const zb_link *link = zb_links(model, kind, job.stage); link < zb_links(model, kind, job.stage + 1); ++link) {
    const size_t to = zb_model_pair(model, link->stage, job.micro_batch);
    if (link->channel >= 0) {
      int32_t *const last = channel_event(g, link->channel);
      add_input(g, from);
      add_input(g, *last);
      *last = add_event(g, link->time_ps);
      g->arrival_before[*last] = g->arrivals[kind][to];
      g->arrivals[kind][to] = *last;
    }
    const int rank = model->problem->stage_rank[link->stage];
    if (--g->missing[kind][to] > 0 || g->queued[rank]) continue;
    g->queued[rank] = true;
    g->queue[g->queue_count++] = rank;
  }
}

/* The jobs of a rank as far as they go. Within a rank a job comes behind what it needs: the order can finish. */
static void add_jobs(graph *g, int rank) {
  for (; g->done[rank] < g->order->counts[rank]; ++g->done[rank]) {
    const zb_job job = g->order->jobs[rank][g->done[rank]];
    const size_t at = zb_model_pair(g->model, job.stage, job.micro_batch);
    if (job.kind != ZB_W) {
      if (g->missing[job.kind][at] > 0) return;
      for (int32_t message = g->arrivals[job.kind][at]; message != NONE; message = g->arrival_before[message])
        add_input(g, message);
    }
    add_input(g, g->token_event[rank]);
    const int32_t event = g->token_event[rank] = add_event(g, g->model->problem->costs[job.stage].time_ps[job.kind]);
    if (job.kind == ZB_W) g->w_event[at] = event;
    zb_kind sent;
    if (zb_order_sends(g->order, rank, g->done[rank], &sent)) add_messages(g, job, sent, event);
  }
}

/* Reductions and the optimizer, behind all jobs. The optimizer waits for the last reduction, so the second clock is
 * free when a step begins, and what ends on it last is, for one of its reductions, that and all behind it. */
static void add_end(graph *g, int rank) {
  const zb_model *model = g->model;
  const zb_rank_reduction *first = zb_reductions(model, rank), *end = zb_reductions(model, rank + 1);
  const int32_t before = g->events;
  int64_t behind = 0;
  for (const zb_rank_reduction *r = end; r-- > first;) {
    behind += r->time_ps;
    add_input(g, g->w_event[zb_model_pair(model, r->stage, r->after)]);
    add_event(g, zb_max64(behind - r->lead_ps, 0));
  }
  for (int32_t event = before; event < before + (int32_t)(end - first); ++event)
    add_input(g, event);
  add_input(g, g->token_event[rank]);
  g->token_event[rank] = add_event(g, model->optimizer_ps[rank]);
}

/* False: some ranks wait for ever. */
static bool make_graph(graph *g, const zb_order *order) {
  bool ends = true;
  g->order = order;
  graph_begin(g);
  while (g->queue_count > 0) {
    const int rank = g->queue[--g->queue_count];
    g->queued[rank] = false;
    add_jobs(g, rank);
  }
  for (int rank = 0; rank < order->ranks; ++rank)
    ends &= g->done[rank] == order->counts[rank];
  for (int rank = 0; ends && rank < order->ranks; ++rank)
    add_end(g, rank);
  return ends;
}

/* ---- The greatest ratio ---- */

typedef struct token_state {
  int64_t ps; /* when it is there, without the steps so far: ps + fraction / steps of the ratio */
  int32_t fraction;
  int32_t parent;   /* the token that it came from when it grew last, NONE */
  int64_t taken_ps; /* from there */
  int32_t visit;    /* of find_cycle */
} token_state;

typedef struct ratio {
  int64_t ps;
  int32_t steps;
} ratio;

struct zb_period_timer {
  graph graph;
  token_state *tokens, *before; /* [tokens] */
};

/* a > b, by whole parts, then by what is left of both the other way round: products could overflow. */
static bool is_greater(ratio a, ratio b) {
  int64_t a_ps = a.ps, a_steps = a.steps, b_ps = b.ps, b_steps = b.steps;
  for (;;) {
    const int64_t whole_a = a_ps / a_steps, whole_b = b_ps / b_steps;
    if (whole_a != whole_b) return whole_a > whole_b;
    a_ps -= whole_a * a_steps;
    b_ps -= whole_b * b_steps;
    if (a_ps == 0 || b_ps == 0) return a_ps > b_ps;
    const int64_t next_a = b_steps, next_a_steps = b_ps; /* a_ps / a_steps > b_ps / b_steps: the inverses, swapped */
    b_ps = a_steps;
    b_steps = a_ps;
    a_ps = next_a;
    a_steps = next_a_steps;
  }
}

/* Runs all moments through one step. */
static void run_step(graph *g, const token_state *tokens) {
  for (int32_t event = 0; event < g->events; ++event) {
    moment latest = {-1, NONE};
    for (size_t i = g->input_begin[event]; i < g->input_begin[event + 1]; ++i) {
      const int32_t input = g->inputs[i];
      const moment other = input >= 0 ? g->end[input] : (moment){tokens[~input].ps, ~input};
      if (latest.token == NONE || other.ps > latest.ps ||
          (other.ps == latest.ps && tokens[other.token].fraction > tokens[latest.token].fraction))
        latest = other;
    }
    g->end[event] = (moment){latest.ps + g->time_ps[event], latest.token};
  }
}

/* Takes the ratio off each moment, and lets tokens grow; whether any did. `before` is a copy. */
static bool grow(const graph *g, ratio off, const token_state *before, token_state *tokens) {
  const int64_t whole = off.ps / off.steps;
  const int32_t rest = (int32_t)(off.ps % off.steps);
  bool grew = false;
  for (int32_t t = 0; t < g->tokens; ++t) {
    const moment end = g->end[g->token_event[t]];
    int64_t ps = end.ps - whole;
    int32_t fraction = before[end.token].fraction - rest;
    if (fraction < 0) {
      fraction += off.steps;
      --ps;
    }
    if (ps < before[t].ps || (ps == before[t].ps && fraction <= before[t].fraction)) continue;
    tokens[t].ps = ps;
    tokens[t].fraction = fraction;
    tokens[t].parent = end.token;
    tokens[t].taken_ps = end.ps - before[end.token].ps;
    grew = true;
  }
  return grew;
}

static ratio ratio_of_cycle(const token_state *tokens, int32_t at) {
  ratio out = {0, 0};
  int32_t t = at;
  do {
    out.ps += tokens[t].taken_ps;
    ++out.steps;
    t = tokens[t].parent;
  } while (t != at);
  return out;
}

/* The greatest ratio of the cycles of parents; false: there is none. */
static bool find_cycle(token_state *tokens, int32_t count, ratio *out) {
  bool found = false;
  for (int32_t t = 0; t < count; ++t)
    tokens[t].visit = NONE;
  for (int32_t t = 0; t < count; ++t) {
    int32_t at = t;
    while (at != NONE && tokens[at].visit == NONE) {
      tokens[at].visit = t;
      at = tokens[at].parent;
    }
    if (at == NONE || tokens[at].visit != t) continue;
    const ratio one = ratio_of_cycle(tokens, at);
    if (!found || is_greater(one, *out)) *out = one;
    found = true;
  }
  return found;
}

static void begin_ratio(token_state *tokens, int32_t count) {
  for (int32_t t = 0; t < count; ++t)
    tokens[t] = (token_state){.parent = NONE};
}

/* Moments are below the longest path of a step for each round, of which there are no more than tokens. */
static bool can_overflow(const graph *g) {
  int64_t last = 0;
  for (int32_t t = 0; t < g->tokens; ++t)
    last = zb_max64(last, g->end[g->token_event[t]].ps);
  return last > SUM_MAX / (g->tokens + 1);
}

/* *out: the greatest ratio, if it is greater than *out. grows_only: it is enough to know whether. */
static zb_status find_ratio(zb_period_timer *timer, bool grows_only, ratio *out, bool *grew) {
  graph *const g = &timer->graph;
  token_state *const tokens = timer->tokens, *const before = timer->before;
  *grew = false;
  begin_ratio(tokens, g->tokens);
  for (bool first = true;; first = false) {
    memcpy(before, tokens, (size_t)g->tokens * sizeof *tokens);
    run_step(g, before);
    if (first && can_overflow(g))
      return zb_status_hint(ZB_ERROR(INVALID, "the times of a step are too long for a period"),
                            "a step times its ranks and channels is more than 2^61 ps");
    if (!grow(g, *out, before, tokens)) return NULL;
    if (!find_cycle(tokens, g->tokens, out)) continue;
    *grew = true;
    if (grows_only) return NULL;
    begin_ratio(tokens, g->tokens);
  }
}

/* ---- The public functions ---- */

zb_status zb_period_timer_new(const zb_model *model, zb_period_timer **out) {
  zb_period_timer *const timer = zb_alloc(sizeof *timer);
  *out = NULL;
  if (!timer) return ZB_OUT_OF_MEMORY();
  *timer = (zb_period_timer){.graph = {.model = model}};
  graph *const g = &timer->graph;
  const size_t tokens = (size_t)model->problem->ranks + count_messages(model);
  zb_status status = graph_init(g);
  if (status) goto cleanup;
  ZB_TAKE(&g->arena, timer->tokens, tokens);
  ZB_TAKE(&g->arena, timer->before, tokens);
  status = zb_arena_status(&g->arena);
cleanup:
  if (status)
    zb_period_timer_free(timer);
  else
    *out = timer;
  return status;
}

void zb_period_timer_free(zb_period_timer *timer) {
  if (timer) zb_arena_deinit(&timer->graph.arena);
  zb_free(timer);
}

zb_status zb_period_time(zb_period_timer *timer, const zb_order *order, const zb_period *at_most, zb_period *out) {
  ratio found = {0, 1};
  bool grew;
  *out = (zb_period){0};
  if (!make_graph(&timer->graph, order)) return NULL;
  if (at_most) {
    ratio known = {at_most->cycle_ps, at_most->cycle_steps};
    ZB_TRY(find_ratio(timer, true, &known, &grew));
    if (grew) return NULL;
  }
  ZB_TRY(find_ratio(timer, false, &found, &grew));
  const int64_t divisor = zb_common_divisor(found.ps, found.steps);
  *out = (zb_period){.cycle_ps = found.ps / divisor, .cycle_steps = found.steps / (int32_t)divisor};
  out->period_ps = out->cycle_ps / out->cycle_steps + (out->cycle_ps % out->cycle_steps != 0);
  return NULL;
}

/* What each rank computes on average, in ps. */
static double mean_busy(const zb_model *model, const zb_order *order) {
  double busy = 0;
  for (int rank = 0; rank < order->ranks; ++rank) {
    busy += (double)model->optimizer_ps[rank];
    for (int i = 0; i < order->counts[rank]; ++i)
      busy += (double)model->problem->costs[order->jobs[rank][i].stage].time_ps[order->jobs[rank][i].kind];
  }
  return busy / order->ranks;
}

zb_status zb_order_period(const zb_problem *problem, const zb_order *order, zb_period *out) {
  *out = (zb_period){0};
  zb_model model;
  zb_period_timer *timer = NULL;
  int32_t *index;
  ZB_TRY(zb_model_init(problem, &model));
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_order_index(&model, order, &model.arena, &index)); /* the jobs are those of the problem */
  ZB_TRY_GOTO(
      zb_order_run_to_end(&model, order, NULL, ZB_TIMEOUT, "this order cannot finish: some ranks wait for ever"));
  ZB_TRY_GOTO(zb_period_timer_new(&model, &timer));
  ZB_TRY_GOTO(zb_period_time(timer, order, NULL, out));
  if (out->cycle_ps > 0) out->bubble = 1 - mean_busy(&model, order) * (double)out->cycle_steps / (double)out->cycle_ps;
cleanup:
  zb_period_timer_free(timer);
  zb_model_deinit(&model);
  return status;
}

/* What the busiest channel carries in a step. */
static zb_status busiest_channel(const zb_model *model, int64_t *best) {
  const zb_problem *p = model->problem;
  zb_arena arena = {0};
  int64_t *channel;
  ZB_TAKE(&arena, channel, (size_t)p->ranks * (size_t)p->ranks);
  const zb_status status = zb_arena_status(&arena);
  for (int kind = 0; !status && kind < ZB_LINK_KINDS; ++kind)
    for (const zb_link *link = zb_links(model, (zb_kind)kind, 0); link < zb_links(model, (zb_kind)kind, p->stages);
         ++link) {
      if (link->channel < 0) continue;
      channel[link->channel] += link->time_ps * p->micro_batches;
      *best = zb_max64(*best, channel[link->channel]);
    }
  zb_arena_deinit(&arena);
  return status;
}

/* A rank ends a step before it begins the next one, and from beginning to end it takes what the stage metric's bound
 * says, which holds whenever other ranks begin and end: a chain of jobs and messages of one step leads from the one to
 * the other. A channel carries the messages of a step before those of the next one. */
int64_t zb_lower_bound_period_ps(const zb_problem *problem) {
  zb_model model;
  int64_t best = 0;
  zb_status status = zb_model_init(problem, &model);
  if (!status) status = busiest_channel(&model, &best);
  zb_status_free(status);
  zb_model_deinit(&model);
  return zb_max64(best, zb_lower_bound_stage_ps(problem));
}
