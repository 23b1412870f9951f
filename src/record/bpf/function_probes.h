// Probes of functions, as what uses an engine sees them: breakpoints in programs, and accounts of the calls that pass them. An
// engine that cannot set any has none of these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/abi/probe_accounts.h"
#include "base/result.h"

namespace fathom::sources {

// A breakpoint of a probe.
struct ProbePoint {
  std::string path;                       // of the file, as this process opens it
  std::uint64_t offset = 0;               // in the file
  bool entry = true;                      // else an end
  bool returns = false;                   // an end at which the result is known
  std::optional<std::uint8_t> condition;  // of a jump that may not be taken
  std::optional<std::int32_t> pid;        // in this process alone; else in all that run the file
  // Of a static probe: the 16 bits of the file that count who watches, and where its value is.
  std::optional<std::uint64_t> semaphore;
  std::optional<probe_value> value;
};

struct ProbeReading {
  probe_key key;
  probe_account account;
};

// A span that has begun and not ended.
struct OpenSpan {
  std::uint32_t probe = 0;  // that began it
  std::int32_t pid = 0, tid = 0;
  std::uint64_t start_ns = 0;
};

class FunctionProbes {
 public:
  virtual ~FunctionProbes() = default;
  // Sets the breakpoints of one more probe, whose number is that of those before it.
  virtual Result<> add(const probe_wanted& wanted, const std::vector<ProbePoint>& points) = 0;
  // All accounts, of what has been since the start.
  virtual std::vector<ProbeReading> read() const = 0;
  virtual probe_counters sums() const = 0;
  // Calls that ended since the last time, of probes that want spans.
  virtual std::vector<probe_span> take_spans() = 0;
  // Of probes that begin spans which others end.
  virtual std::vector<OpenSpan> open_spans() const = 0;
};

}  // namespace fathom::sources
