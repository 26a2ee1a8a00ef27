/* Values of parameters from elsewhere: see weights.h. Tests: test/runtime/base/weights_test.c, test/e2e/weights.py */
#include "runtime/formats/weights.h"

#include "runtime/base/arena.h"
#include "runtime/base/folder.h"
#include "runtime/base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LISTED_MISSING = 12, LISTED_SURPLUS = 3, NOTES = 3 };

/* ---- Where the values are ---- */

#define INDEX_ENDING ".safetensors.index.json"
static const char *const folder_files[] = {"model.safetensors", "model" INDEX_ENDING, "weights.safetensors"};
static const char *const pickle_endings[] = {".bin", ".pt", ".pth", ".ckpt", ".pkl"};
static const char *const no_keys[] = {NULL};

static bool is_file(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static zb_status refuse_pickle(const char *path) {
  return zb_status_hint(
      ZB_ERROR(USAGE, "'%s' is a pickle of PyTorch: it is read by Python alone", path),
      "convert it: python -c \"import torch, safetensors.torch as s; "
      "s.save_file({k: v.clone() for k, v in torch.load('%s', map_location='cpu').items()}, 'model.safetensors')\"",
      path);
}

static zb_status open_file(const char *path, zb_store **out) {
  for (size_t i = 0; i < sizeof pickle_endings / sizeof pickle_endings[0]; ++i)
    if (zb_ends_with(path, pickle_endings[i])) return refuse_pickle(path);
  return zb_ends_with(path, INDEX_ENDING) ? zb_store_open_index(path, no_keys, out) : zb_store_open(path, out);
}

static zb_status open_folder(const char *folder, zb_store **out) {
  static const char *const pickles[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};
  const size_t files = sizeof folder_files / sizeof folder_files[0], count = files + sizeof pickles / sizeof pickles[0];
  for (size_t i = 0; i < count; ++i) {
    zb_text path = {0};
    zb_text_add(&path, "%s/%s", folder, i < files ? folder_files[i] : pickles[i - files]);
    bool found = !path.failed && is_file(path.data);
    zb_status status = path.failed ? ZB_OUT_OF_MEMORY() : NULL;
    if (found) status = i < files ? open_file(path.data, out) : refuse_pickle(path.data);
    zb_text_deinit(&path);
    if (found || status) return status;
  }
  return zb_status_hint(ZB_ERROR(IO, "the folder '%s' holds no weights: looked for %s, %s, %s", folder, folder_files[0],
                                 folder_files[1], folder_files[2]),
                        "give a file of another name itself");
}

zb_status zb_weights_open(const char *path, zb_store **out) {
  *out = NULL;
  return zb_is_folder(path) ? open_folder(path, out) : open_file(path, out);
}

/* ---- Under which name ---- */

/* A way to spell all names: with the prefix taken from the wanted ones, or put before them. */
typedef struct spelling {
  const char *prefix; /* borrowed from a name: its first `length` bytes */
  size_t length;
  bool added; /* put before wanted names, else taken from them */
  int found;
} spelling;

struct zb_weights {
  const zb_store *store;
  const zb_wanted *wanted;
  int count;
  zb_arena memory; /* of all that follows */
  zb_map *by_name; /* wanted -> index in the store */
  bool *used;      /* [index in the store] */
  int missing;
  spelling spelling;
  char *notes[NOTES];
  int note_count;
};

/* Where the tensor of a wanted name is, spelled so; -1: nowhere. */
static int64_t place_of(const zb_map *places, const spelling *s, const char *name, zb_text *buffer) {
  if (!s->added) return strncmp(name, s->prefix, s->length) == 0 ? zb_map_get_or(places, name + s->length, -1) : -1;
  buffer->length = 0;
  zb_text_add_bytes(buffer, s->prefix, s->length);
  zb_text_add(buffer, "%s", name);
  return buffer->failed ? -1 : zb_map_get_or(places, buffer->data, -1);
}

/* Stops where so few are left that it cannot find `least`. */
static int count_found(const zb_weights *w, const zb_map *places, const spelling *s, int least, zb_text *buffer) {
  int found = 0;
  for (int i = 0; i < w->count && found + (w->count - i) >= least; ++i)
    found += place_of(places, s, w->wanted[i].name, buffer) >= 0;
  return found;
}

/* What the choice among spellings knows. */
typedef struct search {
  zb_arena memory; /* of the maps */
  zb_map *places;  /* name in the store -> index */
  zb_map *tried;   /* prefixes, '+' or '-' before them */
  zb_text buffer;
  spelling best, rival; /* rival: finds as many */
} search;

/* Tries each prefix of a name that ends in a dot. */
static zb_status try_prefixes(zb_weights *w, search *it, const char *name, bool added) {
  for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
    spelling s = {.prefix = name, .length = (size_t)(dot - name) + 1, .added = added};
    it->buffer.length = 0;
    zb_text_add(&it->buffer, "%c%.*s", added ? '+' : '-', (int)s.length, name);
    if (it->buffer.failed) return ZB_OUT_OF_MEMORY();
    if (zb_map_get(it->tried, it->buffer.data, NULL)) continue;
    if (!zb_map_set(it->tried, it->buffer.data, 1)) return ZB_OUT_OF_MEMORY();
    s.found = count_found(w, it->places, &s, it->best.found, &it->buffer);
    if (it->buffer.failed) return ZB_OUT_OF_MEMORY();
    if (s.found > it->best.found)
      it->best = s, it->rival = (spelling){0};
    else if (s.found == it->best.found && it->best.length > 0 && s.found > 0)
      it->rival = s;
  }
  return NULL;
}

