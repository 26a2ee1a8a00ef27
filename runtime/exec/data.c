/* Inputs of micro-batches: see data.h for the rule. Tests: test/runtime/exec/data_test.c. */
#include "runtime/exec/data.h"

#include "runtime/base/digest.h"
#include "runtime/base/mapping.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"
#include "runtime/exec/facts.h"
#include "runtime/exec/data_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What an input gets. */
typedef enum role { ROLE_NONE, ROLE_COUNTER, ROLE_TOKENS, ROLE_SHIFTED } role;

/* How a source is spelled. The longest suffix that matches counts. */
typedef struct format {
  const char *prefix, *suffix;
  int token_bytes;
  const char *hint; /* for a token that the model does not know */
} format;

struct zb_data {
  zb_data_params params;
  role *roles; /* an input of the plan each */
  zb_mapping file;
  const format *format;
  char *path;
  int64_t tokens, rows, length;              /* N, B, T */
  zb_rows arrays;                            /* of a file of arrays; else empty */
  int64_t partial_first, partial_rows, part; /* zb_data_set_partial */
};

static const char hint_text[] =
    "text:FILE makes a token of every byte, 0 to 255: the model needs a vocabulary of 256, or the "
    "data tokens:FILE from its tokenizer";
static const char hint_u16[] =
    "the tokens must come from the tokenizer of the model, two bytes each; for four bytes write "
    "tokens:FILE:u32";
static const char hint_u32[] =
    "the tokens must come from the tokenizer of the model, four bytes each; for two bytes write "
    "tokens:FILE:u16";
static const format formats[] = {
    {"text:", "", 1, hint_text},
    {"tokens:", ":u16", 2, hint_u16},
    {"tokens:", ":u32", 4, hint_u32},
    {"tokens:", "", 2, hint_u16},
};

static const char hint_sources[] = "write text:FILE (bytes as tokens), tokens:FILE[:u16|:u32] (little-endian), or "
                                   "npz:FILE, npy:FILE or safetensors:FILE (an array for each input)";

/* Files of arrays, by their prefixes. */
static const struct {
  const char *prefix;
  zb_arrays_kind kind;
} array_formats[] = {{"npz:", ZB_ARRAYS_NPZ}, {"npy:", ZB_ARRAYS_NPY}, {"safetensors:", ZB_ARRAYS_SAFETENSORS}};

/* "corpus.txt" without text:, "file:corpus.txt", "text:" alone. */
static zb_status unknown_source(const char *option, const char *source) {
  static const char *const kinds[] = {"text", "tokens", "npz", "npy", "safetensors"};
  enum { KINDS = sizeof kinds / sizeof kinds[0] };
  const size_t length = strcspn(source, ":");
  zb_status status = ZB_ERROR(USAGE, "%s: cannot read data from '%s'", option, source);
  if (!source[length] || access(source, F_OK) == 0)
    return zb_status_hint(
        status,
        "write text:%s to make a token of every byte, or tokens:%s for what a tokenizer wrote as 16-bit numbers (:u32 "
        "behind it: 32-bit)",
        source, source);
  char *kind = zb_strdup(source);
  if (!kind) return status;
  kind[length] = '\0';
  bool known = false; /* it is the name that is missing: "tokens::u16" */
  for (int i = 0; i < KINDS; ++i)
    known |= strcmp(kind, kinds[i]) == 0;
  const char *nearest = zb_nearest(kind, kinds, KINDS);
  zb_free(kind);
  if (known || !source[length + 1]) return zb_status_hint(status, "the name of the file is missing: %s", hint_sources);
  if (nearest) return zb_status_hint(status, "did you mean '%s:%s'?", nearest, source + length + 1);
  return zb_status_hint(status, "%s", hint_sources);
}

/* Splits a source into format and path (zb_free). */
static zb_status parse_source(const char *option, const char *source, const format **out_format, char **out_path) {
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; ++i) {
    const format *f = &formats[i];
    size_t prefix = strlen(f->prefix), suffix = strlen(f->suffix);
    if (strncmp(source, f->prefix, prefix) != 0 || !zb_ends_with(source + prefix, f->suffix)) continue;
    size_t length = strlen(source) - prefix - suffix;
    if (length == 0) break;
    char *path = zb_strdup(source + prefix);
    if (!path) return ZB_OUT_OF_MEMORY();
    path[length] = '\0';
    *out_format = f;
    *out_path = path;
    return NULL;
  }
  return unknown_source(option, source);
}

