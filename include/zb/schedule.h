/* The schedule library: problem in, order out. No MLIR, nothing of the rest of zbc: usable and linkable alone.
 *
 * A problem says how many ranks, micro-batches and virtual stages there are, how long F, B and W of each stage take,
 * what memory each keeps or frees, and how long messages take. An order is, per rank, the list of its compute jobs.
 * Times are int64_t picoseconds, exact.
 *
 * Text of a job: "0F2" = virtual stage 0, forward, micro-batch 2; B (PyTorch: I) and W likewise.
 */
#ifndef ZB_SCHEDULE_H
#define ZB_SCHEDULE_H

#include "zb/explain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ZB_F, ZB_B and ZB_W: the kinds of jobs of a stage and micro-batch, in the order in which they run. */
typedef enum zb_kind {
#define ZB_KIND(name, summary) ZB_##name,
#include "zb/kinds.def"
#undef ZB_KIND
  ZB_KIND_COUNT
} zb_kind;

/* What the optimizer of a stage does, in this order: adds up gradients, takes their norm, updates parameters. */
typedef enum zb_optimizer_phase {
#define ZB_PHASE(name, summary) ZB_OPTIMIZER_##name,
#include "zb/phases.def"
#undef ZB_PHASE
  ZB_OPTIMIZER_PHASES
} zb_optimizer_phase;

typedef struct zb_stage_cost {
  int64_t time_ps[ZB_KIND_COUNT];
  int64_t hidden_ps; /* so much of W, beside that, runs while B waits for sums over shards */
  /* Change of live bytes by each job: F +fb +fw, B +bw -fb, W -fw -bw. The peak of B counts bw before fb is freed. */
  int64_t keep_bytes[ZB_KIND_COUNT]; /* added at the start of the job, >= 0 */
  int64_t free_bytes[ZB_KIND_COUNT]; /* removed at its end, >= 0 */
  int64_t optimizer_ps[ZB_OPTIMIZER_PHASES];
  bool b_accumulates; /* B adds to gradients too: like W it runs in rising micro-batch order */
  bool f_updates;     /* F updates buffers, for which it runs in rising micro-batch order */
} zb_stage_cost;

/* Stage `destination` > source reads values that stage `source` makes: for each micro-batch one message goes forward,
 * and one with their gradients back. Where a job sends several messages to one rank they leave one after the other, in
 * the order of the list of edges. */
typedef struct zb_edge {
  int source, destination;
  int64_t forward_bytes, backward_bytes; /* backward 0: no gradient returns */
} zb_edge;

/* What a message takes on channels of this class: latency + bytes * ps_per_byte. */
enum { ZB_LINK_NAME_BYTES = 48 };
typedef struct zb_link_class {
  char name[ZB_LINK_NAME_BYTES]; /* "between nodes": printable ASCII without '"' and '\\' */
  int64_t latency_ps;
  double ps_per_byte;
} zb_link_class;

/* The class of one channel, an ordered pair of ranks. */
typedef struct zb_channel {
  int source, destination; /* ranks */
  int link_class;          /* index in link_classes */
} zb_channel;

/* A collective that reduces gradients of a stage while its rank computes: on the rank's second clock, which runs the
 * reductions of the rank one after the other in the order of the list. It starts when W of `after` is done, or lead_ps
 * before, and the one before it has ended. The optimizer of the rank starts when all have ended. */
typedef struct zb_reduction {
  int stage;
  int after;     /* micro-batch; W of a stage rise, so the last one is micro_batches - 1 */
  int64_t bytes; /* for the reader only */
  int64_t time_ps;
  int64_t lead_ps; /* its gradients are complete so long before the end of that W; at most the time of W */
} zb_reduction;

/* What a step is judged by. BARRIER: global end - global start, for a step that ends with something that waits for all
 * ranks. STAGE: the longest rank's end - start, for optimizers that need not wait for each other. PERIOD: what a step
 * takes in the long run where each rank begins the next one when its own optimizer has ended (zb_order_period). */
typedef enum zb_metric {
#define ZB_METRIC(name, text, meaning) ZB_METRIC_##name,
#include "zb/metrics.def"
#undef ZB_METRIC
  ZB_METRIC_COUNT
} zb_metric;
/* Its name, "barrier". */
ZB_API const char *zb_metric_name(zb_metric metric);
/* By its name; USAGE with all names and the nearest one, or with what to write instead. */
ZB_API zb_status zb_metric_parse(const char *name, zb_metric *out) ZB_MUST_USE;

