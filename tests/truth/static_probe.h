/* A static probe (USDT) without SystemTap's header: a no-op instruction, and a note with its address and the places of
 * its values. The layout of the note is that of <sys/sdt.h>, version 3; readelf -n reads both.
 *
 *   PROBE_SEMAPHORE(provider, name)            once, at file scope: counts the watchers
 *   PROBE1(provider, name, a), PROBE3(...)     at the place; each value 8 bytes wide */
#ifndef FATHOM_TESTS_STATIC_PROBE_H
#define FATHOM_TESTS_STATIC_PROBE_H

#define PROBE_SEMAPHORE(provider, name) \
  __attribute__((used, section(".probes"))) volatile unsigned short provider##_##name##_semaphore = 0

#define STATIC_PROBE(provider, name, operands, ...)                           \
  __asm__ __volatile__(                                                       \
      "990: nop\n"                                                            \
      ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
      ".balign 4\n"                                                           \
      ".4byte 992f-991f, 994f-993f, 3\n"                                      \
      "991: .asciz \"stapsdt\"\n"                                             \
      "992: .balign 4\n"                                                      \
      "993: .8byte 990b\n"                                                    \
      ".8byte _.stapsdt.base\n"                                               \
      ".8byte " #provider "_" #name                                           \
      "_semaphore\n"                                                          \
      ".asciz \"" #provider                                                   \
      "\"\n"                                                                  \
      ".asciz \"" #name                                                       \
      "\"\n"                                                                  \
      ".asciz \"" operands                                                    \
      "\"\n"                                                                  \
      "994: .balign 4\n"                                                      \
      ".popsection\n"                                                         \
      ".ifndef _.stapsdt.base\n"                                              \
      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
      ".weak _.stapsdt.base\n"                                                \
      ".hidden _.stapsdt.base\n"                                              \
      "_.stapsdt.base: .space 1\n"                                            \
      ".size _.stapsdt.base, 1\n"                                             \
      ".popsection\n"                                                         \
      ".endif\n" ::__VA_ARGS__)

#define PROBE1(provider, name, a) STATIC_PROBE(provider, name, "8@%0", "nor"((unsigned long)(a)))
#define PROBE3(provider, name, a, b, c)                                                                \
  STATIC_PROBE(provider, name, "8@%0 8@%1 8@%2", "nor"((unsigned long)(a)), "nor"((unsigned long)(b)), \
               "nor"((unsigned long)(c)))

#endif
