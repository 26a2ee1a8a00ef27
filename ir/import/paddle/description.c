/* Reads a ProgramDesc: protobuf, as Program.desc.serialize_to_string() and paddle.static.save write it (.pdmodel).
 *
 * Ops name variables, and write some of them again: the value of a name is what was written last. Only the first block
 * is read; ops with blocks of their own (while, conditional_block) have no row. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"
#include "paddle.pb-c.h"

#include <string.h>

typedef struct reader {
  zb_import *im;
  zb_paddle_program *program;
  zb_map *vars;   /* name -> number in block->vars */
  zb_map *latest; /* name -> number in program->values */
  const Paddle__Block *block;
} reader;

/* A text without zero bytes; NULL after reporting. */
static const char *text_of(reader *r, bool has, ProtobufCBinaryData data, const char *what) {
  if (!has) data.len = 0;
  if (data.len && memchr(data.data, '\0', data.len)) {
    zb_paddle_damaged(r->im, r->program, "%s holds a zero byte", what);
    return NULL;
  }
  return zb_import_take_text(r->im, data.len ? (const char *)data.data : "", data.len);
}

/* ---- Values ---- */

static zb_result read_type(reader *r, const Paddle__Var *var, zb_paddle_value *out) {
  enum { DENSE = 7 };
  out->is_persistable = var->has_persistable && var->persistable;
  out->is_parameter = var->has_is_parameter && var->is_parameter;
  out->stops_gradient = var->has_stop_gradient && var->stop_gradient;
  const Paddle__TensorType *tensor = var->type && var->type->dense ? var->type->dense->tensor : NULL;
  if (!tensor || !var->type->has_type || var->type->type != DENSE || !tensor->has_data_type) return ZB_OK;
  const char *name = zb_paddle_type_name(tensor->data_type);
  if (!name) return ZB_OK;
  out->type_text = name;
  out->is_typed = zb_paddle_dtype(name, &out->shape.dtype);
  out->is_static = tensor->n_dims <= ZB_DIMS_MAX;
  for (size_t i = 0; i < tensor->n_dims && out->is_static; ++i) {
    out->shape.dims[i] = tensor->dims[i];
    out->is_static = tensor->dims[i] >= 0;
  }
  out->shape.rank = out->is_static ? (int)tensor->n_dims : 0;
  if (out->is_static && out->is_typed && zb_shape_bytes(&out->shape) < 0)
    return zb_paddle_damaged(r->im, r->program, "variable '%s' is too large", out->name);
  return ZB_OK;
}

static zb_paddle_value *write_value(reader *r, const char *name) {
  zb_paddle_value *value = zb_paddle_value_new(r->im, r->program, name);
  int64_t var;
  if (!value) return NULL;
  if (zb_map_get(r->vars, name, &var) && !read_type(r, r->block->vars[var], value)) return NULL;
  if (!zb_map_set(r->latest, name, (int64_t)value->number)) return zb_import_memory(r->im), NULL;
  return value;
}

static zb_paddle_value *read_value(reader *r, const char *name) {
  const int64_t number = zb_map_get_or(r->latest, name, -1);
  return number >= 0 ? r->program->values[number] : write_value(r, name);
}

/* ---- Ops ---- */

static zb_result read_slots(reader *r, Paddle__Slot *const *from, size_t count, zb_paddle_op *writer,
                            zb_paddle_slot **out, int *out_count) {
  *out = zb_import_take(r->im, (count + 1) * sizeof **out);
  if (!*out) return ZB_FAIL;
  for (size_t i = 0; i < count; ++i) {
    zb_paddle_slot *slot = &(*out)[(*out_count)++];
    slot->name = text_of(r, from[i]->has_parameter, from[i]->parameter, "the name of a slot");
    slot->values = zb_import_take(r->im, (from[i]->n_arguments + 1) * sizeof *slot->values);
    if (!slot->name || !slot->values) return ZB_FAIL;
    for (size_t k = 0; k < from[i]->n_arguments; ++k) {
      const char *name = text_of(r, true, from[i]->arguments[k], "the name of a variable");
      if (!name) return ZB_FAIL;
      zb_paddle_value *value = NULL;
      const bool is_absent = !*name || strcmp(name, "@EMPTY@") == 0;
      if (!is_absent && !(value = writer ? write_value(r, name) : read_value(r, name))) return ZB_FAIL;
      if (value && writer) value->producer = writer;
      slot->values[slot->count++] = value;
    }
  }
  return ZB_OK;
}

