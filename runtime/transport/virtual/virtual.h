/* The transport of the device sim: messages on a virtual clock, driven by one thread. */
#pragma once

#include "runtime/transport/transport.h"

/* Sets the time that posts happen at. Never goes back within a step. */
void zb_virtual_set_time(zb_transport *transport, int64_t now_ps);
/* How long the post before this call kept its rank busy. */
int64_t zb_virtual_copy_ps(const zb_transport *transport);
/* When the next message on its way arrives; false if none is. */
bool zb_virtual_next(const zb_transport *transport, int64_t *out_ps, int *out_message);
/* Lets that message arrive: its bytes are copied now, and both sides find it complete. */
void zb_virtual_deliver(zb_transport *transport, int message);
/* "rank 0 has sent, rank 1 has not posted its receive": of a message that is waited for. */
const char *zb_virtual_state_text(const zb_transport *transport, int message, char *text, size_t size);