/* What follows the last colon, where it looks like a kind of number ("u8", "int32") or what is before it is a file.
 * NULL: it is all a name. */
static const char *find_kind(const char *path) {
  const char *colon = strrchr(path, ':');
  if (!colon || colon == path || access(path, F_OK) == 0) return NULL;
  const char *digits = colon + 1 + strspn(colon + 1, "uintlfoabUINTF");
  const bool number = digits > colon + 1 && *digits && !digits[strspn(digits, "0123456789")];
  char *before = zb_strdup(path);
  if (!before) return NULL;
  before[colon - path] = '\0';
  const bool file = access(before, F_OK) == 0;
  zb_free(before);
  return number || file ? colon + 1 : NULL;
}

static zb_status check_kind(const char *option, const format *f, const char *path) {
  const char *kind = find_kind(path);
  if (!kind) return NULL;
  const int name = (int)(kind - 1 - path);
  if (f->token_bytes == 1)
    return zb_status_hint(ZB_ERROR(USAGE, "%s: text has no '%s': its tokens are the bytes of the file", option, kind),
                          "write text:%.*s, or tokens:%.*s:u16 for what a tokenizer wrote", name, path, name, path);
  return zb_status_hint(
      ZB_ERROR(USAGE, "%s: tokens cannot be read as '%s'", option, kind),
      "write tokens:%.*s:u16 or :u32 (little-endian, without a header); text:%.*s makes a token of every byte", name,
      path, name, path);
}

static bool is_integer(const zb_plan_input *input) {
  return input->shape.dtype == ZB_I64 || input->shape.dtype == ZB_I32;
}

bool zb_data_has_counter(const zb_plan *plan) {
  for (int i = 0; i < plan->input_count; ++i)
    if (zb_data_is_counter(&plan->inputs[i])) return true;
  return false;
}

const zb_plan_input *zb_data_first_input(const zb_plan *plan) {
  for (int i = 0; i < plan->input_count; ++i)
    if (!zb_data_is_counter(&plan->inputs[i])) return &plan->inputs[i];
  return NULL;
}

static zb_status find_counter(zb_data *data) {
  const zb_plan *plan = data->params.plan;
  const zb_shape expected = {.dtype = ZB_I64, .rank = 1, .dims = {ZB_COUNTER_WORDS}};
  char shape[96], wanted[96];
  for (int i = 0; i < plan->input_count; ++i) {
    if (!zb_data_is_counter(&plan->inputs[i])) continue;
    if (!zb_shape_equal(&plan->inputs[i].shape, &expected))
      return zb_status_hint(ZB_ERROR(INVALID, "the input '%s' is %s, expected %s", plan->inputs[i].name,
                                     zb_shape_text(&plan->inputs[i].shape, shape), zb_shape_text(&expected, wanted)),
                            "an input of this name is the counter of random numbers, which zb-run fills");
    data->roles[i] = ROLE_COUNTER;
  }
  return NULL;
}

/* The integer input called `name`; else the first that is neither `taken` nor called `reserved`; -1 if none. */
static int find_input(const zb_plan *plan, const char *name, const char *reserved, int taken) {
  int first = -1;
  for (int i = 0; i < plan->input_count; ++i) {
    if (i == taken || !is_integer(&plan->inputs[i]) || zb_data_is_counter(&plan->inputs[i])) continue;
    if (strcmp(plan->inputs[i].name, name) == 0) return i;
    if (first < 0 && strcmp(plan->inputs[i].name, reserved) != 0) first = i;
  }
  return first;
}

static zb_status unsupported(const zb_plan_input *input, const char *why) {
  char shape[96];
  return zb_status_hint(ZB_ERROR(INVALID, "the input '%s' (%s) cannot be filled from text or tokens: %s", input->name,
                                 zb_shape_text(&input->shape, shape), why),
                        "supported are two inputs of shape [rows, tokens] and type i64 or i32: 'x' (or the first) gets "
                        "the tokens, 'y' (or the second) "
                        "the tokens shifted by one; other inputs come as arrays, from npz:FILE or safetensors:FILE");
}

