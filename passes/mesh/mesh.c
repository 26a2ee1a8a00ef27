/* Meshes: a dense grid and one of experts over the same ranks, and the kinds of groups that training needs of them: see
 * zb/mesh.h.
 *
 * Tests: test/passes/mesh/grid_test.c, test/passes/mesh/groups.py, test/tools/zb-sched-groups.test. */

#include "passes/mesh/axes.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef enum group_form { ALL, ENDS, FIRST, INTRA, INTER, LEVEL } group_form;

static const struct {
  const char *name, *axes, *purpose;
  bool expert;
  group_form form;
  int level;
} kinds[] = {
#define DENSE false
#define EXPERT true
#define ZB_GROUPS(ID, name, grid, axes, form, level, purpose) {name, axes, purpose, grid, form, level},
#include "zb/groups.def"
#undef ZB_GROUPS
};

const char *zb_group_kind_name(zb_group_kind kind) { return kinds[kind].name; }
const char *zb_group_kind_purpose(zb_group_kind kind) { return kinds[kind].purpose; }

/* ---- Reading numbers ---- */

/* A number of 1 to INT_MAX at *at, which then is behind it; 0 where there is none. */
static int read_number(const char **at) {
  int64_t number = 0;
  for (; **at >= '0' && **at <= '9'; ++*at)
    if (number <= INT_MAX) number = number * 10 + (**at - '0');
  return number <= INT_MAX ? (int)number : 0;
}

static zb_status wrong_size(const char *text, const char *word, size_t length, zb_axis axis) {
  char shown[48];
  snprintf(shown, sizeof shown, "%.*s", (int)length, word);
  return zb_status_hint(ZB_ERROR(USAGE, "groups '%s': expected %s and a size of 1 to %d at character %d, got '%s'",
                                 text, zb_axis_name(axis), INT_MAX, zb_axis_place(text, word), shown),
                        "for example %s2; sizes are joined by '-'", zb_axis_name(axis));
}

/* "tp2-pp4": a size for each axis that is named. */
static zb_status read_sizes(const char *text, int sizes[ZB_AXIS_COUNT]) {
  for (const char *at = text;; ++at) {
    const size_t length = zb_axis_word(at), letters = strcspn(at, "-0123456789");
    const char *end = at + letters;
    const zb_axis axis = zb_axis_find(at, letters);
    if (axis == ZB_AXIS_COUNT) return zb_axis_unknown("groups", text, at, letters);
    const int size = read_number(&end);
    if (size < 1 || end != at + length) return wrong_size(text, at, length, axis);
    if (sizes[axis])
      return zb_status_hint(ZB_ERROR(USAGE, "groups '%s': %s has two sizes, the second at character %d", text,
                                     zb_axis_name(axis), zb_axis_place(text, at)),
                            "each axis has one size");
    sizes[axis] = size;
    at += length;
    if (!*at) return NULL;
  }
}

/* ---- Sizes that fit the ranks ---- */

/* The size that is left of the ranks when the product of three is taken. */
static zb_status divide(const char *what, int64_t ranks, const char *names[3], const int sizes[3], int *out) {
  int64_t product = 1;
  for (int i = 0; i < 3 && product <= INT_MAX; ++i)
    product *= sizes[i];
  if (product <= ranks && ranks % product == 0) {
    *out = (int)(ranks / product);
    return NULL;
  }
  zb_status status = ZB_ERROR(USAGE, "%lld ranks cannot be divided by %s %d x %s %d x %s %d%s", (long long)ranks,
                              names[0], sizes[0], names[1], sizes[1], names[2], sizes[2], what);
  if (product > INT_MAX) return zb_status_hint(status, "no mesh has more than %d ranks", INT_MAX);
  const int64_t below = ranks / product * product;
  if (below == 0) return zb_status_hint(status, "give %lld ranks or a multiple of it", (long long)product);
  return zb_status_hint(status, "%lld or %lld ranks can", (long long)below, (long long)(below + product));
}

