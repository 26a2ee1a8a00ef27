/* Timelines as SVG: a row of boxes and a memory curve a rank, one self-contained file without scripts. Several of them
 * are drawn under each other, on one scale of time and one of memory.
 *
 * All coordinates are printed as rounded integers of a hundredth of a pixel, so that the same timeline gives the same
 * bytes on every machine and in every locale. The drawing is as wide as usual jobs need for the number of their
 * micro-batch, up to what a page shows with a title that can be read; then numbers get smaller, for those who zoom in.
 * Jobs too short for the smallest have none, but a tooltip. The Chrome trace is timeline_chrome.c. Tests:
 * test/runtime/base/timeline_test.c.
 */
#include "runtime/formats/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/arena.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"

/* Pixels. */
enum {
  MARGIN = 24,
  LEFT = 112, /* start of the plot: the rank and its peak are left of it */
  RIGHT = 88, /* from the end of the plot: idle share */
  TOP = 104,  /* title, note, legend */
  BOX = 30,   /* height of a row of jobs */
  CURVE = 20, /* height of its memory curve */
  GAP = 14,   /* between ranks */
  AXIS = 48,
  PLOT_MIN = 1040,
  PLOT_MAX = 1600,
  ARROWS_MAX = 160, /* more messages than this would hide the boxes */
  BRIEF_MIN = 4000, /* with more jobs than this boxes and tooltips take fewer letters */
};

/* Labels, from the usual size down, in pixels: a letter, as wide as the fonts of add_styles have digits, what is left
 * free around all of them, and the class in the style sheet. */
static const struct {
  double size, letter, beside;
  const char *class;
} sizes[] = {{10.5, 6.8, 4.4, ""}, {8, 5.2, 2.4, "t"}, {6, 3.9, 1.8, "u"}, {4.5, 2.95, 1.4, "v"}, {3, 1.95, 0.9, "x"}};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };
static const double ROUNDING = 0.01;

/* How a kind of job looks; chunk 0 is drawn so, later chunks lighter. name, label: of jobs that are not of a
 * micro-batch. */
typedef struct style {
  char kind;
  const char *help, *name, *label;
  int red, green, blue;
  bool hatched;
} style;

static const style styles[] = {
    {'F', "F: forward", NULL, NULL, 52, 104, 214, false},
    {'B', "B: gradient of the input", NULL, NULL, 20, 158, 168, false},
    {'W', "W: gradient of the parameters", NULL, NULL, 138, 196, 132, true},
    {'O', "optimizer", "optimizer", "opt", 236, 140, 48, false},
    {'A', "sum of what ranks sent", "sum of what ranks sent", "sum", 176, 92, 176, false},
    {0, "other", NULL, NULL, 140, 140, 150, false},
};
enum { STYLE_COUNT = sizeof styles / sizeof *styles, SHADES = 4 };

static int style_of(char kind) {
  int i = 0;
  while (i < STYLE_COUNT - 1 && styles[i].kind != kind)
    ++i;
  return i;
}

typedef struct picture {
  const zb_timeline *timeline;
  zb_text *out;
  zb_arena *memory;
  int64_t start_ps, end_ps;
  int64_t *busy_ps; /* [ranks] */
  uint64_t *peak;   /* [ranks] */
  int top;          /* where it starts in the drawing */
  bool drawn[STYLE_COUNT];
  bool labelled; /* some job has the number of its micro-batch */
  bool brief;    /* there are many jobs, so text is kept short */
  /* Common to all of a drawing. */
  int64_t span_ps;
  double scale; /* pixels a ps */
  int plot_width;
  uint64_t most_bytes;
  double whiter; /* from chunk to chunk */
  int digits;    /* of the largest number of a micro-batch */
} picture;

/* ---- Numbers and text ---- */

/* A number as text; it lives until the end of the call that it is an argument of. */
typedef struct shown {
  char text[48];
} shown;

/* An integer whose last `decimals` digits are behind the point. Without a double, for the same bytes in every locale.
 */
