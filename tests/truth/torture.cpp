// Everything that a tracer in a process must survive, at once: children created in every way, exec, threads
// that live for microseconds, libraries that come and go, signals, waiting reads. It checks itself: contents
// of blocks, exits of children, system calls that must not fail. Usage: torture SECONDS PLUGIN. Prints how
// often each was done, "interrupted" (waits that ended with EINTR) and "failures"; exits with 1 after a
// failure.
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

extern char** environ;

namespace {

std::atomic<bool> g_stop{false};
std::atomic<std::uint64_t> g_failures{0}, g_signals{0}, g_interrupted{0};
const char* g_plugin;

void expect(bool holds, const char* what) {
  if (holds) return;
  if (++g_failures < 20) std::fprintf(stderr, "torture: %s (errno %d)\n", what, errno);
}

// Blocks with checked contents, freed in another order than allocated.
void churn(std::uint64_t seed, int rounds) {
  struct Block {
    unsigned char* bytes;
    std::size_t size;
    unsigned char mark;
  };
  std::vector<Block> blocks(64, Block{nullptr, 0, 0});
  for (int i = 0; i < rounds; ++i) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    Block& block = blocks[seed >> 58];
    if (block.bytes != nullptr) {
      expect(block.bytes[0] == block.mark && block.bytes[block.size - 1] == block.mark,
             "a block has changed");
      if ((seed >> 40 & 3) == 0) {
        const std::size_t size = 1 + (seed >> 44 & 0xfff);
        block.bytes = static_cast<unsigned char*>(std::realloc(block.bytes, size));
        expect(block.bytes[0] == block.mark, "realloc lost the content");
        block.size = size;
        std::memset(block.bytes, block.mark, size);
        continue;
      }
      std::free(block.bytes);
    }
    block.size = 1 + (seed >> 44 & 0x3ff);
    block.mark = static_cast<unsigned char>(seed >> 33);
    block.bytes = static_cast<unsigned char*>((seed >> 32 & 1) != 0 ? std::malloc(block.size)
                                                                    : std::calloc(1, block.size));
    std::memset(block.bytes, block.mark, block.size);
  }
  for (const Block& block : blocks) std::free(block.bytes);
}

void wait_for(pid_t child, const char* what) {
  int status = 0;
  pid_t ended;
  do {
    ended = waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  expect(ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, what);
}

void forks() {
  const pid_t child = fork();
  if (child == 0) {
    g_failures = 0;  // its parent's failures are not its own
    churn(static_cast<std::uint64_t>(getpid()), 300);
    _exit(g_failures == 0 ? 0 : 1);
  }
  wait_for(child, "a forked child failed");
}
void vforks() {
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  wait_for(child, "a vforked child failed");
}
void spawns() {
  const char* arguments[] = {"torture", "0", nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(arguments), environ) == 0)
    wait_for(child, "a spawned program failed");
}
void threads() {
  std::thread([] { churn(1, 50); }).join();
}
void libraries() {
  void* library = dlopen(g_plugin, RTLD_NOW | RTLD_LOCAL);
  expect(library != nullptr, "dlopen");
  if (library == nullptr) return;
  const auto work = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "torture_plugin_allocate"));
  std::free(work(100));
  dlclose(library);
}
// No signal handler of this thread runs, so no wait should end early. But the kernel wakes a wait for an
// ignored SIGCHLD if the thread that forked is traced at that moment: epoll_wait, which is not restarted,
// then fails with EINTR. These are counted separately.
void epolls() {
  const int epoll = epoll_create1(0);
  epoll_event event{};
  const auto before = std::chrono::steady_clock::now();
  const int got = epoll_wait(epoll, &event, 1, 5);
  if (got < 0 && errno == EINTR) {
    ++g_interrupted;
  } else {
    expect(got == 0, "epoll_wait failed");
    expect(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(4),
           "epoll_wait was too short");
  }
  close(epoll);
}
void sleeps() {
  const timespec time{0, 3'000'000};
  expect(nanosleep(&time, nullptr) == 0, "nanosleep was interrupted");
}
void polls() {
  int ends[2];
  if (pipe(ends) != 0) return;
  pollfd fd{ends[0], POLLIN, 0};
  expect(poll(&fd, 1, 3) == 0, "poll was interrupted");
  close(ends[0]);
  close(ends[1]);
}

struct Kind {
  const char* name;
  void (*play)();
  bool takes_signals;
};
constexpr Kind kKinds[] = {
    {"churns", [] { churn(static_cast<std::uint64_t>(time(nullptr)), 5000); }, true},
    {"forks", forks, false},
    {"vforks", vforks, false},
    {"spawns", spawns, false},
    {"threads", threads, false},
    {"libraries", libraries, false},
    {"epolls", epolls, false},
    {"sleeps", sleeps, false},
    {"polls", polls, false},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return argc == 2 ? 0 : 2;  // the spawned child: it only runs its constructors
  g_plugin = argv[2];
  struct sigaction action {};
  action.sa_handler = [](int) { ++g_signals; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm_set;
  sigemptyset(&alarm_set);
  sigaddset(&alarm_set, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm_set, nullptr);
  std::vector<std::thread> players;
  static std::atomic<std::uint64_t> played[std::size(kKinds)];
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    players.emplace_back([i, &alarm_set] {
      if (kKinds[i].takes_signals) pthread_sigmask(SIG_UNBLOCK, &alarm_set, nullptr);
      while (!g_stop) {
        kKinds[i].play();
        ++played[i];
      }
    });
  }
  const itimerval timer{{0, 700}, {0, 700}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
  while (std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  g_stop = true;
  for (std::thread& player : players) player.join();
  std::printf("{");
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    std::printf("\"%s\": %llu, ", kKinds[i].name, static_cast<unsigned long long>(played[i]));
  std::printf("\"signals\": %llu, \"interrupted\": %llu, \"failures\": %llu}\n",
              static_cast<unsigned long long>(g_signals), static_cast<unsigned long long>(g_interrupted),
              static_cast<unsigned long long>(g_failures));
  return g_failures == 0 ? 0 : 1;
}
