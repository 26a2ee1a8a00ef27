/* A program as values and ops, which both readers make. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"

#include <stdio.h>
#include <string.h>

zb_paddle_value *zb_paddle_value_new(zb_import *im, zb_paddle_program *program, const char *name) {
  zb_paddle_value *value = zb_import_take(im, sizeof *value);
  if (!value) return NULL;
  if (!zb_arena_grow(&im->memory, (void **)&program->values, &program->value_capacity, program->value_count + 1,
                     sizeof *program->values))
    return zb_import_memory(im), NULL;
  *value = (zb_paddle_value){.name = name, .type_text = "unknown type", .number = program->value_count};
  return program->values[program->value_count++] = value;
}

zb_result zb_paddle_add_fed(zb_import *im, zb_paddle_program *program, zb_paddle_value *value) {
  if (!zb_arena_grow(&im->memory, (void **)&program->fed, &program->fed_capacity, program->fed_count + 1,
                     sizeof *program->fed))
    return zb_import_memory(im);
  program->fed[program->fed_count++] = value;
  return ZB_OK;
}

/* Ops are pointed to: room is made once, by the reader, for all of them. */
zb_paddle_op *zb_paddle_op_new(zb_import *im, zb_paddle_program *program) {
  if (program->op_count >= program->op_capacity) return zb_import_memory(im), NULL;
  zb_paddle_op *op = &program->ops[program->op_count++];
  *op = (zb_paddle_op){.role = -1};
  return op;
}

/* Both names of a type: that of ProgramDesc's numbers, and those of PIR's attributes and types. */
static const struct {
  int number;
  const char *name, *pir;
  int dtype; /* -1: zbc has none */
} types[] = {
    {0, "bool", "t_bool", ZB_I1},
    {1, "int16", "t_i16", -1},
    {2, "int32", "t_i32", ZB_I32},
    {3, "int64", "t_i64", ZB_I64},
    {4, "float16", "t_f16", ZB_F16},
    {5, "float32", "t_f32", ZB_F32},
    {6, "float64", "t_f64", ZB_F64},
    {20, "uint8", "t_ui8", -1},
    {21, "int8", "t_i8", -1},
    {22, "bfloat16", "t_bf16", ZB_BF16},
    {23, "complex64", "t_c64", -1},
    {24, "complex128", "t_c128", -1},
    {32, "float8_e4m3fn", "t_f8e4m3fn", -1},
    {33, "float8_e5m2", "t_f8e5m2", -1},
};
enum { TYPES = sizeof types / sizeof *types };

bool zb_paddle_dtype(const char *name, zb_dtype *out) {
  for (int i = 0; i < TYPES; ++i)
    if (types[i].dtype >= 0 && (strcmp(types[i].name, name) == 0 || strcmp(types[i].pir, name) == 0))
      return *out = (zb_dtype)types[i].dtype, true;
  return false;
}

const char *zb_paddle_type_name(int64_t number) {
  for (int i = 0; i < TYPES; ++i)
    if (types[i].number == number) return types[i].name;
  return NULL;
}

static zb_result list_values(zb_import *im, zb_paddle_slot *slots, int count, zb_paddle_value ***out, int *out_count) {
  size_t total = 1;
  for (int i = 0; i < count; ++i)
    total += (size_t)slots[i].count;
  *out = zb_import_take(im, total * sizeof **out);
  for (int i = 0; *out && i < count; *out_count += slots[i++].count) {
    zb_paddle_value **values = *out + *out_count;
    memcpy(values, slots[i].values, (size_t)slots[i].count * sizeof *values);
    slots[i].values = values;
  }
  return *out ? ZB_OK : ZB_FAIL;
}

zb_result zb_paddle_list_values(zb_import *im, zb_paddle_op *op) {
  return list_values(im, op->inputs, op->input_count, &op->operands, &op->operand_count) &&
         list_values(im, op->outputs, op->output_count, &op->results, &op->result_count);
}

void zb_paddle_mark_producers(const zb_paddle_program *program, const zb_paddle_op *op, bool *in) {
  for (int k = 0; k < op->operand_count; ++k)
    if (op->operands[k] && op->operands[k]->producer) in[op->operands[k]->producer - program->ops] = true;
}

bool zb_paddle_reads(const zb_paddle_op *op, const zb_paddle_value *value) {
  for (int k = 0; k < op->operand_count; ++k)
    if (op->operands[k] == value) return true;
  return false;
}

/* The slot at a place of "X Y* Z", without its star; false: there are not so many. */
static bool slot_at(const char *slots, int place, char *out, size_t room) {
  for (const char *at = slots; *at;) {
    const size_t length = strcspn(at, " ");
    if (place-- == 0) return snprintf(out, room, "%.*s", (int)length, at), true;
    at += length + strspn(at + length, " ");
  }
  return false;
}

static zb_result name_list(zb_import *im, zb_paddle_slot *slots, int count, const char *names) {
  char name[64];
  for (int i = 0; i < count && slot_at(names, i, name, sizeof name); ++i) {
    const size_t length = strlen(name);
    slots[i].name = zb_import_take_text(im, name, length - (length > 0 && name[length - 1] == '*'));
    if (!slots[i].name) return ZB_FAIL;
  }
  return ZB_OK;
}

zb_result zb_paddle_name_slots(zb_import *im, zb_paddle_op *op) {
  if (!op->row) return ZB_OK;
  return name_list(im, op->inputs, op->input_count, op->row->inputs) &&
         name_list(im, op->outputs, op->output_count, op->row->outputs);
}

const char *zb_paddle_layer_path(zb_import *im, const char *text) {
  zb_text path = {0};
  for (const char *at = text; *at;) {
    const size_t length = strcspn(at, "/");
    if (length) zb_text_add(&path, "%s%.*s", path.length ? "." : "", (int)length, at);
    at += length + (at[length] == '/');
  }
  const char *taken = zb_import_take_built(im, &path);
  return taken && *taken ? taken : NULL;
}

zb_result zb_paddle_damaged(zb_import *im, const zb_paddle_program *program, const char *format, ...) {
  char text[384];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return zb_import_fail(im, "was it copied completely? save the program again", "'%s' is damaged or no %s: %s",
                        program->path, program->is_pir ? "program of Paddle (PIR JSON)" : "ProgramDesc of Paddle",
                        text);
}
