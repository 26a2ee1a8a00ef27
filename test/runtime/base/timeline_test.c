/* Timelines: well-formed, complete, the same bytes each time, and the lanes of a Chrome trace do not overlap. */
#include "runtime/formats/timeline.h"

#include <CUnit/Basic.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "test/suite.h"

/* Rank 0 sends two messages at once to ranks 1 and 2. */
static const zb_event events[] = {
    {0, ZB_LANE_COMPUTE, 'F', 0, 0, 0, -1, 0, 1000000, 0, 5e9},
    {0, ZB_LANE_COMPUTE, 'W', 3, 1, 11, -1, 1000000, 2500000, 0, 0},
    {0, ZB_LANE_COMPUTE, 'O', -1, 0, -1, -1, 2500000, 4000001, 0, 0},
    {0, ZB_LANE_SEND, 'S', 0, 0, 0, 0, 1000000, 1400000, 64, 0},
    {0, ZB_LANE_SEND, 'S', 0, 0, 0, 1, 1000000, 1500000, 128, 0},
    {1, ZB_LANE_RECV, 'R', 1, 0, 0, 0, 200000, 1400000, 64, 0},
    {2, ZB_LANE_RECV, 'R', 2, 0, 0, 1, 1000000, 1500000, 128, 0},
    {1, ZB_LANE_COMPUTE, 'B', 1, 0, 0, -1, 1400000, 2000000, 0, 0},
};
static const zb_memory_sample memory[] = {{0, 0, 100}, {0, 1000000, 3000}, {1, 0, 50}, {1, 1400000, 2048}};

static zb_timeline make(void) {
  return (zb_timeline){.title = "a <b> & \"c\"",
                       .note = "note \\ \n",
                       .ranks = 3,
                       .chunks = 2,
                       .events = events,
                       .event_count = sizeof events / sizeof *events,
                       .memory = memory,
                       .memory_count = 4};
}

static char *write_and_read(zb_status (*write)(const zb_timeline *, const char *), const zb_timeline *timeline) {
  char *text = NULL;
  size_t bytes = 0;
  zb_status status = write(timeline, "timeline_test.out");
  CU_ASSERT_PTR_NULL(status);
  if (!status) status = zb_file_read("timeline_test.out", 0, &text, &bytes);
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
  remove("timeline_test.out");
  return text;
}

static int count(const char *text, const char *part) {
  int found = 0;
  for (; (text = strstr(text, part)); text += strlen(part))
    ++found;
  return found;
}

/* Every tag is closed, in order: enough of an XML parser for what is written here. */
static bool is_well_formed(const char *text) {
  char stack[64][16];
  int depth = 0;
  while ((text = strchr(text, '<'))) {
    const char *end = strchr(text, '>');
    if (!end) return false;
    char name[16] = "";
    const bool closing = text[1] == '/';
    sscanf(text + 1 + closing, "%15[a-zA-Z]", name);
    if (closing) {
      if (depth == 0 || strcmp(stack[--depth], name)) return false;
    } else if (end[-1] != '/') {
      if (depth == 64) return false;
      memcpy(stack[depth++], name, sizeof name);
    }
    text = end;
  }
  return depth == 0;
}

static void test_svg(void) {
  const zb_timeline timeline = make();
  char *svg = write_and_read(zb_timeline_svg, &timeline);
  CU_ASSERT_PTR_NOT_NULL_FATAL(svg);
  CU_ASSERT(is_well_formed(svg));
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, "a &lt;b&gt; &amp; &quot;c&quot;"));
  CU_ASSERT_EQUAL(count(svg, "class=\"r\""), 3);        /* rank names */
  CU_ASSERT_EQUAL(count(svg, "class=\"l\""), 2);        /* arrows */
  CU_ASSERT_EQUAL(count(svg, "class=\"m\" d="), 2 + 1); /* curves and their sign in the legend */
  CU_ASSERT_EQUAL(count(svg, "ps, "), 4);               /* tooltips of jobs */
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, "W11, rank 0, stage 3: 1000000 to 2500000 ps, 1.50"));
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">opt</text>"));
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">100.0%</text>")); /* rank 2 idles */
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, "peak 2.93 KiB"));
  char *again = write_and_read(zb_timeline_svg, &timeline);
  CU_ASSERT_STRING_EQUAL(svg, again);
  zb_free(again);
  zb_free(svg);
}

