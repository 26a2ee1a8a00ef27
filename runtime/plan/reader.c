/* Reading plan files: zb_plan_read of runtime/plan/plan.h. The layout is in plan.proto and container.h.
 *
 * Trust grows in steps, and nothing is used before its step: size, magic, version, checksums; then protobuf-c parses a
 * section with an allocator that has a limit (a few times the section, so that a small file cannot ask for much
 * memory); then this file copies it into a plan, checking texts and the lengths of columns; then zb_plan_check_*
 * compares every number with what it indexes. Checksums only find accidents: each later step is safe on bytes that
 * somebody made up.
 *
 * Tests: test/runtime/plan/reader_test.c
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plan.pb-c.h"
#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/plan/check.h"
#include "runtime/plan/columns.h"
#include "runtime/plan/container.h"
#include "runtime/plan/plan.h"

typedef struct reader {
  const char *name; /* of the file, for messages */
  const unsigned char *bytes;
  size_t byte_count;
  zb_plan *plan;
  const char *text; /* of the section, in the plan's memory; ends with NUL */
  size_t text_bytes;
  const char *fault; /* first thing that is wrong with the section; sticky */
  bool out_of_memory;
} reader;

static void fail(reader *it, const char *fault) {
  if (!it->fault) it->fault = fault;
}

static void *take(reader *it, size_t count, size_t element_bytes) {
  size_t bytes = 0;
  void *memory = __builtin_mul_overflow(count, element_bytes, &bytes) ? NULL : zb_plan_alloc(it->plan, bytes);
  if (!memory) {
    it->out_of_memory = true;
    fail(it, "out of memory");
  }
  return memory;
}

static const char *get_text(reader *it, uint32_t offset) {
  if (offset < it->text_bytes) return it->text + offset;
  fail(it, "a text lies outside of the section's texts");
  return "";
}

static void take_text(reader *it, ProtobufCBinaryData blob) {
  it->text = "";
  it->text_bytes = 0;
  if (blob.len == 0 || blob.data[blob.len - 1] != '\0') {
    fail(it, "its texts do not end with NUL");
    return;
  }
  char *copy = take(it, blob.len, 1);
  if (!copy) return;
  memcpy(copy, blob.data, blob.len);
  it->text = copy;
  it->text_bytes = blob.len;
}

static int get_count(reader *it, uint64_t count) {
  if (count <= INT32_MAX) return (int)count;
  fail(it, "a count is too large");
  return 0;
}

/* A field of a later version would be skipped by protobuf: nothing is silently ignored here. */
static void check_known(reader *it, const ProtobufCMessage *message) {
  if (message->n_unknown_fields > 0) fail(it, "it has fields that this version does not know");
}

/* ---- protobuf-c's memory, limited ---- */

typedef struct parse_memory {
  zb_plan *scratch;
  uint64_t left;
  bool refused; /* there is no more memory: protobuf-c says of that only what it says of a damaged file */
} parse_memory;

static void *parse_alloc(void *context, size_t bytes) {
  parse_memory *memory = context;
  if (bytes > memory->left) return NULL;
  memory->left -= bytes;
  void *given = zb_plan_alloc(memory->scratch, bytes);
  if (!given) memory->refused = true;
  return given;
}

static void parse_free(void *context, void *pointer) {
  (void)context; /* all at once, with the scratch plan */
  (void)pointer;
}

/* ---- Header ---- */

static void get_shape(reader *it, uint32_t dtype, const uint64_t *dims, size_t rank, zb_shape *out) {
  if (dtype >= ZB_DTYPE_COUNT || rank > ZB_DIMS_MAX) {
    fail(it, "a shape has an unknown dtype or too many dimensions");
    return;
  }
  out->dtype = (zb_dtype)dtype;
  out->rank = (int)rank;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] > INT64_MAX) fail(it, "a dimension is too large");
    out->dims[i] = (int64_t)dims[i];
  }
}

