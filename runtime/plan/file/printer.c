/* Plans as text: zb_plan_print of runtime/plan/file/plan.h.
 *
 * Deterministic and diffable: no addresses of this process, one thing a line. Places in an arena are printed as region
 * + offset
 * ("parameters+64"), operands of other bases by the base's name ("fw+128"). Sizes of totals have thousands separators.
 * Nothing is allocated. An operand is PLACE:SHAPE, with {strides} where it is not contiguous.
 *
 * Tests: test/runtime/plan/file/plan_test.c
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/random.h"
#include "runtime/base/text.h"
#include "runtime/plan/file/check.h"
#include "runtime/plan/file/plan.h"
#include "runtime/plan/file/tensors.h"

typedef struct printer {
  zb_write write;
  void *context;
  size_t length;
  char buffer[4096];
} printer;

static void flush(printer *it) {
  if (it->length > 0) it->write(it->context, it->buffer, it->length);
  it->length = 0;
}

static void put_bytes(printer *it, const char *text, size_t count) {
  if (count > sizeof it->buffer - it->length) flush(it);
  if (count > sizeof it->buffer) {
    it->write(it->context, text, count);
    return;
  }
  memcpy(it->buffer + it->length, text, count);
  it->length += count;
}

/* Names come from files of strangers: see zb_text_add_shown. */
static void put(printer *it, const char *text) {
  for (const char *begin = text; *begin; begin = text) {
    while (*text && !zb_text_control(text))
      ++text;
    put_bytes(it, begin, (size_t)(text - begin));
    for (size_t left = zb_text_control(text); left > 0; --left) {
      char escape[8];
      snprintf(escape, sizeof escape, "\\x%02x", (unsigned)(unsigned char)*text++);
      put_bytes(it, escape, strlen(escape));
    }
  }
}

/* For numbers and names of ours: at most 255 bytes. Texts of the plan go through put. */
static ZB_PRINTF(2, 3) void say(printer *it, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  put(it, text);
}

/* 3328 -> "3,328" */
static const char *with_commas(uint64_t number, char text[32]) {
  char digits[24];
  int count = snprintf(digits, sizeof digits, "%" PRIu64, number);
  size_t length = 0;
  for (int i = 0; i < count; ++i) {
    if (i > 0 && (count - i) % 3 == 0) text[length++] = ',';
    text[length++] = digits[i];
  }
  text[length] = '\0';
  return text;
}

static void say_number(printer *it, const char *before, uint64_t number, const char *after) {
  char text[32];
  put(it, before);
  put(it, with_commas(number, text));
  put(it, after);
}

/* "slots+192"; "arena+N" where no region holds it. */
static void say_place(printer *it, const zb_plan_rank *rank, uint64_t offset, uint64_t bytes) {
  zb_region_kind region = zb_plan_region_of(rank, offset, bytes);
  if (region == ZB_REGION_COUNT)
    say(it, "arena+%" PRIu64, offset);
  else
    say(it, "%s+%" PRIu64, zb_region_name(region), offset - rank->regions[region].offset);
}

static void say_shape(printer *it, const zb_shape *shape) {
  for (int i = 0; i < shape->rank; ++i)
    say(it, "%" PRId64 "x", shape->dims[i]);
  put(it, zb_dtype_name(shape->dtype));
}

static void say_operand(printer *it, const zb_plan_rank *rank, const zb_plan_subprogram *subprogram,
                        const zb_plan_operand *operand) {
  if (operand->rank < 0) {
    put(it, "absent");
    return;
  }
  if (operand->base == 0) {
    say_place(it, rank, operand->offset, (uint64_t)zb_operand_extent(operand));
  } else {
    put(it, subprogram->bases[operand->base - 1]);
    say(it, "+%" PRIu64, operand->offset);
  }
  put(it, ":");
  zb_shape shape = {.dtype = operand->dtype, .rank = operand->rank};
  memcpy(shape.dims, operand->shape, sizeof shape.dims);
  say_shape(it, &shape);
  if (zb_operand_is_contiguous(operand)) return;
  for (int i = 0; i < operand->rank; ++i)
    say(it, "%s%" PRId64, i == 0 ? "{" : ",", operand->strides[i]);
  put(it, "}");
}