/* Asked by a search again and again, each time after about as much work, from its thread: false ends the search, which
 * then gives the best that it has found so far. From then on the answer must stay false. */
typedef struct zb_watch {
  bool (*goes_on)(void *context);
  void *context;
} zb_watch;

typedef struct zb_problem {
  int ranks, micro_batches, stages; /* stages: virtual stages, a multiple of ranks */
  const int *stage_rank;            /* [stages] placement: which rank owns each virtual stage */
  const zb_stage_cost *costs;       /* [stages] */
  const zb_edge *edges;             /* NULL: one edge s -> s+1 each way with 0 bytes */
  int edge_count;
  int64_t link_latency_ps; /* between different ranks; messages inside a rank are free */
  double link_ps_per_byte;
  /* Where links differ: a channel has the class that `channels` gives it; else, with node_ranks > 0, rank / node_ranks
   * is a rank's node, and it has inside_class or between_class; else it is the link above, which is 0 beside nodes. */
  const zb_link_class *link_classes;
  const zb_channel *channels;
  int link_class_count, channel_count;
  int node_ranks, inside_class, between_class;
  const int64_t *base_bytes; /* [ranks] weights, optimizer state, ...; NULL: 0 */
  /* [ranks]; NULL: 0. Or each stage has optimizer times of its own (zb_stage_cost), which a rank runs one after the
   * other; then these are 0. */
  const int64_t *optimizer_ps;
  const zb_reduction *reductions;
  int reduction_count;
  double overlap_slowdown;    /* factor on jobs while a reduction runs; 0 is 1, and other factors are refused yet */
  int64_t memory_limit_bytes; /* per rank; 0: none */
  const int64_t
      *rank_limit_bytes; /* [ranks] instead of memory_limit_bytes where ranks differ, 0: none; NULL: all alike */
  zb_metric metric;      /* what searching schedules minimize */
  bool whole_backward;   /* B and W are one job: W directly follows its B, and the gradient leaves when both are done */
  const zb_watch *watch; /* NULL: searches end by themselves */
} zb_problem;

typedef struct zb_job {
  int32_t stage;
  int32_t micro_batch;
  zb_kind kind;
} zb_job;

/* jobs[r] has counts[r] entries. Created and grown by the library. */
typedef struct zb_order {
  int ranks;
  zb_job **jobs;
  int *counts;
  int *capacities;
  /* Each W directly follows its B and the gradient leaves when both are done: one backward job, as papers and
   * frameworks time schedules that do not split it. Set by zb_schedule_run from splits_backward; cleared, the gradient
   * leaves when B ends. */
  bool whole_backward;
  /* Jobs of all orders that a search has built or timed to find it, or to find none; 0: by a rule. */
  int64_t timed_jobs;
} zb_order;

/* A whole number that a schedule can be given: "interleaved-1f1b:group=4". */
typedef struct zb_schedule_option {
  const char *name;
  int64_t value; /* where none is given */
  int64_t least, most;
  const char *help;
  int64_t published; /* another value that the schedule is known with, which a search tries too; 0: none */
} zb_schedule_option;
enum { ZB_SCHEDULE_OPTIONS_MAX = 8 };

/* One schedule: a row of passes/schedule/schedules.def. */
typedef struct zb_schedule_def {
  const char *name;      /* "zb-h1" */
  const char *summary;   /* one line with the source (paper, section) */
  const char *placement; /* the one it is made for: what to use where none is named */
  int chunks_min;        /* fewest chunks a rank; zb_schedule_place says what to use where none is named */
  int chunks_max;        /* most: 1, 2, or INT_MAX */
  bool any_placement;   /* takes every placement with that many chunks; false: `placement` only, with ranks named in any
                           order */
  bool splits_backward; /* false: each W directly follows its B (one backward job in the paper's terms) */
  bool searches;        /* runs the other schedules itself: not a start of a search */
  bool two_pipelines;   /* every stage on two ranks: stages s and p+s are copies, edges form the chains 0..p-1 and
                           p..2p-1, placed as a V, micro_batches are those of one direction (DualPipe). To be simulated,
                           not trained. */
  bool keeps_limit;     /* looks for an order within the problem's memory limit: other schedules only say that they need
                           more */
  bool is_slow;         /* takes as long as hundreds of evaluations: a search asks for it last */
  const zb_schedule_option *options; /* ends with a row without a name; NULL: none */
  /* Fills the order. USAGE with what is defined, where the rule is not defined for this problem. options: one value a
   * row. */
  zb_status (*emit)(const zb_problem *problem, const int64_t *options, zb_order *out);
  const struct zb_within_def *within; /* its rules for any memory limit, which a search asks for orders within many of
                                         them; NULL: it has none */
  /* Bound on the peak of a rank in units of one micro-batch's F memory, as the paper states it; < 0: none stated. */
  double (*memory_bound)(const zb_problem *problem, int rank);
} zb_schedule_def;

