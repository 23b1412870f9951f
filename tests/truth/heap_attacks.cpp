// A program of a few MiB that floods the rings of its heap tracer with well-formed fake events:
//   heap_attacks ATTACK THREADS
// Each thread owns rings of its own and writes as fast as there is room, for as long as the program runs.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "base/abi/walk.h"

namespace {

thread_local sigjmp_buf t_back;
thread_local volatile sig_atomic_t t_armed = 0;

void on_fault(int number) {  // the memory was unmapped
  if (t_armed != 0) siglongjmp(t_back, 1);
  signal(number, SIG_DFL);
}

std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

struct Range {
  std::uint64_t start = 0, end = 0;
};
Range g_code;  // the C library's code

// Without allocating: malloc may be hooked.
Range find_mapping(const char* what, const char* rights) {
  thread_local char text[1 << 16];
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::size_t size = 0;
  for (ssize_t n; size + 1 < sizeof text && (n = read(file, text + size, sizeof text - 1 - size)) > 0;)
    size += static_cast<std::size_t>(n);
  close(file);
  text[size] = 0;
  for (char* line = text; line != nullptr && *line != 0;) {
    char* end_of_line = strchr(line, '\n');
    if (end_of_line != nullptr) *end_of_line = 0;
    if (strstr(line, what) != nullptr && strstr(line, rights) != nullptr) {
      char* end = nullptr;
      Range found;
      found.start = strtoull(line, &end, 16);
      found.end = strtoull(end + 1, nullptr, 16);
      return found;
    }
    line = end_of_line == nullptr ? nullptr : end_of_line + 1;
  }
  return {};
}

class Ring {
 public:
  Ring(tracer_shared& head, std::uint32_t number)
      : head_(head),
        ring_(reinterpret_cast<tracer_ring*>(reinterpret_cast<char*>(&head) + head.rings_offset +
                                             std::uint64_t{number} * head.ring_stride)),
        data_(reinterpret_cast<char*>(ring_) + TRACER_RING_DATA),
        bytes_(head.ring_bytes) {
    ring_->owner = static_cast<u32>(getpid() + 1 + static_cast<int>(number));
    __atomic_fetch_add(&head.rings_taken, 1, __ATOMIC_SEQ_CST);
  }
  std::uint64_t ticks() const { return __rdtsc() - head_.tsc_base; }
  bool write(const std::uint64_t* words, std::size_t count) {
    const std::uint64_t at = ring_->head, tail = __atomic_load_n(&ring_->tail, __ATOMIC_ACQUIRE);
    if (at - tail + count * 8 > bytes_) return false;
    for (std::size_t i = 0; i < count; ++i) memcpy(data_ + ((at + i * 8) & (bytes_ - 1)), &words[i], 8);
    __atomic_store_n(&ring_->head, at + count * 8, __ATOMIC_RELEASE);
    return true;
  }

 private:
  tracer_shared& head_;
  tracer_ring* ring_;
  char* data_;
  std::uint64_t bytes_;
};

struct Attack {
  std::string_view name;
  std::uint64_t random;
  std::uint64_t serial = 0;