static zb_status assign_roles(zb_data *data) {
  const zb_plan *plan = data->params.plan;
  int tokens = find_input(plan, "x", "y", -1), shifted = find_input(plan, "y", "x", tokens);
  if (tokens >= 0) data->roles[tokens] = ROLE_TOKENS;
  if (shifted >= 0) data->roles[shifted] = ROLE_SHIFTED;
  for (int i = 0; i < plan->input_count; ++i) {
    const zb_plan_input *input = &plan->inputs[i];
    if (data->roles[i] == ROLE_COUNTER) continue;
    if (!is_integer(input)) return unsupported(input, "it is no integer input");
    if (data->roles[i] == ROLE_NONE) return unsupported(input, "there are two already");
    if (input->shape.rank != 2) return unsupported(input, "its shape is not [rows, tokens]");
    if (input->shape.dims[0] < 1 || input->shape.dims[1] < 1) return unsupported(input, "it is empty");
    if (data->rows > 0 && (input->shape.dims[0] != data->rows || input->shape.dims[1] != data->length))
      return unsupported(input, "its shape differs from that of the first input");
    data->rows = input->shape.dims[0];
    data->length = input->shape.dims[1];
  }
  return NULL;
}

static zb_status open_corpus(zb_data *data) {
  const format *f = NULL;
  const char *option = data->params.option ? data->params.option : "--data";
  ZB_TRY(parse_source(option, data->params.source, &f, &data->path));
  ZB_TRY(check_kind(option, f, data->path));
  const char *path = data->path;
  ZB_TRY(zb_mapping_open("the data file", path, &data->file));
  data->format = f;
  if (data->file.count % (uint64_t)f->token_bytes != 0)
    return zb_status_hint(ZB_ERROR(INVALID, "'%s' has %llu bytes, which is no whole number of tokens of %d bytes", path,
                                   (unsigned long long)data->file.count, f->token_bytes),
                          "%s", hint_sources);
  data->tokens = (int64_t)(data->file.count / (uint64_t)f->token_bytes);
  if (!zb_data_first_input(data->params.plan) || data->tokens >= data->length + 2) return NULL;
  return zb_status_hint(ZB_ERROR(INVALID, "'%s' holds %lld tokens, but one row of the model needs %lld", path,
                                 (long long)data->tokens, (long long)data->length + 2),
                        "give a longer file");
}

/* Of a source that is a file of arrays; of others nothing. */
static zb_status open_arrays(zb_data *data) {
  const char *source = data->params.source, *option = data->params.option ? data->params.option : "--data";
  for (size_t i = 0; i < sizeof array_formats / sizeof array_formats[0]; ++i) {
    const size_t prefix = strlen(array_formats[i].prefix);
    if (strncmp(source, array_formats[i].prefix, prefix) != 0 || !source[prefix]) continue;
    data->path = zb_strdup(source + prefix);
    if (!data->path) return ZB_OUT_OF_MEMORY();
    return zb_rows_open(&data->arrays, array_formats[i].kind, data->path, data->params.plan, option,
                        data->params.shuffle, data->params.all_rows);
  }
  return NULL;
}

zb_status zb_data_create(const zb_data_params *params, zb_data **out) {
  *out = NULL;
  zb_status status = NULL;
  const zb_plan *plan = params->plan;
  const zb_plan_input *first = zb_data_first_input(plan);
  zb_data *data = zb_alloc(sizeof *data);
  if (!data) return ZB_OUT_OF_MEMORY();
  data->params = *params;
  data->roles = zb_alloc(sizeof(role) * (size_t)(plan->input_count + 1));
  if (!data->roles) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  ZB_TRY_GOTO(find_counter(data));
  if (params->source) ZB_TRY_GOTO(open_arrays(data));
  if (params->shuffle && !data->arrays.of) {
    status = zb_status_hint(ZB_ERROR(USAGE, "--shuffle has no effect: rows of this data have no order of their own"),
                            "npz:FILE, npy:FILE and safetensors:FILE are shuffled");
    goto cleanup;
  }
  if (data->arrays.of) {
    data->rows = data->arrays.at_once;
  } else if (params->source) {
    ZB_TRY_GOTO(assign_roles(data));
    ZB_TRY_GOTO(open_corpus(data));
  } else if (!params->input && first) {
    status = zb_status_hint(ZB_ERROR(USAGE, "the model reads the input '%s', but no data is given", first->name),
                            "pass --data: %s", hint_sources);
    goto cleanup;
  }
  *out = data;
cleanup:
  if (status) zb_data_destroy(data);
  return status;
}

