/* Models in cases.json. */
#ifndef TEST_IR_IMPORT_BASE64_H
#define TEST_IR_IMPORT_BASE64_H

#include "runtime/base/text.h"

#include <stdint.h>
#include <string.h>

static inline void base64_decode(const char *text, zb_text *out) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t bits = 0;
  int count = 0;
  for (; *text && *text != '='; ++text) {
    bits = bits << 6 | (uint32_t)(strchr(letters, *text) - letters);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    const char byte = (char)(bits >> count & 0xff);
    zb_text_add_bytes(out, &byte, 1);
  }
}

#endif
