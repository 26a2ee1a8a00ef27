/* Grids, groups and meshes as formulas against their definitions, on grids drawn at random; and every error. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "test/suite.h"
#include "zb/mesh.h"

static uint64_t state;

static int draw(int below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)below);
}

static void expect_usage(zb_status status, const char *message, const char *hint) {
  const bool good = zb_status_code(status) == ZB_USAGE && strstr(zb_status_message(status), message) &&
                    (!hint || (zb_status_hint_text(status) && strstr(zb_status_hint_text(status), hint)));
  if (!good)
    printf("\n  expected '%s' and '%s', got %s", message, hint ? hint : "",
           status ? zb_status_text(status) : "success");
  CU_ASSERT_TRUE(good);
  zb_status_free(status);
}

static void expect_ok(zb_status status) {
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
}

/* ---- Formulas ---- */

static void draw_order(char out[32]) {
  int axes[ZB_AXIS_COUNT] = {0, 1, 2, 3, 4};
  out[0] = '\0';
  for (int i = 0; i < ZB_AXIS_COUNT; ++i) {
    const int other = i + draw(ZB_AXIS_COUNT - i), axis = axes[other];
    axes[other] = axes[i];
    snprintf(out + strlen(out), 32 - strlen(out), "%s%s", i ? "-" : "", zb_axis_name((zb_axis)axis));
  }
}

static void draw_grid(zb_grid *grid) {
  int sizes[ZB_AXIS_COUNT];
  char order[32];
  for (int axis = 0; axis < ZB_AXIS_COUNT; ++axis)
    sizes[axis] = 1 + draw(4);
  sizes[draw(2) ? ZB_AXIS_CP : ZB_AXIS_EP] = 1;
  draw_order(order);
  expect_ok(zb_grid_init(grid, order, sizes));
}

static void test_coordinates(void) {
  for (int trial = 0; trial < 50; ++trial) {
    zb_grid grid;
    draw_grid(&grid);
    for (int rank = 0; rank < grid.ranks; ++rank) {
      int coordinates[ZB_AXIS_COUNT], counted = 0;
      for (int i = ZB_AXIS_COUNT - 1; i >= 0; --i) {
        const zb_axis axis = grid.order[i];
        coordinates[axis] = zb_grid_coordinate(&grid, rank, axis);
        counted = counted * grid.size[axis] + coordinates[axis];
      }
      CU_ASSERT_EQUAL(counted, rank);
      CU_ASSERT_EQUAL(zb_grid_rank(&grid, coordinates), rank);
    }
  }
}

/* Whether two ranks agree on the axes that are not in the text. */
static bool agree(const zb_grid *grid, const char *axes, int a, int b) {
  for (zb_axis axis = 0; axis < ZB_AXIS_COUNT; ++axis)
    if (!strstr(axes, zb_axis_name(axis)) && zb_grid_coordinate(grid, a, axis) != zb_grid_coordinate(grid, b, axis))
      return false;
  return true;
}

static void test_groups(void) {
  const char *const axes[] = {"tp", "cp", "ep", "dp", "pp", "tp-dp", "pp-tp", "cp-dp", "tp-ep-pp", "tp-cp-ep-dp-pp"};
  for (int trial = 0; trial < 100; ++trial) {
    zb_grid grid;
    zb_groups g;
    const char *text = axes[trial % 10];
    draw_grid(&grid);
    expect_ok(zb_grid_groups(&grid, text, &g));
    CU_ASSERT_EQUAL(g.count * g.size, grid.ranks);
    for (int group = 0; group < g.count; ++group)
      for (int member = 0; member < g.size; ++member) {
        const int rank = zb_groups_rank(&g, group, member);
        int found = -1;
        CU_ASSERT_EQUAL(zb_groups_find(&g, rank, &found), group);
        CU_ASSERT_EQUAL(found, member);
        CU_ASSERT_TRUE(agree(&grid, text, rank, zb_groups_rank(&g, group, 0)));
        if (member) CU_ASSERT_TRUE(rank > zb_groups_rank(&g, group, member - 1));
      }
  }
}

