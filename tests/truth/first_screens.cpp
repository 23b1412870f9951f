// Programs with one known answer each, for the first screen of a report: the cost is in a library or in the
// kernel, and its cause is a function of this file. Built with line numbers, as for profiling.
//
//   first_screens PROGRAM SECONDS [FILE]
//   PROGRAM: regex, churn, recursion, chase, thrash (SECONDS of CPU time);
//   convoy, starve, idle, sync, leak (of the clock). FILE: written by `sync`.
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

volatile long result;

class LogParser {
 public:
  [[gnu::noinline]] bool parse_line(const std::string& line) {
    const std::regex pattern("^([0-9]+)-([0-9]+) ([a-z]+): (.*)$");  // compiled again for every line
    return std::regex_match(line, pattern);
  }
};

class Shop {
 public:
  [[gnu::noinline]] void serve_request() {
    std::vector<std::unique_ptr<std::string>> items;
    for (int i = 0; i < 100; ++i) items.push_back(std::make_unique<std::string>(64, 'x'));
    result = result + static_cast<long>(items.size());
  }
};

[[gnu::noinline]] long fibonacci(long n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// One ring of places, each in its own cache line and far from the last: every step waits for the memory.
class Graph {
 public:
  Graph() : next_(kPlaces * kStride) {
    std::vector<std::uint32_t> order(kPlaces);
    std::iota(order.begin(), order.end(), 0u);
    std::uint64_t random = 12345;
    for (std::uint32_t i = kPlaces - 1; i > 0; --i) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(order[i], order[(random >> 33) % i]);
    }
    for (std::uint32_t i = 0; i < kPlaces; ++i)
      next_[order[i] * kStride] = order[(i + 1) % kPlaces] * kStride;
  }
  [[gnu::noinline]] void walk() {
    std::uint32_t at = 0;
    for (int i = 0; i < 100'000; ++i) at = next_[at];
    result = result + at;
  }

 private:
  static constexpr std::uint32_t kPlaces = 1 << 20, kStride = 16;
  std::vector<std::uint32_t> next_;
};

// Memory that is freed and allocated again each time.
class Table {
 public:
  Table()
      : rows_(static_cast<char*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  [[gnu::noinline]] void rebuild() {
    madvise(rows_, kBytes, MADV_DONTNEED);
    for (std::size_t at = 0; at < kBytes; at += 4096) rows_[at] = 1;
    result = result + rows_[0];
  }

 private:
  static constexpr std::size_t kBytes = 8 << 20;
  char* rows_;
};

// Every request holds the one lock while it sleeps.
class Ledger {
 public:
  [[gnu::noinline]] void post() {
    {
      const std::lock_guard lock(mutex_);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    result = result + 1;  // otherwise the unlocking would be called from this function's caller
  }

 private:
  std::mutex mutex_;
};

class Journal {
 public:
  explicit Journal(const char* path) : file_(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {}
  [[gnu::noinline]] void append() {
    if (write(file_, "entry of sixteen", 16) != 16 || fsync(file_) != 0) std::exit(3);
    result = result + 1;
  }

 private:
  int file_;
};

// One block per call that is never freed.
class Sessions {
 public:
  [[gnu::noinline]] void remember() {
    sessions_[next_++] = new char[1000]{};
    result = result + 1;
  }

 private:
  std::map<int, char*> sessions_;
  int next_ = 0;
};

[[gnu::noinline]] void spin(Clock::time_point end) {
  while (Clock::now() < end) result = result + fibonacci(15);
}

void in_threads(int count, const std::function<void()>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const double seconds = std::atof(argv[2]);
  // CPU time, so that a busy machine gives as many samples as an idle one.
  const double wanted = seconds * CLOCKS_PER_SEC;
  const auto end = Clock::now() + std::chrono::microseconds(static_cast<long>(seconds * 1e6));
  const auto is = [&](const char* program) { return std::strcmp(argv[1], program) == 0; };
  const auto burn = [&](const std::function<void()>& step) {
    while (static_cast<double>(std::clock()) < wanted)
      for (int i = 0; i < 16; ++i) step();  // the clock is a system call
  };
  const auto go_on = [&](const std::function<void()>& step) {
    while (Clock::now() < end) step();
  };
  LogParser parser;
  Shop shop;
  if (is("regex")) burn([&] { result = result + (parser.parse_line("2024-01 info: line") ? 1 : 0); });
  if (is("churn")) burn([&] { shop.serve_request(); });
  if (is("recursion")) burn([&] { result = result + fibonacci(22); });
  if (is("chase")) {
    Graph graph;
    burn([&] { graph.walk(); });
  }
  if (is("thrash")) {
    Table table;
    burn([&] { table.rebuild(); });
  }
  if (is("convoy")) {
    Ledger ledger;
    in_threads(4, [&] { go_on([&] { ledger.post(); }); });
  }
  if (is("starve")) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);  // as in a container with one CPU
    in_threads(4, [&] { spin(end); });
  }
  if (is("idle")) {
    const int queue = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    go_on([&] { epoll_wait(queue, &event, 1, 5000); });
  }
  if (is("sync")) {
    Journal journal(argc > 3 ? argv[3] : "journal");
    go_on([&] { journal.append(); });
  }
  if (is("leak")) {
    Sessions sessions;
    for (int i = 0; i < 2000; ++i) {
      sessions.remember();
      std::this_thread::sleep_until(end - std::chrono::duration<double>(seconds * (1999 - i) / 2000));
    }
  }
  std::printf("%ld\n", static_cast<long>(result));
}
