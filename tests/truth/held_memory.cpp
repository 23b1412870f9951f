// Memory that an allocator keeps: many blocks are live for a moment, then one in sixteen. Usage:
//   held_memory MIB SECONDS [trim]
// `trim`: calls malloc_trim(0) afterwards. Works a little all the time. Prints its answer as JSON: bytes that
// stay live, and resident anonymous memory at the end.
#include <dlfcn.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kBlock = 2000, kKeepOneOf = 16;

__attribute__((noipa)) void* site_load(std::size_t size) {
  void* block = std::malloc(size);
  std::memset(block, 1, size);
  return block;
}
__attribute__((noipa)) void site_request() {
  void* block = std::malloc(100);
  asm volatile("" : : "r"(block) : "memory");
  std::free(block);
}

double now_s() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void work_until(double end_s) {
  while (now_s() < end_s) {
    site_request();
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

long rss_anon_kb() {
  long kb = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr)
      if (std::sscanf(line, "RssAnon: %ld", &kb) == 1) break;
    std::fclose(file);
  }
  return kb;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const double seconds = std::atof(arguments[2]), start = now_s();
  std::vector<void*> blocks(static_cast<std::size_t>(std::atol(arguments[1])) * 1024 * 1024 / kBlock);
  for (void*& block : blocks) block = site_load(kBlock);
  // In use for a while: a reading once a second sees it.
  work_until(start + seconds / 4);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % kKeepOneOf == 0) {
      ++kept;
      continue;
    }
    std::free(blocks[i]);
    blocks[i] = nullptr;
  }
  if (count > 3)  // from the C library; another allocator may not have it
    if (void* trim = dlsym(RTLD_DEFAULT, "malloc_trim")) reinterpret_cast<int (*)(std::size_t)>(trim)(0);
  work_until(start + seconds);
  std::printf("{\"live_bytes\": %zu, \"rss_anon_bytes\": %ld}\n",
              kept * kBlock + blocks.size() * sizeof(void*), rss_anon_kb() * 1024);
}