/* The tables of the file must be ours, or numbers would change their meaning. */
static void check_table(reader *it, const uint32_t *offsets, size_t count, int expected_count,
                        const char *(*name_of)(int)) {
  if (count != (size_t)expected_count) {
    fail(it, "it was written by a version with other tables (dtypes, job kinds or regions)");
    return;
  }
  for (int i = 0; i < expected_count; ++i)
    if (strcmp(get_text(it, offsets[i]), name_of(i)) != 0)
      fail(it, "it was written by a version with other tables (dtypes, job kinds or regions)");
}

static const char *dtype_name(int i) { return zb_dtype_name((zb_dtype)i); }
static const char *job_name(int i) { return zb_job_mnemonic((zb_job_kind)i); }
static const char *region_name(int i) { return zb_region_name((zb_region_kind)i); }

/* The rows of a table, in the plan's memory; its columns must be those that this version has. */
static void *read_table(reader *it, const Zb__Plan__Table *table, const zb_columns *columns, int *out_count) {
  *out_count = 0;
  if (!table || table->n_columns != (size_t)columns->count) {
    fail(it, "it was written by a version with other columns");
    return NULL;
  }
  check_known(it, &table->base);
  const size_t count = table->columns[0]->n_values;
  char *rows = take(it, count, columns->row_bytes);
  for (int c = 0; !it->fault && c < columns->count; ++c) {
    const Zb__Plan__Column *column = table->columns[c];
    check_known(it, &column->base);
    if (strcmp(get_text(it, column->name), columns->items[c].name) != 0)
      fail(it, "it was written by a version with other columns");
    if (column->n_values != count) fail(it, "the columns of a table have different lengths");
    for (size_t i = 0; !it->fault && i < count; ++i)
      if (!zb_column_set(&columns->items[c], rows + i * columns->row_bytes, column->values[i]))
        fail(it, "a number of a table is too large");
  }
  *out_count = get_count(it, count);
  return rows;
}

static void read_transfers(reader *it, const Zb__Plan__Header *header) {
  zb_plan *plan = it->plan;
  plan->messages = read_table(it, header->messages, &zb_message_columns, &plan->message_count);
  plan->collectives = read_table(it, header->collectives, &zb_collective_columns, &plan->collective_count);
  plan->pool_u64_count = (uint32_t)get_count(it, header->n_pool_u64);
  plan->pool_u64 = take(it, header->n_pool_u64, sizeof *plan->pool_u64);
  if (plan->pool_u64 && header->n_pool_u64)
    memcpy(plan->pool_u64, header->pool_u64, header->n_pool_u64 * sizeof *plan->pool_u64);
}

static void read_inputs(reader *it, const Zb__Plan__Header *header) {
  it->plan->input_count = get_count(it, header->n_inputs);
  it->plan->inputs = take(it, header->n_inputs, sizeof *it->plan->inputs);
  for (size_t i = 0; !it->fault && i < header->n_inputs; ++i) {
    const Zb__Plan__Input *input = header->inputs[i];
    check_known(it, &input->base);
    it->plan->inputs[i].name = get_text(it, input->name);
    get_shape(it, input->dtype, input->dims, input->n_dims, &it->plan->inputs[i].shape);
  }
}