ZB_API int zb_schedule_count(void);
ZB_API const zb_schedule_def *zb_schedule_at(int index);
/* What else the schedule at index is called, with blanks between; NULL where there is none of that index. */
ZB_API const char *zb_schedule_aliases(int index);
/* By its name or an alias; neither case nor '-' and '_' count. NULL if unknown; *nearest (may be NULL) gets the most
 * similar name. */
ZB_API const zb_schedule_def *zb_schedule_find(const char *name, const char **nearest);

/* A schedule and the values of its options. */
typedef struct zb_schedule_choice {
  const zb_schedule_def *schedule;
  int64_t options[ZB_SCHEDULE_OPTIONS_MAX];
} zb_schedule_choice;
/* Reads NAME or NAME:option=number,...: USAGE names the nearest schedule or the options there are. */
ZB_API zb_status zb_schedule_parse(const char *text, zb_schedule_choice *out) ZB_MUST_USE;

/* Checks the problem: INVALID with the field, what was expected and what was got. Every function below that takes a
 * problem and returns a status does this first. */
ZB_API zb_status zb_problem_check(const zb_problem *problem) ZB_MUST_USE;
/* A problem together with the arrays it points to: read from JSON, or filled by a program. The problem's const pointers
 * are these. */
typedef struct zb_problem_data {
  zb_problem problem;
  int *stage_rank;             /* [stages] */
  zb_stage_cost *costs;        /* [stages] */
  zb_edge *edges;              /* [problem.edge_count], or NULL */
  zb_link_class *link_classes; /* [problem.link_class_count], or NULL; and so on */
  zb_channel *channels;
  zb_reduction *reductions;
  int64_t *base_bytes, *optimizer_ps; /* [ranks] */
  int64_t *rank_limit_bytes;          /* [ranks], or NULL: all ranks have memory_limit_bytes */
  void *memory;                       /* of all these */
} zb_problem_data;
/* A problem of ranks x chunks stages whose costs are 0, placed "plain" or, for several chunks, "looped". USAGE for
 * counts out of range. Released with zb_problem_data_deinit; on failure it is empty. */
ZB_API zb_status zb_problem_data_init(zb_problem_data *data, int ranks, int chunks, int micro_batches) ZB_MUST_USE;
ZB_API void zb_problem_data_deinit(zb_problem_data *data);
/* Costs of a pipeline of equal stages: times in ms, memory in MiB. f, b, w: of a rank; comm: of a message between
 * ranks; opt: of the optimizer; mem: what a rank keeps from F of a micro-batch, mem_w: of it, what it keeps until W;
 * base: what is always there. */
typedef struct zb_uniform_costs {
  double f, b, w, comm, opt, mem, mem_w, base;
} zb_uniform_costs;
/* Reads "f=2,b=2,w=1,comm=0.1"; what is left out is f=b=w=mem=1, mem_w=mem, and else 0. NULL: all of these. USAGE. */
ZB_API zb_status zb_uniform_costs_parse(const char *text, zb_uniform_costs *out) ZB_MUST_USE;
/* The problem of such a pipeline for a schedule (NULL: for any), with as many micro-batches in a step. *placement NULL
 * and *chunks 0 become what zb_schedule_place says; the costs are those of a rank, of which each of its chunks has its
 * share. Of a schedule of two pipelines each has half of the micro-batches (USAGE for an odd number). Released with
 * zb_problem_data_deinit; on failure it is empty. */
