/* zb-sched --groups: the groups of ranks of a mesh, all of them or those of one rank. */
#include <stdio.h>
#include <string.h>

#include "tools/sched/sched.h"
#include "zb/mesh.h"

/* ---- Lists of ranks ---- */

/* printf takes a fifth of a second for the numbers of 65,536 ranks. */
static void write_number(int number) {
  char digits[12];
  int at = sizeof digits;
  do
    digits[--at] = (char)('0' + number % 10);
  while (number /= 10);
  fwrite(digits + at, 1, sizeof digits - (size_t)at, stdout);
}

static void write_members(const zb_groups *g, int group) {
  putchar('[');
  for (int member = 0; member < g->size; ++member) {
    if (member) fputs(", ", stdout);
    write_number(zb_groups_rank(g, group, member));
  }
  putchar(']');
}

static void print_json(const zb_mesh *mesh) {
  const char *between = "{";
  for (zb_group_kind kind = 0; kind < ZB_GROUP_KINDS; ++kind) {
    const zb_groups *g = zb_mesh_groups(mesh, kind);
    if (!g) continue;
    printf("%s\"%s\": [", between, zb_group_kind_name(kind));
    for (int group = 0; group < g->count; ++group) {
      if (group) fputs(", ", stdout);
      write_members(g, group);
    }
    putchar(']');
    between = ", ";
  }
  printf("}\n");
}

/* ---- One rank ---- */

/* The axes of a grid, in its order; those that the other grid has alone are left out. */
static void print_axes(const zb_grid *grid, int rank, zb_axis other, bool json) {
  const char *between = "";
  for (int i = 0; i < ZB_AXIS_COUNT; ++i) {
    const zb_axis axis = grid->order[i];
    if (axis == other) continue;
    printf(json ? "%s\"%s\": %d" : "%s%s %d", between, zb_axis_name(axis),
           rank < 0 ? grid->size[axis] : zb_grid_coordinate(grid, rank, axis));
    between = ", ";
  }
}

static void print_rank_json(const zb_mesh *mesh, int rank) {
  const char *between = "";
  printf("{\"rank\": %d, \"coordinates\": {", rank);
  print_axes(&mesh->dense, rank, ZB_AXIS_EP, true);
  printf("}, \"expert_coordinates\": {");
  print_axes(&mesh->expert, rank, ZB_AXIS_CP, true);
  printf("}, \"groups\": {");
  for (zb_group_kind kind = 0; kind < ZB_GROUP_KINDS; ++kind) {
    const zb_groups *g = zb_mesh_groups(mesh, kind);
    if (!g) continue;
    const int group = zb_groups_find(g, rank, NULL);
    printf("%s\"%s\": ", between, zb_group_kind_name(kind));
    if (group < 0)
      printf("null");
    else
      write_members(g, group);
    between = ", ";
  }
  printf("}, \"communicators\": [");
  between = "";
  for (zb_group_kind kind = 0; kind < ZB_GROUP_KINDS; ++kind) {
    const zb_groups *g = zb_mesh_groups(mesh, kind);
    const int group = g ? zb_groups_find(g, rank, NULL) : -1;
    if (group < 0 || g->size == 1 || zb_mesh_first_kind(mesh, kind, group) != kind) continue;
    printf("%s\"%s\"", between, zb_group_kind_name(kind));
    between = ", ";
  }
  printf("]}\n");
}

/* ---- Tables ---- */

enum { MEMBERS_COLUMNS = 34 };

/* "0 4 8 12", or what there is room for and the last. */
static void members_text(const zb_groups *g, int group, size_t room, char *out, size_t bytes) {
  size_t length = 0;
  out[0] = '\0';
  for (int member = 0; member < g->size; ++member) {
    const int rank = zb_groups_rank(g, group, member);
    if (length + 24 > room && member + 1 < g->size) {
      member = g->size - 2;
      length += (size_t)snprintf(out + length, bytes - length, " ..");
    } else {
      length += (size_t)snprintf(out + length, bytes - length, "%s%d", member ? " " : "", rank);
    }
  }
}

/* The first groups: "[0 2] [1 3] .." */
static void print_first_groups(const zb_groups *g) {
  char text[64], line[128] = "";
  size_t length = 0;
  for (int group = 0; group < g->count; ++group) {
    members_text(g, group, MEMBERS_COLUMNS, text, sizeof text);
    if (group && length + strlen(text) + 6 > MEMBERS_COLUMNS) {
      length += (size_t)snprintf(line + length, sizeof line - length, " ..");
      break;
    }
    length += (size_t)snprintf(line + length, sizeof line - length, "%s[%s]", group ? " " : "", text);
  }
  printf("  %-*s", MEMBERS_COLUMNS + 2, line);
}

