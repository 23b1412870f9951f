// Processes that a recording left changed: the heap tracer, or a part of it, stayed in them when it ended. Facts
// `left.PID` of docs/format.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::model {

struct LeftChanged {
  enum class Reason : std::uint8_t {
    kDebugger,      // another process traced it, so its threads could not be stopped
    kFrozen,        // its control group was frozen
    kChanged,       // somebody else had changed a hooked place
    kThreadInside,  // a thread stood in the tracer, which records nothing any more
    kOther,
  };
  std::int32_t pid = 0;
  Reason reason = Reason::kOther;
  std::int32_t by = 0;                  // kDebugger: its pid
  std::uint64_t places = 0, bytes = 0;  // of code and data that did not hold what they had held
  std::uint64_t mapped_bytes = 0;       // of the tracer's mappings
  bool operator==(const LeftChanged&) const = default;
};

std::string_view to_string(LeftChanged::Reason reason);

using Facts = std::map<std::string, std::string>;
void put_left_changed(const LeftChanged& left, Facts& facts);
// By pid. What makes no sense is left out.
std::vector<LeftChanged> left_changed_of(const Facts& facts);

// Fact `impossible.PID`: so many events claimed what the process cannot have.
void put_impossible_events(std::int32_t pid, std::uint64_t events, Facts& facts);
std::uint64_t impossible_events_of(std::int32_t pid, const Facts& facts);

}  // namespace fathom::model
