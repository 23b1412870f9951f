// Calls of the functions that were probed: how many, how long they took, what they moved, and who made them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

struct CallSums {
  std::uint64_t calls = 0;
  std::uint64_t counted_only = 0;  // of these: neither walked nor timed
  std::uint64_t returned = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;  // since the recording began
  std::uint64_t sized = 0, bytes = 0;
  bool operator==(const CallSums&) const = default;
};

struct CallsFromPath {
  std::vector<std::string> path;  // the callers, innermost first; empty: unknown
  CallSums sums;
};

struct CallsFromCaller {
  std::string name, module;  // empty: the stack was not walked, or it has no caller
  CallSums sums;
  std::vector<CallsFromPath> paths;  // most time first
};

struct CallsOfFunction {
  std::string name, module;
  bool timed = true;
  CallSums sums;
  std::vector<CallsFromCaller> callers;  // most time first; without times, most calls
  // Of the calls to be timed, those that did not return: they are still running, or ended by an exception,
  // by longjmp or with their thread. nullopt: some ends belong to calls from before the selection, so the
  // number is unknown.
  std::optional<std::uint64_t> not_returned() const;
};

struct CallTable {
  std::vector<CallsOfFunction> functions;  // most time first
  std::optional<std::uint64_t> breakpoints,
      own_ns;  // that the recording met; time in fathom's programs there
  std::vector<std::string> notes;
};

// nullopt: no function was probed.
std::optional<CallTable> make_call_table(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
