/* Writing plan files: zb_plan_write of runtime/plan/plan.h. The layout is in plan.proto and container.h.
 *
 * Each section is put together as a protobuf message whose arrays live in a scratch plan (its memory is freed at once),
 * packed, and appended. The same plan always gives the same bytes.
 *
 * Tests: test/runtime/plan/reader_test.c
 */
#include <inttypes.h>
#include <string.h>

#include "plan.pb-c.h"
#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/base/map.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"
#include "runtime/plan/check.h"
#include "runtime/plan/columns.h"
#include "runtime/plan/container.h"
#include "runtime/plan/plan.h"

/* What one section needs while it is put together. Out of memory is sticky. */
typedef struct section {
  zb_plan *scratch;
  zb_text text;
  zb_map *offsets; /* text -> its offset */
  bool failed;
} section;

static bool section_begin(section *it) {
  *it = (section){.scratch = zb_plan_create(), .offsets = zb_map_create()};
  zb_text_init(&it->text);
  return it->scratch && it->offsets;
}

static void section_end(section *it) {
  zb_plan_destroy(it->scratch);
  zb_map_destroy(it->offsets);
  zb_text_deinit(&it->text);
}

static void *take(section *it, size_t count, size_t element_bytes) {
  void *memory = it->failed ? NULL : zb_plan_alloc(it->scratch, count * element_bytes);
  if (!memory) it->failed = true;
  return memory;
}

/* Offset of the text in the section's blob. */
static uint32_t intern(section *it, const char *text) {
  int64_t offset = 0;
  if (it->failed || zb_map_get(it->offsets, text, &offset)) return (uint32_t)offset;
  offset = (int64_t)it->text.length;
  zb_text_add_bytes(&it->text, text, strlen(text) + 1);
  if (it->text.failed || it->text.length > UINT32_MAX || !zb_map_set(it->offsets, text, offset)) it->failed = true;
  return (uint32_t)offset;
}

static ProtobufCBinaryData text_blob(const section *it) {
  return (ProtobufCBinaryData){.len = it->text.length, .data = (uint8_t *)it->text.data};
}

/* Columns: COLUMN(it, n, to, type, expression in i) allocates message->to and n_to, and fills it. */
#define COLUMN(it, count, message, field, type, expression)                                                            \
  do {                                                                                                                 \
    type *column = take((it), (size_t)(count), sizeof(type));                                                          \
    for (size_t i = 0; column && i < (size_t)(count); ++i)                                                             \
      column[i] = (type)(expression);                                                                                  \
    (message)->field = column;                                                                                         \
    (message)->n_##field = (size_t)(count);                                                                            \
  } while (0)

static void pack_dims(section *it, const zb_shape *shape, uint64_t **dims, size_t *count) {
  *count = (size_t)shape->rank;
  *dims = take(it, *count, sizeof **dims);
  for (size_t i = 0; *dims && i < *count; ++i)
    (*dims)[i] = (uint64_t)shape->dims[i];
}

/* A list of structs as the table of its columns. */
static Zb__Plan__Table *pack_table(section *it, const zb_columns *columns, const void *rows, int count) {
  Zb__Plan__Table *table = take(it, 1, sizeof *table);
  Zb__Plan__Column *items = take(it, (size_t)columns->count, sizeof *items);
  Zb__Plan__Column **list = take(it, (size_t)columns->count, sizeof *list);
  if (it->failed) return NULL;
  zb__plan__table__init(table);
  table->columns = list;
  table->n_columns = (size_t)columns->count;
  for (int c = 0; c < columns->count; ++c) {
    zb__plan__column__init(list[c] = &items[c]);
    items[c].name = intern(it, columns->items[c].name);
    COLUMN(it, count, &items[c], values, int64_t,
           zb_column_get(&columns->items[c], (const char *)rows + i * columns->row_bytes));
  }
  return table;
}

static void pack_inputs(section *it, const zb_plan *plan, Zb__Plan__Header *header) {
  size_t count = (size_t)plan->input_count;
  header->n_inputs = count;
  header->inputs = take(it, count, sizeof *header->inputs);
  Zb__Plan__Input *inputs = take(it, count, sizeof *inputs);
  for (size_t i = 0; !it->failed && i < count; ++i) {
    zb__plan__input__init(&inputs[i]);
    inputs[i].name = intern(it, plan->inputs[i].name);
    inputs[i].dtype = (uint32_t)plan->inputs[i].shape.dtype;
    pack_dims(it, &plan->inputs[i].shape, &inputs[i].dims, &inputs[i].n_dims);
    header->inputs[i] = &inputs[i];
  }
}