  // Writes the records of one step.
  bool step(Ring& ring) {
    const std::uint64_t now = ring.ticks();
    const auto first = [&](int kind) { return TRACER_FIRST(now, kind); };
    const std::uint64_t address = 0x7f0000000000 + (next(random) & 0xfffffff0);
    const auto alloc = [&](std::uint64_t block, std::uint64_t size, std::uint64_t stack) {
      const bool large = size >= UINT32_MAX;
      const std::uint64_t words[] = {first(TRACER_EVENT_ALLOC), block,
                                     (large ? UINT32_MAX : size) | stack << 32, size};
      return ring.write(words, large ? 4 : 3);
    };
    const auto stack = [&](std::uint64_t number, std::size_t depth, const Range& code) {
      std::uint64_t words[2 + TRACER_MAX_FRAMES] = {
          first(TRACER_EVENT_STACK),
          (number & UINT32_MAX) | std::uint64_t{depth} << 32 | std::uint64_t{WALK_ROOT} << 48};
      for (std::size_t i = 0; i < depth; ++i)
        words[2 + i] = code.start + next(random) % (code.end - code.start);
      return ring.write(words, 2 + depth);
    };
    ++serial;
    if (name == "threads") {
      const std::uint64_t words[] = {first(TRACER_EVENT_THREAD), next(random) & 0x7fffffff};
      return ring.write(words, 2) && alloc(address, 64, 0);
    }
    if (name == "threads-in-range") {
      const std::uint64_t words[] = {first(TRACER_EVENT_THREAD), next(random) % 4'000'000 + 1};
      return ring.write(words, 2);
    }
    if (name == "stacks-nowhere")
      return stack(serial, 64, {0x10000, 0x7fffffffffff}) && alloc(address, 64, serial);
    if (name == "stacks-in-code") return stack(serial, 64, g_code) && alloc(address, 64, serial);
    if (name == "deep-stacks") return stack(serial, TRACER_MAX_FRAMES, g_code) && alloc(address, 64, serial);
    if (name == "live") return alloc(0x500000000000 + serial * 4096, 1 << 20, 0);
    if (name == "huge") return alloc(address, std::uint64_t{1} << 40, 0);
    if (name == "samples") {
      const std::uint64_t words[] = {first(TRACER_EVENT_SAMPLE), 0x500000000000 + serial * 64, serial % 2,
                                     std::uint64_t{0x7fffffff} << 32};
      return ring.write(words, 4);
    }
    if (name == "small-blocks") return alloc(0x500000000000 + serial * 16, 1, 0);
    if (name == "churn") {
      const std::uint64_t freed[] = {first(TRACER_EVENT_FREE), address};
      return alloc(address, next(random) >> (next(random) % 64), 0) && ring.write(freed, 2);
    }
    if (name == "realloc") {
      const std::uint64_t words[] = {first(TRACER_EVENT_REALLOC), 0x500000000000 + (serial - 1) * 64, now,
                                     0x500000000000 + serial * 64, 1 << 19};
      return ring.write(words, 5);
    }
    if (name == "sites") {  // every site has blocks of every size
      if (serial % 64 == 1) (void)stack(serial / 64 + 1, 4, g_code);
      return alloc(0x500000000000 + serial * 16, std::uint64_t{1} << serial % 14, serial / 64 + 1);
    }
    return false;
  }
};

void attack(Attack made, std::uint32_t number, std::uint32_t threads) {
  for (;;) {
    const Range range = find_mapping("/memfd:fathom-heap", "");
    if (range.start == 0) {
      usleep(500);
      continue;
    }
    if (sigsetjmp(t_back, 1) != 0) {
      t_armed = 0;
      usleep(2000);
      continue;
    }
    t_armed = 1;
    auto& head = *reinterpret_cast<tracer_shared*>(range.start);
    while (__atomic_load_n(&head.mode, __ATOMIC_ACQUIRE) == 0 || head.ring_count == 0) usleep(1000);
    // Starts with the last rings: the program's own threads take the first ones.
    const std::uint32_t share = head.ring_count / 2 / threads;
    for (std::uint32_t i = 0;; i = (i + 1) % share) {
      Ring ring(head, head.ring_count - 1 - number * share - i);
      for (int full = 0; full == 0;) full = made.step(ring) ? 0 : 1;
      if (i == 0) usleep(1);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  signal(SIGSEGV, on_fault);
  signal(SIGBUS, on_fault);
  g_code = find_mapping("libc", "r-xp");
  if (g_code.start == 0) return 3;
  const auto threads = static_cast<std::uint32_t>(atoi(arguments[2]));
  for (std::uint32_t i = 0; i < threads; ++i)
    std::thread(attack, Attack{arguments[1], 0x9e3779b97f4a7c15 * (i + 1)}, i, threads).detach();
  puts("ready");
  fflush(stdout);
  pause();
}
