/* convolution, with any order of dimensions, groups of features and of the batch, and dilation of both operands.
 *
 * A dilated image (lhs_dilation) is what a transposed convolution by the reversed kernel reads: no zeros are put
 * between its elements. Tests: test/ir/import/stablehlo, test/e2e/windows.py. */
#include "ir/import/meaning/spatial.h"
#include "ir/import/stablehlo/stablehlo.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

/* Where the two dimensions that are not spatial and the spatial ones lie in an operand, as zb.conv has them. */
typedef struct order {
  int64_t places[ZB_SPATIAL_MAX + 2];
} order;

/* "[b, 0, 1, f]": which entry is `first`, `second`, 0, 1, ..; *at moves behind it. */
static bool read_order(const char **at, char first, char second, int rank, order *out) {
  const char *text = strchr(*at, '[');
  bool seen[ZB_SPATIAL_MAX + 2] = {false};
  if (!text) return false;
  ++text;
  for (int i = 0; i < rank + 2; ++i) {
    text += strspn(text, " ,");
    const int place = *text == first                       ? 0
                      : *text == second                    ? 1
                      : *text >= '0' && *text < '0' + rank ? *text - '0' + 2
                                                           : -1;
    if (place < 0 || seen[place]) return false;
    seen[place] = true;
    out->places[place] = i;
    ++text;
  }
  text += strspn(text, " ");
  *at = text + 1;
  return *text == ']';
}

typedef struct convolution {
  zb_spatial s;
  int64_t dilated[ZB_SPATIAL_MAX]; /* of the image */
  bool reversed[ZB_SPATIAL_MAX];
  int64_t groups, batches;
  order image, kernel, result;
  zb_shape shapes[3]; /* image, kernel, result */
} convolution;

static bool read_numbers(zb_import_node *n, const char *name, int count, int64_t *out) {
  int64_t numbers[2 * ZB_SPATIAL_MAX];
  int found;
  if (!zb_stablehlo_ints(n, name, true, numbers, 2 * ZB_SPATIAL_MAX, &found)) return false;
  if (found == count) memcpy(out, numbers, (size_t)count * sizeof *out);
  return found == 0 || found == count ||
         zb_import_refuse(n, NULL, "attribute '%s' has %d entries, expected %d", name, found, count);
}

static bool read_reversal(zb_import_node *n, convolution *c) {
  MlirAttribute list = zb_get_attribute(zb_stablehlo_source(n), "window_reversal");
  if (!list.ptr) return true;
  const bool is_array = mlirAttributeIsADenseBoolArray(list);
  if (!is_array && !mlirAttributeIsADenseElements(list))
    return zb_import_refuse(n, NULL, "attribute 'window_reversal' is no list of booleans");
  const int64_t count = is_array ? mlirDenseArrayGetNumElements(list) : mlirElementsAttrGetNumElements(list);
  if (count != c->s.rank)
    return zb_import_refuse(n, NULL, "attribute 'window_reversal' has %lld entries", (long long)count);
  for (int d = 0; d < c->s.rank; ++d)
    c->reversed[d] = is_array ? mlirDenseBoolArrayGetElement(list, d) : mlirDenseElementsAttrGetBoolValue(list, d);
  return true;
}

/* The sizes of the image, the kernel and the result, and all attributes. */
static bool read_convolution(zb_import_node *n, convolution *c) {
  char text[160];
  const char *at = text;
  int64_t pads[2 * ZB_SPATIAL_MAX] = {0};
  *c = (convolution){.groups = 1, .batches = 1};
  if (!zb_import_shape(n, 0, &c->shapes[0]) || !zb_import_shape(n, 1, &c->shapes[1]) ||
      !zb_stablehlo_result_shape(n, 0, &c->shapes[2]) ||
      !zb_spatial_start(n, &c->shapes[0], c->shapes[0].rank - 2, 2, &c->s))
    return false;
  const int rank = c->s.rank;
  if (!zb_stablehlo_text(zb_stablehlo_source(n), "dimension_numbers", text, sizeof text) ||
      !read_order(&at, 'b', 'f', rank, &c->image) || !read_order(&at, 'o', 'i', rank, &c->kernel) ||
      !read_order(&at, 'b', 'f', rank, &c->result) || c->shapes[1].rank != rank + 2 || c->shapes[2].rank != rank + 2)
    return zb_import_refuse(n, "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], in any order",
                            "dimension_numbers are not understood");
  for (int d = 0; d < rank; ++d) {
    c->s.in[d] = c->shapes[0].dims[c->image.places[2 + d]];
    c->s.kernel[d] = c->shapes[1].dims[c->kernel.places[2 + d]];
    c->dilated[d] = 1;
  }
  if (!read_numbers(n, "window_strides", rank, c->s.strides) ||
      !read_numbers(n, "rhs_dilation", rank, c->s.dilations) || !read_numbers(n, "lhs_dilation", rank, c->dilated) ||
      !read_numbers(n, "padding", 2 * rank, pads) || !read_reversal(n, c) ||
      !zb_stablehlo_int(n, "feature_group_count", &c->groups) || !zb_stablehlo_int(n, "batch_group_count", &c->batches))
    return false;
  for (int d = 0; d < rank; ++d) {
    c->s.before[d] = pads[2 * d];
    c->s.after[d] = pads[2 * d + 1];
    c->s.out[d] = c->shapes[2].dims[c->result.places[2 + d]];
  }
  return true;
}

/* x with its dimension `axis`, of `size`, as `parts` and the rest of each, and that of the parts moved to be before
 * dimension `to`, with which it then becomes one again. */
