// When a recording begins and ends, if that depends on something else than time: a condition on the target, a line of a log, a command
// that makes load.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::cli {

struct BeginCondition {
  std::string when;  // as serve::parse_trigger() takes it; empty: none
  std::string log;   // "FILE:REGEX"; empty: none
  bool given() const { return !when.empty() || !log.empty(); }
};

// Returns the reason when one of them holds. kUsage where it cannot be understood; kNotFound if all processes end before.
Result<std::string> wait_to_begin(const BeginCondition& condition, const std::vector<std::int32_t>& pids);

// `sh -c COMMAND`, run while it is recorded. Asked to end (SIGTERM), with all that it started, if it still runs when the object goes
// away.
class Around {
 public:
  // `pass_on`: what it prints also goes to our standard output and standard error.
  static Result<Around> start(const std::string& command, bool pass_on);
  Around(Around&& other) noexcept = default;
  Around& operator=(Around&&) = delete;
  ~Around();
  // Its exit status, once it has ended; 128 and the signal where one ended it.
  std::optional<int> status();
  // What it has printed since the last time. Waits neither for it nor for a reader of what is passed on: if that is slow, the rest
  // stays in the pipe, and the command waits.
  void read(const std::function<void(std::string_view bytes)>& take);

 private:
  struct Child {  // a moved one has none
    explicit Child(pid_t number) : pid(number) {}
    Child(Child&& other) noexcept : pid(std::exchange(other.pid, -1)) {}
    pid_t pid;
  };
  struct Stream {
    Fd from;
    int to = -1;  // where it is passed on; -1: nowhere
  };
  explicit Around(pid_t pid) : child_(pid) {}
  Child child_;
  std::array<Stream, 2> streams_;
  std::optional<int> status_ = {};
};

}  // namespace fathom::cli
