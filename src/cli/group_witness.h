// Whether a signal was sent to our whole process group (a terminal key, kill -INT -PGID) or to us alone. The
// kernel does not report this: except for the keys, both look the same in siginfo. So a second process of
// ours stays in the group with every signal blocked: a signal sent to the group is pending there.
//
// The alternative, a process group for the launched command, has drawbacks: a key would then reach only the
// command or only us, a command that reads the terminal would need to be put in the foreground as shells do
// it, and a kill of our group by number would miss the command.
#pragma once

#include <sys/types.h>

#include "base/fd.h"

namespace fathom::cli {

class GroupWitness {
 public:
  // Forks: while the process is small and has one thread. Without a witness all signals count as sent to us
  // alone.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  // For a signal that we have just received. Asked once for each. Takes some milliseconds if it was not.
  bool group_received(int signal);

 private:
  pid_t pid_ = -1;
  Fd line_;
};

}  // namespace fathom::cli
