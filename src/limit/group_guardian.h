// A process outside of the group that ends it if we die without having done so: what is frozen or held at the limit is let
// go, what runs in it is killed, the folder is removed. Without us nobody would, and a command that is held at its limit
// would stand for ever. It also lets go what is held for too long, should we be stopped ourselves.
//
// As the heap's guardian (inject/tracer/detach_guardian.h) it has a session of its own and one descriptor.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::limit {

class GroupGuardian {
 public:
  // Costs a fork. Only in a process that has one thread yet.
  static Result<GroupGuardian> start();
  GroupGuardian(GroupGuardian&& other) noexcept;
  GroupGuardian& operator=(GroupGuardian&&) = delete;
  ~GroupGuardian() { dismiss(); }

  // Before the group is made. An error: it is gone, and the command should not run.
  Result<> watch(int version, const std::string& directory);
  // The group is removed; the next one may be watched.
  void forget();
  // What is held is let go after `ms`, whatever we do; 0: nothing is held any more.
  void held_for(int ms);
  void dismiss();

 private:
  GroupGuardian(pid_t pid, Fd channel) : pid_(pid), channel_(std::move(channel)) {}
  pid_t pid_ = -1;
  Fd channel_;  // when the kernel closes it, we are gone
};

}  // namespace fathom::limit