ZB_API zb_status zb_problem_uniform(const zb_uniform_costs *costs, const zb_schedule_def *schedule, int ranks,
                                    int micro_batches, const char **placement, int *chunks,
                                    zb_problem_data *out) ZB_MUST_USE;
/* Another number of micro-batches in a step, of a schedule of two pipelines in both of them together. */
ZB_API zb_status zb_problem_set_micro_batches(zb_problem_data *data, const zb_schedule_def *schedule,
                                              int micro_batches) ZB_MUST_USE;
/* The memory limit of every rank, as people write it: bytes ("64M"), or "1.25p": what is always there, and 1.25 times
 * as much as `ranks` micro-batches keep. USAGE. */
ZB_API zb_status zb_problem_limit(zb_problem_data *data, const char *text, bool two_pipelines) ZB_MUST_USE;
/* A copy of a problem, which owns all it points to; the problem is checked first. */
ZB_API zb_status zb_problem_data_copy(zb_problem_data *data, const zb_problem *problem) ZB_MUST_USE;
/* Arrays that a problem need not have are made where they are wanted, all 0: count entries, limits one a rank. */
ZB_API zb_status zb_problem_data_edges(zb_problem_data *data, int count) ZB_MUST_USE;
ZB_API zb_status zb_problem_data_link_classes(zb_problem_data *data, int count) ZB_MUST_USE;
ZB_API zb_status zb_problem_data_channels(zb_problem_data *data, int count) ZB_MUST_USE;
ZB_API zb_status zb_problem_data_reductions(zb_problem_data *data, int count) ZB_MUST_USE;
ZB_API zb_status zb_problem_data_limits(zb_problem_data *data) ZB_MUST_USE;

/* Problems as JSON: passes/schedule/README.md says what the keys are. Reads strictly and checks the problem: INVALID
 * names the file, the path in it ("stages[2].time_ms[1]"), what was expected and what was got. Released with
 * zb_problem_data_deinit; on failure it is empty. O(length). */
ZB_API zb_status zb_problem_read(const char *path, zb_problem_data *out) ZB_MUST_USE;
/* The same from memory; name is what errors call it. */
ZB_API zb_status zb_problem_parse(const char *text, size_t bytes, const char *name, zb_problem_data *out) ZB_MUST_USE;
/* The problem as such a text, all numbers exact: reading it gives the same problem. Owned by the caller (zb_free); NULL
 * when out of memory. */
ZB_API char *zb_problem_json(const zb_problem *problem) ZB_MUST_USE;
/* Writes that text to a file, atomically. */
ZB_API zb_status zb_problem_write(const zb_problem *problem, const char *path) ZB_MUST_USE;

/* Checks the problem, emits, validates, and checks the memory limit: INFEASIBLE with how much is needed on which rank.
 * The order is released with zb_order_deinit; on failure it is empty. */
ZB_API zb_status zb_schedule_run(const zb_schedule_def *schedule, const zb_problem *problem, zb_order *out) ZB_MUST_USE;
/* The same with values for its options (zb_schedule_run: the defaults). */
ZB_API zb_status zb_schedule_run_choice(const zb_schedule_choice *choice, const zb_problem *problem,
                                        zb_order *out) ZB_MUST_USE;
ZB_API void zb_order_deinit(zb_order *order);
/* Appends a job to a rank's list (for generators). */
ZB_API zb_status zb_order_add(zb_order *order, int rank, int stage, zb_kind kind, int micro_batch) ZB_MUST_USE;
ZB_API zb_status zb_order_init(zb_order *order, int ranks) ZB_MUST_USE;

/* Writes "0F2" to text (at most 31 characters); returns text. */
ZB_API const char *zb_job_text(zb_job job, char text[32]);
/* Reads "0F2", strictly: no blanks, no sign, nothing after it. I is B. False for anything else. */
ZB_API bool zb_job_parse(const char *text, zb_job *out);

/* Every job once, on its rank; F before B before W; W of a stage in rising micro-batch order (they are numbered by it);
 * no cycle between ranks. INVALID prints the chart with the offending cell marked. */
ZB_API zb_status zb_order_validate(const zb_problem *problem, const zb_order *order) ZB_MUST_USE;

typedef struct zb_job_times {
  int64_t start_ps, end_ps;
} zb_job_times;