static void read_header(reader *it, const ProtobufCMessage *message) {
  const Zb__Plan__Header *header = (const Zb__Plan__Header *)message;
  zb_plan *plan = it->plan;
  check_known(it, message);
  take_text(it, header->text);
  check_table(it, header->dtypes, header->n_dtypes, ZB_DTYPE_COUNT, dtype_name);
  check_table(it, header->job_kinds, header->n_job_kinds, ZB_JOB_KIND_COUNT, job_name);
  check_table(it, header->regions, header->n_regions, ZB_REGION_COUNT, region_name);
  plan->producer = get_text(it, header->producer);
  plan->model = get_text(it, header->model);
  plan->schedule = get_text(it, header->schedule);
  plan->placement = get_text(it, header->placement);
  plan->optimizer = get_text(it, header->optimizer);
  plan->precision = get_text(it, header->precision);
  plan->rank_count = get_count(it, header->rank_count);
  plan->chunk_count = get_count(it, header->chunk_count);
  plan->micro_batches = get_count(it, header->micro_batches);
  plan->stage_count = get_count(it, header->n_stage_rank);
  plan->stage_rank = take(it, header->n_stage_rank, sizeof *plan->stage_rank);
  for (int i = 0; !it->fault && i < plan->stage_count; ++i)
    plan->stage_rank[i] = get_count(it, header->stage_rank[i]);
  plan->link_latency_ps = header->link_latency_ps;
  plan->link_ps_per_byte = header->link_ps_per_byte;
  plan->link_copies = header->link_copies;
  plan->link_wake_ps = header->link_wake_ps;
  plan->job_ps = header->job_ps;
  plan->read_ps = header->read_ps;
  plan->step_ps = header->step_ps;
  plan->model_hash = header->model_hash;
  plan->value_digests = header->value_digests;
  read_inputs(it, header);
  read_transfers(it, header);
}

/* ---- One rank ---- */

static void read_tensor(reader *it, const Zb__Plan__Tensor *tensor, zb_plan_tensor *out) {
  out->name = "";
  if (!tensor) {
    fail(it, "a tensor is missing");
    return;
  }
  check_known(it, &tensor->base);
  out->name = get_text(it, tensor->name);
  out->offset = tensor->offset;
  out->digest = tensor->digest;
  get_shape(it, tensor->dtype, tensor->dims, tensor->n_dims, &out->shape);
}

static void read_constant(reader *it, const Zb__Plan__Constant *constant, zb_plan_constant *out) {
  check_known(it, &constant->base);
  read_tensor(it, constant->tensor, &out->tensor);
  out->computed = constant->computed;
  if (!constant->is_inline) {
    if (constant->data.len > 0) fail(it, "a constant has bytes but is not inline");
    return;
  }
  uint8_t *bytes = take(it, constant->data.len, 1);
  if (bytes && constant->data.len > 0) memcpy(bytes, constant->data.data, constant->data.len);
  out->bytes = bytes;
  out->byte_count = constant->data.len;
}

static void read_tensors(reader *it, const Zb__Plan__Rank *from, zb_plan_rank *rank) {
  rank->parameter_count = get_count(it, from->n_parameters);
  rank->state_count = get_count(it, from->n_states);
  rank->constant_count = get_count(it, from->n_constants);
  rank->parameters = take(it, from->n_parameters, sizeof *rank->parameters);
  rank->states = take(it, from->n_states, sizeof *rank->states);
  rank->constants = take(it, from->n_constants, sizeof *rank->constants);
  for (size_t i = 0; !it->fault && i < from->n_parameters; ++i) {
    const Zb__Plan__Parameter *parameter = from->parameters[i];
    check_known(it, &parameter->base);
    read_tensor(it, parameter->tensor, &rank->parameters[i].tensor);
    rank->parameters[i].trained = parameter->trained;
    rank->parameters[i].owner = parameter->owner;
    rank->parameters[i].state_begin = get_count(it, parameter->state_begin);
    rank->parameters[i].state_count = get_count(it, parameter->state_count);
    rank->parameters[i].gradient_offset = parameter->gradient_offset;
  }
  for (size_t i = 0; !it->fault && i < from->n_states; ++i)
    read_tensor(it, from->states[i], &rank->states[i]);
  for (size_t i = 0; !it->fault && i < from->n_constants; ++i)
    read_constant(it, from->constants[i], &rank->constants[i]);
}

