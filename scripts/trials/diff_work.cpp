// diff_work KIND UNITS FACTOR: does FACTOR times the work of UNITS, and only this, in one kind of work. For
// scripts/diff-trials.sh: the change between two runs is known.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

using std::chrono::microseconds;

volatile std::uint64_t g_result;

// About 0.2 ms on a 3 GHz processor; other programs hardly slow it.
__attribute__((noinline)) void arithmetic() {
  std::uint64_t seed = g_result | 1;
  for (int i = 0; i < 90'000; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
  }
  g_result = seed;
}

// A function of its own, so that a check can name it.
__attribute__((noinline)) void planted() {
  std::uint64_t seed = g_result | 1;
  for (int i = 0; i < 90'000; ++i) seed = seed * 2862933555777941757ULL + 3037000493ULL;
  g_result = seed;
}

// Waits for memory, so other programs slow it through the caches.
__attribute__((noinline)) void memory() {
  constexpr std::size_t kWords = 1u << 20;
  static std::vector<std::uint32_t> words(kWords, 1);
  auto at = static_cast<std::uint32_t>(g_result);
  for (int i = 0; i < 4'000; ++i) {
    at = at * 2654435761u + words[at % kWords];
    words[at % kWords] += 1;
  }
  g_result = at;
}

__attribute__((noinline)) void objects() {
  std::unordered_map<std::uint64_t, std::unique_ptr<std::string>> map;
  const std::uint64_t seed = g_result;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    map[seed ^ (i * 7919)] = std::make_unique<std::string>(40 + i % 60, 'x');
  g_result = seed + map.size();
}

template <class Work>
void times(long count, const Work& work) {
  for (long i = 0; i < count; ++i) work();
}

template <class Work>
void in_threads(int threads, const Work& work) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work);
  for (std::thread& thread : all) thread.join();
}

void in_children(int children, long units) {
  for (int i = 0; i < children; ++i)
    if (::fork() == 0) {
      times(units, arithmetic);
      ::_exit(0);
    }
  while (::wait(nullptr) > 0) {
  }
}

void kept_blocks(long units) {
  std::vector<void*> blocks;
  times(units, [&] { blocks.push_back(std::memset(std::malloc(4000), 1, 4000)); });
  for (void* block : blocks) std::free(block);
}

void sleep_for(microseconds time) {
  std::this_thread::sleep_for(time);
}

std::mutex g_lock;

__attribute__((noinline)) void locked_work() {
  const std::lock_guard<std::mutex> lock(g_lock);
  sleep_for(microseconds(500));
}

// Jobs of one thread for three workers.
void pool(long jobs) {
  std::mutex lock;
  std::condition_variable some;
  long queued = 0;
  bool ended = false;
  std::thread giver([&] {
    times(jobs, [&] {
      sleep_for(microseconds(500));
      const std::lock_guard<std::mutex> held(lock);
      ++queued;
      some.notify_one();
    });
    const std::lock_guard<std::mutex> held(lock);
    ended = true;
    some.notify_all();
  });
  in_threads(3, [&] {
    std::unique_lock<std::mutex> held(lock);
    for (;;) {
      some.wait(held, [&] { return queued > 0 || ended; });
      if (queued == 0) return;
      --queued;
      held.unlock();
      arithmetic();
      held.lock();
    }
  });
  giver.join();
}

void synced_writes(long count) {
  char name[] = "diff-work-XXXXXX";
  const int file = ::mkstemp(name);
  ::unlink(name);
  char page[4096] = {};
  times(count, [&] {
    if (::pwrite(file, page, sizeof page, 0) < 0 || ::fdatasync(file) < 0) std::perror("diff_work");
  });
  ::close(file);
}

void echo(long count) {
  int there[2], back[2];
  if (::pipe(there) < 0 || ::pipe(back) < 0) return;
  char byte = 0;
  std::thread peer([&] {
    times(count, [&] {
      char got;
      if (::read(there[0], &got, 1) == 1)
        g_result = g_result + static_cast<std::uint64_t>(::write(back[1], &got, 1));
    });
  });
  times(count, [&] {
    if (::write(there[1], &byte, 1) == 1)
      g_result = g_result + static_cast<std::uint64_t>(::read(back[0], &byte, 1));
  });
  peer.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string kind = argv[1];
  const long units = std::atol(argv[2]);
  const auto more = static_cast<long>(static_cast<double>(units) * std::atof(argv[3]) + 0.5);
  if (kind == "arithmetic") {
    times(more, arithmetic);
  } else if (kind == "memory") {
    times(more, memory);
  } else if (kind == "objects") {
    times(more, objects);
  } else if (kind == "function") {
    times(3 * units, arithmetic);
    times(more, planted);
  } else if (kind == "calls") {
    times(units, arithmetic);
    times(more, planted);
  } else if (kind == "threads") {
    in_threads(4, [&] { times(more, arithmetic); });
  } else if (kind == "children") {
    in_children(4, more);
  } else if (kind == "blocks") {
    kept_blocks(more);
  } else if (kind == "sleeps") {
    times(more, [] { sleep_for(microseconds(1000)); });
  } else if (kind == "lock") {
    in_threads(4, [&] { times(more, locked_work); });
  } else if (kind == "pool") {
    pool(more);
  } else if (kind == "writes") {
    synced_writes(more);
  } else if (kind == "echo") {
    echo(more);
  } else {
    return 2;
  }
  return 0;
}
