// A helper process that notices the profiler's end, whatever the reason: SIGKILL, an unhandled signal, or an
// error of its own. The caller decides what it does then (attach/inject/tracer/detach_guardian.h,
// tools/limit/group_guardian.h).
//
// It has its own session, so a kill of the profiler's process group or a closed terminal does not reach it,
// and only one descriptor, so no reader waits for it at the end of a pipe.
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
  // `message` ends it without any action. Waits until it has ended; kills it after two seconds. The second
  // call does nothing.
  template <class Message>
  void dismiss(const Message& message) {
    if (pid_ < 0) return;
    (void)tell(message);
    wait();
  }
  // It takes this for our end and acts; the caller does not wait for it. The second call does nothing.
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
