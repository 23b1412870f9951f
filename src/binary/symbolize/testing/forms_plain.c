// A unit of C: names without linkage names.
static unsigned long __attribute__((noinline)) rounds_of(unsigned long value, unsigned rounds) {
  volatile unsigned long total = value;
  for (unsigned i = 0; i < rounds; ++i) total = total * 5 + i;
  return total;
}

unsigned long plain_c(unsigned long value, unsigned rounds) {
  return rounds_of(value + 1, rounds & 7) + 3;
}