static shown decimal(long long value, int decimals) {
  static const long long powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
  const long long power = powers[decimals], size = value < 0 ? -value : value;
  shown out;
  int used = snprintf(out.text, sizeof out.text, "%s%lld", value < 0 ? "-" : "", size / power);
  if (decimals) snprintf(out.text + used, sizeof out.text - (size_t)used, ".%0*lld", decimals, size % power);
  return out;
}

static shown number(double value) {
  const long long hundredths = llround(value * 100);
  const int decimals = hundredths % 100 == 0 ? 0 : hundredths % 10 == 0 ? 1 : 2;
  return decimal(decimals == 2 ? hundredths : decimals == 1 ? hundredths / 10 : hundredths / 100, decimals);
}

static void add_escaped(zb_text *out, const char *text) {
  static const char special[] = "<>&\"";
  static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
  for (; *text; ++text) {
    const char *at = strchr(special, *text);
    if (at)
      zb_text_add(out, "%s", names[at - special]);
    else if ((unsigned char)*text >= ' ')
      zb_text_add_bytes(out, text, 1);
  }
}

/* Units of time and of memory: the largest of which the value has at least one. */
typedef struct unit {
  const char *name;
  double size;
} unit;
enum { UNIT_COUNT = 5 };
static const unit time_units[UNIT_COUNT] = {{"ps", 1}, {"ns", 1e3}, {"\xc2\xb5s", 1e6}, {"ms", 1e9}, {"s", 1e12}};
static const unit byte_units[UNIT_COUNT] = {
    {"B", 1}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};

static const unit *pick_unit(const unit *units, double value) {
  int i = UNIT_COUNT - 1;
  while (i > 0 && units[i].size > value)
    --i;
  return &units[i];
}

/* A value with three digits or more, in its unit: 1.25 ms, 840 MiB. */
static shown quantity(double value, const unit *units) {
  const unit *u = pick_unit(units, value);
  const double scaled = value / u->size;
  const int decimals = u->size <= 1 || scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2;
  shown out = decimal(llround(scaled * (decimals == 0 ? 1 : decimals == 1 ? 10 : 100)), decimals);
  const size_t used = strlen(out.text);
  snprintf(out.text + used, sizeof out.text - used, " %s", u->name);
  return out;
}

static shown time_of(int64_t ps) { return quantity((double)ps, time_units); }
static shown bytes_of(uint64_t bytes) { return quantity((double)bytes, byte_units); }

/* 0.157 as 15.7%. */
static shown share(double value) {
  const long long tenths = llround(fmax(value, 0) * 1000);
  shown out;
  snprintf(out.text, sizeof out.text, "%lld.%lld%%", tenths / 10, tenths % 10);
  return out;
}

/* ---- Geometry ---- */

static double x_of(const picture *p, int64_t time_ps) { return LEFT + (double)(time_ps - p->start_ps) * p->scale; }
static int row_of(const picture *p, int rank) { return p->top + TOP + rank * (BOX + CURVE + GAP); }
static int bottom_of(const picture *p) { return row_of(p, p->timeline->ranks) - GAP; }
static int height_of(const picture *p) { return bottom_of(p) + AXIS + 8 - p->top; }
static int plot_end(const picture *p) { return LEFT + (int)lround((double)(p->end_ps - p->start_ps) * p->scale); }