static void read_operand(reader *it, const Zb__Plan__Operand *from, zb_plan_operand *out) {
  check_known(it, &from->base);
  if (from->dtype >= ZB_DTYPE_COUNT || from->n_dims > ZB_DIMS_MAX ||
      (from->n_strides != 0 && from->n_strides != from->n_dims)) {
    fail(it, "an operand has an unknown dtype, too many dimensions, or not one stride a dimension");
    return;
  }
  *out = (zb_plan_operand){.base = from->base_index, .offset = from->offset, .dtype = (zb_dtype)from->dtype};
  out->rank = from->absent ? -1 : (int)from->n_dims;
  int64_t stride = 1;
  for (int i = out->rank - 1; i >= 0; --i) {
    if (from->dims[i] > INT64_MAX || (from->n_strides > 0 && from->strides[i] > INT64_MAX)) {
      fail(it, "a dimension or stride of an operand is too large");
      return;
    }
    out->shape[i] = (int64_t)from->dims[i];
    out->strides[i] = from->n_strides > 0 ? (int64_t)from->strides[i] : stride;
    if (__builtin_mul_overflow(stride, out->shape[i], &stride)) {
      fail(it, "the size of an operand overflows");
      return;
    }
  }
}

static zb_plan_operand *read_operands(reader *it, Zb__Plan__Operand **from, size_t count, int *out_count) {
  *out_count = get_count(it, count);
  zb_plan_operand *operands = take(it, count, sizeof *operands);
  for (size_t i = 0; !it->fault && i < count; ++i)
    read_operand(it, from[i], &operands[i]);
  return operands;
}

static void read_attr(reader *it, const Zb__Plan__Attr *from, zb_attr *out) {
  check_known(it, &from->base);
  if (from->kind > ZB_ATTR_STRING) fail(it, "an attribute is of an unknown kind");
  *out = (zb_attr){.name = get_text(it, from->name), .kind = (zb_attr_kind)from->kind, .i = from->i, .f = from->f};
  if (out->kind == ZB_ATTR_STRING) out->s = get_text(it, from->s);
  if (out->kind != ZB_ATTR_INTS) return;
  int64_t *ints = take(it, from->n_ints, sizeof *ints);
  if (ints && from->n_ints > 0) memcpy(ints, from->ints, from->n_ints * sizeof *ints);
  out->ints = ints;
  out->count = get_count(it, from->n_ints);
}

static void read_instruction(reader *it, const Zb__Plan__Instruction *from, zb_plan_instruction *out) {
  check_known(it, &from->base);
  out->op = get_text(it, from->op);
  out->location = get_text(it, from->location);
  out->inputs = read_operands(it, from->inputs, from->n_inputs, &out->input_count);
  out->outputs = read_operands(it, from->outputs, from->n_outputs, &out->output_count);
  out->accumulate = from->accumulate;
  out->scratch_offset = from->scratch_offset;
  out->scratch_bytes = from->scratch_bytes;
  out->flops = from->flops;
  out->product_flops = from->product_flops;
  out->cost_op = get_text(it, from->cost_op);
  out->attr_count = get_count(it, from->n_attrs);
  out->attrs = take(it, from->n_attrs, sizeof *out->attrs);
  for (size_t i = 0; !it->fault && i < from->n_attrs; ++i)
    read_attr(it, from->attrs[i], &out->attrs[i]);
}