static zb_status count_ranks(const zb_mesh_params *p, const int sizes[ZB_AXIS_COUNT], int64_t *out) {
  *out = p->ranks;
  if (p->ranks < 0 || p->ranks > INT_MAX)
    return ZB_ERROR(USAGE, "expected 1 to %d ranks, got %lld", INT_MAX, (long long)p->ranks);
  if (p->ranks) return NULL;
  if (!sizes[ZB_AXIS_DP])
    return zb_status_hint(ZB_ERROR(USAGE, "groups '%s': how many ranks there are is not said", p->sizes),
                          "give all ranks (zb-sched --world N), or the size of dp, for example %s-dp2", p->sizes);
  *out = 1;
  const zb_axis axes[] = {ZB_AXIS_TP, ZB_AXIS_CP, ZB_AXIS_DP, ZB_AXIS_PP};
  for (int i = 0; i < 4; ++i) {
    *out *= sizes[axes[i]] ? sizes[axes[i]] : 1;
    if (*out > INT_MAX)
      return zb_status_hint(ZB_ERROR(USAGE, "groups '%s': the sizes make more than %d ranks", p->sizes, INT_MAX),
                            "the number of ranks is tp x cp x dp x pp");
  }
  return NULL;
}

static zb_status fill_sizes(const zb_mesh_params *p, int dense[ZB_AXIS_COUNT], int expert[ZB_AXIS_COUNT]) {
  int64_t ranks;
  ZB_TRY(read_sizes(p->sizes, dense));
  if (p->expert_tp < 0 || p->expert_tp > INT_MAX)
    return ZB_ERROR(USAGE, "expert-tp: expected a size of 1 to %d, got %lld", INT_MAX, (long long)p->expert_tp);
  ZB_TRY(count_ranks(p, dense, &ranks));
  const int dp = dense[ZB_AXIS_DP];
  for (zb_axis axis = 0; axis < ZB_AXIS_COUNT; ++axis)
    if (!dense[axis]) dense[axis] = 1;
  memcpy(expert, dense, ZB_AXIS_COUNT * sizeof *expert);
  dense[ZB_AXIS_EP] = expert[ZB_AXIS_CP] = 1;
  if (p->expert_tp) expert[ZB_AXIS_TP] = (int)p->expert_tp;
  ZB_TRY(divide("", ranks, (const char *[]){"tp", "cp", "pp"},
                (const int[]){dense[ZB_AXIS_TP], dense[ZB_AXIS_CP], dense[ZB_AXIS_PP]}, &dense[ZB_AXIS_DP]));
  if (dp && dp != dense[ZB_AXIS_DP])
    return zb_status_hint(ZB_ERROR(USAGE, "groups '%s': dp is %d, but %lld ranks leave dp %d", p->sizes, dp,
                                   (long long)ranks, dense[ZB_AXIS_DP]),
                          "leave dp out: it is what tp, cp and pp leave");
  return divide(" of experts", ranks, (const char *[]){"expert-tp", "ep", "pp"},
                (const int[]){expert[ZB_AXIS_TP], expert[ZB_AXIS_EP], expert[ZB_AXIS_PP]}, &expert[ZB_AXIS_DP]);
}

/* ---- Two grids of one pipeline ---- */

static bool ends_with_pp(const char *order) {
  const size_t length = strlen(order);
  return length >= 2 && zb_axis_find(order + length - 2, 2) == ZB_AXIS_PP;
}

/* The messages of a pipeline are those of its experts too. */
static zb_status check_pipelines(const zb_mesh *mesh, const char *order) {
  const zb_grid *dense = &mesh->dense, *expert = &mesh->expert;
  if (dense->size[ZB_AXIS_PP] == 1) return NULL;
  if (!ends_with_pp(order) && dense->size[ZB_AXIS_DP] != expert->size[ZB_AXIS_DP])
    return zb_status_hint(ZB_ERROR(USAGE, "order '%s' does not end with pp, and dp is %d, expert-dp %d", order,
                                   dense->size[ZB_AXIS_DP], expert->size[ZB_AXIS_DP]),
                          "end the order with pp, or let expert-tp x ep be tp x cp");
  if (dense->stride[ZB_AXIS_PP] != expert->stride[ZB_AXIS_PP])
    return zb_status_hint(ZB_ERROR(USAGE, "order '%s': the ranks of a pipeline are %d apart, those of its experts %d",
                                   order, dense->stride[ZB_AXIS_PP], expert->stride[ZB_AXIS_PP]),
                          "end the order with pp");
  return NULL;
}