static void say_attr(printer *it, const zb_attr *attr) {
  put(it, attr->name);
  switch (attr->kind) {
  case ZB_ATTR_BOOL:
    put(it, attr->i ? " = true" : " = false");
    break;
  case ZB_ATTR_INT:
    say(it, " = %" PRId64, attr->i);
    break;
  case ZB_ATTR_FLOAT:
    say(it, " = %.17g", attr->f);
    break;
  case ZB_ATTR_STRING:
    put(it, " = \"");
    put(it, attr->s);
    put(it, "\"");
    break;
  case ZB_ATTR_INTS:
    put(it, " = [");
    for (int i = 0; i < attr->count; ++i)
      say(it, "%s%" PRId64, i == 0 ? "" : ", ", attr->ints[i]);
    put(it, "]");
    break;
  }
}

static void say_instruction(printer *it, const zb_plan_rank *rank, const zb_plan_subprogram *subprogram,
                            const zb_plan_instruction *instruction) {
  put(it, "    ");
  put(it, instruction->op);
  if (instruction->accumulate) put(it, " accumulating");
  for (int i = 0; i < instruction->input_count; ++i) {
    put(it, "  ");
    say_operand(it, rank, subprogram, &instruction->inputs[i]);
  }
  put(it, "  ->");
  for (int i = 0; i < instruction->output_count; ++i) {
    put(it, "  ");
    say_operand(it, rank, subprogram, &instruction->outputs[i]);
  }
  for (int i = 0; i < instruction->attr_count; ++i) {
    put(it, i == 0 ? "  {" : ", ");
    say_attr(it, &instruction->attrs[i]);
  }
  if (instruction->attr_count > 0) put(it, "}");
  if (instruction->scratch_bytes > 0) {
    put(it, "  scratch ");
    say_place(it, rank, instruction->scratch_offset, instruction->scratch_bytes);
    say_number(it, " (", instruction->scratch_bytes, ")");
  }
  if (instruction->flops > 0) say(it, "  flops %.17g", instruction->flops);
  if (instruction->product_flops > 0) say(it, "  products %.17g", instruction->product_flops);
  if (instruction->location[0]) {
    put(it, "  // ");
    put(it, instruction->location);
  }
  put(it, "\n");
}

static void say_subprogram(printer *it, const zb_plan *plan, const zb_plan_rank *rank,
                           const zb_plan_subprogram *subprogram) {
  put(it, "  subprogram ");
  put(it, subprogram->name);
  say(it, ": %s", zb_job_mnemonic(subprogram->kind));
  if (subprogram->stage >= 0) say(it, " of stage %d", subprogram->stage);
  say_number(it, ", time ", (uint64_t)subprogram->time_ps, " ps");
  if (subprogram->first_ps) say_number(it, ", the first ", (uint64_t)subprogram->first_ps, " ps");
  say(it, ", flops %.17g, products %.17g", subprogram->flops, subprogram->product_flops);
  say_number(it, ", workspace ", subprogram->workspace_bytes, "\n");
  for (int i = 0; i < subprogram->base_count; ++i) {
    put(it, i == 0 ? "    bases  " : "  ");
    put(it, subprogram->bases[i]);
    say_number(it, " ", subprogram->base_bytes[i], i + 1 == subprogram->base_count ? "\n" : "");
  }
  if (subprogram->loss_base) {
    put(it, "    loss at ");
    put(it, subprogram->bases[subprogram->loss_base - 1]);
    say_number(it, "+", subprogram->loss_offset, "\n");
  }
  for (int i = 0; i < subprogram->output_count; ++i) {
    put(it, "    output ");
    put(it, plan->outputs[subprogram->outputs[i].output].name);
    put(it, " at ");
    put(it, subprogram->bases[subprogram->outputs[i].base - 1]);
    say_number(it, "+", subprogram->outputs[i].offset, "\n");
  }
  for (int i = 0; i < subprogram->instruction_count; ++i)
    say_instruction(it, rank, subprogram, &subprogram->instructions[i]);
}

/* ", a part of 33x8xf32": of what shards, or replicas, have together; of both ", a part of 33x4xf32 of 33x8xf32". */
static void say_cut(printer *it, const zb_plan_tensor *tensor) {
  const zb_shape all = zb_plan_shape_of_replicas(tensor), whole = zb_plan_whole_shape(tensor);
  if (tensor->flat) put(it, ", a part of ");
  if (tensor->flat) say_shape(it, &all);
  if (!tensor->cut) return;
  put(it, tensor->flat ? " of " : ", a part of ");
  say_shape(it, &whole);
  for (int i = 0; i < tensor->run_count && tensor->run_count > 1; ++i)
    say(it, "%s%" PRId64, i ? "," : " in runs of ", tensor->runs[i]);
}

static void say_digest(printer *it, const zb_plan_tensor *tensor) {
  if (tensor->digest == ZB_PLAN_VALUE_LATER)
    say(it, ", its value comes later");
  else if (tensor->digest)
    say(it, ", digest %016" PRIx64, tensor->digest);
}

