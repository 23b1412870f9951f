// Samples by function and line, with inlined calls below the calls that they replaced: what clang and rustc call a sample profile.
// A line is counted from where its function begins, so code above it may change. What is counted is not time but how often a line
// ran (block_rates.h), in a unit of its own: compilers compare counts only with each other. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/feedback/code_samples.h"
#include "base/arch/common/disassembly.h"
#include "binary/symbolize/source_place.h"

namespace fathom::feedback {

struct LinePlace {
  std::uint32_t offset = 0;  // lines behind the function's first, modulo 2^16
  std::uint32_t discriminator = 0;
  auto operator<=>(const LinePlace&) const = default;
};

struct FunctionCounts {
  std::uint64_t head = 0;  // how often it was entered
  std::map<LinePlace, std::uint64_t> lines;
  std::map<LinePlace, std::map<std::string, std::uint64_t>>
      targets;  // of calls: how often each function was called
  std::map<LinePlace, std::map<std::string, FunctionCounts>> inlined;

  std::uint64_t total() const;  // of all lines, also of what was inlined
  bool operator==(const FunctionCounts&) const = default;
};

struct SourceProfile {
  std::map<std::string, FunctionCounts> functions;
  std::int64_t samples = 0;  // that went into it
  std::int64_t without_line =
      0;  // in code whose function or line is unknown; with `samples`: all that were given
};

// One function of the program as machine code, with what was seen of it.
struct SampledCode {
  std::vector<arch::DecodedInstruction> code;
  std::vector<std::vector<symbolize::SourcePlace>>
      places;                         // for each instruction, innermost first; empty: unknown
  std::vector<AddressCount> samples;  // ascending
};
// How often a call was seen on a stack, by what it called.
struct CallTarget {
  std::vector<symbolize::SourcePlace> call;  // innermost first
  std::string target;
  std::int64_t samples = 0;
};

SourceProfile source_profile(const std::vector<SampledCode>& functions, const std::vector<CallTarget>& calls);

}  // namespace fathom::feedback
