// Whether a signal was sent to our whole process group (a key of the terminal, kill -INT -PGID) or to us
// alone. The kernel does not tell its receiver: both look the same in siginfo, but for the keys. So a second
// process of ours stands in the group, with every signal blocked, and is asked: what was sent to the group is
// pending there.
//
// The other way, a group of its own for the launched command, was not taken: a key would then reach the
// command alone or us alone, a command that reads the terminal would have to be put in front as shells do it,
// and whoever kills our group by its number would miss the command.
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
