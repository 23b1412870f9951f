// Threads that are stuck, or are not, in a known way. Prints its answer as one line of JSON when they are there, and stays so
// until it is killed.
// Usage: stuck_threads KIND SEED. The seed chooses how many threads there are and in which order they begin.
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#define OUT_OF_LINE __attribute__((noipa))

// A mutex as Rust's standard library has it, with functions that are named as there: the word does not keep the holder.
namespace std::sys::sync::mutex::futex {
OUT_OF_LINE void lock_contended(std::atomic<int>& word) {
  while (word.exchange(2) != 0)
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 2, nullptr, nullptr, ~0u);
}
}  // namespace std::sys::sync::mutex::futex

namespace {

std::mt19937 chance;
int at_least(int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(chance);
}
int own_tid() {
  return static_cast<int>(syscall(SYS_gettid));
}
void sleep_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

std::vector<std::thread> threads;
std::vector<int> tids(64);
std::atomic<int> ready{0};

std::string list(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return "[" + text + "]";
}

[[noreturn]] void answer_and_stay(const std::string& finding, const std::vector<int>& members, int behind,
                                  const std::string& function) {
  // The last step into the kernel; a claim about a lock without a holder needs a long wait.
  sleep_ms(finding == "likely-deadlock" ? 700 : 150);
  std::printf("{\"finding\":\"%s\",\"threads\":%s,\"behind\":%d,\"function\":\"%s\"}\n", finding.c_str(),
              list(members).c_str(), behind, function.c_str());
  std::fflush(stdout);
  for (;;) sleep_ms(1000);
}
void wait_until_ready(int count) {
  while (ready < count) sleep_ms(1);
}

pthread_mutex_t locks[8];
pthread_rwlock_t rwlocks[8];

void make_locks(int type, int protocol, int robust) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setprotocol(&attributes, protocol);
  pthread_mutexattr_setrobust(&attributes, robust);
  for (pthread_mutex_t& lock : locks) pthread_mutex_init(&lock, &attributes);
  for (pthread_rwlock_t& lock : rwlocks) pthread_rwlock_init(&lock, nullptr);
}

OUT_OF_LINE void take_next_lock(int next) {
  pthread_mutex_lock(&locks[next]);
}
OUT_OF_LINE void take_next_lock_for_an_hour(int next) {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 3600;
  pthread_mutex_timedlock(&locks[next], &until);
}
OUT_OF_LINE void write_next_table(int next) {
  pthread_rwlock_wrlock(&rwlocks[next]);
}

// Each of `count` threads holds one lock and wants the next one's.
template <class Hold, class Take>
void circle(const std::string& function, Hold hold, Take take, const std::string& finding = "deadlock") {
  // Where nothing shows who holds a lock, all waiters are alike.
  const int count = at_least(2, 5), behind = finding == "deadlock" ? at_least(0, 3) : 0;
  std::vector<int> order(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) order[static_cast<std::size_t>(i)] = i;
  std::shuffle(order.begin(), order.end(), chance);
  for (const int i : order) {
    threads.emplace_back([=] {
      tids[static_cast<std::size_t>(i)] = own_tid();
      hold(i);
      ++ready;
      wait_until_ready(count);
      take((i + 1) % count);
    });
  }
  wait_until_ready(count);
  sleep_ms(30);
  for (int i = 0; i < behind; ++i) {
    const int at = at_least(0, count - 1);
    threads.emplace_back([=] { take(at); });
  }
  answer_and_stay(finding, {tids.begin(), tids.begin() + count}, behind, function);
}

std::atomic<int> words[8];
OUT_OF_LINE void take_next_word(int next) {
  std::sys::sync::mutex::futex::lock_contended(words[next]);
}

OUT_OF_LINE void take_the_lock_again() {
  pthread_mutex_lock(&locks[0]);
}
OUT_OF_LINE void want_the_lock() {
  pthread_mutex_lock(&locks[0]);
}

