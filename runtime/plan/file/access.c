/* What subprograms read and write: runtime/plan/file/access.h.
 *
 * For each base a list of who wrote which bytes last is kept while the instructions are followed. An operand that is
 * read must lie in one region, and its bytes must all come from one place: from one instruction before it, or all from
 * outside. That finds a result that was overwritten, in part, by another one before it was read.
 *
 * Tests: test/runtime/plan/proof/verifier_test.c
 */
#include "runtime/plan/file/access.h"

#include "runtime/plan/file/check.h"

#include <string.h>

/* Bytes of an operand, from its base. */
typedef struct span {
  uint64_t begin, end;
} span;

typedef struct walk {
  zb_plan_rank rank; /* its regions as they lie where the subprogram runs */
  const zb_plan_subprogram *subprogram;
  zb_access *out;
  zb_intervals *written; /* [base_count] with the workspace in base 0; writer: instruction */
  zb_plan_range workspace;
} walk;

static span span_of(const zb_plan_operand *operand) {
  return (span){operand->offset, operand->offset + (uint64_t)zb_operand_extent(operand)};
}

static bool is_empty(span it) { return it.begin >= it.end; }

static bool in_workspace(const walk *it, const zb_plan_operand *operand) {
  return operand->base == 0 && operand->offset >= it->workspace.offset &&
         operand->offset < it->workspace.offset + it->workspace.bytes;
}

/* What is wrong with the place of an operand of base 0. */
static const char *place_fault(const walk *it, const zb_plan_operand *operand) {
  span bytes = span_of(operand);
  if (operand->base != 0 || is_empty(bytes)) return NULL;
  zb_region_kind region = zb_plan_region_of(&it->rank, bytes.begin, bytes.end - bytes.begin);
  if (region == ZB_REGION_COUNT) return "an operand of the arena lies in no region as a whole";
  if (region == ZB_REGION_SLOTS) return "an operand of the arena lies in the slots, which only bases may address";
  if (region == ZB_REGION_WORKSPACE && bytes.end - it->workspace.offset > it->subprogram->workspace_bytes)
    return "an operand lies outside of the subprogram's workspace";
  return NULL;
}

static const char *read_operand(walk *it, const zb_plan_operand *operand) {
  span bytes = span_of(operand);
  if (operand->rank < 0 || is_empty(bytes)) return NULL;
  const char *fault = place_fault(it, operand);
  if (fault) return fault;
  const zb_intervals *written = &it->written[operand->base];
  size_t index = zb_intervals_find(written, bytes.begin);
  bool outside = index >= written->count || written->items[index].begin >= bytes.end;
  bool inside = !outside && written->items[index].begin <= bytes.begin && written->items[index].end >= bytes.end;
  if (!outside && !inside) return "it reads bytes of more than one result: one of them was overwritten, or never whole";
  if (outside && in_workspace(it, operand)) return "it reads workspace that no instruction before it wrote";
  if (outside) zb_intervals_assign(&it->out->reads[operand->base], bytes.begin, bytes.end, 0);
  return NULL;
}

/* Results may lie exactly on an input (in place), else must not touch inputs, each other, or the scratch. */
static const char *overlap_fault(const zb_plan_instruction *instruction) {
  span scratch = {instruction->scratch_offset, instruction->scratch_offset + instruction->scratch_bytes};
  for (int i = 0; i < instruction->input_count + instruction->output_count; ++i) {
    bool is_output = i >= instruction->input_count;
    const zb_plan_operand *one =
        is_output ? &instruction->outputs[i - instruction->input_count] : &instruction->inputs[i];
    span a = span_of(one);
    if (one->rank < 0 || is_empty(a)) continue;
    if (one->base == 0 && a.begin < scratch.end && scratch.begin < a.end) return "its scratch overlaps its operands";
    for (int j = is_output ? i - instruction->input_count + 1 : 0; j < instruction->output_count; ++j) {
      const zb_plan_operand *other = &instruction->outputs[j];
      span b = span_of(other);
      if (other->base != one->base || a.begin >= b.end || b.begin >= a.end) continue;
      if (is_output) return "two of its results overlap";
      if (a.begin != b.begin || a.end != b.end || !zb_operand_is_contiguous(one))
        return "a result overlaps an input without lying exactly on it";
    }
  }
  return NULL;
}

static const char *write_results(walk *it, int index) {
  const zb_plan_instruction *instruction = &it->subprogram->instructions[index];
  if (instruction->scratch_bytes > 0) {
    uint64_t begin = instruction->scratch_offset, end = begin + instruction->scratch_bytes;
    if (begin < it->workspace.offset || end - it->workspace.offset > it->subprogram->workspace_bytes)
      return "its scratch lies outside of the subprogram's workspace";
    zb_intervals_remove(&it->written[0], begin, end);
  }
  for (int i = 0; i < instruction->output_count; ++i) {
    const zb_plan_operand *output = &instruction->outputs[i];
    const char *fault = place_fault(it, output);
    if (fault) return fault;
    span bytes = span_of(output);
    if (is_empty(bytes)) continue;
    zb_intervals_assign(&it->written[output->base], bytes.begin, bytes.end, index);
    if (!in_workspace(it, output)) zb_intervals_assign(&it->out->writes[output->base], bytes.begin, bytes.end, 0);
  }
  return NULL;
}