/* Of 32 bits, as bools are too, or of 64: one of both is NULL. */
static zb_result take_integers(reader *r, zb_paddle_attribute *a, size_t count, const int32_t *small,
                               const int64_t *large) {
  a->kind = ZB_PADDLE_INTEGERS;
  a->integers = zb_import_take(r->im, (count + 1) * sizeof *a->integers);
  for (size_t i = 0; a->integers && i < count; ++i)
    a->integers[a->count++] = small ? small[i] : large[i];
  return a->integers ? ZB_OK : ZB_FAIL;
}

static zb_result take_reals(reader *r, zb_paddle_attribute *a, size_t count, const float *small, const double *large) {
  a->kind = ZB_PADDLE_REALS;
  a->reals = zb_import_take(r->im, (count + 1) * sizeof *a->reals);
  for (size_t i = 0; a->reals && i < count; ++i)
    a->reals[a->count++] = small ? (double)small[i] : large[i];
  return a->reals ? ZB_OK : ZB_FAIL;
}

static zb_result read_texts(reader *r, const Paddle__Attr *from, zb_paddle_attribute *a) {
  a->kind = ZB_PADDLE_TEXTS;
  a->count = (int)from->n_strings;
  a->texts = zb_import_take(r->im, (from->n_strings + 1) * sizeof *a->texts);
  for (size_t i = 0; a->texts && i < from->n_strings; ++i)
    if (!(a->texts[i] = text_of(r, true, from->strings[i], "an attribute"))) return ZB_FAIL;
  return a->texts ? ZB_OK : ZB_FAIL;
}

static void set_integer(zb_paddle_attribute *a, int64_t value) {
  a->kind = ZB_PADDLE_INTEGER;
  a->integer = value;
}

static void set_real(zb_paddle_attribute *a, double value) {
  a->kind = ZB_PADDLE_REAL;
  a->real = value;
}

static void read_scalar(const Paddle__Scalar *from, zb_paddle_attribute *a) {
  if (!from) return;
  if (from->has_b) set_integer(a, from->b);
  if (from->has_i) set_integer(a, from->i);
  if (from->has_r) set_real(a, from->r);
}

static zb_result read_attribute(reader *r, const Paddle__Attr *from, zb_paddle_attribute *a) {
  enum { INT, FLOAT, STRING, INTS, FLOATS, STRINGS, BOOL, BOOLS, LONG = 9, LONGS = 11, FLOAT64S, FLOAT64 = 15, SCALAR };
  a->name = text_of(r, from->has_name, from->name, "the name of an attribute");
  if (!a->name) return ZB_FAIL;
  switch (from->has_type ? from->type : -1) {
  case INT:
    set_integer(a, from->has_i ? from->i : 0);
    return ZB_OK;
  case LONG:
    set_integer(a, from->has_l ? from->l : 0);
    return ZB_OK;
  case BOOL:
    set_integer(a, from->has_b && from->b);
    return ZB_OK;
  case FLOAT:
    set_real(a, from->has_f ? (double)from->f : 0);
    return ZB_OK;
  case FLOAT64:
    set_real(a, from->has_float64 ? from->float64 : 0);
    return ZB_OK;
  case SCALAR:
    read_scalar(from->scalar, a);
    return ZB_OK;
  case STRING:
    a->kind = ZB_PADDLE_TEXT;
    return (a->text = text_of(r, from->has_s, from->s, a->name)) ? ZB_OK : ZB_FAIL;
  case STRINGS:
    return read_texts(r, from, a);
  case INTS:
    return take_integers(r, a, from->n_ints, from->ints, NULL);
  case LONGS:
    return take_integers(r, a, from->n_longs, NULL, from->longs);
  case BOOLS:
    return take_integers(r, a, from->n_bools, from->bools, NULL);
  case FLOATS:
    return take_reals(r, a, from->n_floats, from->floats, NULL);
  case FLOAT64S:
    return take_reals(r, a, from->n_float64s, NULL, from->float64s);
  default:
    a->kind = ZB_PADDLE_OTHER;
    return ZB_OK;
  }
}

