// Frees blocks in every way that is wrong and harmless here. Usage: bad_frees LIBRARY, where LIBRARY is
// careless_allocator. Exits with 77 if it cannot be loaded.
//
//   site_wrong     10 blocks of 120 bytes that are deleted as objects of 40
//   site_right     50 blocks that are deleted correctly
//   site_foreign    7 blocks of libc, of 100 bytes, passed to the library's free
//   site_twice      5 blocks of the library that are freed twice
//   site_claimed    3 blocks of 64 bytes of the library, freed as if they had 65
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace {

struct Base {
  int value[10];
};
struct Derived : Base {
  int more[20];
};

}  // namespace

#define SITE extern "C" __attribute__((noipa))
#define STAY(block) asm volatile("" : : "r"(block) : "memory")

SITE Base* site_wrong() {
  Base* block = new Derived;
  STAY(block);
  return block;
}
SITE Base* site_right() {
  Base* block = new Base;
  STAY(block);
  return block;
}
SITE void* site_foreign() {
  void* block = std::malloc(100);
  STAY(block);
  return block;
}
SITE void* site_twice(void* (*allocate)(std::size_t)) {
  void* block = allocate(200);
  STAY(block);
  return block;
}
SITE void* site_claimed(void* (*allocate)(std::size_t)) {
  void* block = allocate(64);
  STAY(block);
  return block;
}

int main(int argc, char** argv) {
  void* library = argc < 2 ? nullptr : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 77;
  const auto allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "malloc"));
  const auto release = reinterpret_cast<void (*)(void*)>(dlsym(library, "free"));
  const auto release_sized = reinterpret_cast<void (*)(void*, std::size_t)>(dlsym(library, "free_sized"));
  usleep(700'000);  // observers have noticed the library by then
  for (int i = 0; i < 10; ++i) delete site_wrong();
  for (int i = 0; i < 50; ++i) delete site_right();
  for (int i = 0; i < 7; ++i) release(site_foreign());
  for (int i = 0; i < 5; ++i) {
    void* block = site_twice(allocate);
    release(block);
    release(block);
  }
  for (int i = 0; i < 3; ++i) release_sized(site_claimed(allocate), 65);
  return 0;
}