/* ---- Communicators ---- */

static bool same(const zb_groups *a, int i, const zb_groups *b, int k) {
  bool equal = a->size == b->size;
  for (int member = 0; equal && member < a->size; ++member)
    equal = zb_groups_rank(a, i, member) == zb_groups_rank(b, k, member);
  return equal;
}

/* The first kind that has the group, by looking at all groups of all kinds. */
static zb_group_kind first_kind(const zb_mesh *mesh, zb_group_kind kind, int group) {
  for (zb_group_kind before = 0; before < kind; ++before) {
    const zb_groups *g = zb_mesh_groups(mesh, before);
    for (int i = 0; g && i < g->count; ++i)
      if (same(zb_mesh_groups(mesh, kind), group, g, i)) return before;
  }
  return kind;
}

static void check_communicators(const zb_mesh *mesh) {
  for (zb_group_kind kind = 0; kind < ZB_GROUP_KINDS; ++kind) {
    const zb_groups *g = zb_mesh_groups(mesh, kind);
    for (int group = 0; g && group < g->count; ++group)
      CU_ASSERT_EQUAL(zb_mesh_first_kind(mesh, kind, group), first_kind(mesh, kind, group));
  }
}

static void test_communicators(void) {
  const char *const sizes[] = {"tp2-pp2", "tp2-cp2-pp2", "cp4-pp3", "tp3-ep3", "tp2-pp4-ep2", "cp2-ep4", "pp6"};
  for (int trial = 0; trial < 70; ++trial) {
    char order[32];
    draw_order(order);
    const zb_mesh_params params = {.sizes = sizes[trial % 7],
                                   .order = trial % 2 ? order : NULL,
                                   .ranks = (int64_t[]){24, 48}[draw(2)],
                                   .expert_tp = draw(2),
                                   .optimizer_instances = draw(3),
                                   .cp_levels = trial % 7 == 2 ? "2x2" : NULL};
    zb_mesh mesh;
    zb_status status = zb_mesh_init(&mesh, &params);
    if (!status) check_communicators(&mesh);
    zb_status_free(status);
  }
}

/* Ranks that nobody could list: what is asked for takes no time and no memory. */
static void test_many_ranks(void) {
  zb_mesh mesh;
  const int last = (1 << 30) - 1;
  const uint64_t before = zb_allocation_count();
  expect_ok(zb_mesh_init(&mesh, &(zb_mesh_params){.sizes = "tp8-pp1024", .ranks = 1 << 30}));
  const zb_groups *g = zb_mesh_groups(&mesh, ZB_GROUP_PP);
  CU_ASSERT_EQUAL(g->size, 1024);
  CU_ASSERT_EQUAL(zb_groups_rank(g, g->count - 1, 1023), last);
  CU_ASSERT_EQUAL(zb_groups_find(g, last, NULL), g->count - 1);
  CU_ASSERT_EQUAL(zb_mesh_first_kind(&mesh, ZB_GROUP_EXPERT_TP, 7), ZB_GROUP_TP);
  CU_ASSERT_PTR_NULL(zb_mesh_groups(&mesh, ZB_GROUP_INTRA_DP_CP));
  CU_ASSERT_EQUAL(zb_allocation_count(), before);
}

/* The example of zb/mesh.h. */
static void test_example(void) {
  zb_mesh mesh;
  expect_ok(zb_mesh_init(&mesh, &(zb_mesh_params){.sizes = "tp2-pp4", .ranks = 16}));
  const zb_groups *stages = zb_mesh_groups(&mesh, ZB_GROUP_PP);
  const int own = zb_groups_find(stages, 9, NULL);
  CU_ASSERT_TRUE(stages->count == 4 && stages->size == 4 && own == 1);
  CU_ASSERT_EQUAL(zb_groups_rank(stages, own, stages->size - 1), 13);
}

/* ---- Errors ---- */