void zb_data_destroy(zb_data *data) {
  if (!data) return;
  zb_mapping_close(&data->file);
  zb_rows_close(&data->arrays);
  zb_free(data->path);
  zb_free(data->roles);
  zb_free(data);
}

static int64_t token_at(const zb_data *data, int64_t index) {
  const uint8_t *at = (const uint8_t *)data->file.bytes + (uint64_t)index * (uint64_t)data->format->token_bytes;
  uint32_t value = 0;
  for (int k = 0; k < data->format->token_bytes; ++k)
    value |= (uint32_t)at[k] << (8 * k);
  return (int64_t)value;
}

/* How many rows are taken before this one. */
static int64_t row_index(const zb_data *data, int64_t step, int micro_batch, int64_t row) {
  const int64_t batch = (step - data->params.first_step) * data->params.plan->micro_batches + micro_batch;
  return data->params.first_row + batch * data->rows + row;
}

/* The first row of a micro-batch, and how many follow it before they come again. */
static int64_t first_row(const zb_data *data, int64_t step, int micro_batch, int64_t *out_count) {
  *out_count = data->rows;
  if (data->partial_rows == 0) return row_index(data, step, micro_batch, 0);
  zb_batch_share share = zb_batch_share_of(data->partial_rows, data->rows, data->part + micro_batch);
  if (share.rows == 0) share = zb_batch_share_of(data->partial_rows, data->rows, 0);
  *out_count = share.rows;
  return data->partial_first + share.first;
}

/* Where in the corpus an input's row begins. */
static int64_t row_start(const zb_data *data, int input, int64_t step, int micro_batch, int64_t row) {
  int64_t count = 0;
  const int64_t first = first_row(data, step, micro_batch, &count), index = first + row % count;
  uint64_t starts = (uint64_t)(data->tokens - data->length - 1);
  int64_t start = (int64_t)((uint64_t)index % starts * (uint64_t)data->length % starts);
  return start + (data->roles[input] == ROLE_SHIFTED ? 1 : 0);
}

static zb_status fill_counter(const zb_data *data, int64_t step, int micro_batch, int64_t *to) {
  if (step >> ZB_RANDOM_STEP_BITS != 0 || micro_batch >> ZB_RANDOM_MICRO_BATCH_BITS != 0)
    return ZB_ERROR(RUNTIME, "step %lld, micro-batch %d: random numbers are drawn for 2^%d steps of 2^%d micro-batches",
                    (long long)step + 1, micro_batch, ZB_RANDOM_STEP_BITS, ZB_RANDOM_MICRO_BATCH_BITS);
  memset(to, 0, sizeof *to * ZB_COUNTER_WORDS);
  to[ZB_COUNTER_SEED] = (int64_t)data->params.random_seed;
  to[ZB_COUNTER_STEP] = step;
  to[ZB_COUNTER_MICRO_BATCH] = micro_batch;
  return NULL;
}

static zb_status read_tokens(const zb_data *data, int input, int64_t step, int micro_batch, void *to) {
  const zb_plan_input *spec = &data->params.plan->inputs[input];
  bool wide = spec->shape.dtype == ZB_I64;
  int64_t *wide_out = to;
  int32_t *narrow_out = to;
  for (int64_t row = 0; row < data->rows; ++row) {
    int64_t start = row_start(data, input, step, micro_batch, row);
    for (int64_t t = 0; t < data->length; ++t) {
      int64_t token = token_at(data, start + t);
      if (wide)
        wide_out[row * data->length + t] = token;
      else if (token > INT32_MAX)
        return zb_status_hint(ZB_ERROR(INVALID, "the token %lld at place %lld of '%s' does not fit the i32 input '%s'",
                                       (long long)token, (long long)(start + t), data->path, spec->name),
                              "%s", data->format->hint);
      else
        narrow_out[row * data->length + t] = (int32_t)token;
    }
  }
  return NULL;
}

