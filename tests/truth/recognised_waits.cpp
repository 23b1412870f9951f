// Waits that a profiler should recognize by the functions around them, each in its own place: a connection of
// a bounded pool, a reader-writer lock, a file that is synced after each write, a slow name server. Usage:
// recognised_waits SECONDS FILE. Prints its answer as JSON: places in seconds.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <resolv.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "thread_times.h"

#define OUT_OF_LINE __attribute__((noipa))

// Two connections for four workers.
class ConnectionPool {
 public:
  OUT_OF_LINE int acquire() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return free_ > 0; });
    return free_--;
  }
  OUT_OF_LINE void give_back() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    returned_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable returned_;
  int free_ = 2;
};

namespace {

using namespace fathom::truth;

double g_end_s;
ConnectionPool g_pool;
pthread_rwlock_t g_table = PTHREAD_RWLOCK_INITIALIZER;
std::atomic<std::int64_t> g_queried_ns{0}, g_read_ns{0}, g_logged_ns{0}, g_resolved_ns{0};

#define SITE extern "C" OUT_OF_LINE void

template <class Work>
void timed(std::atomic<std::int64_t>& sum, const Work& work) {
  sum += static_cast<std::int64_t>(off_cpu_s(work) * 1e9);
}

SITE query_database() {
  timed(g_queried_ns, [] { g_pool.acquire(); });
  usleep(3000);
  g_pool.give_back();
}
SITE read_table() {
  timed(g_read_ns, [] { pthread_rwlock_rdlock(&g_table); });
  pthread_rwlock_unlock(&g_table);
  usleep(500);
}
SITE write_table() {
  pthread_rwlock_wrlock(&g_table);
  usleep(5000);
  pthread_rwlock_unlock(&g_table);
  usleep(1000);
}
SITE append_to_log(int file) {
  if (write(file, "one line\n", 9) != 9) abort();
  timed(g_logged_ns, [&] { fsync(file); });
}

// Answers each query after 20 ms: there is no such name. The last queries come after the other threads have
// ended.
void serve_names(int server) {
  std::array<unsigned char, 512> packet;
  sockaddr_in peer{};
  while (wall_s() < g_end_s + 1) {
    socklen_t length = sizeof(peer);
    const ssize_t size =
        recvfrom(server, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&peer), &length);
    if (size < 12) continue;  // no request for a while
    usleep(20'000);
    packet[2] |= 0x80;     // a response
    packet[3] = 0x80 | 3;  // from a recursive server: no such name
    if (sendto(server, packet.data(), static_cast<std::size_t>(size), 0, reinterpret_cast<sockaddr*>(&peer),
               length) != size)
      abort();
  }
}

sockaddr_in g_name_server;

// The thread's own resolver asks our server, regardless of resolv.conf.
SITE look_up_peer() {
  _res.nscount = 1;
  _res.nsaddr_list[0] = g_name_server;
  addrinfo* found = nullptr;
  timed(g_resolved_ns, [&] {
    if (getaddrinfo("peer.invalid.", nullptr, nullptr, &found) == 0) abort();
  });
}

int open_name_server() {
  const int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  g_name_server.sin_family = AF_INET;
  g_name_server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(g_name_server);
  auto* address = reinterpret_cast<sockaddr*>(&g_name_server);
  const timeval patience{0, 100'000};
  if (bind(server, address, length) != 0 || getsockname(server, address, &length) != 0 ||
      setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
    abort();
  return server;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  g_end_s = wall_s() + std::atof(argv[1]);
  const int file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return 1;
  std::vector<std::thread> threads;
  const auto repeat = [&](const char* name, auto work) {
    threads.emplace_back([name, work] {
      pthread_setname_np(pthread_self(), name);
      while (wall_s() < g_end_s) work();
    });
  };
  for (int i = 0; i < 4; ++i) repeat("worker", query_database);
  for (int i = 0; i < 2; ++i) repeat("reader", read_table);
  repeat("writer", write_table);
  repeat("logger", [file] { append_to_log(file); });
  const int server = open_name_server();
  threads.emplace_back(serve_names, server);
  repeat("resolver", [] {
    thread_local const int initialised = res_init();
    if (initialised == 0) look_up_peer();
  });
  for (std::thread& thread : threads) thread.join();
  std::printf(
      "{\"query_database\": %.6f, \"read_table\": %.6f, \"append_to_log\": %.6f, "
      "\"look_up_peer\": %.6f}\n",
      g_queried_ns * 1e-9, g_read_ns * 1e-9, g_logged_ns * 1e-9, g_resolved_ns * 1e-9);
}