static zb_status choose_spelling(zb_weights *w, search *it, const char *path, bool partial) {
  it->best = (spelling){.prefix = ""};
  it->best.found = count_found(w, it->places, &it->best, 0, &it->buffer);
  const bool exact = it->best.found == w->count;
  for (int i = 0; i < w->count && !exact; ++i)
    ZB_TRY(try_prefixes(w, it, w->wanted[i].name, false));
  for (int i = 0; i < zb_store_count(w->store) && !exact; ++i)
    ZB_TRY(try_prefixes(w, it, zb_store_at(w->store, i)->name, true));
  w->spelling = it->best;
  bool of_another_model = !partial && it->best.found < w->count / 2; /* then what is missing says more */
  if (it->rival.length == 0 || of_another_model) return NULL;
  const spelling *both[] = {&it->best, &it->rival};
  zb_text ways = {0};
  for (int i = 0; i < 2; ++i)
    zb_text_add(&ways, "%s'%.*s' %s", i ? ", and " : "", (int)both[i]->length, both[i]->prefix,
                both[i]->added ? "put before them" : "taken from them");
  zb_status status = ways.failed ? ZB_OUT_OF_MEMORY()
                                 : ZB_ERROR(INVALID, "%s: two ways to spell names find %d of %d parameters each: %s",
                                            path, it->best.found, w->count, ways.data);
  zb_text_deinit(&ways);
  return zb_status_hint(status, "rename the tensors of the file as the model names its parameters");
}

/* ---- What is found so ---- */

bool zb_can_widen(zb_dtype dtype) { return dtype == ZB_F32 || zb_dtype_is_narrow(dtype); }

static bool same_dims(const zb_shape *a, const zb_shape *b) {
  zb_shape other = *b;
  other.dtype = a->dtype;
  return zb_shape_equal(a, &other);
}

static bool can_take(const zb_shape *wanted, const zb_shape *stored) {
  return same_dims(wanted, stored) &&
         (wanted->dtype == stored->dtype || (wanted->dtype == ZB_F32 && zb_can_widen(stored->dtype)));
}