zb_status zb_data_read(const zb_data *data, int input, int64_t step, int micro_batch, void *to) {
  const zb_plan_input *spec = &data->params.plan->inputs[input];
  if (data->roles[input] == ROLE_COUNTER) return fill_counter(data, step, micro_batch, to);
  if (!data->params.source)
    return data->params.input(data->params.input_context, spec->name, step, (int)data->part + micro_batch, to,
                              (uint64_t)zb_shape_bytes(&spec->shape));
  zb_status status = NULL;
  int64_t count = 0;
  const int64_t first = data->arrays.of ? first_row(data, step, micro_batch, &count) : 0;
  if (data->arrays.of)
    zb_rows_read(&data->arrays, input, first, count, to);
  else
    status = read_tokens(data, input, step, micro_batch, to);
  zb_status changed = data->arrays.of ? zb_arrays_check(&data->arrays.arrays) : zb_mapping_check(&data->file);
  if (changed) changed = zb_status_note(changed, "reading '%s' of micro-batch %d", spec->name, micro_batch);
  return zb_status_first((zb_status[]){changed, status}, 2);
}

static bool blame_arrays(const zb_data *data, int64_t step, int micro_batch, const zb_kernel_fault *fault,
                         zb_status *status) {
  int64_t row = 0, count = 0;
  const int64_t first = first_row(data, step, micro_batch, &count);
  for (int input = 0; input < data->params.plan->input_count; ++input) {
    if (!zb_rows_find(&data->arrays, input, first, count, fault->value, &row)) continue;
    *status =
        zb_status_note(*status, "%lld stands in row %lld (from 0) of the array '%s' in '%s'", (long long)fault->value,
                       (long long)row, data->params.plan->inputs[input].name, data->path);
    return true;
  }
  return false;
}

/* Whether the micro-batch holds the value; the status then says where. */
static bool blame_micro_batch(const zb_data *data, int64_t step, int micro_batch, const zb_kernel_fault *fault,
                              zb_status *status) {
  for (int input = 0; input < data->params.plan->input_count; ++input) {
    for (int64_t row = 0; row < data->rows && data->roles[input] != ROLE_COUNTER; ++row) {
      int64_t start = row_start(data, input, step, micro_batch, row);
      for (int64_t t = 0; t < data->length; ++t) {
        if (token_at(data, start + t) != fault->value) continue;
        *status = zb_status_note(
            *status, "the token %lld stands at place %lld (from 0) of '%s': input '%s', row %lld, position %lld",
            (long long)fault->value, (long long)(start + t), data->path, data->params.plan->inputs[input].name,
            (long long)row, (long long)t);
        *status = zb_status_hint(*status, "%s", data->format->hint);
        return true;
      }
    }
  }
  return false;
}

zb_status zb_data_blame(const zb_data *data, int64_t step, int micro_batch, const zb_kernel_fault *fault,
                        zb_status status) {
  if (!data || !data->params.source) return status;
  int first = micro_batch == ZB_DATA_ANY ? 0 : micro_batch;
  int last = micro_batch == ZB_DATA_ANY ? data->params.plan->micro_batches - 1 : micro_batch;
  for (int i = first; i >= 0 && i <= last; ++i)
    if ((data->arrays.of ? blame_arrays : blame_micro_batch)(data, step, i, fault, &status)) break;
  return status;
}

void zb_data_describe(const zb_data *data, char *text, size_t size) {
  if (!data || !data->params.source)
    snprintf(text, size, data ? "given by a function" : "not read");
  else if (data->arrays.of)
    snprintf(text, size, "%" PRId64 " rows, digest %016" PRIx64, data->arrays.rows,
             zb_sample_store(data->arrays.arrays.store));
  else
    snprintf(text, size, "%" PRIu64 " bytes, %d a token, digest %016" PRIx64, data->file.count,
             data->format->token_bytes, zb_sample_bytes(data->file.bytes, data->file.count));
}

int64_t zb_data_rows(const zb_data *data) {
  if (data->arrays.of) return data->arrays.rows;
  if (!data->params.source || data->length < 1) return 0;
  const int64_t starts = data->tokens - data->length - 1;
  return (starts + data->length - 1) / data->length;
}

int64_t zb_data_left_out(const zb_data *data) { return data->arrays.rows - data->arrays.epoch_rows; }

void zb_data_set_partial(zb_data *data, int64_t first, int64_t rows, int64_t part) {
  data->partial_first = first;
  data->partial_rows = rows;
  data->part = part;
}

int64_t zb_data_rows_at_once(const zb_data *data) { return data->rows; }

int64_t zb_data_position(const zb_data *data, int64_t steps) {
  if (!data->params.source) return 0;
  return data->params.first_row + (steps - data->params.first_step) * data->params.plan->micro_batches * data->rows;
}
