// The library that stacks_zoo loads and unloads. It calls another library, so each load binds that call
// again.
#include "plt_library.h"

extern "C" __attribute__((noipa)) std::uint64_t zoo_plugin_burn(std::uint64_t rounds) {
  std::uint64_t value = 7;
  for (std::uint64_t i = 0; i < rounds; ++i) value = value * 2862933555777941757ULL + i;
  return value;
}

extern "C" __attribute__((noipa)) std::uint64_t zoo_plugin_work(std::uint64_t rounds) {
  const std::uint64_t value = zoo_plugin_burn(rounds);
  return zoo_plt_10(value) + zoo_plt_11(value);
}
