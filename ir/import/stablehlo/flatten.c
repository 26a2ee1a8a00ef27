/* @main as one list of nodes: private functions are inlined where they are called, loops with a constant number of
 * rounds are unrolled, and each op gets the module path that its location has:
 *
 *   "dot_general:" over "jit(step)/jvp(GPT)/block0/fc1"    becomes    GPT.block0.fc1 (dot_general)
 *
 * MLIR's inliner leaves ops of unregistered dialects alone. Tests: test/ir/import/stablehlo. */
#include "ir/import/stablehlo/stablehlo.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <string.h>

/* What a small file can ask for: nodes, ops that are walked, calls within calls, steps of an index back. */
enum { NODES_MAX = 1 << 18, POSITIONS_MAX = 1 << 22, DEPTH_MAX = 64, INDEX_DEPTH_MAX = 256 };

/* ---- Module paths ---- */

/* The name of a location and what it is a name of; {NULL}: it is none. */
static MlirStringRef take_name(MlirLocation *location) {
  if (!mlirLocationIsAName(*location)) return (MlirStringRef){NULL, 0};
  MlirStringRef name = mlirIdentifierStr(mlirLocationNameGetName(*location));
  *location = mlirLocationNameGetChildLoc(*location);
  return name;
}

/* Adds a part of a scope: jvp(GPT) and transpose(jvp(GPT)) are GPT; jit(...) is no module. */
static void add_part(zb_text *path, const char *part, size_t length) {
  static const char *const wrappers[] = {"transpose(", "jvp(", "vmap(", "remat("};
  enum { WRAPPERS = sizeof wrappers / sizeof *wrappers };
  for (size_t i = 0; i < WRAPPERS; ++i) {
    const size_t begin = strlen(wrappers[i]);
    if (length <= begin || part[length - 1] != ')' || memcmp(part, wrappers[i], begin) != 0) continue;
    part += begin;
    length -= begin + 1;
    i = SIZE_MAX; /* from the first again */
  }
  for (size_t i = 0; i < length; ++i)
    if (strchr("(,>|", part[i])) return; /* jit(f), and equations of einsum */
  if (length == 0) return;
  zb_text_add(path, "%s%.*s", path->length ? "." : "", (int)length, part);
}

/* The parts of a scope between slashes outside of parentheses. */
static void add_parts(zb_text *path, const char *scope, size_t length) {
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= length; ++i) {
    if (i < length && scope[i] == '(') ++depth;
    if (i < length && scope[i] == ')') --depth;
    if (i < length && (scope[i] != '/' || depth > 0)) continue;
    add_part(path, scope + begin, i - begin);
    begin = i + 1;
  }
}

/* Where the text has the op: "dot_general:148". */
static const char *name_by_line(zb_import *im, const zb_import_node *n, MlirLocation location) {
  char text[128];
  const char *dot = strchr(n->kind, '.');
  const int line = mlirLocationIsAFileLineColRange(location) ? mlirLocationFileLineColRangeGetStartLine(location) : 0;
  const int length = snprintf(text, sizeof text, line ? "%.80s:%d" : "%.80s", dot ? dot + 1 : n->kind, line);
  return zb_import_take_text(im, text, (size_t)length);
}

/* Sets path, name and location of a node. Names lie over each other: that of a primitive ends in a colon or has no
 * slash, the others are scopes. */
static zb_result place_node(zb_stablehlo *it, zb_import_node *n, MlirLocation location) {
  zb_import *im = &it->core;
  zb_text path = {0}, whole = {0};
  for (MlirStringRef name = take_name(&location); name.data; name = take_name(&location)) {
    const bool has_colon = name.length > 0 && name.data[name.length - 1] == ':';
    if (!has_colon && memchr(name.data, '/', name.length))
      add_parts(&path, name.data, name.length);
    else if (!n->name && !memchr(name.data, '(', name.length))
      n->name = zb_import_take_text(im, name.data, name.length - has_colon);
  }
  if (!n->name) n->name = name_by_line(im, n, location);
  if (!mlirLocationIsAFileLineColRange(location)) location = zb_import_file_location(im);
  if (!path.length && it->path) zb_text_add(&path, "%s", it->path);
  n->path = path.length ? zb_import_take_text(im, path.data, path.length) : NULL;
  zb_text_add(&whole, n->path ? "%s (%s)" : "%s%s", n->path ? n->path : "", n->name ? n->name : "");
  const bool failed = path.failed || whole.failed || !n->name || (path.length && !n->path);
  if (!failed) n->location = mlirLocationNameGet(im->context, mlirStringRefCreate(whole.data, whole.length), location);
  zb_text_deinit(&path);
  zb_text_deinit(&whole);
  return failed ? zb_import_memory(im) : ZB_OK;
}

