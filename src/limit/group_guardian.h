// A process outside of the group that ends it if we die without having done so: what is frozen or held at the limit is let
// go, what runs in it is killed, the folder is removed. Without us nobody would, and a command that is held at its limit
// would stand for ever. It also lets go what is held for too long, should we be stopped ourselves.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "process/guardian_process.h"

namespace fathom::limit {

class GroupGuardian {
 public:
  // As process::GuardianProcess::start().
  static Result<GroupGuardian> start();
  GroupGuardian(GroupGuardian&&) noexcept = default;
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
  explicit GroupGuardian(process::GuardianProcess guardian) : guardian_(std::move(guardian)) {}
  process::GuardianProcess guardian_;
};

}  // namespace fathom::limit
