// Locks that park their threads as parking_lot (Rust) does: a byte for the lock, the waiters in queues of a
// table by the lock's address, each at a futex word in its own ThreadData, with the same function names. Four
// threads of the team "first" compete for one lock, three of "second" for another; holders keep a lock for
// 2 ms. The threads themselves measure the time they wait for each lock. Usage: parked_locks SECONDS. Prints
// its answer as JSON: "0xADDRESS" of each lock in seconds.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "thread_times.h"

#define OUT_OF_LINE __attribute__((noipa))

namespace parking_lot_core::parking_lot {

// In the field order of a real build of parking_lot_core 0.9.
struct ThreadData {
  std::uintptr_t key = 0;
  ThreadData* next_in_queue = nullptr;
  std::uintptr_t unpark_token = 0, park_token = 0;
  std::atomic<std::int32_t> futex{0};
  bool parked_with_timeout = false;
};

struct Bucket {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  ThreadData *head = nullptr, *tail = nullptr;
};
Bucket table[4];

Bucket& bucket_of(std::uintptr_t key) {
  return table[key * 0x9E3779B97F4A7C15 >> 62];
}

template <class Validate>
OUT_OF_LINE bool park(std::uintptr_t key, Validate validate) {
  thread_local ThreadData data;
  Bucket& bucket = bucket_of(key);
  while (bucket.busy.test_and_set()) sched_yield();
  if (!validate()) {
    bucket.busy.clear();
    return false;
  }
  data.key = key;
  data.next_in_queue = nullptr;
  data.futex = 1;
  (bucket.head == nullptr ? bucket.head : bucket.tail->next_in_queue) = &data;
  bucket.tail = &data;
  bucket.busy.clear();
  while (data.futex == 1) syscall(SYS_futex, &data.futex, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 1, nullptr);
  return true;
}

// Gives the lock to the first waiter; tells `then` whether others wait, or that there was none.
template <class Then>
OUT_OF_LINE void unpark_one(std::uintptr_t key, Then then) {
  Bucket& bucket = bucket_of(key);
  while (bucket.busy.test_and_set()) sched_yield();
  ThreadData *before = nullptr, *thread = bucket.head;
  while (thread != nullptr && thread->key != key) thread = (before = thread)->next_in_queue;
  bool more = false;
  if (thread != nullptr) {
    (before == nullptr ? bucket.head : before->next_in_queue) = thread->next_in_queue;
    if (bucket.tail == thread) bucket.tail = before;
    for (ThreadData* other = bucket.head; other != nullptr; other = other->next_in_queue)
      more = more || other->key == key;
  }
  then(thread != nullptr, more);
  bucket.busy.clear();
  if (thread == nullptr) return;
  thread->futex = 0;
  syscall(SYS_futex, &thread->futex, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

}  // namespace parking_lot_core::parking_lot

namespace parking_lot::raw_mutex {

// Fair unlocking: the lock goes from the holder to the first waiter.
class RawMutex {
 public:
  OUT_OF_LINE void lock_slow() {
    for (;;) {
      std::uint8_t state = state_;
      if (state == 0) {
        if (state_.compare_exchange_weak(state, kLocked)) return;
      } else if (state == (kLocked | kParked) || state_.compare_exchange_weak(state, kLocked | kParked)) {
        const auto key = reinterpret_cast<std::uintptr_t>(this);
        if (parking_lot_core::parking_lot::park(key, [&] { return state_ == (kLocked | kParked); })) return;
      }
    }
  }
  OUT_OF_LINE void unlock_slow() {
    std::uint8_t state = kLocked;
    if (state_.compare_exchange_strong(state, 0)) return;
    parking_lot_core::parking_lot::unpark_one(
        reinterpret_cast<std::uintptr_t>(this), [&](bool handed, bool more) {
          state_ = static_cast<std::uint8_t>(!handed ? 0 : more ? kLocked | kParked : kLocked);
        });
  }

 private:
  static constexpr std::uint8_t kLocked = 1, kParked = 2;
  std::atomic<std::uint8_t> state_{0};
};

}  // namespace parking_lot::raw_mutex

namespace {

using namespace fathom::truth;

double g_end_s;

struct Team {
  const char* name;
  parking_lot::raw_mutex::RawMutex lock;  // one byte: two locks may share a line or a word
  std::atomic<std::int64_t> waited_ns{0};
};
Team g_first{"first", {}, {}}, g_second{"second", {}, {}};

// One place for both locks.
extern "C" OUT_OF_LINE void use_table(Team& team) {
  team.waited_ns += static_cast<std::int64_t>(off_cpu_s([&] { team.lock.lock_slow(); }) * 1e9);
  usleep(2000);
  team.lock.unlock_slow();
}

void compete(Team& team) {
  pthread_setname_np(pthread_self(), team.name);
  while (wall_s() < g_end_s) use_table(team);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  g_end_s = wall_s() + std::atof(argv[1]);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(compete, std::ref(g_first));
  for (int i = 0; i < 3; ++i) threads.emplace_back(compete, std::ref(g_second));
  for (std::thread& thread : threads) thread.join();
  std::printf("{\"%p\": %.6f, \"%p\": %.6f}\n", static_cast<void*>(&g_first.lock), g_first.waited_ns * 1e-9,
              static_cast<void*>(&g_second.lock), g_second.waited_ns * 1e-9);
}
