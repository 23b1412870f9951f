// A flight recording that another fathom makes while this one watches: fathom record --flight, started and
// ended from here. It is a process of its own, so the screen never waits for a file, and its recording states
// its own cost.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"

namespace fathom::cli {

class FlightBeside {
 public:
  struct Target {
    std::int32_t pid = 0;
    std::string file;
    bool heap = false;
  };
  // kSystem where it cannot be started. What goes wrong later it says itself, on standard error.
  static Result<FlightBeside> start(const Target& target);
  FlightBeside(FlightBeside&& other) noexcept
      : child_(std::exchange(other.child_, -1)), target_(other.target_) {}
  FlightBeside& operator=(FlightBeside&& other) noexcept {
    std::swap(child_, other.child_);
    std::swap(target_, other.target_);
    return *this;
  }
  ~FlightBeside();  // asks it to end, and waits until its file is whole

  // The same; kSystem where it ended in an error.
  Result<> finish();

 private:
  FlightBeside(pid_t child, pid_t target) : child_(child), target_(target) {}
  pid_t child_, target_;
};

}  // namespace fathom::cli
