/* Messages between GPUs of several processes over NCCL, those within a process by copies; in the cuda module. */
#ifndef ZB_TRANSPORT_NCCL_H
#define ZB_TRANSPORT_NCCL_H

#include "runtime/transport/transport.h"

extern const zb_transport_def zb_transport_nccl;

#endif
