// The program of the guide to CI: counts the words of a text that it makes. -DCHECKED adds a checksum of some words.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static char text[1 << 20];
static uint32_t counts[1 << 16], sum;

__attribute__((noinline)) static uint32_t hash(const char* word, size_t length) {
  uint32_t value = 2166136261u;
  for (size_t i = 0; i < length; ++i) value = (value ^ (unsigned char)word[i]) * 16777619u;
  return value;
}

#ifdef CHECKED
__attribute__((noinline)) static uint32_t checksum(const char* word, size_t length) {
  uint32_t low = 1, high = 0;
  for (size_t i = 0; i < length; ++i) {
    low = (low + (unsigned char)word[i]) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}
#endif

__attribute__((noinline)) static void count_words(void) {
  for (size_t start = 0; start < sizeof text;) {
    size_t end = start;
    while (end < sizeof text && text[end] != ' ') ++end;
#ifdef CHECKED
    if (start % 2 == 0) sum ^= checksum(text + start, end - start);
#endif
    counts[hash(text + start, end - start) % (sizeof counts / sizeof *counts)]++;
    start = end + 1;
  }
}

int main(void) {
  for (size_t i = 0; i < sizeof text; ++i) text[i] = i * 7919 % 13 == 0 ? ' ' : (char)('a' + i * 31 % 26);
  for (int round = 0; round < 400; ++round) count_words();
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) sum += counts[i];
  printf("%u\n", sum);
}
