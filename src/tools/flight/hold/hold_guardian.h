// A process outside the target's control group that releases what the recorder holds: when the hold time is
// over, whatever the recorder does meanwhile, and when the recorder is gone for any reason.
#pragma once

#include <utility>

#include "base/result.h"
#include "linux/process/guardian_process.h"
#include "tools/flight/hold/group_hold.h"

namespace fathom::flight {

class HoldGuardian {
 public:
  // As process::GuardianProcess::start(): only in a process that has one thread yet.
  static Result<HoldGuardian> start();
  HoldGuardian(HoldGuardian&&) noexcept = default;
  HoldGuardian& operator=(HoldGuardian&&) = delete;
  ~HoldGuardian() { dismiss(); }

  // Before the group is held. An error: it is gone, and nothing may be held. One hold at a time.
  Result<> watch(const Hold& hold);
  // It has been released.
  void forget();
  // The guardian ends; nothing is held.
  void dismiss();

 private:
  explicit HoldGuardian(process::GuardianProcess guardian) : guardian_(std::move(guardian)) {}
  process::GuardianProcess guardian_;
};

}  // namespace fathom::flight
