/* The files that a program is told to write. */
#pragma once

#include "zb/status.h"

typedef struct output_place {
  const char *option; /* "--trace" */
  const char *path;   /* NULL: it is not given */
  bool folder;        /* everything in it is the option's, and is replaced as a whole */
} output_place;

/* What the same program reads. */
typedef struct input_place {
  const char *option; /* "--data"; or what it is, "the model" */
  const char *value;  /* a path, or one between words with colons: "tokens:FILE:u16"; NULL: it is not given */
} input_place;

/* USAGE where two of them would write the same file, or one a file in the folder of another. A file that does not exist
 * is compared by its name and the folder that it would be in. */
zb_status outputs_apart(const output_place *outputs, int count) ZB_MUST_USE;
/* USAGE where one of them would write a file that is read. Devices and pipes may be both, and what writes a folder
 * knows what else is in it. */
zb_status outputs_spare(const output_place *outputs, int count, const input_place *inputs, int input_count) ZB_MUST_USE;
