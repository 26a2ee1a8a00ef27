/* Grids: ranks as a product of axes in an order, and the groups of ranks that differ on some of them: see zb/mesh.h.
 *
 * Tests: test/passes/mesh/grid_test.c, test/passes/mesh/groups.py. */

#include "passes/mesh/axes.h"

#include "runtime/base/words.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *const axis_names[] = {
#define ZB_AXIS(ID, name, summary) name,
#include "zb/axes.def"
#undef ZB_AXIS
};

const char *zb_axis_name(zb_axis axis) { return axis_names[axis]; }

/* ---- Words ---- */

static bool same_word(const char *name, const char *word, size_t length) {
  for (size_t i = 0; i < length; ++i)
    if (tolower((unsigned char)word[i]) != name[i]) return false; /* the end of a shorter name is none */
  return !name[length];
}

zb_axis zb_axis_find(const char *name, size_t length) {
  zb_axis axis = 0;
  while (axis < ZB_AXIS_COUNT && !same_word(axis_names[axis], name, length))
    ++axis;
  return axis;
}

size_t zb_axis_word(const char *text) { return strcspn(text, "-"); }

int zb_axis_place(const char *text, const char *at) { return (int)(at - text) + 1; }

zb_status zb_axis_unknown(const char *what, const char *text, const char *name, size_t length) {
  char word[32];
  snprintf(word, sizeof word, "%.*s", (int)length, name);
  if (!length)
    return zb_status_hint(
        ZB_ERROR(USAGE, "%s '%s': expected an axis at character %d", what, text, zb_axis_place(text, name)),
        "axes are tp, cp, ep, dp and pp, joined by '-'");
  zb_status status =
      ZB_ERROR(USAGE, "%s '%s': unknown axis '%s' at character %d", what, text, word, zb_axis_place(text, name));
  return zb_hint_name(status, "axis", word, axis_names, ZB_AXIS_COUNT);
}

/* Reads "tp-dp" into a list of axes, each at most once. */
static zb_status read_axes(const char *what, const char *text, zb_axis out[ZB_AXIS_COUNT], int *count) {
  unsigned seen = 0;
  *count = 0;
  for (const char *at = text;; ++at) {
    const size_t length = zb_axis_word(at);
    const zb_axis axis = zb_axis_find(at, length);
    if (axis == ZB_AXIS_COUNT) return zb_axis_unknown(what, text, at, length);
    if (seen & 1U << axis)
      return zb_status_hint(ZB_ERROR(USAGE, "%s '%s': %s stands there twice, again at character %d", what, text,
                                     axis_names[axis], zb_axis_place(text, at)),
                            "each axis stands there once");
    seen |= 1U << axis;
    out[(*count)++] = axis;
    at += length;
    if (!*at) return NULL;
  }
}

/* ---- Grids ---- */

static zb_status check_sizes(const int sizes[ZB_AXIS_COUNT]) {
  for (zb_axis axis = 0; axis < ZB_AXIS_COUNT; ++axis)
    if (sizes[axis] < 1)
      return ZB_ERROR(USAGE, "%s: expected a size of 1 or more, got %d", axis_names[axis], sizes[axis]);
  if (sizes[ZB_AXIS_CP] > 1 && sizes[ZB_AXIS_EP] > 1)
    return zb_status_hint(ZB_ERROR(USAGE, "cp %d and ep %d: one grid has at most one of them above 1",
                                   sizes[ZB_AXIS_CP], sizes[ZB_AXIS_EP]),
                          "a mesh has two grids: the dense one with cp, that of experts with ep");
  return NULL;
}

