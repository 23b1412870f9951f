// Signals as requests to a session: SIGINT, SIGTERM, SIGHUP and SIGQUIT ask for an end in order, and whatever
// else would end us leaves no time for more than the file. While the object lives these signals are blocked
// in the calling thread and those that it starts; make it before any of them. SIGPIPE and SIGXFSZ are errors
// of a write.
#pragma once

#include <signal.h>

#include <array>
#include <optional>

#include "base/fd.h"
#include "cli/group_witness.h"
#include "record/session/session.h"

namespace fathom::cli {

class StopRequests {
 public:
  // `launches`: a command of ours will be in our process group, and every request reaches it exactly once.
  explicit StopRequests(bool launches);
  ~StopRequests();
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

  int fd() const { return fd_.get(); }  // to poll
  struct Received {
    int signal = 0;
    session::StopRequest request;
  };
  // The next one. `command`: the launched one, if it runs.
  std::optional<Received> take(std::optional<pid_t> command);

  // What a launched command must find as it would without us. Async-signal-safe, for a child before exec.
  void undo_in_child() const;

 private:
  bool has_got(pid_t command, int signal);

  sigset_t before_;
  struct sigaction pipe_before_ {
  }, file_size_before_{};
  std::optional<GroupWitness> witness_;
  Fd fd_;
};

}  // namespace fathom::cli
