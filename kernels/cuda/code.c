/* The device code: one fatbin a .cu file, put into the object by the build where there is nvcc, loaded as libraries of
 * the driver; and launches of its kernels.
 *
 * A fatbin holds machine code for some architectures and PTX for later ones, which the driver compiles. A kernel is
 * looked up by name when the code is loaded, so a launch is one call of the driver. */
#include "kernels/cuda/common.h"

typedef struct image {
  const char *name;
  const unsigned char *data;
} image;

#ifdef ZB_CUDA_IMAGES
#define ZB_CUDA_IMAGE(name) extern const unsigned char zb_cuda_image_##name[];
ZB_CUDA_IMAGES
#undef ZB_CUDA_IMAGE
#define ZB_CUDA_IMAGE(name) {#name, zb_cuda_image_##name},
static const image images[] = {ZB_CUDA_IMAGES};
#undef ZB_CUDA_IMAGE
enum { IMAGE_COUNT = sizeof images / sizeof images[0] };
#else
static const image images[1];
enum { IMAGE_COUNT = 0 };
#endif

struct zb_cuda_code {
  CUlibrary libraries[IMAGE_COUNT + 1];
  int library_count;
  CUfunction functions[ZB_CUDA_FUNCTION_COUNT];
};

static const char *const names[] = {
#define ZB_CUDA_FUNCTION_ROW(name) #name,
#include "kernels/cuda/functions.def"
};

bool zb_cuda_code_present(void) { return IMAGE_COUNT > 0; }

void zb_cuda_code_unload(const zb_cuda_api *api, zb_cuda_code *code) {
  if (!code) return;
  for (int i = 0; i < code->library_count; ++i)
    (void)api->cuLibraryUnload(code->libraries[i]); /* at the end; there is nobody to tell */
  zb_free(code);
}

/* Attention needs more shared memory a block than every launch may have; a card with less keeps what it has. */
static zb_status allow_shared(const zb_cuda_api *api, CUkernel kernel, int bytes, CUdevice device) {
  int fixed = 0;
  ZB_TRY(ZB_CU(api, cuKernelGetAttribute, &fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, device));
  return ZB_CU(api, cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes - fixed, kernel,
               device);
}

static zb_status find_function(const zb_cuda_api *api, CUdevice device, int shared_bytes, const zb_cuda_code *code,
                               const char *name, CUfunction *out) {
  CUkernel kernel = NULL;
  CUresult result = CUDA_ERROR_NOT_FOUND;
  for (int i = 0; i < code->library_count && result == CUDA_ERROR_NOT_FOUND; ++i)
    result = api->cuLibraryGetKernel(&kernel, code->libraries[i], name);
  if (result)
    return zb_status_note(zb_cuda_check(api, ZB_CUDA_DRIVER, result, "cuLibraryGetKernel"), "the kernel %s", name);
  ZB_TRY(allow_shared(api, kernel, shared_bytes, device));
  return ZB_CU(api, cuKernelGetFunction, out, kernel);
}

zb_status zb_cuda_code_load(const zb_cuda_api *api, CUdevice device, zb_cuda_code **out) {
  zb_status status = NULL;
  *out = NULL;
  if (IMAGE_COUNT == 0)
    return zb_status_hint(
        ZB_ERROR(UNAVAILABLE, "this build has no CUDA kernels: nvcc was not found when it was configured"),
        "install the CUDA toolkit (12.8 or later), and configure and build again");
  zb_cuda_code *code = zb_alloc(sizeof *code);
  if (!code) return ZB_OUT_OF_MEMORY();
  int shared_bytes = 0;
  ZB_TRY_GOTO(
      ZB_CU(api, cuDeviceGetAttribute, &shared_bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device));
  for (int i = 0; i < IMAGE_COUNT; ++i) {
    CUresult result = api->cuLibraryLoadData(&code->libraries[i], images[i].data, NULL, NULL, 0, NULL, NULL, 0);
    status = zb_cuda_check(api, ZB_CUDA_DRIVER, result, "cuLibraryLoadData");
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU)
      status = zb_status_hint(status, "the CUDA kernels are made for compute capability 8.0 and later");
    if (status) goto cleanup;
    code->library_count = i + 1;
  }
  for (int i = 0; i < ZB_CUDA_FUNCTION_COUNT; ++i)
    ZB_TRY_GOTO(find_function(api, device, shared_bytes, code, names[i], &code->functions[i]));
  *out = code;
cleanup:
  if (status) zb_cuda_code_unload(api, code);
  return status;
}

zb_status zb_cuda_code_from(CUfunction (*find)(const char *name), zb_cuda_code **out) {
  *out = NULL;
  zb_cuda_code *code = zb_alloc(sizeof *code);
  if (!code) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < ZB_CUDA_FUNCTION_COUNT; ++i) {
    code->functions[i] = find(names[i]);
    if (!code->functions[i]) {
      zb_free(code);
      return ZB_ERROR(RUNTIME, "there is no kernel %s", names[i]);
    }
  }
  *out = code;
  return NULL;
}

zb_status zb_cuda_enqueue(zb_cuda_launcher *on, zb_cuda_function function, int64_t grid_x, int64_t grid_y, int threads,
                          int64_t shared_bytes, const void *args) {
  if (grid_x == 0 || grid_y == 0) return NULL;
  if (grid_x > INT32_MAX || grid_y > UINT16_MAX)
    return ZB_ERROR(INVALID, "%s needs a grid of %lld x %lld blocks, and a GPU takes 2147483647 x 65535",
                    names[function], (long long)grid_x, (long long)grid_y);
  if (on->only_choosing) return NULL;
  union {
    const void *from;
    void *to;
  } parameter = {args}; /* the driver copies it and takes a pointer to non-const all the same */
  void *parameters[] = {parameter.to};
  zb_status status = ZB_CU(on->api, cuLaunchKernel, on->code->functions[function], (unsigned)grid_x, (unsigned)grid_y,
                           1, (unsigned)threads, 1, 1, (unsigned)shared_bytes, on->stream, parameters, NULL);
  return status ? zb_status_note(status, "launching %s", names[function]) : NULL;
}