static const char *follow(walk *it, int index) {
  const zb_plan_instruction *instruction = &it->subprogram->instructions[index];
  for (int i = 0; i < instruction->input_count; ++i) {
    const char *fault = read_operand(it, &instruction->inputs[i]);
    if (fault) return fault;
  }
  const char *fault = instruction->accumulate ? read_operand(it, &instruction->outputs[0]) : NULL;
  if (!fault) fault = overlap_fault(instruction);
  return fault ? fault : write_results(it, index);
}

void zb_access_deinit(zb_access *access) {
  if (access->borrowed) *access = (zb_access){0};
  for (int i = 0; access->reads && i < access->base_count; ++i)
    zb_intervals_deinit(&access->reads[i]);
  for (int i = 0; access->writes && i < access->base_count; ++i)
    zb_intervals_deinit(&access->writes[i]);
  zb_intervals_deinit(&access->workspace);
  zb_free(access->reads);
  zb_free(access->writes);
  *access = (zb_access){0};
}

/* Keeps what lies in the workspace at the end; whether all lists are whole. */
static bool finish(walk *it) {
  zb_access *out = it->out;
  const zb_intervals *all = &it->written[0];
  uint64_t end = it->workspace.offset + it->workspace.bytes;
  for (size_t i = zb_intervals_find(all, it->workspace.offset); i < all->count && all->items[i].begin < end; ++i)
    zb_intervals_assign(&out->workspace, all->items[i].begin, all->items[i].end, all->items[i].writer);
  bool failed = out->workspace.failed;
  for (int i = 0; i < out->base_count; ++i)
    failed |= out->reads[i].failed || out->writes[i].failed || it->written[i].failed;
  return !failed;
}

zb_status zb_access_compute(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram, zb_access *out) {
  zb_status status = NULL;
  size_t count = (size_t)subprogram->base_count + 1;
  *out = (zb_access){.base_count = (int)count};
  out->reads = zb_alloc(count * sizeof *out->reads);
  out->writes = zb_alloc(count * sizeof *out->writes);
  walk it = {.rank = zb_plan_rank_in(rank, zb_plan_list_of(subprogram)), .subprogram = subprogram, .out = out};
  it.workspace = it.rank.regions[ZB_REGION_WORKSPACE];
  it.written = zb_alloc(count * sizeof *it.written);
  if (!out->reads || !out->writes || !it.written) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  if (subprogram->workspace_bytes > it.workspace.bytes) out->fault = "its workspace is larger than the region";
  for (int i = 0; !out->fault && i < subprogram->instruction_count; ++i) {
    out->fault = follow(&it, i);
    out->fault_instruction = i;
  }
  if (!finish(&it)) status = ZB_OUT_OF_MEMORY();

cleanup:
  for (size_t i = 0; it.written && i < count; ++i)
    zb_intervals_deinit(&it.written[i]);
  zb_free(it.written);
  if (status) zb_access_deinit(out);
  return status;
}

/* Whether the lists of two subprograms are the same, of ranks whose regions are. */
static bool has_same_lists(const zb_plan_subprogram *a, const zb_plan_subprogram *b) {
  return a->kind == b->kind && a->instructions == b->instructions && a->instruction_count == b->instruction_count &&
         a->workspace_bytes == b->workspace_bytes && a->base_count == b->base_count &&
         (a->base_bytes == b->base_bytes ||
          memcmp(a->base_bytes, b->base_bytes, (size_t)a->base_count * sizeof *a->base_bytes) == 0);
}

zb_status zb_access_create_all(const zb_plan_rank *rank, zb_access **out) {
  return zb_access_create_like(rank, NULL, NULL, out);
}

zb_status zb_access_create_like(const zb_plan_rank *rank, const zb_plan_rank *like, const zb_access *accesses,
                                zb_access **out) {
  const bool same_regions = accesses && rank->evaluation_count == 0 && like->evaluation_count == 0 &&
                            memcmp(rank->regions, like->regions, sizeof rank->regions) == 0;
  *out = zb_alloc((size_t)rank->subprogram_count * sizeof **out);
  if (!*out) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->subprogram_count; ++i) {
    if (same_regions && i < like->subprogram_count && has_same_lists(&rank->subprograms[i], &like->subprograms[i])) {
      (*out)[i] = accesses[i];
      (*out)[i].borrowed = true;
      continue;
    }
    zb_status status = zb_access_compute(rank, &rank->subprograms[i], &(*out)[i]);
    if (!status) continue;
    zb_access_destroy_all(*out, i);
    *out = NULL;
    return status;
  }
  return NULL;
}

void zb_access_destroy_all(zb_access *accesses, int count) {
  for (int i = 0; accesses && i < count; ++i)
    zb_access_deinit(&accesses[i]);
  zb_free(accesses);
}
