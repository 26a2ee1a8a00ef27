/* zb-allocate: gives every buffer its address in the arena of its rank.
 *
 *   before                              after
 *     module @rank1 {                     module @rank1 {zb.addresses = array<i64: 4096, 4288, 5120, 256>,
 *                                                        zb.waits = array<i64: 1, 0>}
 *       %fb, %fw = call @s1_F(%p, %a)       addresses of the bases of @s1_F: 4096, 4288
 *       zb.send(%x)                         its memory: 256 bytes at 5120; op 1 waits for message 0
 *
 * Addresses of the ops of @main are in program order: a call has one a base, communication an address and a size, a
 * verdict or a snapshot how many parts it keeps, then address and size of each.
 * zb.waits are pairs of the number of an op of @main and a message. Those of @evaluate follow, and its ops count on.
 *
 * @evaluate is packed on its own, in the same way: between steps and evaluations slots and workspace hold nothing, so
 * both begin at the same place, and the arena is as large as the larger of the two.
 *
 * The arena is parameters, state, gradients, constants, step, snapshot, slots, workspace. Slots hold frames and values
 * on the way, packed offline: each for as long as it is needed in the simulated schedule. A value that is kept has its
 * home in its frame, also while it arrives. Memory that a send reads is held until the transfer is done; where it is
 * used again, the job or receive that writes there waits for the send, and a job waits for the messages that it reads.
 *
 * The limit of memory is checked against the packed arena.
 * Tests: test/passes/allocate.mlir, test/passes/allocate-early.mlir. */

#include "passes/stages/places/addresses.h"
#include "passes/stages/classes.h"
#include "passes/stages/frames.h"
#include "passes/stages/jobs/overwritten.h"
#include "passes/function.h"
#include "passes/stages/places/pack.h"
#include "passes/pipeline.h"
#include "passes/stages/replicas.h"
#include "passes/tables.h"
#include "runtime/base/assert.h"
#include "zb/schedule.h"

#include <string.h>

typedef struct home {
  int item;        /* -1: fixed */
  uint64_t offset; /* in the item; arena offset when fixed */
} home;

/* Memory that a transfer reads, or where sums land: who writes there waits for the message. */
typedef struct pending_send {
  uint64_t offset, bytes;
  int message, item; /* item: the piece that has it, -1: none */
  bool follows;      /* of sums that are added up behind their messages: it is the one that is sent behind that */
} pending_send;

typedef struct allocator {
  MlirOperation rank_op;
  int rank;
  zb_arena *arena;
  zb_memo *memo;
  zb_subprograms subprograms;
  zb_table messages, members, parts;
  ZB_LIST(zb_addresses_row) numbers;
  ZB_LIST(zb_waits_row) waits;
  zb_plan_range regions[ZB_REGION_COUNT];
  zb_plan_range evaluation_slots, evaluation_workspace;
  uint64_t sum_buffers;                 /* of gradients: zb_sum_buffers */
  uint64_t replicas;                    /* of all ranks */
  bool adds_early;                      /* a sum over replicas is added up before the next one: zb_replicas_add_early */
  zb_overwritten_list overwritten;      /* with post-validation; else empty */
  int posts_read, times_read, first_op; /* of the lists before: rows that are used up, numbers of ops */
  /* ---- of the list at hand: @main or @evaluate ---- */
  zb_graph graph;
  int *info_of;       /* per node: callee, -1 */
  home *homes;        /* per value */
  int64_t *node_time; /* per node: when it happens in the simulated schedule */
  ZB_LIST(zb_piece)
  items;           /* of the slots region: frames of one micro-batch and values on their way; times are nodes */
  int frame_items; /* the first of them are frames */
  ZB_LIST(pending_send) pending;
  bool *received;  /* per message: not waited for yet */
  int *message_of; /* per node: the message it posts, -1 */
} allocator;

static bool is_frame(const zb_graph *g, int value) {
  zb_shape shape;
  return !zb_value_shape(g->values[value].value, &shape);
}

static uint64_t value_bytes(const zb_graph *g, int value) {
  return zb_align(zb_type_bytes(mlirValueGetType(g->values[value].value)));
}

/* The subprogram that a node calls, or NULL. */
static const zb_subprogram_info *called(const allocator *a, const zb_node *node) {
  const int info = a->info_of[node->number];
  return info < 0 ? NULL : &a->subprograms.infos[info];
}

/* ---- Subprograms ---- */

/* Communication: an op that posts a message. */
static bool is_post(MlirOperation op) {
  return zb_op_is(op, "zb.send") || zb_op_is(op, "zb.recv") || zb_op_is(op, "zb.all_gather") ||
         zb_op_is(op, "zb.gather_frame") || zb_op_is(op, "zb.gather_parameters") || zb_op_is(op, "zb.reduce_frame");
}

/* The message that each of them posts, from the table of the rank in program order. */
static zb_status read_posts(allocator *a) {
  const zb_table posts = zb_posts_get(a->rank_op);
  ZB_FOR_EACH_NODE(node, &a->graph) {
    int *message = &a->message_of[node->number];
    *message = -1;
    if (called(a, node) || !is_post(node->op)) continue;
    if (a->posts_read == posts.count)
      return ZB_ERROR(INVALID, "rank %d posts more messages than zb.posts names", a->rank);
    *message = (int)zb_posts_at(posts, a->posts_read++).message;
    if (*message < 0 || *message >= a->messages.count)
      return ZB_ERROR(INVALID, "rank %d posts message %d, which is not in zb.messages", a->rank, *message);
  }
  return NULL;
}

/* ---- Regions ---- */

static uint64_t end_of(zb_plan_range range) { return range.offset + range.bytes; }

