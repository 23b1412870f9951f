// diff_changes_target SECONDS lock HOLD_US | vector FACTOR | leak BYTES_PER_SECOND: programs in which one
// part, `planted`, can be changed from outside, while others of its kind stay the same. For bench_diff: the
// change is known.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

Clock::time_point g_end;

bool goes_on() {
  return Clock::now() < g_end;
}

// Four threads want two locks; one lock is held for `hold`, the other always for 400 us. They do other work
// in between: otherwise the locks would be wanted all the time, and waiting would take all the time for any
// `hold`, so only the amount of work would show the change.
std::mutex g_planted, g_other;

__attribute__((noinline)) void planted(microseconds hold) {
  const std::lock_guard<std::mutex> lock(g_planted);
  std::this_thread::sleep_for(hold);
}

__attribute__((noinline)) void other() {
  const std::lock_guard<std::mutex> lock(g_other);
  std::this_thread::sleep_for(microseconds(400));
}

void contend(microseconds hold) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([hold] {
      while (goes_on()) {
        planted(hold);
        other();
        std::this_thread::sleep_for(microseconds(3000));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// An array that grows to `factor` times its size whenever it is full.
__attribute__((noinline)) char* grown(char* array, std::size_t used, std::size_t room) {
  char* larger = static_cast<char*>(std::malloc(room));
  std::memcpy(larger, array, used);
  std::free(array);
  return larger;
}

__attribute__((noinline)) void planted(double factor) {
  std::size_t room = 64;
  char* array = static_cast<char*>(std::calloc(room, 1));
  while (room < 1'000'000) {
    const std::size_t more = static_cast<std::size_t>(static_cast<double>(room) * factor) + 1;
    array = grown(array, room, more);
    room = more;
  }
  std::free(array);
}

__attribute__((noinline)) void other_growth() {
  for (std::size_t room = 64; room < 1'000'000; room *= 2) std::free(std::malloc(room));
}

// Memory that is never freed, allocated in parts every 10 ms.
std::vector<void*> g_kept;

__attribute__((noinline)) void planted(std::size_t bytes) {
  for (std::size_t kept = 0; kept < bytes; kept += 100) g_kept.push_back(std::malloc(100));
}

__attribute__((noinline)) void other_requests() {
  void* blocks[50];
  for (void*& block : blocks) block = std::malloc(300);
  for (void* block : blocks) std::free(block);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  g_end = Clock::now() +
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::atof(argv[1])));
  const std::string what = argv[2];
  const double much = std::atof(argv[3]);
  if (what == "lock") contend(microseconds(static_cast<int>(much)));
  g_kept.reserve(10'000'000);  // so that only the leak grows
  while (what == "vector" && goes_on()) {
    planted(much);
    other_growth();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  while (what == "leak" && goes_on()) {
    planted(static_cast<std::size_t>(much / 100));
    other_requests();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return 0;
}