static zb_status differs(const char *path, const zb_wanted *wanted, const zb_stored_tensor *stored, int others) {
  char want[96], got[96], more[48] = "";
  if (others > 0) snprintf(more, sizeof more, ", and %d others", others);
  zb_shape_text(&stored->shape, got);
  zb_shape_text(wanted->shape, want);
  zb_status status = ZB_ERROR(INVALID, "%s: '%s' is %s, the model's parameter '%s' is %s%s", path, stored->name, got,
                              wanted->name, want, more);
  if (!same_dims(wanted->shape, &stored->shape))
    return zb_status_hint(status, "the checkpoint is of a model of another size, or its tensor is transposed");
  return zb_status_hint(status, "cast it before saving: F32, BF16 and F16 are taken for f32, each exactly");
}

static zb_status take_found(zb_weights *w, search *it, const char *path) {
  const zb_wanted *wrong = NULL;
  const zb_stored_tensor *got = NULL;
  int wrong_count = 0;
  for (int i = 0; i < w->count; ++i) {
    int64_t place = place_of(it->places, &w->spelling, w->wanted[i].name, &it->buffer);
    if (it->buffer.failed) return ZB_OUT_OF_MEMORY();
    w->missing += place < 0;
    if (place < 0) continue;
    w->used[place] = true;
    if (!zb_map_set(w->by_name, w->wanted[i].name, place)) return ZB_OUT_OF_MEMORY();
    if (can_take(w->wanted[i].shape, &zb_store_at(w->store, (int)place)->shape)) continue;
    if (wrong_count++ == 0) wrong = &w->wanted[i], got = zb_store_at(w->store, (int)place);
  }
  return wrong ? differs(path, wrong, got, wrong_count - 1) : NULL;
}

static void list_name(zb_text *text, int index, int count, int most, const char *name) {
  if (index < most) zb_text_add(text, "%s", index ? ", " : "");
  if (index < most) zb_text_add_shown(text, name);
  if (index == most) zb_text_add(text, " and %d more", count - most);
}

static void list_missing(const zb_weights *w, zb_text *text, int most) {
  int index = 0;
  for (int i = 0; i < w->count; ++i)
    if (!zb_map_get(w->by_name, w->wanted[i].name, NULL)) list_name(text, index++, w->missing, most, w->wanted[i].name);
}

/* The only tensor that is not asked for, if it has the shape of the only one that is missing: it may be that under its
 * other name (tied weights). */
static const char *other_name(const zb_weights *w) {
  const zb_stored_tensor *left = NULL;
  for (int i = 0; i < w->count && w->missing == 1; ++i) {
    if (zb_map_get(w->by_name, w->wanted[i].name, NULL)) continue;
    for (int k = 0; k < zb_store_count(w->store); ++k) {
      const zb_stored_tensor *t = zb_store_at(w->store, k);
      if (w->used[k] || !can_take(w->wanted[i].shape, &t->shape)) continue;
      if (left) return NULL;
      left = t;
    }
  }
  return left ? left->name : NULL;
}

static zb_status refuse_missing(const zb_weights *w, const char *path) {
  zb_text names = {0};
  list_missing(w, &names, LISTED_MISSING);
  const char *other = other_name(w);
  zb_status status = names.failed ? ZB_OUT_OF_MEMORY()
                                  : ZB_ERROR(INVALID, "%s: %d of the model's %d parameters are missing: %s", path,
                                             w->missing, w->count, names.data);
  zb_text_deinit(&names);
  if (zb_status_code(status) != ZB_INVALID) return status;
  if (other)
    return zb_status_hint(status, "'%s' is left and has its shape: if it is the same (tied weights), rename it", other);
  return zb_status_hint(status, "--weights-partial leaves what is missing as it was (PyTorch: strict=False)");
}

static void add_note(zb_weights *w, zb_text *text) {
  w->notes[w->note_count++] = text->failed ? NULL : zb_arena_strdup(&w->memory, text->data);
  w->memory.failed |= text->failed;
  text->length = 0;
}

