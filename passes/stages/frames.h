/* The kinds of frames as numbers and names: ir/frames.def. */
#pragma once

#include "ir/dialect.h"

enum {
#define ZB_FRAME(ID, name) FRAME_##ID,
#include "ir/frames.def"
  FRAME_COUNT
};

enum {
#define ZB_POOL(ID, name, TABLE, REGION) POOL_##ID,
#include "ir/frames.def"
  POOL_COUNT
};

static const char *const frame_names[FRAME_COUNT] = {
#define ZB_FRAME(ID, name) name,
#include "ir/frames.def"
};

static const char *const pool_names[POOL_COUNT] = {
#define ZB_POOL(ID, name, TABLE, REGION) name,
#include "ir/frames.def"
};

static const char *const pool_tables[POOL_COUNT] = {
#define ZB_POOL(ID, name, TABLE, REGION) ZB_ATTR_##TABLE,
#include "ir/frames.def"
};