static void pack_header(section *it, const zb_plan *plan, Zb__Plan__Header *header) {
  zb__plan__header__init(header);
  intern(it, "");
  header->producer = intern(it, plan->producer);
  header->model = intern(it, plan->model);
  header->schedule = intern(it, plan->schedule);
  header->placement = intern(it, plan->placement);
  header->optimizer = intern(it, plan->optimizer);
  header->precision = intern(it, plan->precision);
  COLUMN(it, ZB_DTYPE_COUNT, header, dtypes, uint32_t, intern(it, zb_dtype_name((zb_dtype)i)));
  COLUMN(it, ZB_JOB_KIND_COUNT, header, job_kinds, uint32_t, intern(it, zb_job_mnemonic((zb_job_kind)i)));
  COLUMN(it, ZB_REGION_COUNT, header, regions, uint32_t, intern(it, zb_region_name((zb_region_kind)i)));
  header->rank_count = (uint32_t)plan->rank_count;
  header->chunk_count = (uint32_t)plan->chunk_count;
  header->micro_batches = (uint32_t)plan->micro_batches;
  COLUMN(it, plan->stage_count, header, stage_rank, uint32_t, plan->stage_rank[i]);
  header->link_latency_ps = plan->link_latency_ps;
  header->link_ps_per_byte = plan->link_ps_per_byte;
  header->link_copies = plan->link_copies;
  header->link_wake_ps = plan->link_wake_ps;
  header->job_ps = plan->job_ps;
  header->read_ps = plan->read_ps;
  header->step_ps = plan->step_ps;
  header->model_hash = plan->model_hash;
  header->value_digests = plan->value_digests;
  pack_inputs(it, plan, header);
  header->messages = pack_table(it, &zb_message_columns, plan->messages, plan->message_count);
  header->collectives = pack_table(it, &zb_collective_columns, plan->collectives, plan->collective_count);
  header->pool_u64 = plan->pool_u64;
  header->n_pool_u64 = plan->pool_u64_count;
  header->text = text_blob(it);
}

/* ---- One rank ---- */

static void pack_tensor(section *it, const zb_plan_tensor *tensor, Zb__Plan__Tensor *out) {
  zb__plan__tensor__init(out);
  out->name = intern(it, tensor->name);
  out->dtype = (uint32_t)tensor->shape.dtype;
  out->offset = tensor->offset;
  out->digest = tensor->digest;
  pack_dims(it, &tensor->shape, &out->dims, &out->n_dims);
}

static void pack_tensors(section *it, const zb_plan_rank *rank, Zb__Plan__Rank *out) {
  size_t parameter_count = (size_t)rank->parameter_count, state_count = (size_t)rank->state_count,
         constant_count = (size_t)rank->constant_count;
  Zb__Plan__Tensor *tensors = take(it, parameter_count + state_count + constant_count, sizeof *tensors);
  Zb__Plan__Parameter *parameters = take(it, parameter_count, sizeof *parameters);
  Zb__Plan__Constant *constants = take(it, constant_count, sizeof *constants);
  out->parameters = take(it, parameter_count, sizeof *out->parameters);
  out->states = take(it, state_count, sizeof *out->states);
  out->constants = take(it, constant_count, sizeof *out->constants);
  if (it->failed) return;
  out->n_parameters = parameter_count;
  out->n_states = state_count;
  out->n_constants = constant_count;
  for (size_t i = 0; i < parameter_count; ++i) {
    const zb_plan_parameter *parameter = &rank->parameters[i];
    zb__plan__parameter__init(&parameters[i]);
    parameters[i].tensor = tensors++;
    pack_tensor(it, &parameter->tensor, parameters[i].tensor);
    parameters[i].trained = parameter->trained;
    parameters[i].owner = parameter->owner;
    parameters[i].state_begin = (uint32_t)parameter->state_begin;
    parameters[i].state_count = (uint32_t)parameter->state_count;
    parameters[i].gradient_offset = parameter->gradient_offset;
    out->parameters[i] = &parameters[i];
  }
  for (size_t i = 0; i < state_count; ++i) {
    pack_tensor(it, &rank->states[i], tensors);
    out->states[i] = tensors++;
  }
  for (size_t i = 0; i < constant_count; ++i) {
    const zb_plan_constant *constant = &rank->constants[i];
    zb__plan__constant__init(&constants[i]);
    constants[i].tensor = tensors++;
    pack_tensor(it, &constant->tensor, constants[i].tensor);
    constants[i].computed = constant->computed;
    constants[i].is_inline = constant->bytes != NULL;
    if (constant->bytes)
      constants[i].data =
          (ProtobufCBinaryData){.len = (size_t)constant->byte_count, .data = (uint8_t *)(uintptr_t)constant->bytes};
    out->constants[i] = &constants[i];
  }
}

