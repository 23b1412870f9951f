// A process beside the profiler that learns of the profiler's end, however that happens: by SIGKILL, by a signal that
// nobody handles, or by an error of its own. What it does then is its caller's (inject/tracer/detach_guardian.h,
// limit/group_guardian.h).
//
// It has a session of its own, so that what kills the profiler's process group or closes its terminal does not reach
// it, and no descriptor but one, so that nobody waits for it at the end of a pipe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::process {

class GuardianProcess {
 public:
  static constexpr int kChannel = 0;  // its only descriptor: a socket that keeps messages apart

  // Costs a fork. Only in a process that has one thread yet: the child runs ordinary code later on. The earlier the
  // less memory it keeps. The child runs `guard`, which ends with _exit(). `whose` is for the error.
  static Result<GuardianProcess> start(std::string_view whose, void (*guard)());
  GuardianProcess(GuardianProcess&& other) noexcept;
  GuardianProcess& operator=(GuardianProcess&&) = delete;
  // Dismissed before: else it takes this for our end, and acts.
  ~GuardianProcess() = default;

  // false: it is gone.
  template <class Message>
  bool tell(const Message& message) const {
    static_assert(std::is_trivially_copyable_v<Message>);
    return send(&message, sizeof(message));
  }
  // `message` tells it to end without doing anything. Waits until it has ended; one that does not within two seconds is
  // killed. The second time nothing happens.
  template <class Message>
  void dismiss(const Message& message) {
    if (pid_ < 0) return;
    (void)tell(message);
    wait();
  }
  // It takes this for our end and acts, and nobody waits for it. The second time nothing happens.
  void leave();
  pid_t pid() const { return pid_; }  // below 0: dismissed, or left

  // In the guardian: the next message. false: the profiler is gone.
  template <class Message>
  static bool hear(Message& message) {
    static_assert(std::is_trivially_copyable_v<Message>);
    return receive(&message, sizeof(message));
  }

 private:
  GuardianProcess(pid_t pid, Fd channel) : pid_(pid), channel_(std::move(channel)) {}
  bool send(const void* message, std::size_t size) const;
  static bool receive(void* message, std::size_t size);
  void wait();

  pid_t pid_ = -1;
  Fd channel_;  // when the kernel closes it, we are gone
};

}  // namespace fathom::process
