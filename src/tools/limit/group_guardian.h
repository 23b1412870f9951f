// A process outside the group that cleans up if we die first: it releases what is frozen or held at the
// limit, kills what runs in the group, and removes the folder. Without it a command held at its limit would
// hang forever. It also releases what is held too long, in case we are stopped ourselves.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "linux/process/guardian_process.h"

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
  // Releases the held command after `ms`, whatever we do; 0: nothing is held any more.
  void held_for(int ms);
  void dismiss();

 private:
  explicit GroupGuardian(process::GuardianProcess guardian) : guardian_(std::move(guardian)) {}
  process::GuardianProcess guardian_;
};

}  // namespace fathom::limit