static zb_status read_order(const char *order, const int sizes[ZB_AXIS_COUNT], zb_axis out[ZB_AXIS_COUNT]) {
  int count;
  ZB_TRY(read_axes("order", order, out, &count));
  for (zb_axis axis = 0; axis < ZB_AXIS_COUNT; ++axis) {
    bool found = false;
    for (int i = 0; i < count; ++i)
      found |= out[i] == axis;
    if (found) continue;
    if (sizes[axis] > 1)
      return zb_status_hint(
          ZB_ERROR(USAGE, "order '%s': %s is missing, and its size is %d", order, axis_names[axis], sizes[axis]),
          "only an axis of size 1 may be left out; for example %s-%s", order, axis_names[axis]);
    out[count++] = axis;
  }
  return NULL;
}

zb_status zb_grid_init(zb_grid *grid, const char *order, const int sizes[ZB_AXIS_COUNT]) {
  *grid = (zb_grid){0};
  ZB_TRY(check_sizes(sizes));
  ZB_TRY(read_order(order ? order : "tp-cp-ep-dp-pp", sizes, grid->order));
  int64_t ranks = 1;
  for (int i = 0; i < ZB_AXIS_COUNT; ++i) {
    const zb_axis axis = grid->order[i];
    grid->size[axis] = sizes[axis];
    grid->stride[axis] = (int)ranks;
    ranks *= sizes[axis];
    if (ranks > INT_MAX)
      return zb_status_hint(ZB_ERROR(USAGE, "the sizes make more than %d ranks", INT_MAX),
                            "the number of ranks is the product of all sizes");
  }
  grid->ranks = (int)ranks;
  return NULL;
}

int zb_grid_coordinate(const zb_grid *grid, int rank, zb_axis axis) {
  return rank / grid->stride[axis] % grid->size[axis];
}

int zb_grid_rank(const zb_grid *grid, const int coordinates[ZB_AXIS_COUNT]) {
  int rank = 0;
  for (zb_axis axis = 0; axis < ZB_AXIS_COUNT; ++axis)
    rank += coordinates[axis] * grid->stride[axis];
  return rank;
}

/* ---- Groups: numbers of mixed radix ---- */

zb_status zb_grid_groups(const zb_grid *grid, const char *axes, zb_groups *out) {
  zb_axis wanted[ZB_AXIS_COUNT];
  int count;
  *out = (zb_groups){.count = 1, .size = 1, .step = 1, .parts = 1};
  ZB_TRY(read_axes("groups", axes, wanted, &count));
  for (int i = 0; i < ZB_AXIS_COUNT; ++i) {
    const zb_axis axis = grid->order[i];
    const zb_grid_digit digit = {grid->size[axis], grid->stride[axis]};
    bool is_member = false;
    for (int w = 0; w < count; ++w)
      is_member |= wanted[w] == axis;
    if (digit.size == 1) continue;
    if (is_member) {
      out->members[out->member_digits++] = digit;
      out->size *= digit.size;
    } else {
      out->others[out->other_digits++] = digit;
      out->count *= digit.size;
    }
  }
  return NULL;
}

static int compose(const zb_grid_digit *digits, int count, int number) {
  int rank = 0;
  for (int i = 0; i < count; number /= digits[i++].size)
    rank += number % digits[i].size * digits[i].stride;
  return rank;
}

static int number_of(const zb_grid_digit *digits, int count, int rank) {
  int number = 0;
  for (int i = count - 1; i >= 0; --i)
    number = number * digits[i].size + rank / digits[i].stride % digits[i].size;
  return number;
}

int zb_groups_rank(const zb_groups *g, int group, int member) {
  const int whole = group / g->parts, part = group % g->parts;
  const int at = part / g->step * g->step * g->size + member * g->step + part % g->step;
  return compose(g->others, g->other_digits, whole) + compose(g->members, g->member_digits, at);
}

int zb_groups_find(const zb_groups *g, int rank, int *member) {
  const int at = number_of(g->members, g->member_digits, rank);
  const int part = at / (g->step * g->size) * g->step + at % g->step;
  if (part >= g->parts) return -1;
  if (member) *member = at / g->step % g->size;
  return number_of(g->others, g->other_digits, rank) * g->parts + part;
}