static zb_result read_op(reader *r, const Paddle__Op *from, int number) {
  zb_paddle_op *op = zb_paddle_op_new(r->im, r->program);
  if (!op) return ZB_FAIL;
  op->kind = text_of(r, from->has_type, from->type, "the type of an op");
  op->attributes = zb_import_take(r->im, (from->n_attrs + 1) * sizeof *op->attributes);
  if (!op->kind || !op->attributes) return ZB_FAIL;
  op->number = number;
  for (size_t i = 0; i < from->n_attrs; ++i)
    if (!read_attribute(r, from->attrs[i], &op->attributes[op->attribute_count++])) return ZB_FAIL;
  const zb_paddle_attribute *role = zb_paddle_find(op, "op_role");
  const char *device = zb_paddle_text_in(op, "op_device");
  if (role && role->kind == ZB_PADDLE_INTEGER) op->role = role->integer;
  if (device && *device) op->device = device;
  const bool feeds = strcmp(op->kind, "feed") == 0;
  if (!feeds && !read_slots(r, from->inputs, from->n_inputs, NULL, &op->inputs, &op->input_count)) return ZB_FAIL;
  if (!read_slots(r, from->outputs, from->n_outputs, op, &op->outputs, &op->output_count)) return ZB_FAIL;
  if (!zb_paddle_list_values(r->im, op)) return ZB_FAIL;
  for (int k = 0; k < op->result_count && feeds; ++k) {
    if (!op->results[k]) continue;
    op->results[k]->producer = NULL;
    if (!zb_paddle_add_fed(r->im, r->program, op->results[k])) return ZB_FAIL;
  }
  for (int k = 0; k < op->operand_count && strncmp(op->kind, "fetch", 5) == 0; ++k)
    if (op->operands[k]) op->operands[k]->is_fetched = true;
  op->row = zb_paddle_row_find(op->kind, false);
  return ZB_OK;
}

static zb_result read_block(reader *r) {
  for (size_t i = 0; i < r->block->n_vars; ++i) {
    const char *name = text_of(r, r->block->vars[i]->has_name, r->block->vars[i]->name, "the name of a variable");
    if (!name) return ZB_FAIL;
    if (!zb_map_set(r->vars, name, (int64_t)i)) return zb_import_memory(r->im);
  }
  r->program->op_capacity = r->block->n_ops;
  r->program->ops = zb_import_take(r->im, (r->block->n_ops + 1) * sizeof *r->program->ops);
  if (!r->program->ops) return ZB_FAIL;
  for (size_t i = 0; i < r->block->n_ops; ++i)
    if (!read_op(r, r->block->ops[i], (int)i)) return ZB_FAIL;
  return ZB_OK;
}

zb_result zb_paddle_read_description(zb_import *im, const zb_import_source *file, zb_paddle_program *out) {
  bool refused = false;
  ProtobufCAllocator allocator = {.alloc = zb_import_allocate, .free = zb_import_release, .allocator_data = &refused};
  reader r = {.im = im, .program = out, .vars = zb_arena_map(&im->memory), .latest = zb_arena_map(&im->memory)};
  if (!r.vars || !r.latest) return zb_import_memory(im);
  Paddle__Program *program = paddle__program__unpack(&allocator, file->bytes, file->data);
  zb_result result = ZB_FAIL;
  if (refused) {
    zb_import_memory(im);
  } else if (!program) {
    zb_paddle_damaged(im, out, "a message in it cannot be decoded");
  } else if (program->n_blocks == 0) {
    zb_paddle_damaged(im, out, "it has no block");
  } else {
    r.block = program->blocks[0];
    result = read_block(&r);
  }
  if (program) paddle__program__free_unpacked(program, &allocator);
  return result;
}
