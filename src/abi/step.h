/* The stepping logic of the architecture that is compiled for. */
#ifndef FATHOM_ABI_STEP_H
#define FATHOM_ABI_STEP_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "abi/step_x86_64.h"
#else
#error "fathom walks stacks on x86-64 only so far"
#endif

#endif
