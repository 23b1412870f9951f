// Waits at known places for a known reason, timed by the program itself: each site's sum of wall time minus
// CPU time. Usage: known_waits SECONDS FILE. Prints its answer as JSON: sites in seconds.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
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
void leave(double seconds) {
  usleep(static_cast<useconds_t>(seconds * 1e6));
}

std::mutex g_lock, g_queue_lock, g_answer_lock;
std::condition_variable g_filled;
int g_items = 0;
int g_pipe[2], g_epoll_pipe[2], g_silence[2];
std::map<std::string, double> g_answer;

// The barrier keeps the call from being the last action of the function: it would become a jump, without a
// frame.
#define SITE extern "C" __attribute__((noinline)) void
#define STAY asm volatile("" ::: "memory")

SITE wait_in_sleep() {
  const timespec time{0, 20'000'000};
  nanosleep(&time, nullptr);
  STAY;
}
SITE wait_for_mutex() {
  g_lock.lock();
  STAY;
  g_lock.unlock();
  STAY;
}
SITE wait_for_item() {
  std::unique_lock guard(g_queue_lock);
  g_filled.wait(guard, [] { return g_items > 0; });
  --g_items;
  STAY;
}
SITE wait_for_pipe() {
  char byte;
  if (read(g_pipe[0], &byte, 1) != 1) abort();
  STAY;
}
// No data is ever sent: every call times out.
SITE wait_for_nobody() {
  char bytes[100];
  if (recv(g_silence[0], bytes, sizeof(bytes), 0) != -1) abort();
  STAY;
}
SITE wait_for_epoll() {
  static const int epoll = [] {
    const int fd = epoll_create1(0);
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(fd, EPOLL_CTL_ADD, g_epoll_pipe[0], &event);
    return fd;
  }();
  epoll_event event{};
  char byte;
  if (epoll_wait(epoll, &event, 1, 1000) == 1 && read(g_epoll_pipe[0], &byte, 1) != 1) abort();
  STAY;
}
extern "C" __attribute__((noinline)) int wait_in_poll_below(int depth) {
  if (depth == 0) return poll(nullptr, 0, 15);
  const int result = wait_in_poll_below(depth - 1) + 1;
  STAY;
  return result;
}
SITE wait_for_disk(int fd) {
  static char block[1 << 16];
  block[0]++;
  if (pwrite(fd, block, sizeof(block), 0) < 0) abort();
  STAY;
  if (fsync(fd) != 0) abort();
  STAY;
}
SITE wait_for_page(const volatile char* page) {
  (void)*page;
  STAY;
}

// Runs `site` until the end, in a thread with this name.
std::thread play(const char* name, const char* site_name, const std::function<void()>& site,
                 const std::function<void()>& between = {}) {
  return std::thread([=] {
    pthread_setname_np(pthread_self(), name);
    double waited_s = 0;
    while (going()) {
      waited_s += off_cpu_s(site);
      if (between) between();
    }
    const std::lock_guard guard(g_answer_lock);
    g_answer[site_name] += waited_s;
  });
}

std::thread feed(const char* name, const std::function<void()>& work) {
  return std::thread([=] {
    pthread_setname_np(pthread_self(), name);
    while (going()) work();
    work();  // releases a thread that waits for the last one
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
  constexpr std::size_t kSize = 64 << 20;
  if (fd < 0 || pipe(g_pipe) != 0 || pipe(g_epoll_pipe) != 0) return 1;
  const timeval patience{0, 9000};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, g_silence) != 0 ||
      setsockopt(g_silence[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
    return 1;
  const std::vector<char> megabyte(1 << 20, 'x');
  for (std::size_t i = 0; i < kSize >> 20; ++i) {
    if (write(fd, megabyte.data(), megabyte.size()) < 0) return 1;
  }
  fsync(fd);
  const std::string other = std::string(argv[2]) + ".sync";
  const int sync_fd = open(other.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  const auto* map = static_cast<const char*>(mmap(nullptr, kSize, PROT_READ, MAP_SHARED, fd, 0));
  if (map == MAP_FAILED || sync_fd < 0) return 1;
  madvise(const_cast<char*>(map), kSize, MADV_RANDOM);

  g_end_s = wall_s() + atof(argv[1]);
  std::atomic<std::size_t> page = 0;
  std::vector<std::thread> threads;
  threads.push_back(play("sleeper", "wait_in_sleep", wait_in_sleep));
  threads.push_back(feed("holder", [] {
    g_lock.lock();
    leave(0.01);
    g_lock.unlock();
    leave(0.002);
  }));
  threads.push_back(play("locker", "wait_for_mutex", wait_for_mutex, [] { leave(0.001); }));
  threads.push_back(feed("producer", [] {
    leave(0.008);
    const std::lock_guard guard(g_queue_lock);
    ++g_items;
    g_filled.notify_one();
  }));
  threads.push_back(play("consumer", "wait_for_item", wait_for_item));
  threads.push_back(feed("writer", [] {
    leave(0.007);
    if (write(g_pipe[1], "x", 1) != 1 || write(g_epoll_pipe[1], "x", 1) != 1) abort();
  }));
  threads.push_back(play("reader", "wait_for_pipe", wait_for_pipe));
  threads.push_back(play("lonely", "wait_for_nobody", wait_for_nobody));
  threads.push_back(play("loop", "wait_for_epoll", wait_for_epoll));
  threads.push_back(play("poller", "wait_in_poll_below", [] { wait_in_poll_below(200); }));
  threads.push_back(play(
      "syncer", "wait_for_disk", [sync_fd] { wait_for_disk(sync_fd); }, [] { leave(0.005); }));
  threads.push_back(play(
      "faulter", "wait_for_page", [&] { wait_for_page(map + page); },
      [&] {
        page = (page + 37 * 4096) % kSize;
        if (page % (1 << 20) < 37 * 4096) {  // keeps it out of the page cache for the next round
          madvise(const_cast<char*>(map), kSize, MADV_DONTNEED);
          posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        }
        leave(0.005);  // rare enough for the recorder to walk every one
      }));
  for (auto& thread : threads) thread.join();

  std::printf("{");
  const char* separator = "";
  for (const auto& [site, seconds] : g_answer) {
    std::printf("%s\"%s\": %.6f", separator, site.c_str(), seconds);
    separator = ", ";
  }
  std::printf("}\n");
  unlink(other.c_str());
  unlink(argv[2]);
}
