// What a piece of a span's time was, as a row of a table: running, in a queue for a CPU, or waiting, for what, and where in the
// program.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/core/wait_cause.h"
#include "analysis/heap/allocator_stacks.h"
#include "analysis/spans/thread_times.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {

// What the time went into.
enum class SpanWork : std::uint8_t {
  kRunning,     // on a CPU
  kAllocating,  // on a CPU, in an allocator
  kFaulting,    // on a CPU, in the kernel for a page that was not mapped: new memory, or of a file
  kQueued,      // could run and had no CPU, or its quota was used up
  kWaiting,
  kBetween,  // between two parts of a span that was entered several times
};
// "running", "allocating", "page faults", "queued", "waiting", "between parts": stable.
std::string_view to_string(SpanWork work);

struct SpanPlace {
  SpanWork work = SpanWork::kRunning;
  Cause cause = Cause::kUnknown;       // of kWaiting and kQueued
  FutexKind futex = FutexKind::kLock;  // of kWaiting with Cause::kFutex
  std::string label;                   // of kWaiting: with the object, "fsync of /data/x"
  std::string site;                    // function of the program's own code; empty if unknown
  std::string line;                    // "persist.rs:88" in that function; empty if unknown
  auto operator<=>(const SpanPlace&) const = default;
};

// Numbers for places, so that a span's time is a few pairs. One per profile, which outlives it and does not change.
class SpanPlaces {
 public:
  SpanPlaces(const model::Profile& profile, const WaitCauses& causes)
      : profile_(profile), causes_(causes), sites_(profile), allocators_(profile) {}

  std::uint32_t of(const TimePiece& piece);       // running: without a site
  std::uint32_t of_sample(model::StackId stack);  // running, with the site
  std::uint32_t between();
  const SpanPlace& operator[](std::uint32_t row) const { return places_[row]; }
  std::size_t size() const { return places_.size(); }

  // The own code of a stack: function and line. Empty for stack 0.
  std::pair<std::string, std::string> site_of(model::StackId stack);

 private:
  std::uint32_t row(SpanPlace place);
  const model::Profile& profile_;
  const WaitCauses& causes_;
  WaitSites sites_;
  AllocatorStacks allocators_;
  std::vector<SpanPlace> places_;
  std::map<SpanPlace, std::uint32_t> rows_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int32_t, bool, model::WaitState>, std::uint32_t>
      of_waits_;
  std::unordered_map<std::uint32_t, std::uint32_t> of_samples_;
  std::unordered_map<std::uint32_t, std::pair<std::string, std::string>> site_of_;
};

}  // namespace fathom::analysis