static zb_status make_notes(zb_weights *w) {
  zb_text text = {0};
  int surplus = 0, index = 0;
  for (int i = 0; i < zb_store_count(w->store); ++i)
    surplus += !w->used[i];
  if (w->spelling.length > 0) {
    zb_text_add(&text, "names of the model are looked for %s '", w->spelling.added ? "with" : "without");
    zb_text_add(&text, "%.*s' in front", (int)w->spelling.length, w->spelling.prefix);
    add_note(w, &text);
  }
  if (w->missing > 0) {
    zb_text_add(&text, "%d of %d parameters are missing and stay as they were: ", w->missing, w->count);
    list_missing(w, &text, LISTED_SURPLUS);
    add_note(w, &text);
  }
  if (surplus > 0) {
    zb_text_add(&text, "%d tensor%s not of this model: ", surplus, surplus == 1 ? " is" : "s are");
    for (int i = 0; i < zb_store_count(w->store); ++i)
      if (!w->used[i]) list_name(&text, index++, surplus, LISTED_SURPLUS, zb_store_at(w->store, i)->name);
    add_note(w, &text);
  }
  zb_text_deinit(&text);
  return zb_arena_status(&w->memory);
}

static zb_status match(zb_weights *w, search *it, const char *path, bool partial) {
  int stored = zb_store_count(w->store);
  w->by_name = zb_arena_map(&w->memory);
  w->used = ZB_NEW(&w->memory, bool, stored);
  it->places = zb_arena_map(&it->memory);
  it->tried = zb_arena_map(&it->memory);
  ZB_TRY(zb_arena_status(&w->memory));
  ZB_TRY(zb_arena_status(&it->memory));
  for (int i = 0; i < stored; ++i)
    if (!zb_map_set(it->places, zb_store_at(w->store, i)->name, i)) return ZB_OUT_OF_MEMORY();
  ZB_TRY(choose_spelling(w, it, path, partial));
  ZB_TRY(take_found(w, it, path));
  if (w->missing > 0 && (!partial || w->missing == w->count)) return refuse_missing(w, path);
  return make_notes(w);
}

zb_status zb_weights_match(const zb_store *store, const char *path, const zb_wanted *wanted, int count, bool partial,
                           zb_weights **out) {
  search it = {0};
  *out = NULL;
  zb_weights *w = zb_alloc(sizeof *w);
  if (!w) return ZB_OUT_OF_MEMORY();
  *w = (zb_weights){.store = store, .wanted = wanted, .count = count};
  zb_status status = match(w, &it, path, partial);
  zb_text_deinit(&it.buffer);
  zb_arena_deinit(&it.memory);
  if (status)
    zb_weights_destroy(w);
  else
    *out = w;
  return status;
}

void zb_weights_destroy(zb_weights *w) {
  if (!w) return;
  zb_arena_deinit(&w->memory);
  zb_free(w);
}

const zb_stored_tensor *zb_weights_find(const zb_weights *w, const char *name) {
  return zb_store_at(w->store, (int)zb_map_get_or(w->by_name, name, -1));
}

const char *zb_weights_note(const zb_weights *w, int index) {
  return index >= 0 && index < w->note_count ? w->notes[index] : NULL;
}

/* ---- Wider values ---- */

/* Sign, exponent and fraction of 1, 5 and 10 bits. */
static uint32_t widen_f16(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31) return sign | 0x7f800000 | fraction << 13;
  if (exponent == 0 && fraction == 0) return sign;
  if (exponent > 0) return sign | (exponent + 112) << 23 | fraction << 13;
  for (exponent = 113; fraction < 1024; --exponent) /* below the smallest normal half: f32 has an exponent for it */
    fraction <<= 1;
  return sign | exponent << 23 | (fraction & 1023) << 13;
}

void zb_widen(zb_dtype dtype, const void *from, size_t count, float *to) {
  const unsigned char *at = from;
  if (dtype == ZB_F32) {
    if (count > 0) memcpy(to, from, count * sizeof *to);
    return;
  }
  for (size_t i = 0; i < count; ++i, at += 2) {
    uint16_t half;
    memcpy(&half, at, sizeof half);
    uint32_t bits = dtype == ZB_BF16 ? (uint32_t)half << 16 : widen_f16(half);
    memcpy(&to[i], &bits, sizeof bits);
  }
}