/* ---- Values ---- */

static zb_result refuse_at(zb_stablehlo *it, MlirOperation op, const char *hint, const char *format, ...)
    ZB_PRINTF(4, 5);

static zb_result refuse_at(zb_stablehlo *it, MlirOperation op, const char *hint, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  it->core.failed = true;
  return zb_location_error(mlirOperationGetLocation(op), hint, "%s: %s",
                           mlirIdentifierStr(mlirOperationGetName(op)).data, text);
}

static zb_result bind(zb_stablehlo *it, MlirValue value, const zb_import_value *to) {
  return zb_map_set(it->values, value.ptr, (int64_t)to->number) ? ZB_OK : zb_import_memory(&it->core);
}

/* NULL after reporting. */
static zb_import_value *look_up(zb_stablehlo *it, MlirOperation op, intptr_t operand) {
  const int64_t number = zb_map_get_or(it->values, mlirOperationGetOperand(op, operand).ptr, -1);
  if (number >= 0) return it->core.values[number];
  refuse_at(it, op, NULL, "operand %d is not known here", (int)operand);
  return NULL;
}

static zb_result add_node(zb_stablehlo *it, MlirOperation op) {
  zb_import *im = &it->core;
  bool is_chlo;
  const char *kind = zb_stablehlo_kind(op, &is_chlo);
  if (im->node_count >= NODES_MAX)
    return refuse_at(it, op, "write loops over layers so that they have fewer rounds",
                     "with loops unrolled and functions inlined there are more than %d ops", NODES_MAX);
  if (!zb_arena_grow(&im->memory, (void **)&im->nodes, &it->capacity, im->node_count + 1, sizeof *im->nodes))
    return zb_import_memory(im);
  zb_import_node *n = &im->nodes[im->node_count];
  *n = (zb_import_node){.im = im,
                        .b = &im->builder,
                        .kind = mlirIdentifierStr(mlirOperationGetName(op)).data,
                        .op = kind ? zb_stablehlo_op_find(kind, is_chlo) : NULL,
                        .input_count = (int)mlirOperationGetNumOperands(op),
                        .output_count = (int)mlirOperationGetNumResults(op),
                        .source = op.ptr};
  n->gradient = n->op ? n->op->gradient : 0;
  n->inputs = zb_import_take(im, (size_t)n->input_count * sizeof *n->inputs + 1);
  n->outputs = zb_import_take(im, (size_t)n->output_count * sizeof *n->outputs + 1);
  if (!n->inputs || !n->outputs || !place_node(it, n, mlirOperationGetLocation(op))) return ZB_FAIL;
  for (int i = 0; i < n->input_count; ++i)
    if (!(n->inputs[i] = look_up(it, op, i))) return ZB_FAIL;
  for (int i = 0; i < n->output_count; ++i) {
    n->outputs[i] = zb_import_value_new(im, "", ZB_VALUE_NODE);
    if (!n->outputs[i]) return ZB_FAIL;
    n->outputs[i]->index = im->node_count; /* nodes still move */
    if (!bind(it, mlirOperationGetResult(op, i), n->outputs[i])) return ZB_FAIL;
  }
  ++im->node_count;
  return ZB_OK;
}

/* ---- Blocks ---- */

static zb_result flatten_op(zb_stablehlo *it, MlirOperation op, int depth);

/* The only block of a region; {NULL}: there is not one. */
static MlirBlock only_block(MlirOperation op, intptr_t region) {
  if (region >= mlirOperationGetNumRegions(op)) return (MlirBlock){NULL};
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
  if (mlirBlockIsNull(block) || !mlirBlockIsNull(mlirBlockGetNextInRegion(block))) return (MlirBlock){NULL};
  return block;
}

/* Walks a block whose arguments get these values, and sets what its last op returns. */
static zb_result flatten_block(zb_stablehlo *it, MlirOperation owner, MlirBlock block,
                               zb_import_value *const *arguments, intptr_t count, zb_import_value **returned,
                               intptr_t returned_count, int depth) {
  if (depth > DEPTH_MAX) return refuse_at(it, owner, NULL, "calls and loops are nested more than %d deep", DEPTH_MAX);
  if (mlirBlockGetNumArguments(block) != count)
    return refuse_at(it, owner, NULL, "%d values are given for %d arguments", (int)count,
                     (int)mlirBlockGetNumArguments(block));
  for (intptr_t i = 0; i < count; ++i) {
    if (!bind(it, mlirBlockGetArgument(block, i), arguments[i])) return ZB_FAIL;
  }
  MlirOperation last = {NULL};
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    if (++it->positions > POSITIONS_MAX) return refuse_at(it, op, NULL, "loops do not end");
    last = op;
    if (zb_op_is(op, "func.return") || zb_op_is(op, "stablehlo.return")) break;
    if (!flatten_op(it, op, depth)) return ZB_FAIL;
  }
  if (!last.ptr || !(zb_op_is(last, "func.return") || zb_op_is(last, "stablehlo.return")) ||
      mlirOperationGetNumOperands(last) != returned_count)
    return refuse_at(it, last.ptr ? last : owner, NULL, "expected a return of %d values", (int)returned_count);
  for (intptr_t i = 0; i < returned_count; ++i)
    if (!(returned[i] = look_up(it, last, i))) return ZB_FAIL;
  return ZB_OK;
}