std::vector<int> waiters_of_first_lock() {
  const int count = at_least(1, 6);
  ready = 0;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([=] {
      tids[static_cast<std::size_t>(i)] = own_tid();
      ++ready;
      want_the_lock();
    });
  }
  wait_until_ready(count);
  return {tids.begin(), tids.begin() + count};
}

OUT_OF_LINE void hold_and_sleep() {
  pthread_mutex_lock(&locks[0]);
  ++ready;
  for (;;) sleep_ms(100'000);
}
OUT_OF_LINE void hold_and_read() {
  pthread_mutex_lock(&locks[0]);
  ++ready;
  int ends[2];
  char byte;
  if (pipe(ends) == 0 && read(ends[0], &byte, 1) != 0) std::abort();
}
std::atomic<unsigned> work{0};
OUT_OF_LINE void hold_and_run() {
  pthread_mutex_lock(&locks[0]);
  ++ready;
  for (;;) work.fetch_add(1, std::memory_order_relaxed);
}

void waiters_of(void (*hold)(), const std::string& finding) {
  threads.emplace_back(hold);
  wait_until_ready(1);
  answer_and_stay(finding, waiters_of_first_lock(), 0, "want_the_lock");
}

OUT_OF_LINE void exit_with_the_lock() {
  pthread_mutex_lock(&locks[0]);
}
void exited() {
  std::thread(exit_with_the_lock).join();
  answer_and_stay("holder-exited", waiters_of_first_lock(), 0, "want_the_lock");
}

// One holds the lock and joins the other, which wants the lock.
OUT_OF_LINE void stop_the_worker(std::thread& worker) {
  worker.join();
}
void join() {
  threads.emplace_back([] {
    tids[0] = own_tid();
    pthread_mutex_lock(&locks[0]);
    std::thread worker([] {
      tids[1] = own_tid();
      ++ready;
      want_the_lock();
    });
    ++ready;
    stop_the_worker(worker);
  });
  wait_until_ready(2);
  answer_and_stay("deadlock", {tids[0], tids[1]}, 0, "stop_the_worker");
}

// A pool whose jobs wait for further jobs of the same pool.
class Pool {
 public:
  explicit Pool(int size) {
    for (int i = 0; i < size; ++i)
      threads.emplace_back([this, i] {
        tids[static_cast<std::size_t>(i)] = own_tid();
        work();
      });
  }
  std::future<int> submit(std::function<int()> job) {
    auto task = std::make_shared<std::packaged_task<int()>>(std::move(job));
    auto result = task->get_future();
    const std::lock_guard guard(mutex_);
    jobs_.push_back([task] { (*task)(); });
    wake_.notify_one();
    return result;
  }

 private:
  OUT_OF_LINE void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !jobs_.empty(); });
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
};
OUT_OF_LINE int wait_for_inner_job(Pool& pool) {
  return pool.submit([] { return 1; }).get();
}
void pool(bool exhausted) {
  const int size = at_least(2, 8);
  static Pool pool(size);
  std::atomic<int> begun{0};
  if (exhausted) {
    for (int i = 0; i < size; ++i)
      (void)pool.submit([&begun, size] {
        ++begun;
        while (begun < size) sleep_ms(1);
        return wait_for_inner_job(pool);
      });
    while (begun < size) sleep_ms(1);
  }
  sleep_ms(50);
  answer_and_stay(exhausted ? "pool-exhausted" : "none", {tids.begin(), tids.begin() + size}, 0,
                  exhausted ? "wait_for_inner_job" : "");
}

// A condition variable whose notifier has ended: nothing shows that.
std::mutex snapshot_mutex;
std::condition_variable snapshot_ready;
OUT_OF_LINE void serve_request() {
  std::unique_lock lock(snapshot_mutex);
  snapshot_ready.wait(lock, [] { return false; });
}
void condition() {
  const int count = at_least(2, 12);
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([i] {
      tids[static_cast<std::size_t>(i)] = own_tid();
      ++ready;
      serve_request();
    });
  }
  wait_until_ready(count);
  answer_and_stay("waits", {tids.begin(), tids.begin() + count}, 0, "serve_request");
}

