// Waits that need some condition on the machine: a limit on memory or CPU, a rival, a child, a ring. The
// program times them itself, like known_waits. Usage: hard_waits KIND SECONDS [FILE]. Prints its answer as
// JSON: seconds by site, and counts.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "thread_times.h"

namespace {

using namespace fathom::truth;

double g_end_s;
bool going() {
  return wall_s() < g_end_s;
}

std::mutex g_answer_lock;
std::map<std::string, double> g_answer;
void add(const std::string& name, double value) {
  const std::lock_guard guard(g_answer_lock);
  g_answer[name] += value;
}

// The barrier keeps the call from being the last action of the function: it would become a jump, without a
// frame.
#define SITE extern "C" __attribute__((noinline)) void
#define STAY asm volatile("" ::: "memory")

// Time off the CPU in `site`, over and over until the end.
double play(const std::function<void()>& site, const std::function<void()>& between = {}) {
  double waited_s = 0;
  while (going()) {
    waited_s += off_cpu_s(site);
    if (between) between();
  }
  return waited_s;
}

// --- page faults of a mapped file: read at random, in an order that read-ahead cannot guess ---
SITE wait_for_mapped_page(const volatile char* page) {
  (void)*page;
  STAY;
}
SITE touch_new_memory(char* memory, std::size_t size) {
  for (std::size_t at = 0; at < size; at += 4096) memory[at] = 1;
  STAY;
}

// The mapping is larger than the program's memory limit, or its pages are dropped now and then.
int faults(const std::string& path, bool drop) {
  const int fd = open(path.c_str(), O_RDONLY);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) return 1;
  const auto size = static_cast<std::size_t>(status.st_size);
  auto* map = static_cast<char*>(mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0));
  if (map == MAP_FAILED) return 1;
  madvise(map, size, MADV_RANDOM);
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  std::uint64_t random = 88172645463325252u;
  int since_drop = 0;
  const double waited_s = play(
      [&] {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        wait_for_mapped_page(map + random % (size / 4096) * 4096);
      },
      [&] {
        if (drop && ++since_drop == 500) {
          since_drop = 0;
          madvise(map, size, MADV_DONTNEED);
          posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        }
        usleep(1000);  // rare enough for the recorder to walk every one
      });
  getrusage(RUSAGE_THREAD, &after);
  add("wait_for_mapped_page", waited_s);
  add("major_faults", static_cast<double>(after.ru_majflt - before.ru_majflt));
  return 0;
}

int minor_faults() {
  constexpr std::size_t kSize = 32 << 20;
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  while (going()) {
    auto* memory =
        static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) return 1;
    madvise(memory, kSize, MADV_NOHUGEPAGE);
    touch_new_memory(memory, kSize);
    munmap(memory, kSize);
    usleep(20'000);
  }
  getrusage(RUSAGE_THREAD, &after);
  add("minor_faults", static_cast<double>(after.ru_minflt - before.ru_minflt));
  return 0;
}

// --- competition for a CPU ---
SITE burn(double seconds) {
  const double end = on_cpu_s() + seconds;
  while (on_cpu_s() < end)
    for (int i = 0; i < 20'000; ++i) asm volatile("");
  STAY;
}

int compete() {
  const auto rival = [](const char* name) {
    pthread_setname_np(pthread_self(), name);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
    sched_yield();
    const double on_cpu = on_cpu_s();
    add(std::string(name) + ".queued", off_cpu_s([] {
          while (going()) burn(0.01);
        }));
    add(std::string(name) + ".ran", on_cpu_s() - on_cpu);
  };
  std::thread one(rival, "rival-1"), two(rival, "rival-2");
  one.join();
  two.join();
  return 0;
}

void stay_on_first_cpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  sched_setaffinity(0, sizeof(cpus), &cpus);
}

// Takes the CPU for a moment, thousands of times a second.
int rival() {
  stay_on_first_cpu();
  while (going()) usleep(30);
  return 0;
}

