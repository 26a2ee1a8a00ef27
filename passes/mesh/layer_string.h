/* Strings of layouts, "Et*3|(tt|)*29,m|L": reading them into stages, and writing them. */
#pragma once

#include "runtime/base/arena.h"
#include "zb/layers.h"

typedef struct zb_layer_stages {
  zb_layer_stage *items; /* ranks and chunks open */
  size_t count, capacity;
  int layers, heads;
} zb_layer_stages;

/* USAGE with the place. Lives in the arena. */
zb_status zb_layer_string_read(zb_arena *arena, const char *text, zb_layer_stages *out) ZB_MUST_USE;
