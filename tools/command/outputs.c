/* See outputs.h. Tests: test/e2e/logs.py, test/tools/zb-sched-words.test. */
#include "tools/command/outputs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A device may be written by several. */
static bool is_shared(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

/* The path without links and dots, as far as it exists; the given one where it is too long. */
static const char *resolve(const char *path, char out[PATH_MAX]) {
  char folder[PATH_MAX], found[PATH_MAX];
  const size_t length = strlen(path);
  if (realpath(path, out)) return out;
  if (length + 3 > PATH_MAX) return path;
  memcpy(folder, path, length + 1);
  for (size_t end = length; end > 0 && folder[end - 1] == '/'; --end)
    folder[end - 1] = '\0';
  char *slash = strrchr(folder, '/');
  const char *name = slash ? slash + 1 : folder;
  const char *parent = !slash ? "." : slash == folder ? "/" : folder;
  char *kept = zb_strdup(name);
  if (slash) *slash = '\0';
  const char *at = parent[0] == '\0' ? "/" : realpath(parent, found) ? found : NULL;
  if (!at && kept && slash) at = resolve(parent, found); /* the folder is not there either */
  if (at && kept && strlen(at) + strlen(kept) + 2 <= PATH_MAX) {
    const size_t begin = strlen(at);
    memmove(out, at, begin + 1);
    if (begin == 0 || out[begin - 1] != '/') strncat(out, "/", PATH_MAX - strlen(out) - 1);
    strncat(out, kept, PATH_MAX - strlen(out) - 1);
    zb_free(kept);
    return out;
  }
  zb_free(kept);
  return path;
}

/* Whether the file is in the folder, or is it. */
static bool is_within(const char *file, const char *folder) {
  const size_t length = strlen(folder);
  return strncmp(file, folder, length) == 0 && (file[length] == '\0' || file[length] == '/');
}

zb_status outputs_apart(const output_place *outputs, int count) {
  char paths[2][PATH_MAX];
  for (int i = 0; i < count; ++i) {
    if (!outputs[i].path || is_shared(outputs[i].path)) continue;
    const char *one = resolve(outputs[i].path, paths[0]);
    for (int k = 0; k < i; ++k) {
      if (!outputs[k].path || is_shared(outputs[k].path)) continue;
      const char *other = resolve(outputs[k].path, paths[1]);
      if (strcmp(one, other) == 0)
        return zb_status_hint(ZB_ERROR(USAGE, "%s and %s would write the same %s '%s'", outputs[k].option,
                                       outputs[i].option, outputs[k].folder && outputs[i].folder ? "folder" : "file",
                                       outputs[i].path),
                              "give each a name of its own");
      const bool in = outputs[k].folder && is_within(one, other), out = outputs[i].folder && is_within(other, one);
      if (in || out)
        return zb_status_hint(
            ZB_ERROR(USAGE, "%s would write into '%s', the folder of %s, which is replaced as a whole",
                     outputs[in ? i : k].option, outputs[in ? k : i].path, outputs[in ? k : i].option),
            "give it a place outside of that folder");
    }
  }
  return NULL;
}

/* Whether a path that was resolved is the file. */
static bool is_file(const char *path, const char *file) {
  char found[PATH_MAX];
  struct stat about;
  return stat(file, &about) == 0 && S_ISREG(about.st_mode) && strcmp(resolve(file, found), path) == 0;
}

/* The same of a value, with what may stand around the name of the file: "tokens:FILE:u16". */
static bool is_read(const char *output, const char *value) {
  char found[PATH_MAX], name[PATH_MAX];
  const char *path = resolve(output, found), *colon = strchr(value, ':');
  const char *last = colon ? strrchr(colon + 1, ':') : NULL;
  if (is_file(path, value) || (colon && is_file(path, colon + 1))) return true;
  if (!last || (size_t)(last - colon) > sizeof name) return false;
  memcpy(name, colon + 1, (size_t)(last - colon - 1));
  name[last - colon - 1] = '\0';
  return is_file(path, name);
}

zb_status outputs_spare(const output_place *outputs, int count, const input_place *inputs, int input_count) {
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < input_count && outputs[i].path && !outputs[i].folder && !is_shared(outputs[i].path); ++k)
      if (inputs[k].value && is_read(outputs[i].path, inputs[k].value))
        return zb_status_hint(ZB_ERROR(USAGE, "%s would write over what is read: %s is '%s'", outputs[i].option,
                                       inputs[k].option, inputs[k].value),
                              "give %s another name", outputs[i].option);
  return NULL;
}
