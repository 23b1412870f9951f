// System calls that were counted, as what uses an engine sees them. An engine that cannot count any has none of these.
#pragma once

#include <cstdint>
#include <vector>

#include "base/abi/system_call_accounts.h"

namespace fathom::sources {

struct SystemCallReading {
  system_call_key key;
  system_call_account account;
};
struct FileReading {
  file_key key;
  file_account account;
};

class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  // All accounts, of what has been since the start. Stacks are with the engine's other events.
  virtual std::vector<SystemCallReading> calls() const = 0;
  virtual std::vector<FileReading> files() const = 0;
  virtual system_call_counters sums() const = 0;
};

}  // namespace fathom::sources
