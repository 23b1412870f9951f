// Work in a thread of its own that can be abandoned: reading another process's memory may block forever
// (userfaultfd, a file system that does not answer), and a time limit between two reads cannot prevent that.
//
// An abandoned thread runs until its call returns or the program ends; it owns everything it works with. At
// most kMostAbandonable of them run at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace fathom {

inline constexpr int kMostAbandonable = 4;

// Runs `work` in a thread with every signal but SIGBUS blocked and the priority of an ordinary one. False: too many run.
bool run_detached(std::function<void()> work);

template <class T>
class Abandonable {
 public:
  // `work` owns all that it uses. nullopt: too many are running, and it was not begun.
  static std::optional<Abandonable> start(std::function<T()> work) {
    Abandonable begun;
    if (!run_detached([shared = begun.shared_, work = std::move(work)] {
          std::optional<T> made;
          try {
            made.emplace(work());
          } catch (...) {  // out of memory: as if it had not been done
          }
          const std::lock_guard lock(shared->mutex);
          shared->made = std::move(made);
          shared->done = true;
          shared->changed.notify_all();
        }))
      return std::nullopt;
    return begun;
  }

  // Waits until it is done, or until then (CLOCK_MONOTONIC); a time that is past asks. True: it is done.
  bool wait_until(std::uint64_t until_ns) {
    std::unique_lock lock(shared_->mutex);
    const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(until_ns)};
    return shared_->changed.wait_until(lock, until, [&] { return shared_->done; });
  }
  // Once, after it is done. nullopt: it threw.
  std::optional<T> take() {
    const std::lock_guard lock(shared_->mutex);
    return std::exchange(shared_->made, std::nullopt);
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    std::optional<T> made;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace fathom