static int compare_times(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Digits of the largest number of a micro-batch. */
static int most_digits(const zb_timeline *t) {
  int digits = 1;
  int32_t most = 9;
  for (int64_t i = 0; i < t->event_count; ++i)
    for (; t->events[i].micro_batch > most && digits < 9; ++digits)
      most = most * 10 + 9;
  return digits;
}

/* Time of the compute job in the middle; 0: there are none. */
static int64_t usual_time(const zb_timeline *t, zb_arena *memory) {
  int64_t *times = ZB_NEW(memory, int64_t, t->event_count);
  size_t count = 0;
  for (int64_t i = 0; times && i < t->event_count; ++i)
    if (t->events[i].lane == ZB_LANE_COMPUTE && t->events[i].end_ps > t->events[i].start_ps)
      times[count++] = t->events[i].end_ps - t->events[i].start_ps;
  if (count) qsort(times, count, sizeof *times, compare_times);
  return count ? times[count / 2] : 0;
}

/* One scale for all pictures, at which half of the jobs have room for their label; of several pictures, where jobs are
 * longest: the others have more chunks. */
static void choose_scales(picture *pictures, int count) {
  int64_t span = 1, usual = 0;
  uint64_t most = 0;
  int digits = 1;
  for (int i = 0; i < count; ++i) {
    const picture *p = &pictures[i];
    const int64_t time = usual_time(p->timeline, p->memory);
    if (most_digits(p->timeline) > digits) digits = most_digits(p->timeline);
    if (time > usual) usual = time;
    if (p->end_ps - p->start_ps > span) span = p->end_ps - p->start_ps;
    if (p->most_bytes > most) most = p->most_bytes;
  }
  const double wanted = usual ? (sizes[0].beside + sizes[0].letter * digits) * ((double)span / (double)usual) : 0;
  const double width = fmin(fmax(wanted, PLOT_MIN), PLOT_MAX);
  for (int i = 0; i < count; ++i) {
    picture *p = &pictures[i];
    p->plot_width = (int)ceil(width);
    p->span_ps = span;
    p->scale = p->plot_width / (double)span;
    p->most_bytes = most;
    p->digits = digits;
  }
}

static zb_status check(const zb_timeline *t) {
  if (t->ranks < 1) return ZB_ERROR(INVALID, "timeline: expected 1 rank or more, got %d", t->ranks);
  for (int64_t i = 0; i < t->event_count; ++i)
    if (t->events[i].rank < 0 || t->events[i].rank >= t->ranks || t->events[i].end_ps < t->events[i].start_ps)
      return ZB_ERROR(
          INVALID,
          "timeline: event %lld: expected a rank of 0..%d and an end after the start, got rank %d, %lld to %lld ps",
          (long long)i, t->ranks - 1, t->events[i].rank, (long long)t->events[i].start_ps,
          (long long)t->events[i].end_ps);
  for (int64_t i = 0; i < t->memory_count; ++i)
    if (t->memory[i].rank < 0 || t->memory[i].rank >= t->ranks)
      return ZB_ERROR(INVALID, "timeline: memory sample %lld: expected a rank of 0..%d, got %d", (long long)i,
                      t->ranks - 1, t->memory[i].rank);
  return NULL;
}

static zb_status measure(picture *p) {
  const zb_timeline *t = p->timeline;
  ZB_TAKE(p->memory, p->busy_ps, t->ranks);
  ZB_TAKE(p->memory, p->peak, t->ranks);
  ZB_TRY(zb_arena_status(p->memory));
  p->start_ps = t->event_count ? INT64_MAX : 0;
  p->end_ps = t->event_count ? INT64_MIN : 1;
  for (int64_t i = 0; i < t->event_count; ++i) {
    const zb_event *event = &t->events[i];
    if (event->start_ps < p->start_ps) p->start_ps = event->start_ps;
    if (event->end_ps > p->end_ps) p->end_ps = event->end_ps;
    if (event->lane == ZB_LANE_COMPUTE) p->busy_ps[event->rank] += event->end_ps - event->start_ps;
  }
  if (p->end_ps <= p->start_ps) p->end_ps = p->start_ps + 1;
  p->brief = t->event_count > BRIEF_MIN;
  for (int64_t i = 0; i < t->memory_count; ++i) {
    const zb_memory_sample *sample = &t->memory[i];
    if (sample->bytes > p->peak[sample->rank]) p->peak[sample->rank] = sample->bytes;
    if (sample->bytes > p->most_bytes) p->most_bytes = sample->bytes;
  }
  return NULL;
}

/* ---- Parts of the drawing ---- */

/* 0: the colour, 1: white. Shades that no chunk has may lie beyond. */
static shown colour(const style *s, double white) {
  shown out;
  white = white < 1 ? white : 1;
  snprintf(out.text, sizeof out.text, "#%02x%02x%02x", (unsigned)lround(s->red + (255 - s->red) * white),
           (unsigned)lround(s->green + (255 - s->green) * white), (unsigned)lround(s->blue + (255 - s->blue) * white));
  return out;
}

static int shade_of(int chunk) { return chunk < 0 ? 0 : chunk < SHADES ? chunk : SHADES - 1; }

static void add_styles(picture *p) {
  zb_text *out = p->out;
  zb_text_add(out,
              "<style>\n"
              "text{font-family:'Helvetica Neue',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#27303f}\n"
              ".h{font-size:18px;font-weight:600}.n{font-size:12px;fill:#667085}.r{font-size:13px;font-weight:600}\n"
              ".s{font-size:10.5px;fill:#667085}.a{font-size:11px;fill:#667085;text-anchor:middle}.i{font-size:13px;"
              "text-anchor:end}\n"
              ".b text{font-size:10.5px;text-anchor:middle;fill:#fff;pointer-events:none}.b .d{fill:#1b2a3d}\n"
              ".g{stroke:#e4e7ec;stroke-width:1}.m{fill:#dfe5f0;stroke:#7f8ea8;stroke-width:.9}.w{fill:#fff;stroke:#"
              "d0d5dd;stroke-width:.8}\n"
              ".l{stroke:#475467;stroke-width:.7;opacity:.55;fill:none;marker-end:url(#head)}\n");
  for (int i = 1; i < SIZE_COUNT; ++i)
    zb_text_add(out, ".b .%s{font-size:%spx}%s", sizes[i].class, number(sizes[i].size).text,
                i + 1 < SIZE_COUNT ? "" : "\n");
  for (int i = 0; i < STYLE_COUNT; ++i)
    for (int shade = 0; shade < SHADES; ++shade) {
      const shown fill = colour(&styles[i], p->whiter * shade);
      if (styles[i].hatched)
        zb_text_add(out, ".k%d%d{fill:url(#hatch%d);stroke:%s;stroke-width:.8}\n", i, shade, shade, fill.text);
      else
        zb_text_add(out, ".k%d%d{fill:%s}\n", i, shade, fill.text);
    }
  zb_text_add(out, "</style>\n<defs><marker id=\"head\" viewBox=\"0 0 6 6\" refX=\"5.4\" refY=\"3\" markerWidth=\"6\" "
                   "markerHeight=\"6\" "
                   "orient=\"auto\"><path d=\"M0 0.6L6 3L0 5.4z\" fill=\"#475467\"/></marker>\n");
  const style *w = &styles[style_of('W')];
  for (int shade = 0; shade < SHADES; ++shade)
    zb_text_add(out,
                "<pattern id=\"hatch%d\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
                "patternTransform=\"rotate(45)\"><rect width=\"5\" height=\"5\" fill=\"%s\"/>"
                "<rect width=\"1.6\" height=\"5\" fill=\"%s\"/></pattern>\n",
                shade, colour(w, 0.55 + p->whiter * shade / 4).text, colour(w, 0.15 + p->whiter * shade / 2).text);
  zb_text_add(out, "</defs>\n");
}

static void add_header(picture *p) {
  zb_text *out = p->out;
  const zb_timeline *t = p->timeline;
  double idle = 0;
  for (int rank = 0; rank < t->ranks; ++rank)
    idle += 1 - (double)p->busy_ps[rank] / (double)(p->end_ps - p->start_ps);
  zb_text_add(out, "<text class=\"h\" x=\"%d\" y=\"%d\">", MARGIN, p->top + 36);
  add_escaped(out, t->title ? t->title : "timeline");
  zb_text_add(out, "</text>\n<text class=\"n\" x=\"%d\" y=\"%d\">step %s, idle %s (mean over ranks)%s", MARGIN,
              p->top + 57, time_of(p->end_ps - p->start_ps).text, share(idle / t->ranks).text, t->note ? "; " : "");
  if (t->note) add_escaped(out, t->note);
  zb_text_add(out, "</text>\n");
}

enum { SIGN = 20, LEGEND_GAP = 14 }; /* the room before a text of the legend, and between two */

/* A text of the legend; *x moves behind it. */
static void add_legend_text(picture *p, int *x, int y, const char *text) {
  zb_text_add(p->out, "<text class=\"n\" x=\"%d\" y=\"%d\">%s</text>\n", *x, y, text);
  *x += (int)(6.5 * (double)strlen(text)) + LEGEND_GAP;
}

static void add_legend_box(picture *p, int *x, int y, int kind, int shade) {
  zb_text_add(p->out, "<rect class=\"k%d%d\" x=\"%d\" y=\"%d\" width=\"14\" height=\"12\" rx=\"2\"/>", kind, shade, *x,
              y - 10);
  *x += SIGN;
}

/* One line under the note: what is in the picture, and nothing else. */
static void add_legend(picture *p) {
  int x = MARGIN;
  const int y = p->top + TOP - 18;
  for (int i = 0; i < STYLE_COUNT; ++i)
    if (p->drawn[i]) {
      add_legend_box(p, &x, y, i, 0);
      add_legend_text(p, &x, y, styles[i].help);
    }
  if (p->labelled) add_legend_text(p, &x, y, "numbers: micro-batches");
  if (p->timeline->memory_count) {
    zb_text_add(p->out, "<path class=\"m\" d=\"M%d %dv-8h5v-3h5v6h4v5z\"/>", x, y + 2);
    x += SIGN;
    add_legend_text(p, &x, y, "memory, one scale");
  }
  if (p->timeline->chunks < 2) return;
  const int shades = p->timeline->chunks < SHADES ? p->timeline->chunks : SHADES;
  for (int shade = 0; shade < shades; ++shade) {
    char text[32];
    snprintf(text, sizeof text, "%s%d%s", shade ? "" : "chunk ", shade,
             shade == SHADES - 1 && p->timeline->chunks > SHADES ? "+" : "");
    add_legend_text(p, &x, y, text);
    x -= LEGEND_GAP / 2;
    for (int i = 0; i < STYLE_COUNT; ++i)
      if (p->drawn[i] && (styles[i].kind == 'F' || styles[i].kind == 'B' || styles[i].kind == 'W'))
        add_legend_box(p, &x, y, i, shade);
    x += LEGEND_GAP / 2;
  }
}

/* Ticks at 1, 2 or 5 times a power of ten, about one in 110 pixels. */
static void add_axis(picture *p) {
  zb_text *out = p->out;
  const double span = (double)p->span_ps;
  const unit *u = pick_unit(time_units, span);
  const double wanted = span / u->size * 110 / p->plot_width;
  double step = pow(10, floor(log10(wanted)));
  if (step * 5 < wanted)
    step *= 10;
  else if (step * 2 < wanted)
    step *= 5;
  else if (step < wanted)
    step *= 2;
  int decimals = 0;
  for (double s = step; s < 0.999 && decimals < 6; s *= 10)
    ++decimals;
  const int bottom = bottom_of(p), ticks = (int)floor(span / u->size / step + 1e-9);
  for (int i = 0; i <= ticks; ++i) {
    const shown x = number(LEFT + i * step * u->size * p->scale);
    const long long value = llround(i * step * pow(10, decimals));
    zb_text_add(out, "<path class=\"g\" d=\"M%s %dV%d\"/><text class=\"a\" x=\"%s\" y=\"%d\">%s</text>\n", x.text,
                p->top + TOP - 6, bottom + 6, x.text, bottom + 21, decimal(value, decimals).text);
  }
  zb_text_add(out, "<text class=\"a\" x=\"%d\" y=\"%d\">time (%s)</text>\n", LEFT + p->plot_width / 2, bottom + 39,
              u->name);
}

static void add_rank(picture *p, int rank) {
  zb_text *out = p->out;
  const int y = row_of(p, rank);
  const double idle = 1 - (double)p->busy_ps[rank] / (double)(p->end_ps - p->start_ps);
  zb_text_add(out, "<text class=\"r\" x=\"%d\" y=\"%d\">rank %d</text>\n", MARGIN, y + 20, rank);
  zb_text_add(out, "<rect class=\"w\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, y, plot_end(p) - LEFT,
              BOX);
  zb_text_add(out, "<text class=\"i\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT + p->plot_width + RIGHT - MARGIN, y + 20,
              share(idle).text);
  if (rank == 0)
    zb_text_add(out, "<text class=\"i\" x=\"%d\" y=\"%d\" style=\"font-size:11px;fill:#667085\">idle</text>\n",
                LEFT + p->plot_width + RIGHT - MARGIN, y - 8);
  if (p->timeline->memory_count)
    zb_text_add(out, "<text class=\"s\" x=\"%d\" y=\"%d\">%s</text>\n", MARGIN, y + BOX + 14,
                bytes_of(p->peak[rank]).text);
}

static double curve_y(const picture *p, int rank, uint64_t bytes) {
  const int base = row_of(p, rank) + BOX + CURVE;
  return p->most_bytes ? base - (CURVE - 3) * ((double)bytes / (double)p->most_bytes) : base;
}

/* Samples are by rank and time; each value holds until the next one. */
static void add_curves(picture *p) {
  const zb_timeline *t = p->timeline;
  zb_text *out = p->out;
  for (int64_t i = 0; i < t->memory_count;) {
    const int rank = t->memory[i].rank, base = row_of(p, rank) + BOX + CURVE;
    zb_text_add(out, "<path class=\"m\" d=\"M%s %d", number(x_of(p, t->memory[i].time_ps)).text, base);
    for (; i < t->memory_count && t->memory[i].rank == rank; ++i)
      zb_text_add(out, "H%sV%s", number(x_of(p, t->memory[i].time_ps)).text,
                  number(curve_y(p, rank, t->memory[i].bytes)).text);
    zb_text_add(out, "H%dV%dz\"><title>rank %d: peak %s</title></path>\n", plot_end(p), base, rank,
                bytes_of(p->peak[rank]).text);
  }
}

static void add_tooltip(const picture *p, const zb_event *event) {
  zb_text *out = p->out;
  const style *look = &styles[style_of(event->kind)];
  if (look->name)
    zb_text_add(out, "<title>%s, rank %d", look->name, event->rank);
  else
    zb_text_add(out, "<title>%c%d, rank %d", event->kind, event->micro_batch, event->rank);
  if (event->stage >= 0) zb_text_add(out, ", stage %d", event->stage);
  if (!p->brief) zb_text_add(out, ": %lld to %lld ps", (long long)event->start_ps, (long long)event->end_ps);
  zb_text_add(out, ", %s</title>", time_of(event->end_ps - event->start_ps).text);
}

/* The micro-batch, or what else a style says, in the size that fits the box; none where neither does: a tooltip has it.
 */
static void add_label(picture *p, const zb_event *event, double x, double width) {
  const style *look = &styles[style_of(event->kind)];
  if (event->micro_batch < 0 && !look->label) return;
  const bool dark = look->hatched || p->whiter * shade_of(event->chunk) > 0.3;
  char label[16];
  if (look->label)
    snprintf(label, sizeof label, "%s", look->label);
  else
    snprintf(label, sizeof label, "%d", event->micro_batch);
  /* Of the largest number: boxes of one width have all labels or none. */
  const double letters = look->label ? (double)strlen(look->label) : p->digits;
  int size = 0;
  while (size < SIZE_COUNT && width < sizes[size].beside + sizes[size].letter * letters - ROUNDING)
    ++size;
  if (size == SIZE_COUNT) return;
  p->labelled |= !look->label;
  zb_text_add(p->out, "<text class=\"%s%s\" x=\"%s\" y=\"%d\">%s</text>\n", sizes[size].class, dark ? " d" : "",
              number(x).text, row_of(p, event->rank) + BOX / 2 + (int)lround(0.37 * sizes[size].size), label);
}

static void add_box(picture *p, const zb_event *event) {
  zb_text *out = p->out;
  const int kind = style_of(event->kind), shade = shade_of(event->chunk), y = row_of(p, event->rank);
  const double x = x_of(p, event->start_ps), width = x_of(p, event->end_ps) - x;
  const double inset = width > 6 ? 0.5 : 0;
  p->drawn[kind] = true;
  zb_text_add(out, "<rect class=\"k%d%d\" x=\"%s\" y=\"%d\" width=\"%s\" height=\"%d\"%s>", kind, shade,
              number(x + inset).text, y + 1, number(fmax(width - 2 * inset, 0.3)).text, BOX - 2,
              width > 6 && !p->brief ? " rx=\"2\"" : "");
  add_tooltip(p, event);
  zb_text_add(out, "</rect>\n");
  add_label(p, event, x + width / 2, width);
}

/* Joins both ends of every message; `send` is indexed by message number. */
static void add_arrows(picture *p) {
  const zb_timeline *t = p->timeline;
  int64_t sends = 0;
  int32_t most = -1;
  for (int64_t i = 0; i < t->event_count; ++i) {
    sends += t->events[i].lane == ZB_LANE_SEND;
    if (t->events[i].lane == ZB_LANE_SEND && t->events[i].message > most) most = t->events[i].message;
  }
  if (sends > ARROWS_MAX || most < 0 || most > 1000 * ARROWS_MAX) return;
  const zb_event **send = ZB_NEW(p->memory, const zb_event *, most);
  if (!send) return;
  for (int64_t i = 0; i < t->event_count; ++i)
    if (t->events[i].lane == ZB_LANE_SEND && t->events[i].message >= 0) send[t->events[i].message] = &t->events[i];
  for (int64_t i = 0; i < t->event_count; ++i) {
    const zb_event *to = &t->events[i];
    if (to->lane != ZB_LANE_RECV || to->message < 0 || to->message > most || !send[to->message]) continue;
    const zb_event *from = send[to->message];
    const bool down = from->rank < to->rank;
    zb_text_add(p->out, "<path class=\"l\" d=\"M%s %dL%s %d\"/>\n", number(x_of(p, from->start_ps)).text,
                row_of(p, from->rank) + (down ? BOX : 0), number(x_of(p, to->end_ps)).text,
                row_of(p, to->rank) + (down ? 0 : BOX));
  }
}

static void draw(picture *p) {
  const zb_timeline *t = p->timeline;
  zb_text *out = p->out;
  add_header(p);
  for (int rank = 0; rank < t->ranks; ++rank)
    add_rank(p, rank);
  add_axis(p);
  add_curves(p);
  zb_text_add(out, "<g class=\"b\">\n");
  for (int64_t i = 0; i < t->event_count; ++i)
    if (t->events[i].lane == ZB_LANE_COMPUTE && t->events[i].end_ps > t->events[i].start_ps) add_box(p, &t->events[i]);
  zb_text_add(out, "</g>\n");
  add_arrows(p);
  add_legend(p);
}

static void draw_all(picture *pictures, int count, zb_text *out) {
  const picture *first = &pictures[0];
  int height = 0, chunks = 1;
  for (int i = 0; i < count; ++i) {
    pictures[i].top = height;
    height += height_of(&pictures[i]);
    if (pictures[i].timeline->chunks > chunks) chunks = pictures[i].timeline->chunks;
  }
  for (int i = 0; i < count; ++i)
    pictures[i].whiter = chunks > 3 ? 0.22 : chunks == 3 ? 0.3 : 0.42;
  const int width = LEFT + first->plot_width + RIGHT;
  zb_text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
              width, height, width, height);
  add_styles(&pictures[0]);
  zb_text_add(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
  for (int i = 0; i < count; ++i)
    draw(&pictures[i]);
  zb_text_add(out, "</svg>\n");
}

zb_status zb_timeline_svg_all(const zb_timeline *timelines, int count, const char *path) {
  if (count < 1) return ZB_ERROR(INVALID, "timelines: expected 1 or more, got %d", count);
  for (int i = 0; i < count; ++i)
    ZB_TRY(check(&timelines[i]));
  zb_text text = {0};
  zb_status status = NULL;
  zb_arena memory = {0};
  picture *pictures = ZB_NEW(&memory, picture, count);
  ZB_TRY_GOTO(zb_arena_status(&memory));
  for (int i = 0; i < count; ++i) {
    pictures[i] = (picture){.timeline = &timelines[i], .out = &text, .memory = &memory};
    ZB_TRY_GOTO(measure(&pictures[i]));
  }
  choose_scales(pictures, count);
  draw_all(pictures, count, &text);
  ZB_TRY_GOTO(text.failed ? ZB_OUT_OF_MEMORY() : zb_arena_status(&memory));
  ZB_TRY_GOTO(zb_file_write_atomic(path, text.data, text.length));
cleanup:
  zb_arena_deinit(&memory);
  zb_text_deinit(&text);
  return status;
}

zb_status zb_timeline_svg(const zb_timeline *timeline, const char *path) {
  return zb_timeline_svg_all(timeline, 1, path);
}
