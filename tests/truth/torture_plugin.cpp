// A library that comes and goes, and allocates for its caller.
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) void* torture_plugin_allocate(std::size_t size) {
  void* block = std::malloc(size);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}
