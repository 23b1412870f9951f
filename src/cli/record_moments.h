// When a recording begins and ends, if that depends on something else than time: a condition on the target, a line of a log, a command
// that makes load.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::cli {

struct BeginCondition {
  std::string when;  // as serve::parse_trigger() takes it; empty: none
  std::string log;   // "FILE:REGEX"; empty: none
  bool given() const { return !when.empty() || !log.empty(); }
};

// Returns the reason when one of them holds. kUsage where it cannot be understood; kNotFound if all processes end before.
Result<std::string> wait_to_begin(const BeginCondition& condition, const std::vector<std::int32_t>& pids);

// `sh -c COMMAND`, run while it is recorded. Asked to end (SIGTERM) if it still runs when the object goes away.
class Around {
 public:
  static Result<Around> start(const std::string& command);
  Around(Around&& other) noexcept;
  Around& operator=(Around&&) = delete;
  ~Around();
  // Its exit status, once it has ended; 128 and the signal where one ended it.
  std::optional<int> status();

 private:
  explicit Around(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  std::optional<int> status_ = {};
};

}  // namespace fathom::cli