/* Where the parts end that a function reads gathered: they may be all that is in the region. */
static uint64_t gathered_end(MlirOperation function, zb_region_kind region) {
  const zb_table rows = zb_gathers_get(function);
  uint64_t end = 0;
  for (int i = 0; i < rows.count; ++i) {
    const zb_gathers_row row = zb_gathers_at(rows, i);
    if (zb_region_of_gathered(row.pool) == region && (uint64_t)(row.offset + row.bytes) > end)
      end = (uint64_t)(row.offset + row.bytes);
  }
  return zb_align(end);
}

/* Of the region step the number alone is an argument, too. */
static uint64_t pool_bytes(const allocator *a, zb_region_kind region) {
  uint64_t most = 0;
  for (int i = 0; i < a->subprograms.count; ++i) {
    const zb_graph *g = &a->subprograms.infos[i].workspace.graph;
    for (int k = 0; k < a->subprograms.infos[i].argument_count; ++k) {
      if (zb_argument_region(a->subprograms.infos[i].function, k) != region) continue;
      const uint64_t bytes = zb_align(zb_type_bytes(mlirValueGetType(g->values[k].value)));
      if (bytes > most) most = bytes;
    }
    const uint64_t gathered = gathered_end(a->subprograms.infos[i].function, region);
    if (gathered > most) most = gathered;
  }
  return most;
}

/* Inline constants are placed after the constants frame; equal ones share a place. Bytes they take. */
static uint64_t place_constants(allocator *a, uint64_t begin) {
  zb_map *seen = zb_arena_map_pointer(a->arena);
  uint64_t bytes = 0;
  for (int i = 0; i < a->subprograms.count && seen; ++i) {
    const zb_graph *g = &a->subprograms.infos[i].workspace.graph;
    ZB_FOR_EACH_NODE(node, g) {
      if (!zb_node_is(node, "zb.constant")) continue;
      MlirAttribute value = zb_get_attribute(node->op, "value");
      int64_t offset = zb_map_get_or(seen, value.ptr, -1);
      if (offset < 0) {
        offset = (int64_t)(begin + bytes);
        bytes += value_bytes(g, node->result_begin);
        zb_arena_map_set(a->arena, seen, value.ptr, offset);
      }
      zb_at_set(node->op, &(zb_at_row){.number = offset}, 1);
    }
  }
  return bytes;
}

/* The largest of the functions of a list. */
static uint64_t workspace_bytes(const allocator *a, bool evaluates) {
  uint64_t largest = 0;
  for (int i = 0; i < a->subprograms.count; ++i) {
    const zb_subprogram_info *info = &a->subprograms.infos[i];
    if ((zb_class_get(info->function) == ZB_JOB_EVALUATE) == evaluates && info->workspace.bytes > largest)
      largest = info->workspace.bytes;
  }
  return largest;
}

static void place_regions(allocator *a) {
  uint64_t offset = 0;
  for (int r = ZB_REGION_PARAMETERS; r <= ZB_REGION_CONSTANTS; ++r) {
    a->regions[r] = (zb_plan_range){.offset = offset, .bytes = pool_bytes(a, (zb_region_kind)r)};
    if (r == ZB_REGION_GRADIENTS) a->regions[r].bytes *= a->sum_buffers; /* and the totals of groups */
    if (r == ZB_REGION_CONSTANTS) a->regions[r].bytes += place_constants(a, offset + a->regions[r].bytes);
    offset += a->regions[r].bytes;
  }
  a->regions[ZB_REGION_STEP] = (zb_plan_range){.offset = offset, .bytes = pool_bytes(a, ZB_REGION_STEP)};
  if (a->regions[ZB_REGION_STEP].bytes == 0) a->regions[ZB_REGION_STEP].bytes = ZB_ALIGNMENT;
  offset += a->regions[ZB_REGION_STEP].bytes;
  a->regions[ZB_REGION_SNAPSHOT] = (zb_plan_range){.offset = offset, .bytes = zb_overwritten_bytes(&a->overwritten)};
  a->regions[ZB_REGION_SLOTS] = (zb_plan_range){.offset = end_of(a->regions[ZB_REGION_SNAPSHOT])};
}

/* ---- Homes of values ---- */

static int new_item(allocator *a, uint64_t bytes, int node) {
  (void)ZB_PUSH(a->arena, &a->items,
                (zb_piece){.bytes = bytes, .first = node, .start = node, .end = node, .last = node});
  return (int)a->items.count - 1;
}

/* A frame made by a call is an item, as is that of norms; frames of pools are handed through and need none. */
static void make_frame_items(allocator *a) {
  ZB_FOR_EACH_NODE(node, &a->graph) {
    const zb_subprogram_info *info = called(a, node);
    if (zb_node_is(node, "zb.empty_frame") || zb_node_is(node, "zb.gather_parameters"))
      a->homes[node->result_begin].item = new_item(a, value_bytes(&a->graph, node->result_begin), node->number);
    for (int r = 0; info && r < node->result_count; ++r) {
      int value = node->result_begin + r, base = info->base_of[info->argument_count + r];
      if (is_frame(&a->graph, value) && base)
        a->homes[value].item = new_item(a, info->base_bytes[base - 1], node->number);
    }
  }
}

/* The home in a frame that the call of `node` makes, if the value has one in the subprogram: `inner`. */
static bool home_in_frame(allocator *a, int value, const zb_node *node, const zb_home *inner) {
  const int frame = inner->base - called(a, node)->argument_count;
  if (frame < 0) return false;
  a->homes[value] = (home){.item = a->homes[node->result_begin + frame].item, .offset = inner->offset};
  return true;
}