static double number(const json_t *object, const char *key) { return json_number_value(json_object_get(object, key)); }
static const char *string(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

static void test_chrome(void) {
  const zb_timeline timeline = make();
  char *text = write_and_read(zb_timeline_chrome, &timeline);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  json_error_t error;
  json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(root);
  CU_ASSERT_STRING_EQUAL(string(root, "displayTimeUnit"), "ms");
  CU_ASSERT_STRING_EQUAL(string(json_object_get(root, "otherData"), "title"), "a <b> & \"c\"");
  const json_t *list = json_object_get(root, "traceEvents");
  int slices = 0, counters = 0, starts = 0, ends = 0;
  for (size_t i = 0; i < json_array_size(list); ++i) {
    const json_t *a = json_array_get(list, i);
    const char phase = string(a, "ph")[0];
    slices += phase == 'X';
    counters += phase == 'C';
    starts += phase == 's';
    ends += phase == 'f';
    for (size_t k = 0; k < i && phase == 'X'; ++k) {
      const json_t *b = json_array_get(list, k);
      if (string(b, "ph")[0] != 'X' || number(a, "pid") != number(b, "pid") || number(a, "tid") != number(b, "tid"))
        continue;
      CU_ASSERT(number(a, "ts") >= number(b, "ts") + number(b, "dur") - 1e-9 ||
                number(b, "ts") >= number(a, "ts") + number(a, "dur") - 1e-9);
    }
    /* The receive was posted before the send: the arrow ends where it may. */
    if (phase == 'f' && number(a, "pid") == 1) CU_ASSERT_DOUBLE_EQUAL(number(a, "ts"), 1.0, 1e-9);
  }
  CU_ASSERT_EQUAL(slices, 8);
  CU_ASSERT_EQUAL(counters, 4);
  CU_ASSERT_EQUAL(starts, 2);
  CU_ASSERT_EQUAL(ends, 2);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"dur\":1.500001")); /* exact picoseconds */
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"name\":\"rank 0 (stage 0,3)\""));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"name\":\"W11\""));
  json_decref(root);
  zb_free(text);
}

/* No jobs, no memory, no names; and wrong ones. */
static void test_edges(void) {
  zb_timeline timeline = {.ranks = 1, .chunks = 1};
  char *svg = write_and_read(zb_timeline_svg, &timeline), *chrome = write_and_read(zb_timeline_chrome, &timeline);
  CU_ASSERT(svg && is_well_formed(svg));
  json_error_t error;
  json_t *root = json_loads(chrome, 0, &error);
  CU_ASSERT_PTR_NOT_NULL(root);
  json_decref(root);
  zb_free(svg);
  zb_free(chrome);
  zb_event wrong = events[0];
  timeline.events = &wrong;
  timeline.event_count = 1;
  wrong.rank = 1;
  zb_status status = zb_timeline_svg(&timeline, "timeline_test.out");
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  zb_status_free(status);
  status = zb_timeline_chrome(&timeline, "timeline_test.out");
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  zb_status_free(status);
  wrong.rank = 0;
  status = zb_timeline_svg(&timeline, "no-such-folder/timeline.svg");
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_IO);
  zb_status_free(status);
}

/* The number that an attribute has in the tag at `tag`. */
static double attribute(const char *tag, const char *name) {
  char wanted[32];
  snprintf(wanted, sizeof wanted, " %s=\"", name);
  const char *end = strchr(tag, '>'), *at = strstr(tag, wanted);
  return at && at < end ? strtod(at + strlen(wanted), NULL) : -1;
}

/* Every label stands upright within the box before it: 0.64 of its size is as wide as a digit of the widest of the
 * fonts. */
static bool labels_fit(const char *svg, int *labels) {
  const char *box = NULL, *group = strstr(svg, "<g class=\"b\">"), *end = group ? strstr(group, "</g>") : NULL;
  *labels = 0;
  for (const char *at = group; at && at < end; at = strchr(at + 1, '<')) {
    if (!strncmp(at, "<rect", 5)) box = at;
    if (strncmp(at, "<text", 5)) continue;
    const char *label = strchr(at, '>') + 1;
    const char class = at[strlen("<text class=\"")];
    const double size = class == 't'   ? 8
                        : class == 'u' ? 6
                        : class == 'v' ? 4.5
                        : class == 'x' ? 3
                                       : 10.5,
                 wide = 0.64 * size * (double)strcspn(label, "<"), x = attribute(at, "x"), left = attribute(box, "x");
    if (strstr(at, "rotate") && strstr(at, "rotate") < label) return false;
    if (x - wide / 2 < left || x + wide / 2 > left + attribute(box, "width")) return false;
    ++*labels;
  }
  return true;
}

/* Pipelines of all sizes: labels fit, the legend says what they are and ends before the picture does, bytes stay within
 * reason. */
