// Loads a library with an allocator twice, at different addresses, and allocates 500 blocks of 1000 bytes
// each time. Usage: loaded_again LIBRARY
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

extern "C" __attribute__((noipa)) void* site_first(void* (*allocate)(std::size_t)) {
  void* block = allocate(1000);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}
extern "C" __attribute__((noipa)) void* site_again(void* (*allocate)(std::size_t)) {
  void* block = allocate(1000);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}
extern "C" __attribute__((noipa)) void* site_third(void* (*allocate)(std::size_t)) {
  void* block = allocate(1000);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::uintptr_t old_place = 0;
  for (int turn = 0; turn < 3; ++turn) {
    usleep(200'000);
    // The second time its old place is occupied, so that it gets another one; the third time it is free.
    if (turn == 1)
      mmap(reinterpret_cast<void*>(old_place), 4096, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 77;
    const auto allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "malloc"));
    old_place = static_cast<link_map*>(library)->l_addr;
    usleep(600'000);  // observers have noticed the library by then
    for (int i = 0; i < 500; ++i) (turn == 0 ? site_first : turn == 1 ? site_again : site_third)(allocate);
    dlclose(library);
  }
  _exit(0);
}