/* ---- Parts of groups ---- */

static zb_status read_levels(const char *text, int cp, zb_mesh *mesh) {
  int64_t product = 1;
  for (const char *at = text;; ++at) {
    const char *begin = at;
    const int size = read_number(&at);
    if (size < 1 || (*at && *at != 'x') || mesh->cp_levels == ZB_CP_LEVELS)
      return zb_status_hint(ZB_ERROR(USAGE, "steps of cp '%s': expected up to %d sizes at character %d", text,
                                     ZB_CP_LEVELS, zb_axis_place(text, begin)),
                            "for example 2x4: sizes whose product is cp, the innermost first");
    mesh->cp_level[mesh->cp_levels++] = size;
    product *= product <= INT_MAX ? size : 1;
    if (!*at) break;
  }
  if (product == cp) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "steps of cp '%s': their product is not cp, which is %d", text, cp),
                        "for example 2x4 where cp is 8");
}

static zb_status check_instances(int64_t instances, const zb_grid *dense, zb_mesh *mesh) {
  const int shared = dense->size[ZB_AXIS_DP] * dense->size[ZB_AXIS_CP];
  mesh->optimizer_instances = instances > 0 && instances <= shared ? (int)instances : 1;
  if (instances >= 0 && shared % mesh->optimizer_instances == 0 && (!instances || instances <= shared)) return NULL;
  return zb_status_hint(ZB_ERROR(USAGE, "dp %d x cp %d cannot be divided by %lld optimizer instances",
                                 dense->size[ZB_AXIS_DP], dense->size[ZB_AXIS_CP], (long long)instances),
                        "their number divides dp x cp");
}

/* ---- Kinds ---- */

/* Takes every step-th of the members, `size` of them, in `parts` ways. */
static void take_part(zb_groups *g, int size, int step, int parts) {
  g->count *= parts;
  g->size = size;
  g->step = step;
  g->parts = parts;
}

static zb_status make_groups(zb_mesh *mesh, zb_group_kind kind, zb_groups *out) {
  const int instances = mesh->optimizer_instances, level = kinds[kind].level;
  const group_form form = kinds[kind].form;
  ZB_TRY(zb_grid_groups(kinds[kind].expert ? &mesh->expert : &mesh->dense, kinds[kind].axes, out));
  const int size = out->size;
  if (form == ENDS && size > 2) take_part(out, 2, size - 1, 1);
  if (form == FIRST) take_part(out, 1, 1, 1);
  if (form == INTRA) take_part(out, size / instances, 1, instances);
  if (form == INTER) take_part(out, instances, size / instances, size / instances);
  if (form == LEVEL && level < mesh->cp_levels) {
    int step = 1;
    for (int i = 0; i < level; ++i)
      step *= mesh->cp_level[i];
    take_part(out, mesh->cp_level[level], step, size / mesh->cp_level[level]);
  }
  if (((form == INTRA || form == INTER) && instances == 1) || (form == LEVEL && level >= mesh->cp_levels))
    out->count = 0;
  return NULL;
}

zb_status zb_mesh_init(zb_mesh *mesh, const zb_mesh_params *p) {
  const char *order = p->order ? p->order : "tp-cp-ep-dp-pp";
  int dense[ZB_AXIS_COUNT] = {0}, expert[ZB_AXIS_COUNT] = {0};
  *mesh = (zb_mesh){.optimizer_instances = 1};
  ZB_TRY(fill_sizes(p, dense, expert));
  ZB_TRY(zb_grid_init(&mesh->dense, order, dense));
  zb_status status = zb_grid_init(&mesh->expert, order, expert);
  if (status) return zb_status_note(status, "on the grid of experts");
  ZB_TRY(check_pipelines(mesh, order));
  ZB_TRY(check_instances(p->optimizer_instances, &mesh->dense, mesh));
  if (p->cp_levels) ZB_TRY(read_levels(p->cp_levels, dense[ZB_AXIS_CP], mesh));
  for (zb_group_kind kind = 0; kind < ZB_GROUP_KINDS; ++kind)
    ZB_TRY(make_groups(mesh, kind, &mesh->groups[kind]));
  return NULL;
}

