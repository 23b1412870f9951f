// For tests only: a static probe in the test itself, with operands as the test wants them. The note is the one that <sys/sdt.h>
// writes.
#pragma once

#define FATHOM_TEST_PROBE(provider, name, semaphore, operands, ...)                                 \
  __asm__ volatile(                                                                                 \
      "990: nop\n\t"                                                                                \
      ".pushsection .note.stapsdt,\"?\",\"note\"\n\t.balign 4\n\t"                                  \
      ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b, " \
      "0, " semaphore "\n\t.asciz \"" provider "\"\n\t.asciz \"" name "\"\n\t.asciz \"" operands    \
      "\"\n994: .balign 4\n\t.popsection" ::__VA_ARGS__)
