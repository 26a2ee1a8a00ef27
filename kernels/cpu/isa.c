/* Which instruction set the CPU kernels use. */
#include "kernels/cpu/isa.h"

#include <stdatomic.h>

static _Atomic int level_limit = ZB_ISA_AVX512;

static zb_isa_level detected(void) {
#ifdef ZB_ISA_X86
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return ZB_ISA_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return ZB_ISA_AVX2;
#endif
  return ZB_ISA_BASE;
}

zb_isa_level zb_isa(void) {
  zb_isa_level limit = (zb_isa_level)atomic_load_explicit(&level_limit, memory_order_relaxed);
  zb_isa_level level = detected();
  return level < limit ? level : limit;
}

const char *zb_isa_name(void) {
  static const char *const names[ZB_ISA_COUNT] = {"baseline", "avx2", "avx512"};
  return names[zb_isa()];
}

void zb_isa_limit(zb_isa_level level) { atomic_store_explicit(&level_limit, (int)level, memory_order_relaxed); }
