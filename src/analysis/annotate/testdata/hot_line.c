// Functions whose lines the tests know: spend() has its cost on a given line, and calls twice().
static inline __attribute__((always_inline)) unsigned mixed(unsigned value) {
  return value * 2654435761u ^ value >> 7;  // line 3: inlined
}

__attribute__((noinline)) unsigned twice(unsigned value) {
  __asm__ volatile("" : "+r"(value));
  return value * 2;  // line 8
}

__attribute__((noinline)) unsigned spend(unsigned rounds) {
  unsigned sum = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    sum += mixed(i ^ sum);  // line 14
    __asm__ volatile("" : "+r"(sum));
  }
  return sum + twice(sum);  // line 17
}

int main(int count, char** words) {
  (void)words;
  return (int)(spend((unsigned)count) & 1);
}
