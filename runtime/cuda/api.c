/* Opens the libraries of CUDA and names their errors: see api.h. Tests: test/runtime/device/cuda. */
#include "runtime/cuda/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BYTES = 256 };

typedef struct function_row {
  zb_cuda_library library;
  size_t member; /* offset in zb_cuda_api */
  const char *symbol;
} function_row;

static const function_row functions[] = {
#define ZB_CUDA_FUNCTION(library, result, name, symbol, arguments)                                                     \
  {ZB_CUDA_##library, offsetof(zb_cuda_api, name), #symbol},
#include "runtime/cuda/api.def"
#undef ZB_CUDA_FUNCTION
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

static const struct {
  const char *files, *hint;
} libraries[] = {
#define ZB_CUDA_LIBRARY(ID, files, hint) {files, hint},
#include "runtime/cuda/api_libraries.def"
#undef ZB_CUDA_LIBRARY
};

static const struct {
  zb_cuda_library library;
  int result;
  zb_code code;
  const char *hint;
} hints[] = {
#define ZB_CUDA_HINT(library, result, code, hint) {ZB_CUDA_##library, result, ZB_##code, hint},
#include "runtime/cuda/api_hints.def"
#undef ZB_CUDA_HINT
};

_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym gives functions as data pointers");

/* ISO C has no cast from what dlsym gives to a function, POSIX promises that the bits are the same. */
static void set_member(zb_cuda_api *api, const function_row *row, void *symbol) {
  memcpy((char *)api + row->member, &symbol, sizeof symbol);
}

/* The first file of the list that opens; error: what the linker said about the first. */
static void *open_first(const char *files, char *error, size_t error_size) {
  error[0] = 0;
  while (*files) {
    char file[FILE_BYTES];
    size_t length = strcspn(files, " ");
    snprintf(file, sizeof file, "%.*s", (int)length, files);
    files += length + strspn(files + length, " ");
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); /* unloaded, some of them leak */
    if (handle) return handle;
    const char *text = dlerror();
    if (!error[0]) snprintf(error, error_size, "%s", text ? text : "unknown error");
  }
  return NULL;
}

static void clear_library(zb_cuda_api *api, zb_cuda_library library) {
  for (int i = 0; i < FUNCTION_COUNT; ++i)
    if (functions[i].library == library) set_member(api, &functions[i], NULL);
  if (api->handles[library]) dlclose(api->handles[library]); /* it stays: RTLD_NODELETE */
  api->handles[library] = NULL;
}

zb_status zb_cuda_api_open_files(zb_cuda_api *api, zb_cuda_library library, const char *files) {
  char error[2 * FILE_BYTES];
  if (api->handles[library]) return NULL;
  api->handles[library] = open_first(files, error, sizeof error);
  if (!api->handles[library])
    return zb_status_hint(
        ZB_ERROR(UNAVAILABLE, "the library %.*s cannot be opened: %s", (int)strcspn(files, " "), files, error), "%s",
        libraries[library].hint);
  for (int i = 0; i < FUNCTION_COUNT; ++i) {
    if (functions[i].library != library) continue;
    void *symbol = dlsym(api->handles[library], functions[i].symbol);
    if (symbol) {
      set_member(api, &functions[i], symbol);
      continue;
    }
    clear_library(api, library);
    return zb_status_hint(ZB_ERROR(UNAVAILABLE, "the library %.*s has no function %s", (int)strcspn(files, " "), files,
                                   functions[i].symbol),
                          "it is older than CUDA 12, or another library of that name: %s", libraries[library].hint);
  }
  return NULL;
}

zb_status zb_cuda_api_open(zb_cuda_api *api, zb_cuda_library library) {
  return zb_cuda_api_open_files(api, library, libraries[library].files);
}

void zb_cuda_api_close(zb_cuda_api *api) {
  for (int i = 0; i < ZB_CUDA_LIBRARY_COUNT; ++i)
    clear_library(api, (zb_cuda_library)i);
}

/* Name and text of a result; either may stay NULL. */
static void describe(const zb_cuda_api *api, zb_cuda_library library, int result, const char **name,
                     const char **text) {
  *name = *text = NULL;
  switch (library) {
  case ZB_CUDA_DRIVER:
    if (api->cuGetErrorName && api->cuGetErrorName((CUresult)result, name) != CUDA_SUCCESS) *name = NULL;
    if (api->cuGetErrorString && api->cuGetErrorString((CUresult)result, text) != CUDA_SUCCESS) *text = NULL;
    return;
  case ZB_CUDA_BLAS:
    if (api->cublasLtGetStatusName) *name = api->cublasLtGetStatusName((cublasStatus_t)result);
    if (api->cublasLtGetStatusString) *text = api->cublasLtGetStatusString((cublasStatus_t)result);
    return;
  case ZB_CUDA_NCCL:
    if (api->ncclGetErrorString) *name = api->ncclGetErrorString((ncclResult_t)result);
    if (api->ncclGetLastError) *text = api->ncclGetLastError(NULL);
    return;
  case ZB_CUDA_LIBRARY_COUNT:
    return;
  }
}

zb_status zb_cuda_error(const zb_cuda_api *api, zb_cuda_library library, int result, const char *function) {
  const char *name = NULL, *text = NULL, *hint = NULL;
  zb_code code = ZB_RUNTIME;
  for (size_t i = 0; i < sizeof hints / sizeof hints[0]; ++i)
    if (hints[i].library == library && hints[i].result == result) code = hints[i].code, hint = hints[i].hint;
  describe(api, library, result, &name, &text);
  bool has_text = text && *text;
  zb_status status = zb_status_make(code, __FILE__, __LINE__, "%s: %s (%d)%s%s", function, name ? name : "error",
                                    result, has_text ? ": " : "", has_text ? text : "");
  return hint ? zb_status_hint(status, "%s", hint) : status;
}
