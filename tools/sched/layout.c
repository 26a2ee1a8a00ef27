/* zb-sched --layout: which layers of a model are on which rank, stage and chunk. */
#include <stdio.h>

#include "tools/sched/sched.h"
#include "zb/layers.h"

static void print_json_stages(const zb_layer_layout *layout) {
  printf("\"stages\": [");
  for (int s = 0; s < layout->stages; ++s) {
    const zb_layer_stage *stage = &layout->stage[s];
    printf("%s{\"stage\": %d, \"rank\": %d, \"chunk\": %d, \"embedding\": %s, \"layers\": [", s ? ", " : "", s,
           stage->rank, stage->chunk, stage->embedding ? "true" : "false");
    for (int i = 0; i < stage->layers; ++i)
      printf("%s%d", i ? ", " : "", stage->first_layer + i);
    printf("], \"heads\": %d, \"losses\": %d}", stage->heads, stage->losses);
  }
  printf("]");
}

static void print_json(const sched_settings *s, const zb_layer_layout *layout, const char *string) {
  printf("{\"version\": \"%s\", \"layout\": ", ZB_VERSION);
  tool_print_json_text(s->layout);
  printf(", \"string\": \"%s\", \"ranks\": %d, \"chunks\": %d, ", string, layout->ranks, layout->chunks);
  print_json_stages(layout);
  printf(", \"layers\": [");
  for (int layer = 0; layer < layout->layers; ++layer) {
    const int stage = layout->layer_stage[layer];
    printf("%s{\"layer\": %d, \"rank\": %d, \"stage\": %d, \"chunk\": %d}", layer ? ", " : "", layer,
           layout->stage[stage].rank, stage, layout->stage[stage].chunk);
  }
  printf("]}\n");
}

/* "E 0-2", "33", "m L", "-" */
static void stage_text(const zb_layer_stage *stage, char out[96]) {
  char layers[48] = "", heads[24] = "", losses[24] = "";
  if (stage->layers == 1) snprintf(layers, sizeof layers, " %d", stage->first_layer);
  if (stage->layers > 1)
    snprintf(layers, sizeof layers, " %d-%d", stage->first_layer, stage->first_layer + stage->layers - 1);
  if (stage->heads) snprintf(heads, sizeof heads, stage->heads > 1 ? " m*%d" : " m", stage->heads);
  if (stage->losses) snprintf(losses, sizeof losses, stage->losses > 1 ? " L*%d" : " L", stage->losses);
  snprintf(out, 96, "%s%s%s%s", stage->embedding ? " E" : "", layers, heads, losses);
  if (!*out) snprintf(out, 96, " -");
}

static void print_table(const zb_layer_layout *layout, const char *string) {
  char text[96];
  printf("%d layers on %d stages: %d ranks x %d chunks\n", layout->layers, layout->stages, layout->ranks,
         layout->chunks);
  printf("string: %s\n\n%-6s", string, "rank");
  for (int chunk = 0; chunk < layout->chunks; ++chunk)
    printf("  chunk %-8d", chunk);
  printf("\n");
  for (int rank = 0; rank < layout->ranks; ++rank) {
    printf("%-6d", rank);
    for (int s = 0; s < layout->stages; ++s) { /* of one rank they rise with its chunks */
      if (layout->stage[s].rank != rank) continue;
      stage_text(&layout->stage[s], text);
      printf(" %-15s", text);
    }
    printf("\n");
  }
}

zb_status sched_run_layout(const sched_settings *s) {
  const zb_layer_params params = {
      .layout = s->layout, .layers = s->layers, .ranks = s->ranks, .chunks = s->chunks, .placement = s->placement};
  zb_layer_layout layout;
  ZB_TRY(zb_layer_layout_init(&layout, &params));
  char *string = zb_layer_layout_string(&layout);
  if (string && s->json)
    print_json(s, &layout, string);
  else if (string)
    print_table(&layout, string);
  zb_layer_layout_deinit(&layout);
  if (!string) return ZB_OUT_OF_MEMORY();
  zb_free(string);
  return NULL;
}