typedef struct zb_simulation {
  int ranks;
  zb_job_times **jobs;         /* [rank][index in order] */
  zb_job_times *reductions;    /* [reduction_count], in the order of the problem's list */
  int64_t *optimizer_start_ps; /* [ranks] end of the last job and of the last reduction */
  int64_t *peak_bytes;         /* [ranks] base + most live at any time */
  int64_t step_ps;             /* barrier: global end (optimizer included) - global start */
  int64_t stage_ps;            /* longest rank: its end - its start */
  double bubble_barrier, bubble_stage;
  void *memory; /* of these arrays */
} zb_simulation;

/* Exact to the picosecond: a job starts when its rank is free and its inputs have arrived. TIMEOUT where the order
 * cannot finish, with the job that each rank waits for. O(jobs + edges*micro_batches). */
ZB_API zb_status zb_simulate(const zb_problem *problem, const zb_order *order, zb_simulation *out) ZB_MUST_USE;
ZB_API void zb_simulation_deinit(zb_simulation *simulation);

/* What steps take that follow each other without a barrier: rank r begins its list again when its optimizer has ended,
 * and its messages follow those of the step before on their channels. */
typedef struct zb_period {
  int64_t cycle_ps;  /* of a cycle of jobs and messages that no repetition can be faster than, */
  int cycle_steps;   /* over that many steps; the two have no common divisor: the period is exactly their ratio */
  int64_t period_ps; /* cycle_ps / cycle_steps, rounded up */
  double bubble;     /* idle share of compute time by the period, averaged over ranks, as in zb_simulation */
} zb_period;
/* The period of an order: the greatest ratio of time to steps over the cycles of its jobs, messages, reductions and
 * optimizers. Whatever the ranks begin with, from some step on they take it, on average over cycle_steps or a multiple.
 * At most step_ps of the simulation, and at most its stage_ps with one stage a rank whose messages forward all have one
 * back; not below what a rank computes. Where a message has none back, its sender may run ahead: here without end; in a
 * run as far as receives are posted, which changes nothing of the slowest rank, nor of the period. TIMEOUT for an order
 * that cannot finish. O(jobs + edges*micro_batches), mostly a few times. */
ZB_API zb_status zb_order_period(const zb_problem *problem, const zb_order *order, zb_period *out) ZB_MUST_USE;

/* Most live bytes of each rank, base included: peak[ranks]. Exact, and needs no simulation: the jobs of a rank run one
 * after the other. The order must be valid. */
ZB_API void zb_order_peaks(const zb_problem *problem, const zb_order *order, int64_t *peak);

/* Moves every W of a valid order right behind its B, as far as no rank ends later: a W that waits keeps its
 * frames, and what it reads leaves the caches. Schedules hold W back all through a step, most need it only towards the
 * end. The order stays valid, no rank's peak grows; an order whose backwards are whole, or not in the order of the
 * micro-batches, stays as it is. On failure it does too. O(jobs log micro-batches). */
ZB_API zb_status zb_order_advance_w(const zb_problem *problem, zb_order *order) ZB_MUST_USE;

/* One piece of the critical path: a job, a message between ranks, a reduction or the optimizer of a rank. */
typedef enum zb_path_kind { ZB_PATH_JOB, ZB_PATH_MESSAGE, ZB_PATH_REDUCTION, ZB_PATH_OPTIMIZER } zb_path_kind;
typedef struct zb_path_step {
  zb_path_kind kind;
  int rank;    /* that runs it, or sends it */
  int to_rank; /* MESSAGE: that receives it; else rank */
  zb_job job;  /* JOB: it. MESSAGE: the job whose result it carries (stage, B or F, micro-batch). REDUCTION: the W that
                  it  comes after. OPTIMIZER: unset */
  int64_t start_ps, end_ps;
} zb_path_step;
typedef struct zb_path {
  zb_path_step *steps; /* from the start of the step to its end: each starts when the one before it ends */
  int count;
} zb_path;
/* Why the step takes as long as it does: a chain of jobs, messages, reductions and the optimizer without a gap, from 0
 * to the end of the rank that ends last (the barrier metric); its length is step_ps. Where both the job before on the
 * rank and a message end when a job starts, the chain goes on with the former. `simulation` must be that of `order`.
 * O(jobs + edges*micro_batches). */