static zb_import_value **take_values(zb_stablehlo *it, intptr_t count) {
  return zb_import_take(&it->core, ((size_t)count + 1) * sizeof(zb_import_value *));
}

static zb_result bind_results(zb_stablehlo *it, MlirOperation op, zb_import_value *const *values) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (!bind(it, mlirOperationGetResult(op, i), values[i])) return ZB_FAIL;
  return ZB_OK;
}

/* What is called at a place has its module path, where its own ops have none. */
static zb_result enter_path(zb_stablehlo *it, MlirLocation location) {
  zb_import_node call = {.kind = "call"};
  if (!place_node(it, &call, location)) return ZB_FAIL;
  it->path = call.path ? call.path : it->path;
  return ZB_OK;
}

/* A call, or a composite op, whose decomposition is a function. */
static zb_result flatten_call(zb_stablehlo *it, MlirOperation op, const char *attribute, int depth) {
  char name[256];
  if (!zb_stablehlo_string(op, attribute, name, sizeof name)) return refuse_at(it, op, NULL, "it names no function");
  MlirOperation callee = zb_stablehlo_function(it, name);
  MlirBlock block = callee.ptr ? only_block(callee, 0) : (MlirBlock){NULL};
  if (mlirBlockIsNull(block)) return refuse_at(it, op, NULL, "the module has no function @%s of one block", name);
  const intptr_t inputs = mlirOperationGetNumOperands(op), results = mlirOperationGetNumResults(op);
  zb_import_value **arguments = take_values(it, inputs), **returned = take_values(it, results);
  if (!arguments || !returned) return ZB_FAIL;
  for (intptr_t i = 0; i < inputs; ++i)
    if (!(arguments[i] = look_up(it, op, i))) return ZB_FAIL;
  const char *outside = it->path;
  if (!enter_path(it, mlirOperationGetLocation(op))) return ZB_FAIL;
  if (!flatten_block(it, op, block, arguments, inputs, returned, results, depth + 1)) return ZB_FAIL;
  it->path = outside;
  return bind_results(it, op, returned);
}

/* ---- Loops ---- */

/* The integer that a value is, where that is known: loop counters and their bounds. */
static bool integer_of(zb_stablehlo *it, const zb_import_value *value, int depth, int64_t *out);

static bool compare_integers(MlirOperation op, int64_t a, int64_t b, int64_t *out) {
  char direction[16] = "";
  zb_stablehlo_word(op, "comparison_direction", direction, sizeof direction);
  const bool equal = a == b, less = a < b;
  *out = strcmp(direction, "EQ") == 0   ? equal
         : strcmp(direction, "NE") == 0 ? !equal
         : strcmp(direction, "LT") == 0 ? less
         : strcmp(direction, "LE") == 0 ? less || equal
         : strcmp(direction, "GT") == 0 ? !less && !equal
         : strcmp(direction, "GE") == 0 ? !less
                                        : -1;
  return *out >= 0;
}

static bool constant_integer(MlirOperation op, int64_t *out) {
  int64_t room;
  zb_known one = {.data = &room};
  if (!zb_stablehlo_number(op, &one) || zb_known_is_float(&one)) return false;
  return *out = zb_known_integer(&one, 0), true;
}

/* The op applied to up to three integers. */
static bool apply_integers(const zb_import_node *n, const char *kind, const int64_t *in, int64_t *out) {
  MlirOperation op = zb_stablehlo_source(n);
  if (strcmp(kind, "constant") == 0) return constant_integer(op, out);
  if (strcmp(kind, "convert") == 0 || strcmp(kind, "reshape") == 0) return *out = in[0], n->input_count == 1;
  if (strcmp(kind, "select") == 0) return *out = in[0] ? in[1] : in[2], n->input_count == 3;
  if (n->input_count != 2) return false;
  if (strcmp(kind, "compare") == 0) return compare_integers(op, in[0], in[1], out);
  if (strcmp(kind, "add") == 0) return !__builtin_add_overflow(in[0], in[1], out);
  if (strcmp(kind, "subtract") == 0) return !__builtin_sub_overflow(in[0], in[1], out);
  if (strcmp(kind, "multiply") == 0) return !__builtin_mul_overflow(in[0], in[1], out);
  if (strcmp(kind, "and") == 0) return *out = in[0] & in[1], true;
  if (strcmp(kind, "minimum") == 0) return *out = in[0] < in[1] ? in[0] : in[1], true;
  if (strcmp(kind, "maximum") == 0) return *out = in[0] > in[1] ? in[0] : in[1], true;
  return false;
}

