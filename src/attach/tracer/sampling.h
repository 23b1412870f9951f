/* Sampled mode: when the next sample is due, and which blocks are sampled.
 *
 * A byte is sampled with probability 1/mean, independently; a block is when one of its bytes is. So the bytes
 * between samples are exponentially distributed, and what is left of a countdown has the same distribution
 * whenever it is looked at: a thread may inherit one. */
#ifndef FATHOM_TRACER_SAMPLING_H
#define FATHOM_TRACER_SAMPLING_H

#include "attach/tracer/log2_table.h"
#include "attach/tracer/machine.h"
#include "attach/tracer/state.h"

/* xorshift64*; the state is never 0. */
INLINE u64 next_random(u64* state) {
  u64 x = *state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return x * 0x2545f4914f6cdd1dull;
}

/* -log2(u / 2^64) times 2^32, for u > 0. The table is interpolated: off by less than 3e-6. */
INLINE u64 minus_log2(u64 u) {
  u32 zeros = (u32)__builtin_clzll(u);
  u64 fraction = zeros == 63 ? 0 : u << (zeros + 1); /* u = 2^(63 - zeros) * (1 + fraction / 2^64) */
  u32 index = (u32)(fraction >> 56);
  u64 low = log2_table[index], high = log2_table[index + 1];
  u64 log = low + ((high - low) * ((fraction >> 24) & 0xffffffff) >> 32);
  return ((u64)(zeros + 1) << 32) - log;
}

/* Bytes until the next sample, rounded down: a block of `size` bytes is sampled iff the true value is below
 * `size`. */
INLINE s64 draw_countdown(u64* random, u32 mean) {
  u64 u = next_random(random);
  u64 log = minus_log2(u ? u : 1);
  u64 natural = (u64)((unsigned __int128)log * 2977044472u >> 32); /* times ln 2 */
  return (s64)((unsigned __int128)natural * mean >> 32);
}

/* The sampled blocks. The order in insert and remove keeps the bit set while its bucket holds a block with
 * it, and the bits above it, but for one moment: between the clearing of a bit and the second look, when a
 * block with the same bit comes in. Its free may then go by unseen; the block is forgotten when its address
 * is given out and freed again. */
INLINE u32 block_bit(u64 block) {
  return (u32)block * HASH_FACTOR_32 >> (32 - BITMAP_LOG2);
}

INLINE int bucket_has_bit(const u64* bucket, u32 bit) {
  for (int i = 0; i < BUCKET_WAYS; i++) {
    u64 block = load_relaxed(&bucket[i]);
    if (block && block_bit(block) == bit) return 1;
  }
  return 0;
}

/* A bit of the filter stands for 16 bits of the bitmap, one of the sieve for 16 bits of the filter: the
 * number of a bit becomes that of its bit one level up by >> 4. */
INLINE u32 sixteen_bits(const u32* bits, u32 bit) {
  return load_relaxed(&bits[bit >> 5]) >> (bit & 16) & 0xffff;
}

INLINE void set_bit(u32* bits, u32 bit) {
  __atomic_fetch_or(&bits[bit >> 5], 1u << (bit & 31), __ATOMIC_SEQ_CST);
}

INLINE void clear_bit(u32* bits, u32 bit) {
  __atomic_fetch_and(&bits[bit >> 5], ~(1u << (bit & 31)), __ATOMIC_SEQ_CST);
}

INLINE void announce_sixteen(struct state* s, u32 bit) {
  set_bit(s->filter, bit >> 4);
  set_bit(s->sieve, bit >> 8);
}

INLINE void announce_bit(struct state* s, u32 bit) {
  set_bit(s->bitmap, bit);
  announce_sixteen(s, bit);
}

/* After a block with this bit was removed. A thread that finds on the second check that a bit is still needed
 * also sets those above it: others may have cleared them for the moment that it was missing. */
INLINE void withdraw_bit(struct state* s, const u64* bucket, u32 bit) {
  if (!bucket_has_bit(bucket, bit)) {
    clear_bit(s->bitmap, bit);
    if (bucket_has_bit(bucket, bit)) announce_bit(s, bit);
  }
  if (!sixteen_bits(s->bitmap, bit)) {
    clear_bit(s->filter, bit >> 4);
    if (sixteen_bits(s->bitmap, bit)) announce_sixteen(s, bit);
  }
  if (!sixteen_bits(s->filter, bit >> 4)) {
    clear_bit(s->sieve, bit >> 8);
    if (sixteen_bits(s->filter, bit >> 4)) set_bit(s->sieve, bit >> 8);
  }
}

/* 0: no room. */
HELPER int insert_block(struct state* s, u64 block) {
  u32 bit = block_bit(block);
  u64* bucket = s->buckets[bit >> 5];
  for (int i = 0; i < BUCKET_WAYS; i++) {
    if (load_relaxed(&bucket[i]) || !compare_exchange_u64(&bucket[i], 0, block)) continue;
    announce_bit(s, bit);
    return 1;
  }
  return 0;
}

HELPER int has_block(struct state* s, u64 block) {
  u32 bit = block_bit(block);
  u64* bucket = s->buckets[bit >> 5];
  for (int i = 0; i < BUCKET_WAYS; i++) {
    if (load_relaxed(&bucket[i]) == block) return 1;
  }
  return 0;
}

/* 0: it is not there. Of two threads that remove a block one gets 1. */
HELPER int remove_block(struct state* s, u64 block) {
  u32 bit = block_bit(block);
  u64* bucket = s->buckets[bit >> 5];
  for (int i = 0; i < BUCKET_WAYS; i++) {
    if (load_relaxed(&bucket[i]) != block || !compare_exchange_u64(&bucket[i], block, 0)) continue;
    withdraw_bit(s, bucket, bit);
    return 1;
  }
  return 0;
}

#endif