/* Whose communicator a group uses. */
static const char *communicator_of(const zb_mesh *mesh, zb_group_kind kind, int group) {
  const zb_group_kind first = zb_mesh_first_kind(mesh, kind, group);
  if (zb_mesh_groups(mesh, kind)->size == 1) return "none";
  return first == kind ? "own" : zb_group_kind_name(first);
}

/* The same for all groups of a kind: "own", "tp", "2 own" where other kinds have the rest. Returns how many are its
 * own. */
static int communicators_of(const zb_mesh *mesh, zb_group_kind kind, char out[32]) {
  const zb_groups *g = zb_mesh_groups(mesh, kind);
  const char *first = communicator_of(mesh, kind, 0);
  int own = 0, alike = 0;
  for (int group = 0; group < g->count; ++group) {
    const char *name = communicator_of(mesh, kind, group);
    own += strcmp(name, "own") == 0;
    alike += strcmp(name, first) == 0;
  }
  if (alike == g->count)
    snprintf(out, 32, "%s", first);
  else
    snprintf(out, 32, "%d own", own);
  return own;
}

static void print_mesh(const zb_mesh *mesh) {
  printf("%d ranks: ", mesh->dense.ranks);
  print_axes(&mesh->dense, -1, ZB_AXIS_EP, false);
  printf("; of experts ");
  print_axes(&mesh->expert, -1, ZB_AXIS_CP, false);
  printf("\n\n");
}

/* Of more ranks than this communicators are not counted: that takes a look at each group. */
enum { COUNTED_RANKS = 1 << 20 };

static void print_table(const zb_mesh *mesh) {
  const bool counted = mesh->dense.ranks <= COUNTED_RANKS;
  int64_t communicators = 0;
  char communicator[32] = "";
  print_mesh(mesh);
  printf("%-17s %10s %10s  %-12s  %-*s  %s\n", "kind", "groups", "ranks each", counted ? "communicator" : "",
         MEMBERS_COLUMNS + 2, "the first", "for");
  for (zb_group_kind kind = 0; kind < ZB_GROUP_KINDS; ++kind) {
    const zb_groups *g = zb_mesh_groups(mesh, kind);
    if (!g) continue;
    if (counted) communicators += communicators_of(mesh, kind, communicator);
    printf("%-17s %10d %10d  %-12s", zb_group_kind_name(kind), g->count, g->size, communicator);
    print_first_groups(g);
    printf("  %s\n", zb_group_kind_purpose(kind));
  }
  if (counted) printf("\n%lld communicators in all\n", (long long)communicators);
}

static void print_rank(const zb_mesh *mesh, int rank) {
  char members[512];
  print_mesh(mesh);
  printf("rank %d: ", rank);
  print_axes(&mesh->dense, rank, ZB_AXIS_EP, false);
  printf("; of experts ");
  print_axes(&mesh->expert, rank, ZB_AXIS_CP, false);
  printf("\n\n%-17s %-12s  %s\n", "kind", "communicator", "its group");
  for (zb_group_kind kind = 0; kind < ZB_GROUP_KINDS; ++kind) {
    const zb_groups *g = zb_mesh_groups(mesh, kind);
    const int group = g ? zb_groups_find(g, rank, NULL) : -1;
    if (!g) continue;
    snprintf(members, sizeof members, "none");
    if (group >= 0) members_text(g, group, 100, members, sizeof members);
    printf("%-17s %-12s  %s\n", zb_group_kind_name(kind), group < 0 ? "none" : communicator_of(mesh, kind, group),
           members);
  }
}

zb_status sched_run_groups(const sched_settings *s) {
  const zb_mesh_params params = {.sizes = s->groups,
                                 .order = s->order,
                                 .ranks = s->world,
                                 .expert_tp = s->expert_tp,
                                 .optimizer_instances = s->optimizer_instances,
                                 .cp_levels = s->cp_levels};
  zb_mesh mesh;
  int rank = -1;
  ZB_TRY(zb_mesh_init(&mesh, &params));
  if (s->at) ZB_TRY(zb_mesh_rank(&mesh, s->at, &rank));
  if (s->at && s->json)
    print_rank_json(&mesh, rank);
  else if (s->at)
    print_rank(&mesh, rank);
  else if (s->json)
    print_json(&mesh);
  else
    print_table(&mesh);
  return NULL;
}
