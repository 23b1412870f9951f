// From the accounts that the kernel keeps of probed functions to rows of the profile: what has come to each since it was looked at
// last. Knows no engine, so that it can be tested with made-up accounts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "model/profile.h"
#include "record/bpf/function_probes.h"
#include "record/session/tracking/stack_resolver.h"

namespace fathom::session {

class CallBook {
 public:
  // What a probe of the kernel is in the profile.
  struct Probe {
    model::FunctionId function;
    bool timed = true;
  };
  struct Lookups {
    // nullopt: it has not arrived (yet).
    std::function<std::optional<ResolvedStack>(std::uint64_t stack_id)> stack;
    std::function<model::ProcessId(std::int32_t pid)> process;
  };

  // Probes in the order of their numbers.
  void add(const Probe& probe) { probes_.push_back(probe); }
  bool empty() const { return probes_.empty(); }
  std::size_t size() const { return probes_.size(); }

  // Appends to `rows`. Calls whose stack is still to come wait for it; with `last`, they are added without.
  void take(std::span<const sources::ProbeReading> readings, std::uint64_t now_ns, const Lookups& lookups,
            bool last, std::vector<model::Calls>& rows);

 private:
  struct Known {
    probe_account booked{};
    model::ProcessId process;
    std::optional<ResolvedStack> stack;
  };
  std::vector<Probe> probes_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, Known> known_;  // by pid, probe, stack id
};

}  // namespace fathom::session
