// CPUs are switched on and off while machines run: by hand, by cloud services, by power savers. Looks once a second which are
// online, and keeps what a report says of them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "linux/perf/event.h"

namespace fathom::session {

class CpuFollower {
 public:
  void begin(std::uint64_t now_ns) {
    cpus_ = sources::online_cpus();
    next_look_ns_ = now_ns + kEveryNs;
  }
  void end() { cpus_.clear(); }

  // Between begin() and end(): void `went(cpu)` and Result<> `came(cpu)` for each that differs from the last look. Both for
  // one that did so in between: bool `stopped(cpu)`.
  template <class Went, class Came, class Stopped>
  void look(std::uint64_t now_ns, const Went& went, const Came& came, const Stopped& stopped) {
    if (cpus_.empty() || now_ns < next_look_ns_) return;
    next_look_ns_ = now_ns + kEveryNs;
    change(sources::online_cpus(), went, came, stopped);
  }
  // The same with the CPUs that are online now.
  template <class Went, class Came, class Stopped>
  void change(std::vector<int> online, const Went& went, const Came& came, const Stopped& stopped) {
    std::erase_if(cpus_, [&](int cpu) {
      if (std::ranges::binary_search(online, cpu) && !stopped(cpu)) return false;
      went(cpu);
      note(fmt::format("CPU {} was switched off while fathom recorded", cpu));
      return true;
    });
    for (const int cpu : online) {
      if (std::ranges::binary_search(cpus_, cpu)) continue;
      const Result<> added = came(cpu);
      note(added
               ? fmt::format("CPU {} was switched on while fathom recorded: it is sampled from then on", cpu)
               : fmt::format("CPU {} was switched on while fathom recorded and could not be sampled: {}", cpu,
                             added.error().message));
    }
    cpus_ = std::move(online);
  }

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  static constexpr std::uint64_t kEveryNs = 1'000'000'000;
  void note(std::string text) {
    if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
  }

  std::vector<int> cpus_;  // online when last looked at; ascending
  std::uint64_t next_look_ns_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace fathom::session