ZB_API zb_status zb_critical_path(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation,
                                  zb_path *out) ZB_MUST_USE;
ZB_API void zb_path_deinit(zb_path *path);
/* The path in words, a line a stretch on one rank or along the ranks ("rank 0: F of micro-batches 0-3"), at most
 * `lines` of them (0: all; the middle is left out and counted). Owned by the caller (zb_free); NULL when out of memory.
 */
ZB_API char *zb_path_text(const zb_problem *problem, const zb_path *path, int lines) ZB_MUST_USE;

/* Why each rank idles in the simulated order, by the metric of the problem: parts of messages, imbalance, order, memory
 * and dependency (zb/explain.h; passes/schedule/DECISIONS.md has the rules). Links are ideal in the later ones, so what
 * an order out of turn saves alone is a bound. INVALID for jobs that are not those of the problem, TIMEOUT for an order
 * that cannot finish. Release with zb_explanation_deinit; on failure *out is empty. O((jobs + edges*micro_batches) log
 * jobs). */
ZB_API zb_status zb_schedule_explain(const zb_problem *problem, const zb_order *order, zb_explanation *out) ZB_MUST_USE;

/* Proven lower bound of the barrier step time of any order of this problem that keeps its memory limit. The argument is
 * in passes/schedule/bounds.c. 0, which is always true, for a problem that zb_problem_check rejects and when out of
 * memory. */
ZB_API int64_t zb_lower_bound_ps(const zb_problem *problem);
/* The same for the stage metric (zb_simulation.stage_ps). */
ZB_API int64_t zb_lower_bound_stage_ps(const zb_problem *problem);
/* The same for the period (zb_order_period): that of the stage metric, and what the busiest channel carries. */
ZB_API int64_t zb_lower_bound_period_ps(const zb_problem *problem);

/* Terminal chart (one line a rank), as text owned by the caller (zb_free); NULL when out of memory. simulation may be
 * NULL: every job is one column wide (of an order that cannot finish: the lists as they are). With one: times to scale,
 * at most `columns` characters wide (0: 100). */
ZB_API char *zb_order_chart(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation,
                            int columns);

/* Writes the simulated step as SVG or Chrome trace, by the ending (.svg, .json; USAGE for others). simulation is that
 * of this order. title may be NULL. */
ZB_API zb_status zb_order_timeline(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation,
                                   const char *title, const char *path) ZB_MUST_USE;

/* Several steps under each other in one SVG, on one scale of time and one of memory, so that they compare. */
typedef struct zb_order_picture {
  const zb_problem *problem;
  const zb_order *order;
  const zb_simulation *simulation; /* of that order */
  const char *title;               /* may be NULL */
} zb_order_picture;
ZB_API zb_status zb_order_pictures(const zb_order_picture *pictures, int count, const char *path) ZB_MUST_USE;

/* ---- Communication ---- */

/* One message between two ranks: what stage `source` hands to stage `destination` when its F or B of the micro-batch is
 * done. */
typedef struct zb_transfer {
  int32_t source, destination; /* virtual stages of different ranks */
  int32_t micro_batch;
  zb_kind kind;                /* ZB_F: an activation, ZB_B: a gradient */
  int32_t send_at, receive_at; /* how many jobs of the sending and of the receiving rank's list stand before it */
  int64_t ready_ps;            /* simulated end of the job that makes it */
} zb_transfer;

/* All messages of a step in one global order. The list of a rank, with communication, is its jobs and, before job i,
 * its sends and receives with send_at or receive_at i, in this order. */
typedef struct zb_lowering {
  zb_transfer *transfers;
  size_t count;
} zb_lowering;

/* Places the sends and receives of a valid order, by the simulated end of their producers. These lists cannot deadlock,
 * with no buffering at all: not where a rank's communication is one in-order stream, nor where sends and receives
 * block. Where messages are free they add no bubble to an in-order stream, even one whose operations wait for all jobs
 * before them. The argument is in passes/schedule/lower.c. TIMEOUT for an order that cannot finish. O(n log n) in jobs
 * and messages. Release with zb_lowering_deinit; on failure *out is empty. */
