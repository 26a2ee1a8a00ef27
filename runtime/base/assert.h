/* Assertions. */
#ifndef ZB_BASE_ASSERT_H
#define ZB_BASE_ASSERT_H

/* Bugs, on in release too; DASSERT only in debug builds (kernels, inner loops). */
_Noreturn void zb_assert_failed(const char *file, int line, const char *text);
#define ZB_ASSERT(condition) ((condition) ? (void)0 : zb_assert_failed(__FILE__, __LINE__, #condition))
#ifdef NDEBUG
#define ZB_DASSERT(condition) ((void)0)
#else
#define ZB_DASSERT(condition) ZB_ASSERT(condition)
#endif

#endif
