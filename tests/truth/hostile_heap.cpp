// A program that writes anything at any time to the memory that it shares with its heap tracer:
//   hostile_heap SEED quiet|busy
// It looks for the memory in its own maps as long as it runs. `quiet` never allocates in the meantime, so the
// damage does not affect it; `busy` does, and may crash itself.
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace {

constexpr std::size_t kHead = 58112;  // sizeof(struct tracer_shared)

// The mapping may disappear at any moment: then the write is abandoned.
thread_local sigjmp_buf t_back;
thread_local volatile sig_atomic_t t_armed = 0;

void on_fault(int number) {
  if (t_armed != 0) siglongjmp(t_back, 1);
  signal(number, SIG_DFL);  // a real crash of this program
}

std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

struct Range {
  std::uint64_t start = 0, end = 0;
};

// Without allocating: malloc may be hooked.
Range find_memory() {
  static char text[1 << 16];
  const int file = open("/proc/self/maps", O_RDONLY);
  std::size_t size = 0;
  for (ssize_t n; size + 1 < sizeof text && (n = read(file, text + size, sizeof text - 1 - size)) > 0;)
    size += static_cast<std::size_t>(n);
  close(file);
  text[size] = 0;
  const char* name = strstr(text, "/memfd:fathom-heap");
  if (name == nullptr) return {};
  const char* line = name;
  while (line > text && line[-1] != '\n') --line;
  char* end = nullptr;
  Range found;
  found.start = strtoull(line, &end, 16);
  found.end = strtoull(end + 1, nullptr, 16);
  return found;
}

// Every byte of the head each time, and some pages of the rest: writing all of it would make it all resident.
void scribble(const Range& range, std::uint64_t& random) {
  auto* bytes = reinterpret_cast<unsigned char*>(range.start);
  const std::uint64_t size = range.end - range.start;
  if (sigsetjmp(t_back, 1) != 0) {
    t_armed = 0;
    return;
  }
  t_armed = 1;
  switch (next(random) % 4) {
    case 0:  // any bytes
      for (std::size_t i = 0; i + 8 <= kHead; i += 8) {
        const std::uint64_t word = next(random);
        memcpy(bytes + i, &word, 8);
      }
      break;
    case 1:
      memset(bytes, next(random) % 2 == 0 ? 0xff : 0, kHead);
      break;
    case 2:  // one word, so that the rest stays valid
      memcpy(bytes + next(random) % (kHead / 8) * 8, &random, 8);
      break;
    default:  // a number that is nearly right
      bytes[next(random) % 1024] ^= static_cast<unsigned char>(1u << next(random) % 8);
      break;
  }
  // Rings and tables, mostly their first words: pages close together, so that few are touched.
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t page = (next(random) % 512) * (size / 512) / 4096 * 4096;
    const std::uint64_t at = page + next(random) % 20 * 8;
    const std::uint64_t word = next(random) % 3 == 0 ? next(random) : next(random) % 4096 * 8;
    if (at + 8 <= size) memcpy(bytes + at, &word, 8);
  }
  t_armed = 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  std::uint64_t random = strtoull(arguments[1], nullptr, 10) * 2 + 1;
  const bool busy = std::string_view(arguments[2]) == "busy";
  signal(SIGSEGV, on_fault);
  signal(SIGBUS, on_fault);
  if (busy)
    std::thread([] {
      for (std::size_t size = 16;; size = size * 7 % 4093 + 16) {
        auto* block = static_cast<volatile char*>(malloc(size));
        if (block != nullptr) block[0] = 1;
        free(const_cast<char*>(block));
      }
    }).detach();
  puts("ready");
  fflush(stdout);
  for (;;) {
    const Range range = find_memory();
    if (range.start != 0) {
      for (int i = 0; i < 100; ++i) scribble(range, random);
    } else {
      usleep(500);
    }
  }
}
