// Starting the target ourselves: the child waits before exec until recording is ready, so that nothing of the
// target runs unseen, and it is the target itself that is our child: no shell, no wrapper, no environment
// changed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::session {

class LaunchedProcess {
 public:
  // Forks; the child waits. `in_child` is called in it before exec, and has returned when this does:
  // async-signal-safe calls only. kNotFound or kPermission if the command cannot be found.
  static Result<LaunchedProcess> prepare(std::vector<std::string> command,
                                         const std::function<void()>& in_child = {});
  LaunchedProcess(LaunchedProcess&& other) noexcept;
  LaunchedProcess& operator=(LaunchedProcess&&) = delete;
  ~LaunchedProcess();  // a child that was never released is killed: it has run nothing of the target yet

  std::int32_t pid() const { return pid_; }
  const std::string& path() const { return path_; }  // what PATH gave for the command
  bool released() const { return released_; }
  // Lets the child become the target. An error if exec failed.
  Result<> release();
  // The exit status as a shell has it (128 + signal), once the child has ended; does not wait.
  std::optional<int> poll_status();
  // That ended it, once poll_status() knows; 0: none did.
  int signal() const { return signal_; }
  // A signal for it, unless it has been waited for: its pid may be another process by now.
  void send(int signal) const;

 private:
  LaunchedProcess() = default;
  int wait_status();
  void take(int status);
  std::int32_t pid_ = -1;
  std::string path_;
  Fd go_, failed_;  // our ends
  bool released_ = false;
  std::optional<int> status_;
  int signal_ = 0;
};

// Looks the command up in PATH as execvp does.
Result<std::string> find_command(const std::string& command);

}  // namespace fathom::session
