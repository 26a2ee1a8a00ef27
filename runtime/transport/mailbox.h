/* One mailbox a message, for the ranks of one process: what transports between threads and between processes share.
 *
 * A message within the process: both sides post where their bytes are, and the side that posts second copies. So there
 * is no buffer in between, a post never blocks, and the message is complete on both sides at the same moment. A message
 * from or to another process is completed by what carries it (zb_mailboxes_complete). Each side counts its posts: it
 * may post the message of the next step when its own is complete, whether or not the other side has looked, which then
 * is a post ahead. A rank that waits spins for some
 * microseconds if it may, then sleeps on a condition of its own. Each rank's calls come from one thread; the others are
 * thread-safe.
 */
#pragma once

#include "runtime/transport/copy.h"
#include "zb/status.h"

typedef struct zb_mailboxes zb_mailboxes;

typedef struct zb_mailboxes_params {
  const zb_plan *plan;        /* outlives the mailboxes; only its list of messages is used */
  int first_rank, rank_count; /* of this process */
  int64_t timeout_ms;
  bool spin; /* there is a core for every rank that computes here */
} zb_mailboxes_params;

/* *out is NULL on failure. Release with zb_mailboxes_destroy. */
zb_status zb_mailboxes_create(const zb_mailboxes_params *params, zb_mailboxes **out) ZB_MUST_USE;
void zb_mailboxes_destroy(zb_mailboxes *boxes);
/* Whether both ends of a message are ranks of this process. */
bool zb_mailboxes_local(const zb_mailboxes *boxes, int message);
/* One side of a local message: the second of the two copies. RUNTIME if posted twice. Never allocates. */
zb_status zb_mailboxes_post(zb_mailboxes *boxes, int rank, int message, const zb_transport_side *side) ZB_MUST_USE;
/* The side of this process of a message from or to another one is posted; and complete. */
void zb_mailboxes_posted(zb_mailboxes *boxes, int rank, int message);
void zb_mailboxes_complete(zb_mailboxes *boxes, int message);
/* Whether what this rank posted last is complete. */
bool zb_mailboxes_test(const zb_mailboxes *boxes, int rank, int message);
/* Until it is complete. TIMEOUT naming rank, message, peer; PEER after zb_mailboxes_abort. */
zb_status zb_mailboxes_wait(zb_mailboxes *boxes, int rank, int message) ZB_MUST_USE;
/* The same for more_ms behind a time-out. */
zb_status zb_mailboxes_wait_more(zb_mailboxes *boxes, int rank, int message, int64_t more_ms) ZB_MUST_USE;
/* Makes every wait fail with PEER: `rank` aborts for this reason; rank -1: the reason is the whole text. The first one
 * counts; true if it is this. */
bool zb_mailboxes_abort(zb_mailboxes *boxes, int rank, const char *reason);
/* All ranks have stopped: as it was made, aborted or not. */
void zb_mailboxes_revive(zb_mailboxes *boxes);
/* All messages are complete: makes ready for the next step. */
zb_status zb_mailboxes_reset(zb_mailboxes *boxes) ZB_MUST_USE;
/* When a complete message became so, ps of the monotonic clock. */
int64_t zb_mailboxes_complete_ps(const zb_mailboxes *boxes, int message);
/* Processors that this process may use. */
int zb_usable_processors(void);
