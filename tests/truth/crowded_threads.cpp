// Two threads whose tids are ACCOUNTS apart, so that they need the same slot in the kernel's table of
// accounts. Prints each one's name, tid, and time without a CPU. Exit status 77: this kernel does not allow
// choosing the tid of the next thread, or others took it a hundred times.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "thread_times.h"

namespace {

using namespace fathom::truth;

constexpr int kApart = 16384;

int own_tid() {
  return static_cast<int>(syscall(SYS_gettid));
}

void doze(const char* name, double duration) {
  pthread_setname_np(pthread_self(), name);
  const double off_s = off_cpu_s([=] {
    const double end_s = wall_s() + duration;
    volatile double work = 1;
    while (wall_s() < end_s) {
      for (int i = 0; i < 200'000; ++i) work = work * 1.0000001;
      usleep(2000);
    }
  });
  std::printf("%s %d %.6f\n", name, own_tid(), off_s);
}

bool choose_next(int tid) {
  std::ofstream file("/proc/sys/kernel/ns_last_pid");
  file << tid - 1 << std::flush;
  return file.good();
}

}  // namespace

int main(int, char** arguments) {
  const double duration = std::atof(arguments[1]);
  for (int attempt = 0; attempt < 100; ++attempt) {
    // The first thread only takes part if the second one got the matching tid.
    int first = 0, second = 0;
    volatile int go = 0;
    std::thread one([&] {
      first = own_tid();
      __sync_synchronize();
      while (go == 0) usleep(100);
      if (go == 1) doze("first", duration);
    });
    while (*const_cast<volatile int*>(&first) == 0) usleep(100);
    if (!choose_next(first > kApart + 300 ? first - kApart : first + kApart)) {
      go = 2;
      one.join();
      return 77;
    }
    std::thread two([&] {
      second = own_tid();
      __sync_synchronize();
      while (go == 0) usleep(100);
      if (go == 1) doze("second", duration);
    });
    while (*const_cast<volatile int*>(&second) == 0) usleep(100);
    const bool found = std::abs(first - second) == kApart;
    go = found ? 1 : 2;
    one.join();
    two.join();
    if (found) return 0;
  }
  return 77;
}