ZB_API zb_status zb_order_lower(const zb_problem *problem, const zb_order *order, zb_lowering *out) ZB_MUST_USE;
ZB_API void zb_lowering_deinit(zb_lowering *lowering);

/* ---- Orders as files ---- */

/* A line a rank in all of them. COMPUTE_ONLY and COMPUTE_COMMS are the two forms of PyTorch's
 * torch.distributed.pipelining: cells with commas between, "0F0,0F1,,0I0,0W0"; I is our B, B is B and W as one job; the
 * second form has sends and receives too. TEXT is ours: jobs with blanks between, "0F0 0F1 0B0 0W0", and "0BW0" for B
 * and W as one job. */
typedef enum zb_order_form { ZB_FORM_TEXT, ZB_FORM_COMPUTE_ONLY, ZB_FORM_COMPUTE_COMMS, ZB_FORM_COUNT } zb_order_form;

/* What a caller knows of a file; 0 and NULL: whatever the file says. */
typedef struct zb_order_expected {
  int ranks, stages, micro_batches;
  const int *stage_rank; /* [stages], needs stages */
} zb_order_expected;

typedef struct zb_order_cells zb_order_cells;

/* An order from outside. Its own. */
typedef struct zb_order_file {
  zb_order order;            /* whole_backward where the file has no backward in two parts */
  int stages, micro_batches; /* ranks: order.ranks */
  int *stage_rank;           /* [stages]: placement, from the lines on which the stages stand */
  zb_order_form form;
  /* [micro_batches]: the number that the file gives micro-batch i of order. NULL where W of every stage rise in the
   * file: they must in ours, so that LoopedBFS, which runs them backwards, is renumbered. */
  int32_t *file_micro_batch;
  zb_order_cells *cells; /* every cell, idle ones too */
} zb_order_file;

/* Reads an order in any of the three forms (what it holds decides which), and proves that it can run: every job once,
 * in an order that respects what it needs, no deadlock, every stage on one rank, every rank with as many stages as the
 * others; with communication, every message once at both ends, in the same order at both, and no deadlock without
 * buffers. UNSHARD, RESHARD and REDUCE_GRAD are read and have no meaning here. OVERLAP_F_B is its parts one after the
 * other. Tokens of 2024 (B and BW where today I and B stand) are understood. INVALID names FILE:LINE:COLUMN, what was
 * expected and what was got. `name` is what messages call the text. Release with zb_order_file_deinit; on failure *out
 * is empty. expected may be NULL. Linear in the text. */
ZB_API zb_status zb_order_read(const char *name, const char *text, size_t bytes, const zb_order_expected *expected,
                               zb_order_file *out) ZB_MUST_USE;
/* The same from a file; IO where it cannot be read. */
ZB_API zb_status zb_order_read_file(const char *path, const zb_order_expected *expected,
                                    zb_order_file *out) ZB_MUST_USE;
ZB_API void zb_order_file_deinit(zb_order_file *file);
/* The file as it was, cell by cell: the same bytes for what PyTorch prints. Owned by the caller (zb_free); NULL when
 * out of memory. */
ZB_API char *zb_order_file_text(const zb_order_file *file);

/* How an order is written. */
typedef struct zb_order_style {
  zb_order_form form;
  bool whole_backward; /* one cell where W directly follows its B; always where order.whole_backward is set */
  bool idle_cells;     /* COMPUTE_ONLY: a column is a time step, and a job stands after what it needs, with empty cells
                          before it, as PyTorch's PipelineScheduleMulti executes it; its other runtime drops them */
  bool no_waits;       /* COMPUTE_COMMS: for PyTorch before 2.15, which does not know WAIT_REDUCE_GRAD, WAIT_SEND_F and
                          WAIT_SEND_B; newer ones want them */
} zb_order_style;

/* Writes a valid order, with the line ends that PyTorch writes (CR LF; TEXT: LF). With communication, by
 * zb_order_lower: USAGE for edges that PyTorch's runtime does not know (from a stage to another than the next, or
 * without a gradient). *out is owned by the caller (zb_free). */
ZB_API zb_status zb_order_write(const zb_problem *problem, const zb_order *order, const zb_order_style *style,
                                char **out) ZB_MUST_USE;
ZB_API zb_status zb_order_write_file(const zb_problem *problem, const zb_order *order, const zb_order_style *style,
                                     const char *path) ZB_MUST_USE;