SITE wait_after_all() {
  usleep(500'000);
  STAY;
}

int preempted(double seconds) {
  stay_on_first_cpu();
  burn(seconds);
  add("wait_after_all", off_cpu_s(wait_after_all));
  return 0;
}

int throttled() {
  double off_s = 0;
  while (going()) {
    off_s += off_cpu_s([] { burn(0.005); });
  }
  add("burn", off_s);
  return 0;
}

// --- a ring, a child, an event loop ---
int enter(int ring, unsigned submit, unsigned wait) {
  return static_cast<int>(
      syscall(SYS_io_uring_enter, ring, submit, wait, IORING_ENTER_GETEVENTS, nullptr, 0));
}
SITE wait_in_ring(int ring) {
  if (enter(ring, 1, 1) < 0) abort();
  STAY;
}

int use_ring() {
  io_uring_params params{};
  const int ring = static_cast<int>(syscall(SYS_io_uring_setup, 4, &params));
  if (ring < 0) {
    std::printf("{\"unavailable\": 1}\n");
    exit(0);
  }
  const auto map = [&](std::size_t size, std::uint64_t offset) {
    return static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                                   static_cast<off_t>(offset)));
  };
  char* sq = map(params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
  char* cq = map(params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe), IORING_OFF_CQ_RING);
  auto* sqes =
      reinterpret_cast<io_uring_sqe*>(map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
  const auto word = [](char* base, unsigned offset) {
    return reinterpret_cast<std::atomic<unsigned>*>(base + offset);
  };
  const unsigned mask = word(sq, params.sq_off.ring_mask)->load();
  __kernel_timespec time{0, 12'000'000};
  add("wait_in_ring", play([&] {
        const unsigned tail = word(sq, params.sq_off.tail)->load();
        io_uring_sqe& sqe = sqes[tail & mask];
        std::memset(&sqe, 0, sizeof(sqe));
        sqe.opcode = IORING_OP_TIMEOUT;
        sqe.addr = reinterpret_cast<std::uint64_t>(&time);
        sqe.len = 1;
        word(sq, params.sq_off.array + (tail & mask) * sizeof(unsigned))->store(tail & mask);
        word(sq, params.sq_off.tail)->store(tail + 1);
        wait_in_ring(ring);
        word(cq, params.cq_off.head)->store(word(cq, params.cq_off.tail)->load());
      }));
  return 0;
}

// --- many short waits, and then one that does not end ---
void pass(int event) {
  const std::uint64_t one = 1;
  if (write(event, &one, sizeof(one)) != sizeof(one)) abort();
}
void take(int event) {
  std::uint64_t value = 0;
  if (read(event, &value, sizeof(value)) != sizeof(value)) abort();
}
SITE wait_in_burst(int event) {
  take(event);
  STAY;
}
SITE wait_after_burst(int event) {
  take(event);
  STAY;
}

int burst() {
  const int there = eventfd(0, 0), back = eventfd(0, 0);
  std::thread([there, back] {
    for (;;) {
      take(there);
      pass(back);
    }
  }).detach();
  constexpr double kBurst_s = 0.08;
  for (const double end_s = wall_s() + kBurst_s; wall_s() < end_s;) {
    pass(there);
    wait_in_burst(back);
  }
  wait_after_burst(back);  // the recording ends before
  return 0;
}

SITE wait_for_child(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) abort();
  STAY;
}

int children() {
  double waited_s = 0;
  while (going()) {
    const pid_t pid = fork();
    if (pid == 0) {
      usleep(30'000);
      _exit(0);
    }
    waited_s += off_cpu_s([pid] { wait_for_child(pid); });
  }
  add("wait_for_child", waited_s);
  return 0;
}

SITE wait_for_event(int epoll) {
  epoll_event event{};
  if (epoll_wait(epoll, &event, 1, -1) != 1) abort();
  STAY;
}
SITE work_on_event(int fd) {
  std::uint64_t value = 0;
  if (read(fd, &value, sizeof(value)) != sizeof(value)) abort();
  STAY;
}

int event_loop() {
  const int epoll = epoll_create1(0), event = eventfd(0, EFD_NONBLOCK);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
  std::thread source([event] {
    pthread_setname_np(pthread_self(), "source");
    const std::uint64_t one = 1;
    const auto ring_the_bell = [&] {
      if (write(event, &one, sizeof(one)) != sizeof(one)) abort();
    };
    while (going()) {
      usleep(11'000);
      ring_the_bell();
    }
    usleep(100'000);
    ring_the_bell();
  });
  add("wait_for_event", play([&] { wait_for_event(epoll); }, [&] { work_on_event(event); }));
  source.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string kind = argv[1], file = argc > 3 ? argv[3] : "";
  g_end_s = wall_s() + atof(argv[2]);
  const std::map<std::string, std::function<int()>> kinds = {
      {"limited-faults", [&] { return faults(file, false); }},
      {"dropped-faults", [&] { return faults(file, true); }},
      {"minor-faults", minor_faults},
      {"compete", compete},
      {"rival", rival},
      {"preempted", [&] { return preempted(atof(argv[2])); }},
      {"throttled", throttled},
      {"ring", use_ring},
      {"burst", burst},
      {"children", children},
      {"epoll", event_loop}};
  const auto found = kinds.find(kind);
  if (found == kinds.end()) return 2;
  if (const int status = found->second(); status != 0) return status;
  std::printf("{");
  const char* separator = "";
  for (const auto& [name, value] : g_answer) {
    std::printf("%s\"%s\": %.6f", separator, name.c_str(), value);
    separator = ", ";
  }
  std::printf("}\n");
  return 0;
}