static void say_tensors(printer *it, const zb_plan_rank *rank) {
  for (int i = 0; i < rank->parameter_count; ++i) {
    const zb_plan_parameter *parameter = &rank->parameters[i];
    put(it, parameter->buffer ? "  buffer " : "  parameter ");
    put(it, parameter->tensor.name);
    put(it, " ");
    say_shape(it, &parameter->tensor.shape);
    put(it, " at ");
    uint64_t bytes = (uint64_t)zb_shape_bytes(&parameter->tensor.shape);
    say_place(it, rank, parameter->tensor.offset, bytes);
    say_cut(it, &parameter->tensor);
    if (!parameter->buffer) put(it, parameter->trained ? " trained" : " frozen");
    if (parameter->owner) put(it, ", owner");
    if (parameter->gradient_offset >= 0) {
      put(it, ", gradient at ");
      say_place(it, rank, (uint64_t)parameter->gradient_offset, bytes);
    }
    if (parameter->state_count > 0)
      say(it, ", states %d..%d", parameter->state_begin, parameter->state_begin + parameter->state_count - 1);
    say_digest(it, &parameter->tensor);
    put(it, "\n");
  }
  for (int i = 0; i < rank->state_count; ++i) {
    put(it, "  state ");
    put(it, rank->states[i].name);
    put(it, " ");
    say_shape(it, &rank->states[i].shape);
    put(it, " at ");
    say_place(it, rank, rank->states[i].offset, (uint64_t)zb_shape_bytes(&rank->states[i].shape));
    put(it, "\n");
  }
}

static void say_constants(printer *it, const zb_plan_rank *rank) {
  for (int i = 0; i < rank->constant_count; ++i) {
    const zb_plan_constant *constant = &rank->constants[i];
    put(it, "  constant ");
    put(it, constant->tensor.name);
    put(it, " ");
    say_shape(it, &constant->tensor.shape);
    put(it, " at ");
    say_place(it, rank, constant->tensor.offset, (uint64_t)zb_shape_bytes(&constant->tensor.shape));
    put(it, constant->computed ? " computed" : constant->bytes ? " inline" : " from file");
    say_digest(it, &constant->tensor);
    if (constant->bytes) put(it, " ");
    for (uint64_t byte = 0; constant->bytes && byte < constant->byte_count; ++byte)
      say(it, "%02x", constant->bytes[byte]);
    put(it, "\n");
  }
}

static void say_settings(printer *it, const zb_plan_rank *rank) {
  for (int i = 0; i < rank->setting_count; ++i) {
    const zb_plan_setting *setting = &rank->settings[i];
    put(it, "  setting ");
    put(it, zb_setting_find(setting->kind)->name);
    if (*setting->name) put(it, " of ");
    put(it, setting->name);
    put(it, " at ");
    say_place(it, rank, setting->offset, (uint64_t)setting->default_count * sizeof(double));
    for (int k = 0; k < setting->default_count; ++k)
      say(it, "%s %.17g%s", k ? "," : "", setting->defaults[k], setting->own >> k & 1 ? " (own)" : "");
    put(it, "\n");
  }
}

static void say_job(printer *it, const zb_plan *plan, const zb_plan_rank *rank, int index) {
  const zb_plan_job *job = &rank->jobs[index];
  say(it, "  %5d  %-6s", index, zb_job_mnemonic(job->kind));
  if (job->subprogram >= 0) {
    put(it, " ");
    put(it, rank->subprograms[job->subprogram].name);
  }
  if (job->kind == ZB_JOB_SEND) say(it, " #%d to %d", job->message, plan->messages[job->message].destination);
  if (job->kind == ZB_JOB_RECV) say(it, " #%d from %d", job->message, plan->messages[job->message].source);
  if (job->collective)
    say(it, " %s %d", zb_collective_name(plan->collectives[job->collective - 1].kind), job->collective - 1);
  if (job->input >= 0) {
    put(it, " ");
    put(it, plan->inputs[job->input].name);
  }
  if (job->output > 0) {
    put(it, " ");
    put(it, plan->outputs[job->output - 1].name);
  }
  if (job->subprogram < 0 && job->stage >= 0) say(it, " stage %d", job->stage);
  if (job->micro_batch >= 0) say(it, " micro-batch %d", job->micro_batch);
  for (uint32_t i = 0; i < job->bases.count; ++i) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[job->subprogram];
    put(it, "  ");
    put(it, subprogram->bases[i]);
    put(it, " ");
    say_place(it, rank, rank->pool_u64[job->bases.begin + i], subprogram->base_bytes[i]);
  }
  for (uint32_t i = 0; i < job->parts.count; ++i) {
    zb_plan_range part = rank->pool_ranges[job->parts.begin + i];
    put(it, "  ");
    say_place(it, rank, part.offset, part.bytes);
    say_number(it, " (", part.bytes, ")");
  }
  for (uint32_t i = 0; i < job->waits.count; ++i)
    say(it, "%s%u", i == 0 ? "  after " : ", ", rank->pool_u32[job->waits.begin + i]);
  for (uint32_t i = 0, last = 0; i < job->segments.count; ++i) {
    const zb_plan_segment *segment = &rank->segments[job->segments.begin + i];
    const uint32_t host = (uint32_t)zb_plan_job_before(rank, index, segment->host);
    if (i == 0 || host != last) say(it, "  ahead in %u", host);
    say(it, " #%d %d-%d", segment->sum, segment->begin, segment->end);
    last = host;
  }
  put(it, "\n");
}

