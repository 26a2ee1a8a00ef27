/* Finding and opening modules: see module.h. Tests: test/runtime/base/module_test.c. */
#define _GNU_SOURCE /* dladdr */

#include "runtime/base/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "runtime/base/module_id.h"
#include "runtime/base/assert.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"

enum { PATH_BYTES = 4096, NAMES_MOST = 16 };

typedef struct module_row {
  const char *name, *purpose, *option, *to_build, *to_open;
} module_row;

static const module_row rows[] = {
#define ZB_MODULE(name, purpose, option, to_build, to_open) {#name, purpose, option, to_build, to_open},
#include "runtime/base/modules.def"
#undef ZB_MODULE
};

static const module_row *find_row(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

/* Where modules lie, relative to the folder of the program (build/bin, PREFIX/bin) or of the library that holds this
 * code. */
static const char *const beside_program[] = {"../lib/zb", ZB_LIBRARY_FROM_PROGRAM "/zb"};
static const char *const beside_library[] = {"zb"};

/* Cuts a path to its folder; false if it has none. */
static bool cut_to_folder(char *path) {
  char *slash = strrchr(path, '/');
  if (slash) slash[slash == path] = '\0';
  return slash != NULL;
}

/* FOLDER/PLACE/zb-NAME.so for the first place that has it; NULL if none does. */
static char *look_in(const char *folder, const char *const *places, size_t count, const char *name) {
  for (size_t i = 0; i < count; ++i) {
    zb_text path = {0};
    zb_text_add(&path, "%s/%s/zb-%s.so", folder, places[i], name);
    if (!path.failed && access(path.data, F_OK) == 0) return zb_text_take(&path);
    zb_text_deinit(&path);
  }
  return NULL;
}

/* The program or library that holds this code, as it was opened; NULL if that is not known. */
static const char *own_file(void) {
  static const char marker = 0;
  Dl_info here;
  return dladdr(&marker, &here) ? here.dli_fname : NULL;
}

/* The program's file, "" if that is not known. Without /proc (in a bare root) it is the path that it was started by. */
static void program_file(char *program) {
  const char *started = (const char *)getauxval(AT_EXECFN);
  ssize_t length = readlink("/proc/self/exe", program, PATH_BYTES - 1);
  if (length <= 0) length = started ? snprintf(program, PATH_BYTES, "%s", started) : 0;
  program[length > 0 && length < PATH_BYTES ? length : 0] = '\0';
}

static char *find_file(const char *name, char *program) {
  char library[PATH_BYTES];
  const char *own = own_file();
  program_file(program);
  char *found = NULL;
  if (cut_to_folder(program))
    found = look_in(program, beside_program, sizeof beside_program / sizeof beside_program[0], name);
  if (found || !own || strlen(own) >= sizeof library) return found;
  memcpy(library, own, strlen(own) + 1);
  return cut_to_folder(library) ? look_in(library, beside_library, 1, name) : NULL;
}

/* A program that opened our library may keep its names local (Python does), but a module must find them. */
static void show_our_names(void) {
  const char *own = own_file();
  void *ourselves = own ? dlopen(own, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) : NULL;
  if (ourselves) dlclose(ourselves); /* NULL: the program itself, whose names are always seen */
}

static zb_status cannot_open(const char *name, const char *path, const char *why) {
  const module_row *row = find_row(name);
  zb_status status = ZB_ERROR(UNAVAILABLE, "the module '%s' cannot be opened: %s", name, why);
  /* The loader's text for a library that is not there begins with its name, not with ours. */
  if (row && strncmp(why, path, strlen(path)) != 0) return zb_status_hint(status, "install %s", row->to_open);
  return zb_status_hint(status, "build and install zb again as a whole: ninja all zb-%s", name);
}

zb_status zb_module_open_file(const char *name, const char *path, const zb_module **out) {
  *out = NULL;
  show_our_names();
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char *why = dlerror();
    return cannot_open(name, path, why ? why : "no reason is given");
  }
  zb_status status = NULL;
  const zb_module *module = dlsym(handle, ZB_MODULE_SYMBOL);
  if (!module)
    status = ZB_ERROR(UNAVAILABLE, "'%s' is no module of zb: it does not define %s", path, ZB_MODULE_SYMBOL);
  else if (module->abi != ZB_MODULE_ABI)
    status = ZB_ERROR(UNAVAILABLE, "'%s' is of another version of zb: its interface is %u, this program's is %d", path,
                      (unsigned)module->abi, ZB_MODULE_ABI);
  else if (strcmp(module->build_id, ZB_BUILD_ID) != 0)
    status = ZB_ERROR(UNAVAILABLE, "'%s' is of another build of zb: its id is %s, this program's is %s", path,
                      module->build_id, ZB_BUILD_ID);
  else if (strcmp(module->name, name) != 0)
    status = ZB_ERROR(UNAVAILABLE, "'%s' is the module '%s', expected '%s'", path, module->name, name);
  dlclose(handle); /* it stays: RTLD_NODELETE */
  if (status) return zb_status_hint(status, "build and install zb again as a whole: ninja all zb-%s", name);
  *out = module;
  return NULL;
}

zb_status zb_module_open(const char *name, const zb_module **out, char **out_path) {
  *out = NULL;
  if (out_path) *out_path = NULL;
  const module_row *row = find_row(name);
  if (!row) return ZB_ERROR(USAGE, "there is no module '%s'", name);
  char program[PATH_BYTES];
  char *path = find_file(name, program);
  if (!path)
    return zb_status_hint(ZB_ERROR(UNAVAILABLE,
                                   "zb was built without its module '%s' (%s): there is no zb-%s.so in '%s/%s'", name,
                                   row->purpose, name, program, beside_program[0]),
                          "install %s and build with cmake -D%s=ON", row->to_build, row->option);
  zb_status status = zb_module_open_file(name, path, out);
  if (status || !out_path)
    zb_free(path);
  else
    *out_path = path;
  return status;
}

/* ---- Parts ---- */

const char *zb_part_summary(const zb_part_row *row) { return row->built_in ? row->built_in->summary : row->summary; }

zb_status zb_part_open(const zb_part_table *table, const zb_part_row *row, const zb_part_def **out, char **out_path) {
  const zb_module *module = NULL;
  *out = row->built_in;
  if (out_path) *out_path = NULL;
  if (row->built_in) return NULL;
  ZB_TRY(zb_module_open(row->module, &module, out_path));
  for (int i = 0; !*out && module->parts && module->parts[i]; ++i)
    if (strcmp(module->parts[i]->name, row->name) == 0) *out = module->parts[i];
  return *out ? NULL : ZB_ERROR(UNAVAILABLE, "the module '%s' has no %s '%s'", row->module, table->kind, row->name);
}

zb_status zb_part_find(const zb_part_table *table, const char *name, const zb_part_def **out) {
  const char *names[NAMES_MOST];
  int count = 0;
  *out = NULL;
  ZB_ASSERT(table->count <= NAMES_MOST);
  for (int i = 0; i < table->count; ++i) {
    const zb_part_row *row = &table->rows[i];
    if (strcmp(row->name, name) == 0) return zb_part_open(table, row, out, NULL);
    if (!row->built_in || !row->built_in->unlisted) names[count++] = row->name;
  }
  return zb_unknown_name(table->what, name, names, count);
}
