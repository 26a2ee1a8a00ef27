/* Includes the file ZB_ISA_BODY once an instruction set, after the vector helpers (vector.h) for it. No include guard:
 * one inclusion a kernel file. See isa.h. */
#ifndef ZB_ISA_BODY
#error "define ZB_ISA_BODY as the file to include before including isa_each.h"
#endif

#define ZB_ISA_LEVEL 0
#define ZB_ISA_SUFFIX _base
#include "kernels/cpu/vector.h"
#include ZB_ISA_BODY
#undef ZB_ISA_LEVEL
#undef ZB_ISA_SUFFIX

#ifdef ZB_ISA_X86
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define ZB_ISA_LEVEL 1
#define ZB_ISA_SUFFIX _avx2
#include "kernels/cpu/vector.h"
#include ZB_ISA_BODY
#undef ZB_ISA_LEVEL
#undef ZB_ISA_SUFFIX
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#define ZB_ISA_LEVEL 2
#define ZB_ISA_SUFFIX _avx512
#include "kernels/cpu/vector.h"
#include ZB_ISA_BODY
#undef ZB_ISA_LEVEL
#undef ZB_ISA_SUFFIX
#pragma GCC pop_options
#endif

#undef ZB_ISA_BODY