/* "collective 0 all-gather G of ranks 0, 2, 3 before message #24: 512, 512 + 512, 512 bytes": what each member gives;
 * where buffers are added up they are the same for all. */
static void say_collective(printer *it, const zb_plan *plan, int index) {
  const zb_plan_collective *collective = &plan->collectives[index];
  const uint64_t *members = plan->pool_u64 + collective->members.begin,
                 *sizes = plan->pool_u64 + collective->sizes.begin;
  const uint64_t *counts = plan->pool_u64 + collective->counts.begin;
  say(it, "collective %d %s %c of %s", index, zb_collective_name(collective->kind),
      zb_payload_letter(collective->payload), collective->coordinate ? "the replicas of rank" : "ranks");
  for (uint32_t m = 0; m < collective->members.count; ++m)
    say(it, "%s %" PRIu64, m ? "," : "", members[m]);
  say(it, " before message #%d", collective->before);
  if (collective->of_micro_batch) say(it, ", of micro-batch %d", collective->of_micro_batch - 1);
  if (collective->greatest) put(it, ", the greatest");
  if (collective->lead_ps) say(it, ", %" PRId64 " ps before the end of W", collective->lead_ps);
  put(it, ":");
  const uint32_t groups = collective->counts.count ? collective->counts.count : 1;
  for (uint32_t m = 0, p = 0; m < groups; ++m) {
    const uint64_t end = collective->counts.count ? p + counts[m] : collective->sizes.count;
    if (m) put(it, ",");
    if (p == end) put(it, " 0");
    for (bool more = false; p < end; ++p, more = true)
      say(it, more ? " + %" PRIu64 : " %" PRIu64, sizes[p]);
  }
  put(it, " bytes\n");
}

/* "23 jobs, 6 messages": of jobs begin to end. */
static void say_count(printer *it, const zb_plan_rank *rank, int begin, int end) {
  int messages = 0;
  for (int i = begin; i < end; ++i)
    messages += rank->jobs[i].message >= 0;
  say_number(it, "", (uint64_t)(end - begin), " jobs, ");
  say_number(it, "", (uint64_t)messages, " messages");
}

static void say_rank(printer *it, const zb_plan *plan, const zb_plan_rank *rank) {
  const int step_end = zb_plan_step_end(rank);
  const zb_plan_rank in_evaluation = zb_plan_rank_in(rank, ZB_LIST_EVALUATION);
  say_number(it, "", (uint64_t)rank->rank, ": ");
  say_count(it, rank, 0, step_end);
  say_number(it, ", arena ", rank->arena_bytes, " bytes\n");
  for (int i = 0; i < ZB_REGION_COUNT; ++i) {
    const bool is_rare = i == ZB_REGION_BUFFERS || i == ZB_REGION_SNAPSHOT; /* few plans have any */
    if (is_rare && rank->regions[i].bytes == 0) continue;
    put(it, i == 0 ? "  " : "   ");
    put(it, zb_region_name((zb_region_kind)i));
    say_number(it, " ", rank->regions[i].bytes, i + 1 == ZB_REGION_COUNT ? "\n" : "");
  }
  if (rank->evaluation_count > 0) {
    put(it, "  evaluation: ");
    say_count(it, rank, step_end, rank->job_count);
    say_number(it, ", slots ", rank->evaluation_slots.bytes, "");
    say_number(it, "   workspace ", rank->evaluation_workspace.bytes, "\n");
  }
  say_tensors(it, rank);
  say_constants(it, rank);
  say_settings(it, rank);
  for (int i = 0; i < rank->subprogram_count; ++i) {
    const bool evaluates = zb_plan_list_of(&rank->subprograms[i]) == ZB_LIST_EVALUATION;
    say_subprogram(it, plan, evaluates ? &in_evaluation : rank, &rank->subprograms[i]);
  }
  put(it, "  jobs\n");
  for (int i = 0; i < rank->job_count; ++i) {
    if (i == step_end) put(it, "  jobs of an evaluation\n");
    say_job(it, plan, i < step_end ? rank : &in_evaluation, i);
  }
}