static void read_subprogram(reader *it, const Zb__Plan__Subprogram *from, zb_plan_subprogram *out) {
  check_known(it, &from->base);
  out->name = get_text(it, from->name);
  out->stage = from->stage;
  out->kind = from->kind < ZB_JOB_KIND_COUNT ? (zb_job_kind)from->kind : ZB_JOB_KIND_COUNT;
  if (from->n_bases != from->n_base_bytes) {
    fail(it, "a subprogram has not one size a base");
    return;
  }
  out->base_count = get_count(it, from->n_bases);
  out->bases = take(it, from->n_bases, sizeof *out->bases);
  out->base_bytes = take(it, from->n_bases, sizeof *out->base_bytes);
  for (size_t i = 0; !it->fault && i < from->n_bases; ++i) {
    out->bases[i] = get_text(it, from->bases[i]);
    out->base_bytes[i] = from->base_bytes[i];
  }
  out->workspace_bytes = from->workspace_bytes;
  out->time_ps = from->time_ps;
  out->first_ps = from->first_ps;
  out->flops = from->flops;
  out->product_flops = from->product_flops;
  out->key = from->key;
  out->loss_base = from->loss_base;
  out->loss_offset = from->loss_offset;
  out->instruction_count = get_count(it, from->n_instructions);
  out->instructions = take(it, from->n_instructions, sizeof *out->instructions);
  for (size_t i = 0; !it->fault && i < from->n_instructions; ++i)
    read_instruction(it, from->instructions[i], &out->instructions[i]);
}

static void read_pools(reader *it, const Zb__Plan__Rank *from, zb_plan_rank *rank) {
  rank->pool_u64_count = (uint32_t)get_count(it, from->n_pool_u64);
  rank->pool_u32_count = (uint32_t)get_count(it, from->n_pool_u32);
  rank->pool_range_count = (uint32_t)get_count(it, from->n_pool_ranges / 2);
  if (from->n_pool_ranges % 2 != 0) fail(it, "a range of the pool has no size");
  rank->pool_u64 = take(it, from->n_pool_u64, sizeof *rank->pool_u64);
  rank->pool_u32 = take(it, from->n_pool_u32, sizeof *rank->pool_u32);
  rank->pool_ranges = take(it, rank->pool_range_count, sizeof *rank->pool_ranges);
  if (it->fault) return;
  if (from->n_pool_u64 > 0) memcpy(rank->pool_u64, from->pool_u64, from->n_pool_u64 * sizeof *rank->pool_u64);
  if (from->n_pool_u32 > 0) memcpy(rank->pool_u32, from->pool_u32, from->n_pool_u32 * sizeof *rank->pool_u32);
  for (uint32_t i = 0; i < rank->pool_range_count; ++i)
    rank->pool_ranges[i] =
        (zb_plan_range){.offset = from->pool_ranges[2 * (size_t)i], .bytes = from->pool_ranges[2 * (size_t)i + 1]};
}

static void read_rank(reader *it, const ProtobufCMessage *message) {
  const Zb__Plan__Rank *from = (const Zb__Plan__Rank *)message;
  check_known(it, message);
  take_text(it, from->text);
  if (from->rank >= (uint32_t)it->plan->rank_count || from->n_regions != 2 * ZB_REGION_COUNT) {
    fail(it, "its number or its regions are not those of the plan");
    return;
  }
  zb_plan_rank *rank = &it->plan->ranks[from->rank];
  rank->rank = (int)from->rank;
  rank->arena_bytes = from->arena_bytes;
  for (int i = 0; i < ZB_REGION_COUNT; ++i)
    rank->regions[i] = (zb_plan_range){.offset = from->regions[2 * i], .bytes = from->regions[2 * i + 1]};
  read_tensors(it, from, rank);
  rank->subprogram_count = get_count(it, from->n_subprograms);
  rank->subprograms = take(it, from->n_subprograms, sizeof *rank->subprograms);
  for (size_t i = 0; !it->fault && i < from->n_subprograms; ++i)
    read_subprogram(it, from->subprograms[i], &rank->subprograms[i]);
  read_pools(it, from, rank);
  rank->load_count = get_count(it, from->load_count);
  if (!it->fault) rank->segments = read_table(it, from->segments, &zb_segment_columns, &rank->segment_count);
  if (!it->fault) rank->jobs = read_table(it, from->jobs, &zb_job_columns, &rank->job_count);
}

/* ---- The file ---- */

