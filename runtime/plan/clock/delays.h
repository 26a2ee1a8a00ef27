/* Seeded unequal delays of jobs: on a virtual clock every job of every rank takes up to a share of its time more. What
 * a job is delayed by depends on the seed, the step, the rank and the job alone, so that all who simulate a plan agree.
 */
#pragma once

#include <stdint.h>

typedef struct zb_delays {
  uint64_t seed; /* 0: none */
  double spread; /* the greatest delay of a job, as a share of its time */
} zb_delays;

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static inline uint64_t zb_mix64(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* What the delays of a rank in a step are drawn by. step: from 0; rank: of all replicas and shards. */
static inline uint64_t zb_delays_of_rank(const zb_delays *delays, int64_t step, int rank) {
  return zb_mix64(zb_mix64(zb_mix64(delays->seed) ^ (uint64_t)step) ^ (uint64_t)rank);
}

/* Which job it is: its subprogram, and its micro-batch among those of its replica (-1: none). */
static inline uint64_t zb_delay_key(int subprogram, int micro_batch) {
  return (uint64_t)(uint32_t)subprogram << 32 | (uint32_t)micro_batch;
}

/* Uniform from 0 to spread * time_ps. of_rank: as above. */
static inline int64_t zb_delay_ps(uint64_t of_rank, uint64_t key, double spread, int64_t time_ps) {
  return (int64_t)((double)time_ps * spread * ((double)(zb_mix64(of_rank ^ key) >> 11) * 0x1p-53));
}