OUT_OF_LINE void want_the_shared_lock(pthread_mutex_t* lock) {
  pthread_mutex_lock(lock);
}
void shared() {
  auto* lock = static_cast<pthread_mutex_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(lock, &attributes);
  auto* held = reinterpret_cast<std::atomic<int>*>(lock + 1);
  const pid_t holder = fork();
  if (holder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_mutex_lock(lock);
    *held = 1;
    for (;;) sleep_ms(100'000);
  }
  while (*held == 0) sleep_ms(1);
  threads.emplace_back([lock] {
    tids[0] = own_tid();
    ++ready;
    want_the_shared_lock(lock);
  });
  wait_until_ready(1);
  answer_and_stay("holder-waits", {tids[0]}, 0, "want_the_shared_lock");
}

OUT_OF_LINE void want_the_file(int fd) {
  flock(fd, LOCK_EX);
}
void file_lock() {
  char path[] = "/tmp/stuck_threads_XXXXXX";
  const int fd = mkstemp(path);
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int own = open(path, O_RDWR);
    flock(own, LOCK_EX);
    if (write(ends[1], "x", 1) != 1) std::abort();
    for (;;) sleep_ms(100'000);
  }
  char byte;
  if (read(ends[0], &byte, 1) != 1) std::abort();
  unlink(path);
  threads.emplace_back([fd] {
    tids[0] = own_tid();
    ++ready;
    want_the_file(fd);
  });
  wait_until_ready(1);
  answer_and_stay("holder-waits", {tids[0]}, 0, "want_the_file");
}

void busy() {
  const int count = at_least(1, 2);
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([i] {
      tids[static_cast<std::size_t>(i)] = own_tid();
      ++ready;
      for (;;) work.fetch_add(1, std::memory_order_relaxed);
    });
  }
  wait_until_ready(count);
  answer_and_stay("busy", {tids.begin(), tids.begin() + count}, 0, "");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string kind = arguments[1];
  chance.seed(static_cast<unsigned>(std::atoi(arguments[2])));
  const bool pi = kind == "holder-sleeps-pi", robust = kind == "circle-robust";
  make_locks(kind == "circle-checked" ? PTHREAD_MUTEX_ERRORCHECK : PTHREAD_MUTEX_NORMAL,
             pi ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE,
             robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
  const auto hold = [](int i) { pthread_mutex_lock(&locks[i]); };
  if (kind == "circle" || kind == "circle-checked" || robust) circle("take_next_lock", hold, take_next_lock);
  if (kind == "circle-timed") circle("take_next_lock_for_an_hour", hold, take_next_lock_for_an_hour);
  if (kind == "circle-rwlock")
    circle(
        "write_next_table", [](int i) { pthread_rwlock_wrlock(&rwlocks[i]); }, write_next_table);
  if (kind == "circle-rust")
    circle(
        "take_next_word", [](int i) { words[i] = 1; }, take_next_word, "likely-deadlock");
  if (kind == "self") {
    threads.emplace_back([] {
      tids[0] = own_tid();
      pthread_mutex_lock(&locks[0]);
      ++ready;
      take_the_lock_again();
    });
    wait_until_ready(1);
    answer_and_stay("deadlock", {tids[0]}, 0, "take_the_lock_again");
  }
  if (kind == "join") join();
  if (kind == "exited") exited();
  // The kernel finds a circle of these, and the C library then has the last thread wait for nothing.
  if (kind == "holder-sleeps" || pi) waiters_of(hold_and_sleep, "holder-waits");
  if (kind == "holder-reads") waiters_of(hold_and_read, "holder-waits");
  if (kind == "holder-runs") waiters_of(hold_and_run, "holder-runs");
  if (kind == "pool") pool(true);
  if (kind == "idle-pool") pool(false);
  if (kind == "condition") condition();
  if (kind == "shared") shared();
  if (kind == "file-lock") file_lock();
  if (kind == "busy") busy();
  return 2;
}