static bool integer_of(zb_stablehlo *it, const zb_import_value *value, int depth, int64_t *out) {
  if (value->kind != ZB_VALUE_NODE || depth > INDEX_DEPTH_MAX) return false;
  if (zb_map_get(it->integers, value, out)) return true;
  const zb_import_node *n = &it->core.nodes[value->index];
  int64_t in[3] = {0};
  bool is_chlo;
  zb_shape shape;
  const char *kind = zb_stablehlo_kind(zb_stablehlo_source(n), &is_chlo);
  if (!kind || is_chlo || n->input_count > 3 || n->output_count != 1) return false;
  if (!zb_stablehlo_shape(mlirValueGetType(mlirOperationGetResult(zb_stablehlo_source(n), 0)), &shape)) return false;
  if (zb_shape_elements(&shape) != 1 || shape.dtype == ZB_F32) return false;
  for (int i = 0; i < n->input_count; ++i)
    if (!integer_of(it, n->inputs[i], depth + 1, &in[i])) return false;
  return apply_integers(n, kind, in, out) && (zb_map_set(it->integers, value, *out) || zb_import_memory(&it->core));
}

/* The values that are carried from round to round; the first region says whether there is another one. */
static zb_result flatten_while(zb_stablehlo *it, MlirOperation op, int depth) {
  const intptr_t count = mlirOperationGetNumOperands(op);
  MlirBlock condition = only_block(op, 0), body = only_block(op, 1);
  zb_import_value **carried = take_values(it, count), **next = take_values(it, count), *again = NULL;
  if (!carried || !next) return ZB_FAIL;
  if (mlirBlockIsNull(condition) || mlirBlockIsNull(body) || mlirOperationGetNumResults(op) != count)
    return refuse_at(it, op, NULL, "expected a condition and a body, each of one block");
  for (intptr_t i = 0; i < count; ++i)
    if (!(carried[i] = look_up(it, op, i))) return ZB_FAIL;
  for (;;) {
    int64_t goes_on = 0;
    if (!flatten_block(it, op, condition, carried, count, &again, 1, depth + 1)) return ZB_FAIL;
    if (!integer_of(it, again, 0, &goes_on))
      return refuse_at(it, op, "write it with lax.scan or lax.fori_loop and bounds that are Python numbers",
                       "the number of rounds is not known while importing");
    if (!goes_on) return bind_results(it, op, carried);
    if (!flatten_block(it, op, body, carried, count, next, count, depth + 1)) return ZB_FAIL;
    memcpy(carried, next, (size_t)count * sizeof *carried);
  }
}

static zb_result flatten_op(zb_stablehlo *it, MlirOperation op, int depth) {
  if (zb_op_is(op, "func.call") || zb_op_is(op, "stablehlo.call")) return flatten_call(it, op, "callee", depth);
  if (zb_op_is(op, "stablehlo.composite")) return flatten_call(it, op, "decomposition", depth);
  if (zb_op_is(op, "stablehlo.while")) return flatten_while(it, op, depth);
  return add_node(it, op);
}

zb_result zb_stablehlo_flatten(zb_stablehlo *it) {
  zb_import *im = &it->core;
  it->values = zb_arena_map_pointer(&im->memory);
  it->integers = zb_arena_map_pointer(&im->memory);
  zb_import_value **arguments = take_values(it, it->argument_count), **returned = take_values(it, it->results.count);
  MlirBlock block = only_block(it->main, 0);
  if (!it->values || !it->integers || !arguments || !returned) return zb_import_memory(im);
  if (mlirBlockIsNull(block)) return refuse_at(it, it->main, NULL, "expected a function of one block");
  for (int i = 0; i < it->argument_count; ++i) {
    it->arguments[i].value = arguments[i] = zb_import_value_new(im, "", ZB_VALUE_INPUT);
    if (!arguments[i]) return ZB_FAIL;
    arguments[i]->index = (size_t)i;
  }
  if (!flatten_block(it, it->main, block, arguments, it->argument_count, returned, it->results.count, 0))
    return ZB_FAIL;
  for (int i = 0; i < it->results.count; ++i)
    it->results.items[i].value = returned[i];
  for (size_t i = 0; i < im->value_count; ++i)
    if (im->values[i]->kind == ZB_VALUE_NODE) im->values[i]->producer = &im->nodes[im->values[i]->index];
  return ZB_OK;
}
