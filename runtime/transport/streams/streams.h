/* The transport between ranks of one process on one GPU: a message is a copy, on a CUDA stream that its channel has. */
#pragma once

#include "runtime/device/cuda/cuda.h"

/* For a transport between processes, which moves what this one does not: whether it does, once it is attached [message]
 * events of all messages (starts: NULL without a trace), and how many streams it has. */
bool zb_cuda_streams_moves(const zb_transport *streams, int message);
const CUevent *zb_cuda_streams_done(const zb_transport *streams);
const CUevent *zb_cuda_streams_starts(const zb_transport *streams);
int zb_cuda_streams_channels(const zb_transport *streams);
