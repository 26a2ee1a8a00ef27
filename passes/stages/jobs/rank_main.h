/* The @main of a rank: its jobs as calls, its transfers as sends, receives and gathers. See rank_main.c. */
#pragma once

#include "passes/stages/jobs/transfers.h"

/* What a function of a rank takes and gives, read once instead of once a call. */
typedef struct zb_interface_port {
  enum {
    ZB_PORT_POOL,
    ZB_PORT_FRAME,
    ZB_PORT_STEP,
    ZB_PORT_VALUE,
    ZB_PORT_INPUT,
    ZB_PORT_SUM,
    ZB_PORT_REPORT,
    ZB_PORT_OUTPUT
  } kind;
  int index;        /* pool or frame */
  int64_t id;       /* value */
  const char *name; /* key of an accumulator, input, report, output */
} zb_interface_port;

typedef struct zb_subprogram_interface {
  zb_interface_port *arguments, *results;
  int argument_count, result_count;
  MlirType *argument_types, *result_types;
  MlirAttribute callee;
} zb_subprogram_interface;
zb_status zb_subprogram_interface_read(zb_arena *arena, MlirOperation function,
                                       zb_subprogram_interface *out) ZB_MUST_USE;

/* What the ranks share while each gets its @main. */
typedef struct zb_connection {
  const char *name; /* of the function: "main", or "evaluate" */
  zb_timetable t;
  zb_transfers transfers;
  const zb_verdict_place *verdicts;    /* [rank], or NULL: there is no post-validation */
  int first_message;                   /* number of the first of them among all */
  zb_subprogram_interface *interfaces; /* of the stage functions, by stage * ZB_KIND_COUNT + class */
  zb_map *sources;                     /* (value, stage) -> the stage it comes from */
  MlirValue *gathered; /* [(stage * ZB_KIND_COUNT + kind) * micro-batches + m] what a job reads of parameters */
  MlirValue *frames;   /* [(stage * FRAME_COUNT + frame) * micro-batches + m]; a rank writes those of its stages */
} zb_connection;
/* Key of (value, stage) in `sources`. */
void *zb_source_key(const zb_connection *c, int64_t value, int stage);

typedef ZB_LIST(zb_posts_row) zb_rank_posts;
/* Adds @main, or @evaluate, to the module of the rank, and what its ops post to `posts`. */
zb_status zb_rank_main_build(const zb_connection *connection, zb_rank_work *work, zb_rank_posts *posts) ZB_MUST_USE;