static void pack_operand(section *it, const zb_plan_operand *operand, Zb__Plan__Operand *out) {
  zb__plan__operand__init(out);
  out->base_index = operand->base;
  out->offset = operand->offset;
  out->dtype = (uint32_t)operand->dtype;
  out->absent = operand->rank < 0;
  if (operand->rank <= 0) return;
  COLUMN(it, operand->rank, out, dims, uint64_t, operand->shape[i]);
  bool dense = true; /* exactly the strides that a reader puts in */
  int64_t stride = 1;
  for (int i = operand->rank - 1; i >= 0; --i) {
    if (operand->strides[i] != stride) dense = false;
    if (__builtin_mul_overflow(stride, operand->shape[i], &stride)) dense = false;
  }
  if (!dense) COLUMN(it, operand->rank, out, strides, uint64_t, operand->strides[i]);
}

static void pack_operands(section *it, const zb_plan_operand *operands, int count, Zb__Plan__Operand ***out,
                          size_t *out_count) {
  *out = take(it, (size_t)count, sizeof **out);
  Zb__Plan__Operand *packed = take(it, (size_t)count, sizeof *packed);
  for (int i = 0; !it->failed && i < count; ++i) {
    pack_operand(it, &operands[i], &packed[i]);
    (*out)[i] = &packed[i];
  }
  *out_count = (size_t)count;
}

static void pack_instruction(section *it, const zb_plan_instruction *instruction, Zb__Plan__Instruction *out) {
  zb__plan__instruction__init(out);
  out->op = intern(it, instruction->op);
  out->location = intern(it, instruction->location);
  pack_operands(it, instruction->inputs, instruction->input_count, &out->inputs, &out->n_inputs);
  pack_operands(it, instruction->outputs, instruction->output_count, &out->outputs, &out->n_outputs);
  out->accumulate = instruction->accumulate;
  out->scratch_offset = instruction->scratch_offset;
  out->scratch_bytes = instruction->scratch_bytes;
  out->flops = instruction->flops;
  out->product_flops = instruction->product_flops;
  out->cost_op = intern(it, instruction->cost_op ? instruction->cost_op : "");
  size_t count = (size_t)instruction->attr_count;
  out->attrs = take(it, count, sizeof *out->attrs);
  Zb__Plan__Attr *attrs = take(it, count, sizeof *attrs);
  out->n_attrs = count;
  for (size_t a = 0; !it->failed && a < count; ++a) {
    const zb_attr *attr = &instruction->attrs[a];
    zb__plan__attr__init(&attrs[a]);
    attrs[a].name = intern(it, attr->name);
    attrs[a].kind = (uint32_t)attr->kind;
    attrs[a].i = attr->i;
    attrs[a].f = attr->f;
    if (attr->kind == ZB_ATTR_INTS) COLUMN(it, attr->count, &attrs[a], ints, int64_t, attr->ints[i]);
    if (attr->kind == ZB_ATTR_STRING) attrs[a].s = intern(it, attr->s);
    out->attrs[a] = &attrs[a];
  }
}

static void pack_subprogram(section *it, const zb_plan_subprogram *subprogram, Zb__Plan__Subprogram *out) {
  zb__plan__subprogram__init(out);
  out->name = intern(it, subprogram->name);
  out->stage = subprogram->stage;
  out->kind = (uint32_t)subprogram->kind;
  COLUMN(it, subprogram->base_count, out, bases, uint32_t, intern(it, subprogram->bases[i]));
  COLUMN(it, subprogram->base_count, out, base_bytes, uint64_t, subprogram->base_bytes[i]);
  out->workspace_bytes = subprogram->workspace_bytes;
  out->time_ps = subprogram->time_ps;
  out->first_ps = subprogram->first_ps;
  out->flops = subprogram->flops;
  out->product_flops = subprogram->product_flops;
  out->key = subprogram->key;
  out->loss_base = subprogram->loss_base;
  out->loss_offset = subprogram->loss_offset;
  size_t count = (size_t)subprogram->instruction_count;
  out->instructions = take(it, count, sizeof *out->instructions);
  Zb__Plan__Instruction *instructions = take(it, count, sizeof *instructions);
  out->n_instructions = count;
  for (size_t i = 0; !it->failed && i < count; ++i) {
    pack_instruction(it, &subprogram->instructions[i], &instructions[i]);
    out->instructions[i] = &instructions[i];
  }
}

static void pack_jobs(section *it, const zb_plan_rank *rank, Zb__Plan__Rank *out) {
  out->load_count = (uint32_t)rank->load_count;
  out->segments = pack_table(it, &zb_segment_columns, rank->segments, rank->segment_count);
  out->jobs = pack_table(it, &zb_job_columns, rank->jobs, rank->job_count);
  out->pool_u64 = rank->pool_u64;
  out->n_pool_u64 = rank->pool_u64_count;
  out->pool_u32 = rank->pool_u32;
  out->n_pool_u32 = rank->pool_u32_count;
  COLUMN(it, (size_t)rank->pool_range_count * 2, out, pool_ranges, uint64_t,
         i % 2 == 0 ? rank->pool_ranges[i / 2].offset : rank->pool_ranges[i / 2].bytes);
}