static void test_grid_errors(void) {
  zb_grid grid;
  zb_groups g;
  const int one[ZB_AXIS_COUNT] = {1, 1, 1, 1, 1}, many[ZB_AXIS_COUNT] = {65536, 1, 1, 65536, 1};
  expect_usage(zb_grid_init(&grid, NULL, (const int[]){2, 2, 2, 1, 1}), "cp 2 and ep 2", "two grids");
  expect_usage(zb_grid_init(&grid, NULL, (const int[]){2, 0, 1, 1, 1}), "cp: expected a size of 1 or more, got 0",
               NULL);
  expect_usage(zb_grid_init(&grid, NULL, many), "more than 2147483647 ranks", "product");
  expect_usage(zb_grid_init(&grid, "tp-dp", (const int[]){2, 1, 1, 2, 4}),
               "order 'tp-dp': pp is missing, and its size is 4", "tp-dp-pp");
  expect_usage(zb_grid_init(&grid, "tp-tp", one), "tp stands there twice, again at character 4", "once");
  expect_usage(zb_grid_init(&grid, "tp-", one), "expected an axis at character 4", "joined by '-'");
  expect_usage(zb_grid_init(&grid, "", one), "expected an axis at character 1", NULL);
  expect_usage(zb_grid_init(&grid, "tp-ddp", one), "unknown axis 'ddp' at character 4", "dp");
  expect_ok(zb_grid_init(&grid, "PP", one));
  expect_usage(zb_grid_groups(&grid, "tp-xp", &g), "unknown axis 'xp'", "tp, cp, ep, dp, pp");
}

static zb_status make(const char *sizes, int64_t ranks, const char *order, int64_t expert_tp) {
  zb_mesh mesh;
  return zb_mesh_init(&mesh, &(zb_mesh_params){.sizes = sizes, .order = order, .ranks = ranks, .expert_tp = expert_tp});
}

static void test_size_errors(void) {
  expect_usage(make("tp2-pp4", 10, NULL, 0), "10 ranks cannot be divided by tp 2 x cp 1 x pp 4", "8 or 16");
  expect_usage(make("tp2-pp4", 4, NULL, 0), "4 ranks cannot be divided", "8 ranks or a multiple");
  expect_usage(make("ep4-pp4", 16, NULL, 2), "16 ranks cannot be divided by expert-tp 2 x ep 4 x pp 4 of experts",
               "32");
  expect_ok(make("ep4-pp2", 16, NULL, 2)); /* at the edge: one replica of experts */
  expect_usage(make("tp0", 4, NULL, 0), "expected tp and a size of 1 to 2147483647 at character 1, got 'tp0'", "tp2");
  expect_usage(make("pp2-tp", 4, NULL, 0), "at character 5, got 'tp'", "tp2");
  expect_usage(make("tp-2", 4, NULL, 0), "got 'tp'", NULL);
  expect_usage(make("tp2.5", 4, NULL, 0), "got 'tp2.5'", NULL);
  expect_usage(make("tp2 ", 4, NULL, 0), "got 'tp2 '", NULL);
  expect_usage(make("tp99999999999999999999", 4, NULL, 0), "a size of 1 to 2147483647", NULL);
  expect_usage(make("tp2-tp2", 4, NULL, 0), "tp has two sizes, the second at character 5", "one size");
  expect_usage(make("", 4, NULL, 0), "expected an axis at character 1", NULL);
  expect_usage(make("tp2--pp2", 4, NULL, 0), "expected an axis at character 5", NULL);
  expect_usage(make("tpp2", 4, NULL, 0), "unknown axis 'tpp'", "tp");
  expect_usage(make("etp2", 4, NULL, 0), "unknown axis 'etp'", "--expert-tp");
  expect_usage(make("tp2", 0, NULL, 0), "how many ranks there are is not said", "--world");
  expect_usage(make("tp2", -1, NULL, 0), "expected 1 to 2147483647 ranks, got -1", NULL);
  expect_usage(make("tp2", (int64_t)1 << 31, NULL, 0), "expected 1 to 2147483647 ranks", NULL);
  expect_usage(make("tp65536-pp65536", 65536, NULL, 0), "cannot be divided", "2147483647");
  expect_usage(make("tp65536-dp65536", 0, NULL, 0), "more than 2147483647 ranks", "tp x cp x dp x pp");
  expect_usage(make("tp2-dp3", 8, NULL, 0), "dp is 3, but 8 ranks leave dp 4", "leave dp out");
  expect_ok(make("tp2-dp4", 8, NULL, 0));
  expect_ok(make("tp2-dp4", 0, NULL, 0));
  expect_usage(make("tp2", 4, NULL, -1), "expert-tp", NULL);
}