/* Where the model takes more than the plan reads: in the order in which a batch has them. */
static void say_arguments(printer *it, const zb_plan *plan) {
  int read = 0;
  for (int i = 0; i < plan->input_count; ++i)
    read += strcmp(plan->inputs[i].name, ZB_COUNTER_INPUT) != 0;
  if (plan->argument_count == read) return;
  put(it, "arguments");
  for (int i = 0; i < plan->argument_count; ++i) {
    put(it, i ? ", " : " ");
    put(it, plan->arguments[i]);
  }
  put(it, "\n");
}

static void say_header(printer *it, const zb_plan *plan) {
  const struct {
    const char *label, *text;
  } texts[] = {{"plan by ", plan->producer},      {"\nmodel ", plan->model},         {"\nschedule ", plan->schedule},
               {"\nplacement ", plan->placement}, {"\noptimizer ", plan->optimizer}, {"\nprecision ", plan->precision}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    put(it, texts[i].label);
    put(it, texts[i].text);
  }
  say(it, "\nranks %d, stages %d, chunks %d, micro-batches %d", plan->rank_count, plan->stage_count, plan->chunk_count,
      plan->micro_batches);
  if (zb_plan_replicas(plan) > 1) say(it, ", replicas %d", plan->replicas);
  if (plan->sum_groups > 1) say(it, ", sums of %d groups%s", plan->sum_groups, plan->sum_inner ? ", inner first" : "");
  if (zb_plan_shards(plan) > 1) say(it, ", shards %d", plan->shards);
  put(it, "\n");
  for (int i = 0; i < plan->stage_count; ++i)
    say(it, "stage %d on rank %d\n", i, plan->stage_rank[i]);
  say(it, "model hash %016" PRIx64 "%s\n", plan->model_hash, plan->value_digests ? ", values by digest" : "");
  say(it, "link %" PRId64 " ps + %.17g ps a byte", plan->link_latency_ps, plan->link_ps_per_byte);
  if (plan->link_copies || plan->link_wake_ps)
    say(it, "%s, %" PRId64 " ps to wake", plan->link_copies ? ", moved by the side that posts second" : "",
        plan->link_wake_ps);
  put(it, "\n");
  if (plan->job_ps || plan->read_ps || plan->step_ps)
    say(it, "overheads %" PRId64 " ps a job, %" PRId64 " ps a read, %" PRId64 " ps a step\n", plan->job_ps,
        plan->read_ps, plan->step_ps);
  for (int i = 0; i < plan->input_count; ++i) {
    put(it, "input ");
    put(it, plan->inputs[i].name);
    put(it, " ");
    say_shape(it, &plan->inputs[i].shape);
    put(it, "\n");
  }
  say_arguments(it, plan);
  for (int i = 0; i < plan->output_count; ++i) {
    put(it, "output ");
    put(it, plan->outputs[i].name);
    put(it, " ");
    say_shape(it, &plan->outputs[i].shape);
    put(it, "\n");
  }
  if (plan->weighted) put(it, "losses are pairs: a sum and its weight\n");
  for (int i = 0; i < plan->collective_count; ++i)
    say_collective(it, plan, i);
  for (int i = 0; i < plan->message_count; ++i) {
    const zb_plan_message *message = &plan->messages[i];
    say(it, "%smessage #%d %c from rank %d stage %d to rank %d stage %d",
        i < plan->message_count - plan->evaluation_messages ? "" : "evaluation ", i,
        zb_payload_letter(message->payload), message->source, message->source_stage, message->destination,
        message->destination_stage);
    if (message->micro_batch >= 0) say(it, " micro-batch %d", message->micro_batch);
    say_number(it, ", ", message->bytes, " bytes");
    say(it, " in %d part%s\n", message->part_count, message->part_count == 1 ? "" : "s");
  }
}

void zb_plan_print(const zb_plan *plan, zb_write write, void *context) {
  printer it;
  it.write = write;
  it.context = context;
  it.length = 0;
  say_header(&it, plan);
  for (int i = 0; i < plan->rank_count; ++i) {
    if (!plan->ranks[i].jobs) continue; /* not read */
    put(&it, "rank ");
    say_rank(&it, plan, &plan->ranks[i]);
  }
  flush(&it);
}
