/* Instruction sets of the CPU kernels: which one this machine runs, and how one source text is compiled for each.
 *
 * A kernel file compiles its body once an instruction set by including itself (isa_each.h); a function `f` of the body
 * is written ZB_ISA(f), and ZB_ISA_ROW(f) is the array of its versions, indexed by zb_isa(). Within one instruction set
 * the bits of every result are fixed; between two they may differ (fused multiply-add, width of sums). Tests:
 * test/kernels/fast_*_test.c, which run all instruction sets that the machine has.
 */
#pragma once

#if defined(__x86_64__)
#define ZB_ISA_X86 1
#include <immintrin.h>
#endif

typedef enum zb_isa_level { ZB_ISA_BASE, ZB_ISA_AVX2, ZB_ISA_AVX512, ZB_ISA_COUNT } zb_isa_level;

/* The best instruction set of this machine, not above the limit. Thread-safe. */
zb_isa_level zb_isa(void);
/* "baseline", "avx2", "avx512": the name of zb_isa(), for the run log. */
const char *zb_isa_name(void);
/* For tests: kernels use no instruction set above `level` from now on. ZB_ISA_AVX512 (the start) is no limit. Not while
 * kernels run. */
void zb_isa_limit(zb_isa_level level);

#define ZB_ISA_PASTE_(name, suffix) name##suffix
#define ZB_ISA_PASTE(name, suffix) ZB_ISA_PASTE_(name, suffix)
#define ZB_ISA(name) ZB_ISA_PASTE(name, ZB_ISA_SUFFIX)

#ifdef ZB_ISA_X86
#define ZB_ISA_ROW(name) {name##_base, name##_avx2, name##_avx512}
#else
#define ZB_ISA_ROW(name) {name##_base, name##_base, name##_base}
#endif
