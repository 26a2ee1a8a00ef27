/* Meshes: the ranks of a run as a product of axes, and the groups of ranks that speak to each other. No memory, no
 * MLIR.
 *
 * A grid gives every rank a coordinate on each axis, by an order string such as "tp-cp-ep-dp-pp": the leftmost axis has
 * stride 1, each next stride is the product of the sizes to its left, and the coordinate of rank x on an axis is
 * x / stride mod size. A mesh is two grids over the same ranks. In the dense one cp cuts sequences, ep is 1, and dp is
 * what tp, cp and pp leave of the ranks. In the expert one ep spreads experts, tp is the tensor parallel size of
 * experts, cp is 1, and dp is what tp, ep and pp leave. Experts are spread over the ranks of tp, cp and dp: ep needs no
 * ranks of its own. The groups of pipeline stages are the same in both.
 *
 * Groups are rules, not lists: the ranks that differ in the coordinates on some axes alone. So a process knows its own
 * groups, and those of others, without a table that grows with the ranks. Within a group, and from group to group, the
 * leftmost axis of the order varies fastest. These are the rules of Megatron-Core.
 *
 *   zb_mesh mesh;
 *   zb_status status = zb_mesh_init(&mesh, &(zb_mesh_params){.sizes = "tp2-pp4", .ranks = 16});
 *   const zb_groups *stages = zb_mesh_groups(&mesh, ZB_GROUP_PP);    4 groups of 4 ranks
 *   int own = zb_groups_find(stages, 9, NULL);                       rank 9 is in group 1: 1, 5, 9, 13
 *   int last = zb_groups_rank(stages, own, stages->size - 1);        13
 *
 * Ranks count from 0; all functions are thread-safe.
 */
#ifndef ZB_MESH_H
#define ZB_MESH_H

#include "zb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum zb_axis {
#define ZB_AXIS(ID, name, summary) ZB_AXIS_##ID,
#include "zb/axes.def"
#undef ZB_AXIS
  ZB_AXIS_COUNT
} zb_axis;
/* "tp" */
ZB_API const char *zb_axis_name(zb_axis axis);

/* ---- One grid ---- */

typedef struct zb_grid {
  int ranks;                    /* the product of all sizes */
  zb_axis order[ZB_AXIS_COUNT]; /* leftmost first */
  int size[ZB_AXIS_COUNT], stride[ZB_AXIS_COUNT];
} zb_grid;

/* order: NULL is "tp-cp-ep-dp-pp"; either case. An axis that it lacks must have size 1. sizes: of each axis, 1 or more.
 * USAGE for a wrong order, cp and ep both above 1, or more than 2^31 - 1 ranks. */
ZB_API zb_status zb_grid_init(zb_grid *grid, const char *order, const int sizes[ZB_AXIS_COUNT]) ZB_MUST_USE;
ZB_API int zb_grid_coordinate(const zb_grid *grid, int rank, zb_axis axis);
/* The rank with these coordinates, each 0 to size - 1. */
ZB_API int zb_grid_rank(const zb_grid *grid, const int coordinates[ZB_AXIS_COUNT]);

/* ---- Groups ---- */

typedef struct zb_grid_digit {
  int size, stride;
} zb_grid_digit;

/* `count` groups of `size` ranks each. The fields behind these are for the functions below. */
typedef struct zb_groups {
  int count, size;
  zb_grid_digit members[ZB_AXIS_COUNT], others[ZB_AXIS_COUNT]; /* of axes that are above 1, leftmost first */
  int member_digits, other_digits;
  int step, parts; /* a group is every step-th of the ranks that differ on its axes; these make so many groups */
} zb_groups;

/* The groups of ranks that differ in the coordinates on `axes` alone: "tp-dp", in any order. USAGE for an unknown or
 * repeated axis. */
ZB_API zb_status zb_grid_groups(const zb_grid *grid, const char *axes, zb_groups *out) ZB_MUST_USE;
/* Member `member` of group `group`, both from 0. */
ZB_API int zb_groups_rank(const zb_groups *groups, int group, int member);
/* The group that a rank is in, and which member it is there (member may be NULL); -1: in none. */
ZB_API int zb_groups_find(const zb_groups *groups, int rank, int *member);

/* ---- Meshes ---- */

typedef enum zb_group_kind {
#define ZB_GROUPS(ID, name, grid, axes, form, level, purpose) ZB_GROUP_##ID,
#include "zb/groups.def"
#undef ZB_GROUPS
  ZB_GROUP_KINDS
} zb_group_kind;

typedef struct zb_mesh_params {
  const char *sizes; /* "tp2-pp4": axis and size, joined by '-', in any order. What is left out is 1, dp what is left of
                        the ranks; a dp that is named must be that */
  const char *order; /* NULL: "tp-cp-ep-dp-pp" */
  int64_t ranks;     /* all of them; 0: those of the sizes, which then name dp */
  int64_t expert_tp; /* tensor parallel size of experts; 0: as tp */
  int64_t optimizer_instances; /* parts of dp x cp, each with a whole optimizer state; 0: 1 */
  const char *cp_levels;       /* "2x4": sizes of the steps of an exchange over cp, the innermost first; NULL: none */
} zb_mesh_params;

enum { ZB_CP_LEVELS = 4 };
typedef struct zb_mesh {
  zb_grid dense, expert;
  int optimizer_instances;
  int cp_level[ZB_CP_LEVELS], cp_levels;
  zb_groups groups[ZB_GROUP_KINDS]; /* count 0: it has none of the kind */
} zb_mesh;

/* USAGE for sizes, an order or numbers that are wrong or do not fit each other: with what was written, the place in it,
 * and a hint. */
ZB_API zb_status zb_mesh_init(zb_mesh *mesh, const zb_mesh_params *params) ZB_MUST_USE;
/* "tp-dp", and what it is for. */
ZB_API const char *zb_group_kind_name(zb_group_kind kind);
ZB_API const char *zb_group_kind_purpose(zb_group_kind kind);
/* NULL: the mesh has no such groups (parts of optimizer instances, where there is one; steps of no exchange). */
ZB_API const zb_groups *zb_mesh_groups(const zb_mesh *mesh, zb_group_kind kind);
/* The first kind, in the order of the table, that has a group of the same members: one communicator serves all of them,
 * and one rank needs none. Makers of communicators go through kinds and groups in order and make one where this is the
 * kind itself and there are several members. O(kinds), for parts of groups times members. */
ZB_API zb_group_kind zb_mesh_first_kind(const zb_mesh *mesh, zb_group_kind kind, int group);
/* A rank by its coordinates on the dense grid: "tp1-pp3", what is left out is 0; or by its number. USAGE. */
ZB_API zb_status zb_mesh_rank(const zb_mesh *mesh, const char *text, int *out) ZB_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