static zb_status damaged(const reader *it, const char *what) {
  return zb_status_hint(ZB_ERROR(INVALID, "%s: not a usable plan: %s", it->name, what),
                        "compile the model again with this version of zbc");
}

static zb_status check_container(const reader *it, uint32_t *section_count) {
  if (it->byte_count < ZB_PLAN_START_BYTES) return damaged(it, "the file is too short");
  if (it->byte_count > ZB_PLAN_BYTES_MAX) return damaged(it, "the file is larger than 1 GiB");
  if (memcmp(it->bytes, ZB_PLAN_MAGIC, ZB_PLAN_MAGIC_BYTES) != 0)
    return damaged(it, "it does not start with the magic of plans");
  uint32_t version = zb_get_u32(it->bytes + 8);
  if (version != ZB_PLAN_VERSION)
    return zb_status_hint(ZB_ERROR(INVALID, "%s: the plan is of format version %u, this program reads version %d",
                                   it->name, version, ZB_PLAN_VERSION),
                          "compile the model again with this version of zbc");
  uint32_t count = zb_get_u32(it->bytes + 12);
  if (count < 2 || count > ZB_PLAN_RANKS_MAX + 1) return damaged(it, "its number of sections is out of range");
  size_t table_bytes = ZB_PLAN_START_BYTES + (size_t)count * ZB_PLAN_ENTRY_BYTES;
  if (it->byte_count < table_bytes + ZB_PLAN_TRAILER_BYTES) return damaged(it, "the file ends inside of its table");
  if (zb_crc32c(0, it->bytes, table_bytes) != zb_get_u32(it->bytes + table_bytes))
    return damaged(it, "the checksum of its table is wrong: the file is damaged");
  uint64_t at = table_bytes + ZB_PLAN_TRAILER_BYTES;
  for (uint32_t i = 0; i < count; ++i) {
    const unsigned char *entry = it->bytes + ZB_PLAN_START_BYTES + (size_t)i * ZB_PLAN_ENTRY_BYTES;
    uint64_t bytes = zb_get_u64(entry + 8);
    if (zb_get_u64(entry) != at || bytes > it->byte_count - at)
      return damaged(it, "a section lies outside of the file");
    at += bytes;
  }
  if (at != it->byte_count) return damaged(it, "the file has bytes after its last section");
  *section_count = count;
  return NULL;
}

/* Parses section `index` and hands it to `read`. */
static zb_status read_section(reader *it, uint32_t index, const ProtobufCMessageDescriptor *descriptor,
                              void (*read_message)(reader *it, const ProtobufCMessage *message)) {
  const unsigned char *entry = it->bytes + ZB_PLAN_START_BYTES + (size_t)index * ZB_PLAN_ENTRY_BYTES;
  const unsigned char *at = it->bytes + zb_get_u64(entry);
  size_t bytes = (size_t)zb_get_u64(entry + 8);
  if (zb_crc32c(0, at, bytes) != zb_get_u32(entry + 16))
    return damaged(it, index == 0 ? "the checksum of its header is wrong: the file is damaged"
                                  : "the checksum of a rank is wrong: the file is damaged");
  /* The largest growth of honest input is an operand of 2 bytes that becomes a struct of about 120 with its pointer. */
  parse_memory memory = {.scratch = zb_plan_create(), .left = (uint64_t)bytes * 96 + (1 << 16)};
  if (!memory.scratch) return ZB_OUT_OF_MEMORY();
  ProtobufCAllocator allocator = {.alloc = parse_alloc, .free = parse_free, .allocator_data = &memory};
  ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator, bytes, at);
  it->fault = NULL;
  if (message)
    read_message(it, message);
  else
    fail(it, "a section cannot be parsed");
  zb_plan_destroy(memory.scratch);
  if (it->out_of_memory || memory.refused) return ZB_OUT_OF_MEMORY();
  if (!it->fault) return NULL;
  zb_status status = damaged(it, it->fault);
  return index == 0 ? zb_status_note(status, "in its header")
                    : zb_status_note(status, "in the section of rank %u", index - 1);
}

