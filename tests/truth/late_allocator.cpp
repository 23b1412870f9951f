// Loads an allocator while running, and allocates a thousand blocks of a thousand bytes with it at one site;
// frees every second one. Usage: late_allocator LIBRARY. Exits with 77 if it cannot be loaded.
#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>

extern "C" __attribute__((noipa)) void* site_late(void* (*allocate)(std::size_t)) {
  void* block = allocate(1000);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  usleep(300'000);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 77;
  const auto allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "malloc"));
  const auto release = reinterpret_cast<void (*)(void*)>(dlsym(library, "free"));
  usleep(700'000);  // observers have noticed the library by then
  for (int i = 0; i < 1000; ++i) {
    void* block = site_late(allocate);
    if (i % 2 == 0) release(block);
  }
}