/* ---- Search ---- */

typedef struct zb_search_params {
  int64_t budget; /* evaluations (orders built or timed) for each memory limit that is tried, 64 at least; of more than
                     1200 jobs as many as take that long. 0: by the size of the problem, and on the V placement for as
                     long as they pay: no more once nothing has become better for long */
  uint64_t seed;  /* the same problem, budget and seed give the same order on every machine */
  int64_t known_ps; /* an order that takes so long is there already: where none is faster the search ends sooner, with
                       any order. 0: none. Not by the period */
} zb_search_params;

typedef struct zb_search_report {
  int64_t evaluations; /* orders built or timed in all */
  int64_t states;      /* parts of orders looked at where all orders were tried */
  char start[32];      /* the schedule that the best start came from, "" where none fits the memory limit */
  int64_t start_ps;    /* its time by the metric of the problem; 0: none */
  int64_t best_ps;     /* the time of the answer */
  int64_t bound_ps; /* no order takes less: zb_lower_bound_ps or zb_lower_bound_stage_ps; best_ps where all orders were
                       tried (barrier metric) */
  bool proven;      /* best_ps is bound_ps: no order of this placement within the limits is faster */
  char placement[32]; /* zb_search_placement: the one taken, "given" for that of the problem */
  char summary[256];  /* what was done, in words */
} zb_search_report;

/* The best order found for the metric of the problem within its memory limit. It starts from every row of schedules.def
 * that fits and is never worse than one of them. A larger budget with the same seed never gives a worse time. More
 * memory neither: not a higher limit for all ranks, and where limits differ, not a higher one for the ranks that have
 * the highest, nor limits that are nowhere below one limit for all ranks instead of that. Of other limits the higher
 * ones may give a worse time, unless the problem is small enough for all orders to be tried, up to some 50 jobs with
 * the default budget, and then report->summary says so. (By the stage metric all whose micro-batches rise in every list
 * of jobs of a stage and kind: others may be faster, and nothing is called proven.) An order of a problem with
 * whole_backward keeps every W right behind its B. Where the watch of the problem ends it, nothing of this is promised
 * but the limit. params NULL: all defaults; report may be NULL. INFEASIBLE, with the
 * bytes that one micro-batch needs, where no order fits or none is found. Release the order with zb_order_deinit; on
 * failure it is empty. O(budget * jobs) for each memory limit tried. */
ZB_API zb_status zb_search(const zb_problem *problem, const zb_search_params *params, zb_order *order,
                           zb_search_report *report) ZB_MUST_USE;
/* The same over placements: the given one and the named ones for that many chunks. stage_rank[stages] gets the
 * placement of the answer. base_bytes and optimizer_ps belong to ranks and stay as they are: where they differ between
 * ranks, only the given placement is tried, for they would change with the stages of a rank. */
ZB_API zb_status zb_search_placement(const zb_problem *problem, const zb_search_params *params, int *stage_rank,
                                     zb_order *order, zb_search_report *report) ZB_MUST_USE;

/* One way to give virtual stages to ranks. */
typedef struct zb_placement_def {
  const char *name; /* "looped" */
  const char *summary;
  int chunks_min, chunks_max;
  int (*rank)(int ranks, int stage); /* rank of a virtual stage */
} zb_placement_def;
ZB_API int zb_placement_count(void);
ZB_API const zb_placement_def *zb_placement_at(int index);
/* Placements: fills stage_rank[ranks*chunks] for "plain" (chunks 1), "looped", "v" (chunks 2), "wave", or a list
 * "0,1,1,0": the rank of every virtual stage, each rank `chunks` times. USAGE for others. */
ZB_API zb_status zb_placement(const char *name, int ranks, int chunks, int *stage_rank) ZB_MUST_USE;
/* The first of them that the problem has, by name; "given" for another. */
ZB_API const char *zb_placement_name(const zb_problem *problem);
/* Fills in what a user left open: *placement NULL, *chunks 0 become what the schedule is made for (two chunks at least
 * for a placement of several rounds), as far as the one that is named allows. USAGE where these chunks do not fit the
 * schedule or the placement. */
ZB_API zb_status zb_schedule_place(const zb_schedule_def *schedule, int ranks, const char **placement,
                                   int *chunks) ZB_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
