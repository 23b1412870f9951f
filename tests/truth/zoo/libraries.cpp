// Code outside the executable: through the PLT with lazy binding, in a library that appears under a new path
// after the start and disappears, in hand-written functions of the C library, and in the vdso.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "plt_library.h"
#include "zoo.h"

ZOO_FUNCTION std::uint64_t zoo_plt_caller(std::uint64_t value) {
#define ZOO_CALL(n) value = zoo_plt_##n(value);
  ZOO_PLT_FUNCTIONS(ZOO_CALL)
#undef ZOO_CALL
  return value;
}

ZOO_FUNCTION std::size_t zoo_libc_strings(std::vector<char>& from, std::vector<char>& to) {
  std::memcpy(to.data(), from.data(), from.size());
  std::size_t length = std::strlen(to.data());
  length += std::memcmp(to.data(), from.data(), from.size()) == 0 ? 1 : 0;
  length += std::strchr(to.data(), 'y') == nullptr ? 1 : 0;
  std::memset(to.data(), 'z', to.size() / 2);
  asm volatile("" ::"r"(to.data()) : "memory");
  return length;
}

ZOO_FUNCTION std::int64_t zoo_vdso(int rounds) {
  timespec now{};
  std::int64_t sum = 0;
  for (int i = 0; i < rounds; ++i) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    sum += now.tv_nsec;
  }
  return sum;
}

namespace zoo {

void scene_plt(Deadline deadline) {
  for (std::uint64_t value = 1; !passed(deadline);) value = zoo_plt_caller(value);
}

void scene_dlopen(Deadline deadline) {
  static std::atomic<int> counter{0};
  const auto built = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "zoo_plugin.so";
  const std::string fresh =
      "/tmp/zoo_plugin_" + std::to_string(getpid()) + "_" + std::to_string(counter++) + ".so";
  std::filesystem::copy_file(built, fresh, std::filesystem::copy_options::overwrite_existing);
  void* library = dlopen(fresh.c_str(), RTLD_LAZY | RTLD_LOCAL);
  std::filesystem::remove(fresh);  // mapped, and deleted, as after an upgrade
  if (library == nullptr) std::abort();
  const auto work = reinterpret_cast<std::uint64_t (*)(std::uint64_t)>(dlsym(library, "zoo_plugin_work"));
  while (!passed(deadline)) work(20'000);
  dlclose(library);
}

void scene_libc(Deadline deadline) {
  std::vector<char> from(16 * 1024, 'x');
  std::vector<char> to(from.size(), 'x');
  from.back() = '\0';
  while (!passed(deadline)) zoo_libc_strings(from, to);
}

void scene_vdso(Deadline deadline) {
  while (!passed(deadline)) zoo_vdso(1000);
}

}  // namespace zoo
