// The part of the fixture that is C: functions without linkage names, static ones among them.
#include <stdint.h>

static inline uint64_t step(uint64_t value) {
  return value * 6364136223846793005u + 1442695040888963407u;
}

static uint64_t __attribute__((noinline)) rounds_of(uint64_t value, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) value = step(value) ^ (value >> 7);
  return value;
}

uint64_t plain_mix(uint64_t value, unsigned rounds) {
  return rounds_of(step(value), rounds & 7);
}

// The same function under three names; the plain one is the one to show.
uint64_t __attribute__((alias("plain_mix"))) __plain_mix(uint64_t, unsigned);
uint64_t __attribute__((weak, alias("plain_mix"))) _plain_mix_internal(uint64_t, unsigned);
