// Which samples a report looks at. What is left out is counted, so that recorded = shown + filtered + lost
// holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace fathom::report {

struct Selection {
  profile::Metric metric = profile::Metric::kCpu;
  std::optional<std::string> thread = {};  // exact name, or a thread id in digits
  std::optional<std::int32_t> pid = {};
  std::optional<std::uint64_t> from_ns = {};  // from the start of the recording
  std::optional<std::uint64_t> to_ns = {};    // exclusive
};

// Answers for one profile which samples are selected; threads are looked up once. `profile` outlives it.
class Filter {
 public:
  Filter(const profile::Profile& profile, const Selection& selection);
  bool takes(const profile::Sample& sample) const {
    return sample.metric == metric_ && sample.time_ns >= from_ns_ && sample.time_ns < to_ns_ &&
           threads_[sample.thread.value] != 0;
  }
  // Of the same metric, whether taken or not.
  bool concerns(const profile::Sample& sample) const { return sample.metric == metric_; }
  bool takes_thread(profile::ThreadId thread) const { return threads_[thread.value] != 0; }

 private:
  profile::Metric metric_;
  std::uint64_t from_ns_ = 0;
  std::uint64_t to_ns_ = UINT64_MAX;
  std::vector<char> threads_;
};

// Lets values through as long as all of them together fit into 64 bits, and cuts what does not: sums over any
// number of them cannot overflow afterwards. Values of real recordings never come near; those of broken files
// do.
class ValueBudget {
 public:
  std::int64_t take(std::int64_t value) {
    const std::int64_t taken = value < -left_ ? -left_ : value > left_ ? left_ : value;
    left_ -= taken < 0 ? -taken : taken;
    return taken;
  }

 private:
  std::int64_t left_ = INT64_MAX;
};

// The metrics that have samples, in the order of the enum.
std::vector<profile::Metric> metrics_in(const profile::Profile& profile);

// What the values count: the metric's unit, unless an importer learnt better from its input
// (meta.facts["unit"]).
std::string unit_of(const profile::Profile& profile, profile::Metric metric);

}  // namespace fathom::report
