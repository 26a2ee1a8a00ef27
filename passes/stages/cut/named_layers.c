/* Layers by module paths: see named_layers.h. Tests: test/passes/named_layers_test.c, test/tools/zbc-layout.test. */

#include "passes/stages/cut/named_layers.h"

#include "runtime/base/map.h"
#include "zb/layers.h"

#include <stdlib.h>
#include <string.h>

/* A list of modules: what stands before a number. */
typedef struct module_list {
  char *path;
  int names;     /* that have it */
  int count;     /* different numbers */
  bool is_outer; /* in no other list */
  bool taken;
} module_list;

/* A module of a list. */
typedef struct module {
  int list;
  char *path;
  int first, last; /* names */
} module;

typedef struct finder {
  zb_arena *arena;
  zb_map *known; /* path of a list or of a module -> index */
  ZB_LIST(module_list) lists;
  ZB_LIST(module) modules;
} finder;

static bool is_number(const char *part, size_t length) { return length && strspn(part, "0123456789") >= length; }

/* "L" or "M" and the first `length` bytes of a path: the key of a list or of a module. */
static char *key_of(finder *f, char kind, const char *path, size_t length) {
  char *key = zb_arena_take(f->arena, length + 2, 1);
  if (!key) return NULL;
  key[0] = kind;
  memcpy(key + 1, path, length);
  return key;
}

static int find_list(finder *f, const char *path, size_t length, bool is_outer) {
  char *key = key_of(f, 'L', path, length);
  if (!key) return -1;
  int found = (int)zb_map_get_or(f->known, key, -1);
  if (found >= 0 || !ZB_PUSH(f->arena, &f->lists, (module_list){.path = key + 1, .is_outer = is_outer})) return found;
  found = (int)f->lists.count - 1;
  zb_arena_map_set(f->arena, f->known, key, found);
  return found;
}

/* name: its index in the program. */
static void add_module(finder *f, const char *path, size_t list_length, size_t length, bool is_outer, int name) {
  const int list = find_list(f, path, list_length, is_outer);
  char *key = key_of(f, 'M', path, length);
  if (list < 0 || !key) return;
  int found = (int)zb_map_get_or(f->known, key, -1);
  if (found < 0) {
    if (!ZB_PUSH(f->arena, &f->modules, (module){list, key + 1, name, name})) return;
    found = (int)f->modules.count - 1;
    zb_arena_map_set(f->arena, f->known, key, found);
    ++f->lists.items[list].count;
  }
  f->modules.items[found].last = name;
  ++f->lists.items[list].names;
}

/* All lists that a path goes through: "h.0.mlp.1" is of "h" and of "h.0.mlp". */
static void read_path(finder *f, const char *name, int index) {
  const char *node = strstr(name, " (");
  const size_t end = node ? (size_t)(node - name) : strlen(name);
  bool is_outer = true;
  for (size_t at = 0; at < end;) {
    size_t length = strcspn(name + at, ".");
    if (at + length > end) length = end - at;
    if (is_number(name + at, length)) {
      add_module(f, name, at ? at - 1 : 0, at + length, is_outer, index);
      is_outer = false;
    }
    at += length + 1;
  }
}

static int by_place(const void *a, const void *b) {
  const module *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return (x->last > y->last) - (x->last < y->last);
}

/* The list with most names, of those with as many modules as are wanted; of equal ones that which comes first. NULL:
 * there is none. */
static module_list *largest_list(finder *f, int wanted) {
  module_list *best = NULL;
  for (size_t i = 0; i < f->lists.count; ++i) {
    module_list *list = &f->lists.items[i];
    if ((!wanted || list->count == wanted) && (!best || list->names > best->names)) best = list;
  }
  return best;
}

/* Takes the lists of layers. Returns how many layers they have. */
static int take_lists(finder *f, int wanted) {
  const module_list *best = largest_list(f, 0);
  int count = 0;
  for (size_t i = 0; best && i < f->lists.count; ++i) {
    module_list *list = &f->lists.items[i];
    const bool is_like = 2 * (int64_t)list->names * best->count >= (int64_t)best->names * list->count;
    list->taken = list == best || (list->is_outer && is_like);
    count += list->taken ? list->count : 0;
  }
  if (!wanted || count == wanted) return count;
  module_list *own = largest_list(f, wanted);
  for (size_t i = 0; i < f->lists.count; ++i)
    f->lists.items[i].taken = &f->lists.items[i] == own;
  return own ? wanted : 0;
}

zb_status zb_named_layers_find(zb_arena *arena, const char *const *names, int name_count, int wanted,
                               zb_named_layers *out) {
  finder f = {.arena = arena, .known = zb_arena_map(arena)};
  *out = (zb_named_layers){0};
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0; i < name_count; ++i)
    if (names[i]) read_path(&f, names[i], i);
  ZB_TRY(zb_arena_status(arena));
  const int count = take_lists(&f, wanted);
  module *own = ZB_NEW(arena, module, count);
  out->path = ZB_NEW(arena, char *, count);
  out->first = ZB_NEW(arena, int, count);
  out->last = ZB_NEW(arena, int, count);
  ZB_TRY(zb_arena_status(arena));
  int found = 0;
  for (size_t i = 0; i < f.modules.count; ++i)
    if (f.lists.items[f.modules.items[i].list].taken) own[found++] = f.modules.items[i];
  qsort(own, (size_t)count, sizeof *own, by_place);
  for (int i = 0; i < count; ++i) {
    out->path[i] = own[i].path;
    out->first[i] = own[i].first;
    out->last[i] = own[i].last;
  }
  out->count = count;
  return NULL;
}

zb_status zb_named_layers_cut(const zb_named_layers *layers, const zb_layer_layout *layout, int name_count,
                              int *after) {
  bool embedding = false, loss = false;
  int previous = -1;
  for (int s = 0, done = 0; s < layout->stages; ++s) {
    const zb_layer_stage *stage = &layout->stage[s];
    embedding |= stage->embedding;
    loss |= stage->losses > 0;
    done += stage->layers;
    int end = done ? layers->last[done - 1] : embedding ? layers->first[0] - 1 : -1;
    if (loss) end = name_count - 1;
    const bool all = s + 1 < layout->stages && end + 1 >= name_count; /* nothing is left for the next one */
    if (end <= previous || all)
      return zb_status_hint(ZB_ERROR(USAGE, "virtual stage %d would have no op of the model", all ? s + 1 : s),
                            "each stage needs one: give it a layer, or the embedding or loss where the model has ops "
                            "before or behind its layers");
    if (s + 1 < layout->stages) after[s] = end;
    previous = end;
  }
  return NULL;
}