/* A job that takes the value straight into one of its frames: then that is its home. */
static bool home_in_reader(allocator *a, int value) {
  ZB_FOR_EACH_USER(user, &a->graph, &a->graph.values[value]) {
    const zb_node *node = &a->graph.nodes[user];
    const zb_subprogram_info *info = called(a, node);
    for (int i = 0; info && i < node->operand_count; ++i)
      if (zb_operand(&a->graph, node, i) == value && home_in_frame(a, value, node, &info->workspace.homes[i]))
        return true;
  }
  return false;
}

/* Where sums are added up before the next one is sent, those of a job land in the same room, one after the other. */
static bool shares_landing(allocator *a, int value, const zb_node *node) {
  const zb_node *before = node->number > 0 ? node - 1 : NULL;
  if (!a->adds_early || !before || !zb_node_is(node, "zb.reduce_frame") || !zb_node_is(before, "zb.reduce_frame"))
    return false;
  const home landing = a->homes[before->result_begin + 1];
  zb_piece *item = &a->items.items[landing.item];
  if (item->bytes < value_bytes(&a->graph, value)) item->bytes = value_bytes(&a->graph, value);
  a->homes[value] = landing;
  return true;
}

static void find_home(allocator *a, int value, const zb_node *node) {
  const zb_subprogram_info *info = called(a, node);
  if (shares_landing(a, value, node)) return;
  if (info) {
    int result = a->graph.values[value].index;
    const zb_home *inner = &info->workspace.homes[info->workspace.graph.returned[result]];
    if (inner->base != info->argument_count + result && home_in_frame(a, value, node, inner)) return;
  }
  if (!home_in_reader(a, value))
    a->homes[value] = (home){.item = new_item(a, value_bytes(&a->graph, value), node->number)};
}

/* A frame that an op hands through is where its operand is. */
static void hand_through(allocator *a, int value, const zb_node *node) {
  const zb_subprogram_info *info = called(a, node);
  int from = 0;
  if (zb_node_is(node, "zb.empty_frame") || zb_node_is(node, "zb.gather_parameters")) return;
  if (info) {
    const int result = a->graph.values[value].index;
    if (info->base_of[info->argument_count + result]) return; /* made here */
    from = zb_workspace_frame_base(&info->workspace, info->workspace.graph.returned[result]);
  }
  if (from >= 0 && from < node->operand_count) a->homes[value] = a->homes[zb_operand(&a->graph, node, from)];
}

static void find_homes(allocator *a) {
  for (int v = 0; v < a->graph.value_count; ++v)
    a->homes[v] = (home){.item = -1};
  make_frame_items(a);
  a->frame_items = (int)a->items.count;
  ZB_FOR_EACH_NODE(node, &a->graph) {
    if (zb_node_is(node, "zb.get")) { /* accumulators that are sent: they stay where they are */
      a->homes[node->result_begin].offset =
          a->regions[ZB_REGION_GRADIENTS].offset + (uint64_t)zb_get_i64(node->op, "offset", 0);
      continue;
    }
    ZB_FOR_EACH_RESULT(value, node) {
      if (is_frame(&a->graph, value))
        hand_through(a, value, node);
      else
        find_home(a, value, node);
    }
  }
}

/* ---- Lifetimes ---- */

/* When each op happens: a job at its start, what is posted before it when the job before it ended. */
static void time_nodes(allocator *a) {
  const zb_table times = zb_times_get(a->rank_op);
  int64_t before = 0;
  ZB_FOR_EACH_NODE(node, &a->graph) {
    bool counted = called(a, node) && zb_get_i64(node->op, ZB_ATTR_MICRO_BATCH, -1) >= 0 && a->times_read < times.count;
    a->node_time[node->number] = counted ? zb_times_at(times, a->times_read).start_ps : before;
    if (counted) before = zb_times_at(times, a->times_read++).end_ps;
  }
}