const zb_groups *zb_mesh_groups(const zb_mesh *mesh, zb_group_kind kind) {
  return mesh->groups[kind].count ? &mesh->groups[kind] : NULL;
}

/* The digits of the members, where neighbours that are one number are one digit. */
static int join_digits(const zb_groups *g, zb_grid_digit out[ZB_AXIS_COUNT]) {
  int count = 0;
  for (int i = 0; i < g->member_digits; ++i) {
    const zb_grid_digit digit = g->members[i];
    if (count && out[count - 1].stride * out[count - 1].size == digit.stride)
      out[count - 1].size *= digit.size;
    else
      out[count++] = digit;
  }
  return count;
}

static bool is_whole(const zb_groups *g) {
  int size = 1;
  for (int i = 0; i < g->member_digits; ++i)
    size *= g->members[i].size;
  return g->size == size;
}

/* Whether two groups of one size and with one first member are the same. Whole ones by their digits alone, since a
 * group may have all ranks that there are. */
static bool same_members(const zb_groups *a, int i, const zb_groups *b, int k) {
  if (is_whole(a) && is_whole(b)) {
    zb_grid_digit x[ZB_AXIS_COUNT], y[ZB_AXIS_COUNT];
    const int count = join_digits(a, x);
    return count == join_digits(b, y) && memcmp(x, y, (size_t)count * sizeof *x) == 0;
  }
  for (int member = 0; member < a->size; ++member)
    if (zb_groups_rank(a, i, member) != zb_groups_rank(b, k, member)) return false;
  return true;
}

zb_group_kind zb_mesh_first_kind(const zb_mesh *mesh, zb_group_kind kind, int group) {
  const zb_groups *own = &mesh->groups[kind];
  if (!own->count) return kind;
  const int rank = zb_groups_rank(own, group, 0);
  for (zb_group_kind before = 0; before < kind; ++before) {
    const zb_groups *other = &mesh->groups[before];
    if (!other->count || other->size != own->size) continue;
    const int found = zb_groups_find(other, rank, NULL);
    if (found >= 0 && same_members(own, group, other, found)) return before;
  }
  return kind;
}

/* ---- Coordinates ---- */

zb_status zb_mesh_rank(const zb_mesh *mesh, const char *text, int *out) {
  const zb_grid *grid = &mesh->dense;
  int coordinates[ZB_AXIS_COUNT] = {0};
  unsigned seen = 0;
  const char *end = text;
  if (*text >= '0' && *text <= '9') {
    const int rank = read_number(&end);
    if (*end || rank >= grid->ranks || (!rank && strspn(text, "0") != strlen(text)))
      return zb_status_hint(ZB_ERROR(USAGE, "rank '%s': expected 0 to %d", text, grid->ranks - 1),
                            "or coordinates, for example tp0-pp1");
    *out = rank;
    return NULL;
  }
  for (const char *at = text;; ++at) {
    const size_t letters = strcspn(at, "-0123456789");
    const zb_axis axis = zb_axis_find(at, letters);
    if (axis == ZB_AXIS_COUNT) return zb_axis_unknown("rank", text, at, letters);
    const char *digits = at + letters;
    end = digits;
    const int place = read_number(&end);
    const bool is_number = end > digits && (place || strspn(digits, "0") == (size_t)(end - digits));
    if (!is_number || (*end && *end != '-') || place >= grid->size[axis] || seen & 1U << axis)
      return zb_status_hint(ZB_ERROR(USAGE, "rank '%s': expected %s and 0 to %d, once, at character %d", text,
                                     zb_axis_name(axis), grid->size[axis] - 1, zb_axis_place(text, at)),
                            "for example tp0-pp1; what is left out is 0");
    seen |= 1U << axis;
    coordinates[axis] = place;
    at = end;
    if (!*at) break;
  }
  *out = zb_grid_rank(grid, coordinates);
  return NULL;
}