static void test_mesh_errors(void) {
  zb_mesh mesh;
  expect_usage(make("tp2-cp2-pp2", 16, "tp-cp-pp-ep-dp", 0), "does not end with pp, and dp is 2, expert-dp 4",
               "end the order");
  expect_usage(make("tp2-cp2-pp2", 16, "tp-pp-cp-ep-dp", 4), "ranks of a pipeline are 2 apart, those of its experts 4",
               "end the order");
  expect_ok(make("tp2-cp2", 16, "tp-cp-pp-ep-dp", 0)); /* one stage */
  expect_usage(make("ep2", 4, "tp-dp", 0), "ep is missing, and its size is 2", "tp-dp-ep");
  expect_usage(make("tp1", 4, "cp-dp", 2), "tp is missing", NULL);
  expect_usage(zb_mesh_init(&mesh, &(zb_mesh_params){.sizes = "tp2", .ranks = 8, .optimizer_instances = 3}),
               "dp 4 x cp 1 cannot be divided by 3 optimizer instances", "divides dp x cp");
  expect_usage(zb_mesh_init(&mesh, &(zb_mesh_params){.sizes = "tp2", .ranks = 8, .optimizer_instances = 8}), "by 8",
               NULL);
  expect_usage(zb_mesh_init(&mesh, &(zb_mesh_params){.sizes = "tp2", .ranks = 8, .optimizer_instances = -2}), "by -2",
               NULL);
  const char *const levels[] = {"2x3", "2x", "", "x2", "0x4", "1x1x1x1x8", "2,4"};
  for (int i = 0; i < 7; ++i)
    expect_usage(zb_mesh_init(&mesh, &(zb_mesh_params){.sizes = "cp8", .ranks = 8, .cp_levels = levels[i]}),
                 "steps of cp", "2x4");
}

static void test_rank_errors(void) {
  zb_mesh mesh;
  int rank = -1;
  expect_ok(zb_mesh_init(&mesh, &(zb_mesh_params){.sizes = "tp2-pp4", .ranks = 16}));
  expect_ok(zb_mesh_rank(&mesh, "PP3-tp1", &rank));
  CU_ASSERT_EQUAL(rank, 13);
  expect_ok(zb_mesh_rank(&mesh, "015", &rank));
  CU_ASSERT_EQUAL(rank, 15);
  expect_ok(zb_mesh_rank(&mesh, "0", &rank));
  CU_ASSERT_EQUAL(rank, 0);
  const char *const wrong[] = {"16",      "1x",   "99999999999", "",     "tp2", "tp",
                               "tp1-tp1", "tp1-", "zp1",         "tp0x", "ep1", "-1"};
  for (int i = 0; i < 12; ++i)
    expect_usage(zb_mesh_rank(&mesh, wrong[i], &rank), "rank '", "");
}

static int open_suite(void) {
  state = (uint64_t)time(NULL);
  printf("seed %" PRIu64 "\n", state);
  return 0;
}

SUITE_MAIN_WITH("mesh", open_suite, NULL, {"coordinates", test_coordinates}, {"groups", test_groups},
                {"communicators", test_communicators}, {"many_ranks", test_many_ranks}, {"example", test_example},
                {"grid_errors", test_grid_errors}, {"size_errors", test_size_errors}, {"mesh_errors", test_mesh_errors},
                {"rank_errors", test_rank_errors})