static zb_operand regrouped(zb_import_node *n, zb_operand x, int axis, int64_t parts, int to) {
  zb_shape shape;
  zb_shape apart = {.rank = 0};
  int64_t permutation[ZB_DIMS_MAX];
  if (!zb_operand_shape(n, x, &shape) || shape.rank + 1 > ZB_DIMS_MAX) return NULL;
  for (int i = 0; i < shape.rank; ++i) {
    if (i == axis) apart.dims[apart.rank++] = parts;
    apart.dims[apart.rank++] = i == axis ? shape.dims[i] / parts : shape.dims[i];
  }
  int count = 0;
  for (int i = 0; i <= shape.rank; ++i) {
    if (i == axis) continue;
    if (i == (to > axis ? to + 1 : to)) permutation[count++] = axis;
    permutation[count++] = i;
  }
  shape.dims[axis] /= parts;
  shape.dims[to] *= parts;
  return zb_operand_reshape(n, zb_operand_transpose(n, zb_operand_reshape(n, x, &apart), permutation), &shape);
}

/* The weight with its spatial dimensions turned round where `turned` says. */
static zb_operand turned_round(zb_import_node *n, zb_operand x, const convolution *c, const bool *turned) {
  for (int64_t d = 0; d < c->s.rank; ++d) {
    const int64_t axis = 2 + d;
    if (turned[d] && c->s.kernel[d] > 1) x = zb_meaning_flip(n, x, &axis, 1);
  }
  return x;
}

/* Of an image with zeros between its elements: with steps of 1, of which the wanted ones are taken. */
static zb_operand of_dilated(zb_import_node *n, zb_operand x, zb_operand weight, const convolution *c) {
  zb_spatial s = c->s;
  zb_shape shape;
  bool turned[ZB_SPATIAL_MAX];
  int64_t starts[ZB_DIMS_MAX] = {0}, sizes[ZB_DIMS_MAX], steps[ZB_DIMS_MAX] = {1, 1};
  bool all = true;
  for (int d = 0; d < s.rank; ++d) {
    turned[d] = !c->reversed[d];
    s.in[d] = (c->s.out[d] - 1) * c->s.strides[d] + 1;
    s.strides[d] = c->dilated[d];
    s.before[d] = (s.kernel[d] - 1) * s.dilations[d] - c->s.before[d];
    steps[2 + d] = c->s.strides[d];
    all = all && steps[2 + d] == 1;
  }
  if (!zb_spatial_fit(n, &s, c->s.in)) return NULL;
  weight = turned_round(n, weight, c, turned);
  const int64_t permutation[] = {1, 0, 2, 3, 4}; /* [g f, c, k] -> [c, g f, k] -> [g c, f, k] */
  weight = regrouped(n, zb_operand_transpose(n, weight, permutation), 1, c->groups, 0);
  zb_operand whole = zb_spatial_conv_transpose(n, x, weight, NULL, &s, c->groups);
  if (all || !zb_operand_shape(n, whole, &shape)) return whole;
  memcpy(sizes, shape.dims, sizeof sizes);
  memcpy(sizes + 2, c->s.out, (size_t)s.rank * sizeof *sizes);
  return zb_operand_slice(n, whole, starts, sizes, steps);
}

/* Whether the declared result is that of the attributes, and all numbers are sane. */
static bool check_sizes(zb_import_node *n, const convolution *c) {
  const int64_t channels = c->shapes[0].dims[c->image.places[1]], rows = c->shapes[0].dims[c->image.places[0]];
  zb_spatial s = c->s;
  if (c->groups < 1 || c->batches < 1 || (c->groups > 1 && c->batches > 1) || channels % c->groups != 0 ||
      rows % c->batches != 0 || c->shapes[1].dims[c->kernel.places[0]] % (c->groups * c->batches) != 0)
    return zb_import_refuse(n, NULL, "the groups do not divide features or batch");
  for (int d = 0; d < s.rank; ++d) {
    if (c->dilated[d] < 1 || c->dilated[d] > INT64_C(1) << 20 || s.in[d] < 1)
      return zb_import_refuse(n, NULL, "lhs_dilation is out of range, or the image is empty");
    s.in[d] = (s.in[d] - 1) * c->dilated[d] + 1;
  }
  if (!zb_spatial_count(n, &s, false)) return false;
  for (int d = 0; d < s.rank; ++d)
    if (s.out[d] != c->s.out[d]) return zb_import_refuse(n, NULL, "the result has another size than declared");
  return true;
}

zb_result zb_stablehlo_convolution(zb_import_node *n) {
  convolution c;
  int64_t back[ZB_SPATIAL_MAX + 2];
  bool dilated = false;
  if (!read_convolution(n, &c) || !check_sizes(n, &c)) return ZB_FAIL;
  zb_operand x = zb_operand_transpose(n, zb_operand_in(n, 0), c.image.places);
  zb_operand weight = zb_operand_transpose(n, zb_operand_in(n, 1), c.kernel.places);
  if (c.batches > 1) { /* [g n, f, ..] -> [n, g f, ..]: groups of the batch as groups of features */
    x = regrouped(n, x, 0, c.batches, 1);
    c.groups = c.batches;
  }
  for (int d = 0; d < c.s.rank; ++d) {
    dilated = dilated || c.dilated[d] > 1;
    back[c.result.places[2 + d]] = 2 + d;
  }
  back[c.result.places[0]] = 0;
  back[c.result.places[1]] = 1;
  zb_operand out = dilated ? of_dilated(n, x, weight, &c)
                           : zb_spatial_conv(n, x, turned_round(n, weight, &c, c.reversed), NULL, &c.s, c.groups);
  return zb_operand_give(n, 0, zb_operand_transpose(n, out, back));
}