static void test_labels(void) {
  static const struct {
    int ranks, micro_batches, chunks;
    int64_t times[3];
    bool too_many; /* no drawing is as wide as that */
  } rows[] = {{4, 8, 1, {2, 2, 1}, false},   {8, 24, 1, {18, 18, 9}, false}, {8, 24, 2, {18, 18, 9}, false},
              {16, 64, 1, {7, 9, 3}, false}, {32, 128, 2, {5, 6, 4}, true},  {2, 1200, 4, {1, 100, 3}, true}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    const int ranks = rows[i].ranks, jobs = rows[i].micro_batches * 3;
    zb_event *list = zb_alloc((size_t)(ranks * (jobs + 1)) * sizeof *list);
    zb_memory_sample *samples = zb_alloc((size_t)ranks * sizeof *samples);
    CU_ASSERT_FATAL(list && samples);
    int64_t count_of = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      int64_t time = rank * INT64_C(1000000000);
      samples[rank] = (zb_memory_sample){rank, time, 1000};
      for (int job = 0; job <= jobs; ++job) {
        const int64_t length = rows[i].times[job % 3] * INT64_C(1000000000);
        list[count_of++] = (zb_event){rank,
                                      ZB_LANE_COMPUTE,
                                      job == jobs ? 'O' : "FBW"[job % 3],
                                      rank,
                                      job % rows[i].chunks,
                                      job == jobs ? -1 : job / 3,
                                      -1,
                                      time,
                                      time + length,
                                      0,
                                      0};
        time += length;
      }
    }
    const zb_timeline timeline = {.title = "t",
                                  .ranks = ranks,
                                  .chunks = rows[i].chunks,
                                  .events = list,
                                  .event_count = count_of,
                                  .memory = samples,
                                  .memory_count = ranks};
    char *svg = write_and_read(zb_timeline_svg, &timeline);
    int labels = 0;
    CU_ASSERT_FATAL(svg && is_well_formed(svg));
    CU_ASSERT(labels_fit(svg, &labels));
    CU_ASSERT(rows[i].too_many ? labels == 0 : labels >= count_of / 2 - ranks);
    CU_ASSERT_EQUAL(!strstr(svg, "numbers: micro-batches"), labels == 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "memory, one scale"));
    CU_ASSERT(strlen(svg) < 8000 + 200 * (size_t)count_of);
    const double width = attribute(svg, "width");
    CU_ASSERT(width <= 1800);
    for (const char *at = strstr(svg, "class=\"n\""); at; at = strstr(at + 1, "class=\"n\""))
      CU_ASSERT(attribute(at, "x") + 6.1 * (double)strcspn(strchr(at, '>') + 1, "<") <
                width - 70); /* "idle" stands there */
    zb_free(svg);
    zb_free(samples);
    zb_free(list);
  }
}

/* A step from picoseconds to hours has sensible ticks. */
static void test_scales(void) {
  for (int64_t length = 1; length < INT64_C(1000000000000000); length *= 7) {
    const zb_event event = {0, ZB_LANE_COMPUTE, 'F', 0, 0, 0, -1, 0, length, 0, 0};
    const zb_timeline timeline = {.title = "t", .ranks = 1, .chunks = 1, .events = &event, .event_count = 1};
    char *svg = write_and_read(zb_timeline_svg, &timeline);
    CU_ASSERT(svg && is_well_formed(svg));
    const int ticks = svg ? count(svg, "class=\"g\"") : 0;
    CU_ASSERT(ticks >= 2 && ticks <= 24);
    zb_free(svg);
  }
}

/* What is of no micro-batch is called by its name: in the box, in the legend, in the tooltip. */
static void test_sums(void) {
  static const zb_event sum = {0, ZB_LANE_COMPUTE, 'A', -1, 0, -1, -1, 0, 1000000, 0, 0};
  const zb_timeline timeline = {.ranks = 1, .chunks = 1, .events = &sum, .event_count = 1};
  char *text = write_and_read(zb_timeline_svg, &timeline);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_TRUE(is_well_formed(text));
  CU_ASSERT_EQUAL(count(text, ">sum of what ranks sent</text>"), 1);
  CU_ASSERT_EQUAL(count(text, "<title>sum of what ranks sent, rank 0: 0 to 1000000 ps"), 1);
  CU_ASSERT_EQUAL(count(text, ">sum</text>"), 1);
  CU_ASSERT_EQUAL(count(text, ">other<"), 0);
  free(text);
  text = write_and_read(zb_timeline_chrome, &timeline);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_EQUAL(count(text, "\"name\":\"ADD\",\"cat\":\"A\""), 1);
  free(text);
}

SUITE_MAIN("timeline", {"SVG", test_svg}, {"Chrome trace", test_chrome}, {"nothing to draw, wrong events", test_edges},
           {"time scales", test_scales}, {"labels fit", test_labels}, {"sums", test_sums})