/* Last node that happens before the transfer is complete. */
static int held_until(const allocator *a, int node, int64_t complete) {
  int low = node, high = a->graph.node_count - 1;
  while (low < high) {
    int middle = low + (high - low + 1) / 2;
    if (a->node_time[middle] < complete)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* A value that lies in a frame: the frame itself is another value. */
static bool inside_frame(const allocator *a, int value) {
  return a->homes[value].item >= 0 && a->homes[value].item < a->frame_items && !is_frame(&a->graph, value);
}

static void touch(allocator *a, int value, int node) {
  if (a->homes[value].item < 0 || inside_frame(a, value)) return;
  zb_piece *it = &a->items.items[a->homes[value].item];
  if (node < it->start) it->start = it->first = node;
  if (node > it->end) it->end = it->last = node;
}

static void grow_part(const allocator *a, zb_piece_part *part, int value) {
  const home *h = &a->homes[value];
  uint64_t end = h->offset + value_bytes(&a->graph, value);
  if (part->begin == part->end) *part = (zb_piece_part){h->offset, end};
  if (h->offset < part->begin) part->begin = h->offset;
  if (end > part->end) part->end = end;
}

/* What is held of a piece outside of its life: a value that is written into a frame before the job that makes the
 * frame, or read out of one after its last job, by a later job of the rank or by a transfer. */
static void touch_part(allocator *a, int value, int node) {
  if (a->homes[value].item < 0) return;
  zb_piece *it = &a->items.items[a->homes[value].item];
  if (node < it->start) {
    if (node < it->first) it->first = node;
    grow_part(a, &it->before, value);
  }
  if (node > it->end) {
    if (node > it->last) it->last = node;
    grow_part(a, &it->after, value);
  }
}

/* Where the norm and the factor are made: the frame of norms, and what CLIP gives. They live until the verdict, which
 * is in the next step, so they share their place with nothing. -1: not the k-th of them. */
static int kept_value(const allocator *a, const zb_node *node, int k) {
  const zb_subprogram_info *info = called(a, node);
  const bool is_clip = info && zb_class_get(info->function) == ZB_JOB_CLIP;
  return (is_clip || zb_node_is(node, "zb.empty_frame")) && k < node->result_count ? node->result_begin + k : -1;
}

static void keep_for_verdict(allocator *a) {
  ZB_FOR_EACH_NODE(node, &a->graph)
    for (int k = 0; kept_value(a, node, k) >= 0; ++k) {
      touch(a, kept_value(a, node, k), 0);
      touch(a, kept_value(a, node, k), a->graph.node_count - 1);
    }
}

static bool has_verdict(const allocator *a) {
  ZB_FOR_EACH_NODE(node, &a->graph)
    if (zb_node_is(node, "zb.verdict")) return true;
  return false;
}

/* Optimizers, and what gives sums to other ranks. */
static bool uses_sums(const allocator *a, const zb_node *node) {
  const zb_subprogram_info *info = called(a, node);
  return info ? zb_job_is_optimizer(zb_class_get(info->function)) : zb_node_is(node, "zb.get");
}

/* Whether a sum over replicas is posted while the job in front of it goes on. */
static bool has_lead(const allocator *a, const zb_node *node) {
  const zb_row_range rows = zb_members_of(a->members, a->message_of[node->number]);
  return rows.begin < rows.end && zb_members_at(a->members, rows.begin).lead_ps > 0;
}

/* Whether a sum over replicas is posted next. */
static bool sum_follows(const allocator *a, int node) {
  return node + 1 < a->graph.node_count && zb_node_is(&a->graph.nodes[node + 1], "zb.reduce_frame");
}

/* Where each sum is added up before the next one is sent: until then, or until it can be. */
static int added_early(const allocator *a, int node) {
  int last = node, complete;
  while (sum_follows(a, last)) /* those of one job */
    ++last;
  complete = held_until(a, last, zb_messages_at(a->messages, a->message_of[last]).complete_ps);
  for (int until = last; until < complete; ++until)
    if (sum_follows(a, until) || uses_sums(a, &a->graph.nodes[until])) return until;
  return complete;
}

/* Whether what a collective moves lies in the slots: numbers of the norm do. Accumulators have a region, as have
 * parameters, which come to @main as an argument. */
static bool moves_slots(const allocator *a, const zb_node *node) { return a->homes[node->result_begin].item >= 0; }

/* What others send lands until the sums are used: while other jobs add to other sums. Of numbers of the norm until they
 * go on to other ranks, or to CLIP. */
static void hold_landing(allocator *a, const zb_node *node) {
  int until = node->number, from = until;
  if (moves_slots(a, node)) {
    touch(a, node->result_begin + 1, until + 1);
    return;
  }
  const bool leads = has_lead(a, node);
  while (leads && from > 0 && !called(a, &a->graph.nodes[from]))
    --from;
  touch(a, node->result_begin + 1, from);
  while (!a->adds_early && until < a->graph.node_count - 1 && !uses_sums(a, &a->graph.nodes[until]))
    ++until;
  if (a->adds_early) until = added_early(a, node->number);
  touch(a, node->result_begin + 1, until);
  if (node->operand_count > 1) touch(a, zb_operand(&a->graph, node, 1), until); /* the frame that is summed */
}

/* The last F or B but one of a rank on which sums land: when what is sent behind it is complete depends on other ranks,
 * and a sum that lands in its place would wait for them. Without sums a node behind all. */
static int last_but_one(const allocator *a) {
  int left = 2, sums = 0, found = a->graph.node_count;
  ZB_FOR_EACH_NODE(node, &a->graph)
    sums += zb_node_is(node, "zb.reduce_frame");
  for (int n = a->graph.node_count - 1; sums > 0 && n >= 0 && left > 0; --n) {
    const zb_subprogram_info *info = called(a, &a->graph.nodes[n]);
    const zb_job_kind kind = info ? zb_class_get(info->function) : ZB_JOB_W;
    if ((kind == ZB_JOB_F || kind == ZB_JOB_B) && --left == 0) found = n;
  }
  return found;
}

static void find_lifetimes(allocator *a) {
  const int held_behind = last_but_one(a);
  ZB_FOR_EACH_NODE(node, &a->graph) {
    ZB_FOR_EACH_RESULT(value, node)
      touch(a, value, node->number);
    ZB_FOR_EACH_OPERAND(value, &a->graph, node)
      touch(a, value, node->number);
    if (zb_node_is(node, "zb.reduce_frame")) hold_landing(a, node);
  }
  if (has_verdict(a)) keep_for_verdict(a);
  ZB_FOR_EACH_NODE(node, &a->graph) {
    int until = node->number;
    if (zb_node_is(node, "zb.send"))
      until = until > held_behind ? a->graph.node_count - 1
                                  : held_until(a, until, zb_messages_at(a->messages, a->message_of[until]).complete_ps);
    ZB_FOR_EACH_RESULT(value, node)
      touch_part(a, value, node->number);
    ZB_FOR_EACH_OPERAND(value, &a->graph, node)
      touch_part(a, value, until);
  }
}

static uint64_t address(const allocator *a, int value) {
  const home *h = &a->homes[value];
  return h->item < 0 ? h->offset : a->regions[ZB_REGION_SLOTS].offset + a->items.items[h->item].offset + h->offset;
}

/* ---- Waits and addresses on the ops ---- */

/* Op `node` waits for the message. Waits of an op are together at the end of the table. */
static void add_wait(allocator *a, int node, int message) {
  const int op = a->first_op + node;
  for (size_t i = a->waits.count; i > 0 && a->waits.items[i - 1].op == op; --i)
    if (a->waits.items[i - 1].message == message) return;
  ZB_ASSERT(message < a->messages.count);
  (void)ZB_PUSH(a->arena, &a->waits, (zb_waits_row){.op = op, .message = message});
}

/* What writes a range waits for the sends that still read it; who comes later need not, unless that runs beside it: a
 * sum over replicas. Of the sums that such a one follows it waits for the last alone. frame: of which piece the range
 * is the whole, -1: no frame; what is sent from its place in a frame that is still to be made stays there when it is
 * made. */
static void wait_for_sends(allocator *a, uint64_t offset, uint64_t bytes, int node, int frame) {
  const bool beside = zb_node_is(&a->graph.nodes[node], "zb.reduce_frame");
  size_t kept = 0;
  for (size_t i = 0; i < a->pending.count; ++i) {
    pending_send p = a->pending.items[i];
    const bool stays = frame >= 0 && p.item == frame;
    const bool overlaps = !stays && p.offset < offset + bytes && offset < p.offset + p.bytes;
    const bool covered = offset <= p.offset && p.offset + p.bytes <= offset + bytes;
    if (overlaps && !(beside && p.follows)) add_wait(a, node, p.message);
    if (!overlaps || (beside && !(p.follows && covered))) a->pending.items[kept++] = p;
  }
  a->pending.count = kept;
}

/* What uses sums waits for all that are made over replicas: the first does, for those behind it. */
static void wait_for_reductions(allocator *a, int node) {
  for (int other = 0; other < node; ++other) {
    const int message = a->message_of[other];
    if (message < 0 || !a->received[message] || !zb_node_is(&a->graph.nodes[other], "zb.reduce_frame")) continue;
    a->received[message] = false;
    add_wait(a, node, message);
  }
}

/* What reads a received value waits for it, the first time. */
static void wait_for_recv(allocator *a, int value, int node) {
  const zb_node *maker = zb_maker(&a->graph, value);
  if (maker && zb_node_is(maker, "zb.get")) maker = zb_maker(&a->graph, zb_operand(&a->graph, maker, 0));
  if (!maker || !is_post(maker->op) || zb_node_is(maker, "zb.reduce_frame") ||
      !a->received[a->message_of[maker->number]])
    return;
  a->received[a->message_of[maker->number]] = false;
  add_wait(a, node, a->message_of[maker->number]);
}

static void add_address(allocator *a, uint64_t number) {
  (void)ZB_PUSH(a->arena, &a->numbers, (zb_addresses_row){.number = (int64_t)number});
}

static void call_addresses(allocator *a, const zb_node *node) {
  const zb_subprogram_info *info = called(a, node);
  const int n = node->number;
  if (uses_sums(a, node)) wait_for_reductions(a, n);
  ZB_FOR_EACH_OPERAND(value, &a->graph, node)
    wait_for_recv(a, value, n);
  for (int b = 0; b < info->base_count; ++b) {
    int result = info->base_position[b] - info->argument_count;
    int value = result >= 0 ? node->result_begin + result : zb_operand(&a->graph, node, info->base_position[b]);
    add_address(a, address(a, value));
    if (result >= 0) wait_for_sends(a, address(a, value), info->base_bytes[b], n, a->homes[value].item);
  }
  /* A result that lies in a frame of a later job is written here as well. */
  for (int r = 0; r < node->result_count; ++r) {
    int value = node->result_begin + r;
    if (a->homes[value].item >= 0 && !info->base_of[info->argument_count + r])
      wait_for_sends(a, address(a, value), value_bytes(&a->graph, value), n, -1);
  }
  /* The optimizer of a tied parameter, which is of no stage, sums in place what the rank gave to others. */
  if (zb_job_is_optimizer(zb_class_get(info->function)) && zb_get_i64(info->function, ZB_ATTR_STAGE, -1) < 0)
    wait_for_sends(a, a->regions[ZB_REGION_GRADIENTS].offset, a->regions[ZB_REGION_GRADIENTS].bytes, n, -1);
}

/* One value of communication: where it lies, what it has to wait for, and what has to wait for it. */
static void value_address(allocator *a, int n, int value, bool comes) {
  zb_shape shape;
  if (!zb_value_shape(a->graph.values[value].value, &shape)) return;
  const uint64_t offset = address(a, value), bytes = (uint64_t)zb_shape_bytes(&shape);
  const int message = a->message_of[n];
  if (comes)
    wait_for_sends(a, offset, bytes, n, -1);
  else
    wait_for_recv(a, value, n);
  if (!comes && message >= 0)
    (void)ZB_PUSH(a->arena, &a->pending,
                  (pending_send){.offset = offset, .bytes = bytes, .message = message, .item = a->homes[value].item});
  if (comes && message >= 0) a->received[message] = true;
  add_address(a, offset);
  add_address(a, bytes);
}

/* Values of a collective are in the order of members: those of the members before the rank, its own, the others. */
static void communication_address(allocator *a, const zb_node *node) {
  int before = node->result_begin;
  if (zb_node_is(node, "zb.all_gather")) wait_for_reductions(a, node->number);
  if (zb_node_is(node, "zb.all_gather"))
    for (int64_t m = 0; m < zb_get_i64(node->op, "place", 0); ++m)
      before += (int)zb_ints_at(node->op, "counts", (int)m);
  for (int value = node->result_begin; value < before; ++value)
    value_address(a, node->number, value, true);
  ZB_FOR_EACH_OPERAND(value, &a->graph, node)
    value_address(a, node->number, value, false);
  for (int value = before; value < node->result_begin + node->result_count; ++value)
    value_address(a, node->number, value, true);
}

/* The sum over replicas before is added up first, in front of what this one sends. So who writes to where that lies in
 * the slots waits for this one. */
static void wait_for_sum_before(allocator *a, const zb_node *node) {
  const zb_node *before = node;
  do {
    if (before-- == a->graph.nodes) return;
  } while (!zb_node_is(before, "zb.reduce_frame"));
  const int message = a->message_of[before->number];
  a->received[message] = false;
  add_wait(a, node->number, message);
  for (size_t i = 0; i < a->pending.count; ++i) {
    pending_send *p = &a->pending.items[i];
    if (p->message != message || p->follows || p->offset < a->regions[ZB_REGION_SLOTS].offset) continue;
    p->message = a->message_of[node->number];
    p->follows = true;
  }
}

static void add_part(allocator *a, uint64_t offset, uint64_t bytes) {
  add_address(a, offset);
  add_address(a, bytes);
}

/* Where the frame begins into which parameters come: zb.parts says where in it, and where the own parts lie. */
static void gathered_addresses(allocator *a, const zb_node *node) {
  const uint64_t frame = address(a, node->result_begin);
  wait_for_sends(a, frame, value_bytes(&a->graph, node->result_begin), node->number, -1);
  add_address(a, frame);
  a->received[a->message_of[node->number]] = true;
}

static bool is_frame_of(const zb_node *node, const char *pool) {
  char kind[ZB_FRAME_KIND_BYTES];
  uint64_t bytes;
  return zb_type_frame(mlirValueGetType(mlirOperationGetOperand(node->op, 0)), kind, &bytes) && strcmp(kind, pool) == 0;
}

/* The parts that one member gives. */
static void member_addresses(allocator *a, const zb_node *node, zb_members_row member, uint64_t frame,
                             bool of_micro_batch) {
  const zb_row_range rows = zb_parts_of(a->parts, &member);
  for (int i = rows.begin; i < rows.end; ++i) {
    const zb_parts_row row = zb_parts_at(a->parts, i);
    const uint64_t offset = frame + (uint64_t)row.offset, bytes = (uint64_t)row.bytes;
    const uint64_t all = of_micro_batch ? bytes * a->replicas : bytes; /* parts of all replicas */
    if (member.rank == a->rank)
      (void)ZB_PUSH(a->arena, &a->pending,
                    (pending_send){.offset = offset, .bytes = all, .message = a->message_of[node->number], .item = -1});
    else
      wait_for_sends(a, offset, bytes, node->number, -1);
    add_part(a, offset, bytes);
  }
}

/* The parts of a frame that a collective moves, in the order of members; zb.parts says where sums of a micro-batch are
 * added to. */
static void frame_addresses(allocator *a, const zb_node *node) {
  const int message = a->message_of[node->number];
  const bool reduces = zb_node_is(node, "zb.reduce_frame"), in_slots = moves_slots(a, node);
  const bool early = reduces && a->adds_early && !in_slots;
  const bool of_micro_batch = reduces && node->operand_count > 1;
  const bool of_buffers = is_frame_of(node, pool_names[POOL_BUFFERS]);
  const uint64_t frame = of_micro_batch ? address(a, zb_operand(&a->graph, node, 1))
                         : in_slots     ? address(a, node->result_begin)
                         : reduces      ? a->regions[ZB_REGION_GRADIENTS].offset
                         : of_buffers   ? a->regions[ZB_REGION_BUFFERS].offset
                                        : a->regions[ZB_REGION_PARAMETERS].offset;
  const zb_row_range members = zb_members_of(a->members, message);
  if (!reduces && !of_buffers) wait_for_reductions(a, node->number);
  for (int m = members.begin; m < members.end; ++m)
    member_addresses(a, node, zb_members_at(a->members, m), frame, of_micro_batch);
  if (reduces) { /* the landing */
    const uint64_t offset = address(a, node->result_begin + 1), bytes = value_bytes(&a->graph, node->result_begin + 1);
    if (early) wait_for_sum_before(a, node);
    wait_for_sends(a, offset, bytes, node->number, -1);
    add_address(a, offset);
    add_address(a, bytes);
    if (early)
      (void)ZB_PUSH(a->arena, &a->pending,
                    (pending_send){.offset = offset, .bytes = bytes, .message = message, .item = -1});
  }
  a->received[message] = true;
}

/* Of a verdict first the factor, which its updates take: the first value that CLIP gives. */
static void verdict_addresses(allocator *a) {
  int count = 0;
  ZB_FOR_EACH_NODE(node, &a->graph)
    for (int k = 0; kept_value(a, node, k) >= 0; ++k)
      ++count;
  add_address(a, (uint64_t)count);
  for (int frames = 0; frames < 2; ++frames)
    ZB_FOR_EACH_NODE(node, &a->graph)
      for (int k = 0, value; (value = kept_value(a, node, k)) >= 0; ++k)
        if (is_frame(&a->graph, value) == (frames == 1)) add_part(a, address(a, value), value_bytes(&a->graph, value));
}

/* It has buffers that came from replica 0, so it waits for them. */
static void snapshot_addresses(allocator *a, const zb_node *snapshot) {
  for (const zb_node *node = a->graph.nodes; node < snapshot; ++node) {
    if (!zb_node_is(node, "zb.gather_frame") || !is_frame_of(node, pool_names[POOL_BUFFERS])) continue;
    add_wait(a, snapshot->number, a->message_of[node->number]);
    a->received[a->message_of[node->number]] = false;
  }
  add_address(a, a->overwritten.count);
  for (size_t i = 0; i < a->overwritten.count; ++i) {
    const zb_overwritten *it = &a->overwritten.items[i];
    add_part(a, a->regions[it->region].offset + it->range.offset, it->range.bytes);
  }
}

static void write_list(allocator *a, zb_rank_work *work) {
  ZB_FOR_EACH_NODE(node, &a->graph) {
    if (zb_node_is(node, "zb.zeros") || zb_node_is(node, "zb.get") || zb_node_is(node, "zb.empty_frame")) continue;
    if (called(a, node))
      call_addresses(a, node);
    else if (zb_node_is(node, "zb.verdict"))
      verdict_addresses(a);
    else if (zb_node_is(node, "zb.snapshot"))
      snapshot_addresses(a, node);
    else if (zb_node_is(node, "zb.gather_parameters"))
      gathered_addresses(a, node);
    else if (zb_node_is(node, "zb.gather_frame") || zb_node_is(node, "zb.reduce_frame"))
      frame_addresses(a, node);
    else
      communication_address(a, node);
    ++work->changes;
  }
}

/* (base, offset) of every result of every op in the functions, for people and for golden tests. */
static zb_status write_functions(allocator *a) {
  for (int i = 0; i < a->subprograms.count; ++i) {
    const zb_subprogram_info *info = &a->subprograms.infos[i];
    const zb_workspace *w = &info->workspace;
    zb_plan_range regions[ZB_REGION_COUNT];
    memcpy(regions, a->regions, sizeof regions);
    if (zb_class_get(info->function) == ZB_JOB_EVALUATE) regions[ZB_REGION_WORKSPACE] = a->evaluation_workspace;
    zb_bases_row *positions = ZB_NEW(a->arena, zb_bases_row, info->base_count);
    ZB_TRY(zb_arena_status(a->arena));
    for (int b = 0; b < info->base_count; ++b)
      positions[b].position = info->base_position[b];
    zb_bases_set(info->function, positions, info->base_count);
    ZB_FOR_EACH_NODE(node, &w->graph) {
      zb_at_row at[2 * 8];
      if (w->skipped[node->number] || node->result_count > 8) continue;
      for (int r = 0; r < node->result_count; ++r) {
        uint32_t base = 0;
        uint64_t offset = 0;
        const zb_home *h = &w->homes[node->result_begin + r];
        if (h->base != ZB_BASE_NONE) zb_home_address(info, h, regions, &base, &offset);
        at[2 * r].number = base;
        at[2 * r + 1].number = (int64_t)offset;
      }
      zb_at_set(node->op, at, 2 * node->result_count);
    }
  }
  return NULL;
}

static uint64_t arena_bytes(const allocator *a) {
  const uint64_t step = end_of(a->regions[ZB_REGION_WORKSPACE]), evaluation = end_of(a->evaluation_workspace);
  return step > evaluation ? step : evaluation;
}

static void write_tables(allocator *a, bool evaluates) {
  zb_regions_row rows[ZB_REGION_COUNT];
  const zb_plan_range *slots = &a->evaluation_slots, *workspace = &a->evaluation_workspace;
  for (int r = 0; r < ZB_REGION_COUNT; ++r)
    rows[r] = (zb_regions_row){.offset = (int64_t)a->regions[r].offset, .bytes = (int64_t)a->regions[r].bytes};
  const zb_evaluation_regions_row of_evaluation[] = {{(int64_t)slots->offset, (int64_t)slots->bytes},
                                                     {(int64_t)workspace->offset, (int64_t)workspace->bytes}};
  zb_regions_set(a->rank_op, rows, ZB_REGION_COUNT);
  if (evaluates) zb_evaluation_regions_set(a->rank_op, of_evaluation, 2);
  zb_set_i64(a->rank_op, ZB_ATTR_ARENA, (int64_t)arena_bytes(a));
  zb_addresses_set(a->rank_op, a->numbers.items, (int)a->numbers.count);
  zb_waits_set(a->rank_op, a->waits.items, (int)a->waits.count);
}

/* ---- The pass ---- */

/* Packs @main or @evaluate, and adds its addresses and waits to the tables. */
static zb_status allocate_list(allocator *a, MlirOperation function, zb_rank_work *work) {
  ZB_TRY(zb_graph_build(a->arena, function, &a->graph));
  a->info_of = ZB_NEW(a->arena, int, a->graph.node_count);
  a->message_of = ZB_NEW(a->arena, int, a->graph.node_count);
  a->node_time = ZB_NEW(a->arena, int64_t, a->graph.node_count);
  a->homes = ZB_NEW(a->arena, home, a->graph.value_count);
  a->received = ZB_NEW(a->arena, bool, a->messages.count);
  a->items.count = a->pending.count = 0;
  ZB_TRY(zb_arena_status(a->arena));
  ZB_FOR_EACH_NODE(node, &a->graph)
    a->info_of[node->number] = zb_node_is(node, "func.call") ? zb_callee(&a->subprograms, node->op) : -1;
  ZB_TRY(read_posts(a));
  find_homes(a);
  time_nodes(a);
  ZB_TRY(zb_arena_status(a->arena));
  find_lifetimes(a);
  ZB_TRY(zb_pack(a->memo, a->items.items, a->items.count, &a->regions[ZB_REGION_SLOTS].bytes));
  write_list(a, work);
  a->first_op += a->graph.node_count;
  return NULL;
}

static zb_status allocate_evaluation(allocator *a, MlirOperation function, zb_rank_work *work) {
  zb_plan_range *slots = &a->regions[ZB_REGION_SLOTS];
  const zb_plan_range of_step = *slots;
  ZB_TRY(allocate_list(a, function, work));
  a->evaluation_slots = *slots;
  a->evaluation_workspace = (zb_plan_range){end_of(*slots), workspace_bytes(a, true)};
  *slots = of_step;
  return NULL;
}

static zb_status allocate_rank(allocator *a, MlirOperation module, zb_rank_work *work) {
  MlirBlock body = zb_function_block(a->rank_op);
  MlirOperation main = zb_symbol_in(body, "func.func", "main"), evaluate = zb_symbol_in(body, "func.func", "evaluate");
  if (mlirOperationIsNull(main)) return ZB_ERROR(INVALID, "rank %d has no @main: run zb-insert-comm", a->rank);
  ZB_TRY(zb_subprograms_build(a->arena, a->rank_op, &a->subprograms));
  a->messages = zb_messages_get(module);
  a->members = zb_members_get(module);
  a->parts = zb_parts_get(module);
  a->sum_buffers = (uint64_t)zb_sum_buffers(module, (int)zb_get_i64(module, ZB_ATTR_MICRO_BATCHES, 1));
  a->adds_early = zb_replicas_add_early(module);
  a->replicas = (uint64_t)zb_get_i64(module, ZB_ATTR_REPLICAS, 1);
  if (zb_has_attribute(module, ZB_ATTR_POST_VALIDATION))
    ZB_TRY(zb_overwritten_find(a->arena, module, a->rank_op, &a->overwritten));
  place_regions(a);
  ZB_TRY(allocate_list(a, main, work));
  a->regions[ZB_REGION_WORKSPACE] = (zb_plan_range){end_of(a->regions[ZB_REGION_SLOTS]), workspace_bytes(a, false)};
  if (!mlirOperationIsNull(evaluate)) ZB_TRY(allocate_evaluation(a, evaluate, work));
  ZB_TRY(write_functions(a));
  write_tables(a, !mlirOperationIsNull(evaluate));
  return zb_arena_status(a->arena);
}

typedef struct rank_need {
  uint64_t bytes;
  int rank;
  zb_plan_range regions[ZB_REGION_COUNT];
} rank_need;

typedef struct allocation {
  MlirOperation module;
  zb_memo *memo;
  rank_need *needs; /* [rank modules] */
} allocation;

static zb_status allocate_one(void *context, zb_rank_work *work) {
  const allocation *all = context;
  allocator a = {.rank_op = work->module, .rank = work->rank, .arena = &work->arena, .memo = all->memo};
  ZB_TRY(allocate_rank(&a, all->module, work));
  rank_need *need = &all->needs[work->index];
  *need = (rank_need){.bytes = arena_bytes(&a), .rank = a.rank};
  memcpy(need->regions, a.regions, sizeof need->regions);
  return NULL;
}

static bool is_word(const char *x, const char *a, const char *b) { return strcmp(x, a) == 0 || strcmp(x, b) == 0; }

/* What needs less, of what is not asked for yet. What keeps a limit has come down to one micro-batch at a time. */
static zb_status hint_less(const zb_pass *pass, MlirOperation module, uint64_t enough, zb_status status) {
  const zb_compile_state *state = pass->state;
  const bool is_chosen = state && state->choice && state->choice != state->found;
  const bool is_open = !is_chosen && !zb_has_attribute(module, ZB_ATTR_INFERENCE);
  const char *schedule = zb_get_string(module, ZB_ATTR_SCHEDULE);
  const zb_schedule_def *def = schedule ? zb_schedule_find(schedule, NULL) : NULL;
  const bool has_split = is_open && is_word(zb_pass_option(pass, "split"), "all", "products");
  const bool has_less = is_open && !is_word(zb_pass_option(pass, "recompute"), "auto", "all");
  const bool has_order = is_open && !(def && def->keeps_limit);
  return zb_status_hint(status, "%llu bytes are enough; or %s%s%s%s", (unsigned long long)enough,
                        is_chosen ? "let zbc choose for this limit: without --choice"
                                  : "use more ranks or smaller micro-batches",
                        has_split ? ", or --split auto" : "", has_less ? ", or --recompute auto" : "",
                        has_order ? ", or look for an order within the limit (--schedule search)" : "");
}

/* Names the rank that needs most: one retry with that number succeeds. */
static zb_status check_limit(const zb_pass *pass, const rank_need *needs, int ranks, uint64_t limit,
                             MlirOperation module) {
  char need[32], most[32];
  const rank_need *worst = NULL;
  int above = 0;
  for (int i = 0; i < ranks; ++i) {
    above += needs[i].bytes > limit;
    if (!worst || needs[i].bytes > worst->bytes) worst = &needs[i];
  }
  if (!above) return NULL;
  zb_status status = ZB_ERROR(
      INFEASIBLE, "rank %d needs %llu bytes, the limit is %llu (%s and %s; %d of %d ranks need more than that)",
      worst->rank, (unsigned long long)worst->bytes, (unsigned long long)limit, zb_bytes_text(worst->bytes, need),
      zb_bytes_text(limit, most), above, ranks);
  for (int r = 0; r < ZB_REGION_COUNT; ++r)
    if (worst->regions[r].bytes)
      status = zb_status_note(status, "%s: %s", zb_region_name((zb_region_kind)r),
                              zb_bytes_text(worst->regions[r].bytes, need));
  return hint_less(pass, module, worst->bytes, status);
}

static zb_result run(zb_pass *pass, MlirModule module) {
  const MlirOperation top = mlirModuleGetOperation(module);
  const int ranks = zb_rank_count(module);
  uint64_t limit = 0;
  if (!zb_pass_option_bytes(pass, "memory-limit", &limit)) return ZB_FAIL;
  allocation all = {.module = top, .memo = pass->program->memo, .needs = ZB_NEW(&pass->arena, rank_need, ranks)};
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  ZB_PASS_TRY(pass, zb_for_each_rank(module, allocate_one, &all, &pass->changes));
  if (limit) ZB_PASS_TRY(pass, check_limit(pass, all.needs, ranks, limit, top));
  return ZB_OK;
}

const zb_pass_def zb_pass_allocate = {
    .name = "zb-allocate",
    .summary = "Give every buffer its address; pack slots by their lifetimes; place waits.",
    .requires_level = "connected",
    .ensures_level = "allocated",
    .run = run,
};