/* count -1: all ranks. */
static zb_status read_plan(reader *it, int first, int count) {
  uint32_t section_count = 0;
  ZB_TRY(check_container(it, &section_count));
  ZB_TRY(read_section(it, 0, &zb__plan__header__descriptor, read_header));
  zb_plan *plan = it->plan;
  if ((uint32_t)plan->rank_count + 1 != section_count) return damaged(it, "it has not one section a rank");
  ZB_TRY(zb_plan_check_header(plan));
  /* The table has the checksum of every section. */
  plan->digest = zb_fnv1a(ZB_FNV_START, it->bytes, ZB_PLAN_START_BYTES + (size_t)section_count * ZB_PLAN_ENTRY_BYTES);
  if (count < 0) count = plan->rank_count;
  if (first < 0 || first > plan->rank_count - count)
    return ZB_ERROR(USAGE, "%s: the plan is for %d ranks, there is no rank %d", it->name, plan->rank_count,
                    first + count - 1);
  plan->ranks = zb_plan_alloc(plan, (size_t)plan->rank_count * sizeof *plan->ranks);
  if (!plan->ranks) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < plan->rank_count; ++i)
    plan->ranks[i].rank = i;
  for (int i = 0; i < plan->rank_count; ++i) {
    if (i < first || i >= first + count) continue;
    ZB_TRY(read_section(it, (uint32_t)i + 1, &zb__plan__rank__descriptor, read_rank));
    if (!plan->ranks[i].jobs) return damaged(it, "the section of a rank is that of another one");
    ZB_TRY(zb_plan_check_rank(plan, i));
  }
  return NULL;
}

static zb_status read_some(const void *bytes, size_t byte_count, const char *name, int first, int count,
                           zb_plan **out) {
  *out = NULL;
  reader it = {.name = name, .bytes = bytes, .byte_count = byte_count, .plan = zb_plan_create()};
  if (!it.plan) return ZB_OUT_OF_MEMORY();
  zb_status status = read_plan(&it, first, count);
  if (status) {
    zb_plan_destroy(it.plan);
    return zb_status_note(status, "reading the plan '%s'", name);
  }
  *out = it.plan;
  return NULL;
}

zb_status zb_plan_read_memory(const void *bytes, size_t byte_count, const char *name, int rank, zb_plan **out) {
  return read_some(bytes, byte_count, name, rank < 0 ? 0 : rank, rank < 0 ? -1 : 1, out);
}

zb_status zb_plan_read(const char *path, int rank, zb_plan **out) {
  return zb_plan_read_some(path, rank < 0 ? 0 : rank, rank < 0 ? -1 : 1, out);
}

zb_status zb_plan_read_some(const char *path, int first, int count, zb_plan **out) {
  zb_status status = NULL;
  void *mapping = MAP_FAILED;
  size_t bytes = 0;
  *out = NULL;
  int descriptor = -1;
  uint64_t size = 0;
  status = zb_file_open("the plan", path, &descriptor, &size);
  if (status)
    return zb_status_hint_text(status) ? status : zb_status_hint(status, "give the folder that zbc wrote with -o");
  bytes = (size_t)size;
  if (bytes == 0) {
    status = ZB_ERROR(INVALID, "%s: not a usable plan: the file is empty", path);
    goto cleanup;
  }
  mapping = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0); /* some ranks touch only their own pages */
  if (mapping == MAP_FAILED) {
    status = ZB_ERROR(IO, "cannot map the plan '%s': %s", path, strerror(errno));
    goto cleanup;
  }
  status = read_some(mapping, bytes, path, first, count, out);

cleanup:
  if (mapping != MAP_FAILED) munmap(mapping, bytes);
  close(descriptor);
  return status;
}
