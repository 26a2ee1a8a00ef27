/* Assertions: they find bugs, in release builds too. */
#pragma once

_Noreturn void zb_assert_failed(const char *file, int line, const char *text);
#define ZB_ASSERT(condition) ((condition) ? (void)0 : zb_assert_failed(__FILE__, __LINE__, #condition))
