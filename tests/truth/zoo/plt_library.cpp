#include "plt_library.h"

#define ZOO_DEFINE(n)                                                     \
  __attribute__((noipa)) std::uint64_t zoo_plt_##n(std::uint64_t value) { \
    return value * 3 + n;                                                 \
  }
ZOO_PLT_FUNCTIONS(ZOO_DEFINE)