static void pack_rank(section *it, const zb_plan_rank *rank, Zb__Plan__Rank *out) {
  zb__plan__rank__init(out);
  intern(it, "");
  out->rank = (uint32_t)rank->rank;
  out->arena_bytes = rank->arena_bytes;
  COLUMN(it, ZB_REGION_COUNT * 2, out, regions, uint64_t,
         i % 2 == 0 ? rank->regions[i / 2].offset : rank->regions[i / 2].bytes);
  pack_tensors(it, rank, out);
  size_t count = (size_t)rank->subprogram_count;
  out->subprograms = take(it, count, sizeof *out->subprograms);
  Zb__Plan__Subprogram *subprograms = take(it, count, sizeof *subprograms);
  out->n_subprograms = count;
  for (size_t i = 0; !it->failed && i < count; ++i) {
    pack_subprogram(it, &rank->subprograms[i], &subprograms[i]);
    out->subprograms[i] = &subprograms[i];
  }
  pack_jobs(it, rank, out);
  out->text = text_blob(it);
}

/* ---- The file ---- */

/* Appends the packed message and fills its row of the table. */
static bool append(zb_text *file, const ProtobufCMessage *message, unsigned char entry[ZB_PLAN_ENTRY_BYTES]) {
  size_t bytes = protobuf_c_message_get_packed_size(message);
  size_t at = file->length;
  if (bytes > ZB_PLAN_BYTES_MAX - at || !zb_grow((void **)&file->data, &file->capacity, at + bytes + 1, 1))
    return false;
  protobuf_c_message_pack(message, (uint8_t *)file->data + at);
  file->length = at + bytes;
  zb_put_u64(entry, at);
  zb_put_u64(entry + 8, bytes);
  zb_put_u32(entry + 16, zb_crc32c(0, file->data + at, bytes));
  zb_put_u32(entry + 20, 0);
  return true;
}

/* Appends section `index`: the header is 0, rank r is r + 1. */
static zb_status write_section(const zb_plan *plan, int index, zb_text *file, unsigned char *entry) {
  section it;
  bool ok = section_begin(&it);
  if (ok && index == 0) {
    Zb__Plan__Header header;
    pack_header(&it, plan, &header);
    ok = !it.failed && append(file, &header.base, entry);
  } else if (ok) {
    Zb__Plan__Rank rank;
    pack_rank(&it, &plan->ranks[index - 1], &rank);
    ok = !it.failed && append(file, &rank.base, entry);
  }
  section_end(&it);
  return ok ? NULL : ZB_ERROR(MEMORY, "out of memory, or the plan is larger than %" PRIu64 " bytes", ZB_PLAN_BYTES_MAX);
}

zb_status zb_plan_write(const zb_plan *plan, const char *path) {
  zb_status status = NULL;
  zb_text file;
  zb_text_init(&file);
  unsigned char *table = NULL;
  ZB_TRY(zb_plan_check(plan)); /* a file that no reader takes is not written */
  size_t section_count = (size_t)plan->rank_count + 1;
  size_t table_bytes = ZB_PLAN_START_BYTES + section_count * ZB_PLAN_ENTRY_BYTES + ZB_PLAN_TRAILER_BYTES;
  table = zb_alloc(table_bytes);
  if (!table) return ZB_OUT_OF_MEMORY();
  zb_text_add_bytes(&file, (const char *)table, table_bytes); /* room for it */
  memcpy(table, ZB_PLAN_MAGIC, ZB_PLAN_MAGIC_BYTES);
  zb_put_u32(table + 8, ZB_PLAN_VERSION);
  zb_put_u32(table + 12, (uint32_t)section_count);
  for (size_t i = 0; i < section_count && !file.failed; ++i)
    ZB_TRY_GOTO(write_section(plan, (int)i, &file, table + ZB_PLAN_START_BYTES + i * ZB_PLAN_ENTRY_BYTES));
  if (file.failed) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  unsigned char *trailer = table + table_bytes - ZB_PLAN_TRAILER_BYTES;
  zb_put_u32(trailer, zb_crc32c(0, table, table_bytes - ZB_PLAN_TRAILER_BYTES));
  memcpy(file.data, table, table_bytes);
  status = zb_file_write_atomic(path, file.data, file.length);

cleanup:
  if (status) status = zb_status_note(status, "writing the plan '%s'", path);
  zb_text_deinit(&file);
  zb_free(table);
  return status;
}
