// Shared by the tests of this folder: a source without events of its own, because the test makes the events.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "record/session/tracking/source.h"

namespace fathom::session {

struct SilentSource : Source {
  std::string_view name() const override { return "test"; }
  ModuleCatalog::PlaceTable place_table() override { return {}; }
  void set_processes(const ProcessTable&) override {}
  Result<> rehearse(const std::vector<std::int32_t>&) override { return {}; }
  Result<> start(const std::vector<std::int32_t>&) override { return {}; }
  Result<> expect_exec(std::int32_t) override { return {}; }
  bool takes_more() const override { return false; }
  void stop() override {}
  std::vector<int> fds() const override { return {}; }
  Result<> drain(Batch&) override { return {}; }
  std::vector<std::string> notes() const override { return {}; }
  void count(model::Quality&) const override {}
  void set_mappings(std::int32_t pid, std::span<const unwind_mapping>, std::uint32_t) override {
    known.insert(pid);
  }
  void forget(std::int32_t pid) override { known.erase(pid); }
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t epoch) override { return epoch + 1; }

  std::set<std::int32_t> known;  // what the kernel's tables hold
};

// Can what the test lets it, writes down what it is asked for, and delivers what the test has put into `next`.
struct FakeSource : SilentSource, Sampler, ThreadWaits {
  Result<> start(const std::vector<std::int32_t>& pids) override {
    calls.push_back("start " + std::to_string(pids.size()));
    return starts;
  }
  Result<> expect_exec(std::int32_t pid) override {
    calls.push_back("expect " + std::to_string(pid));
    return expects;
  }
  bool takes_more() const override { return more; }
  void stop() override { calls.emplace_back("stop"); }
  void release() override { released_ns = monotonic_ns(); }
  Result<> drain(Batch& batch) override {
    batch = std::exchange(next, {});
    return {};
  }
  std::vector<std::string> notes() const override { return own_notes; }
  void count(model::Quality& quality) const override { quality.lost_ring_full = lost; }

  Sampler* sampler() override { return samples ? this : nullptr; }
  ThreadWaits* waits() override { return sees_waits ? this : nullptr; }
  Unsampled unsampled() const override { return not_sampled; }
  void enter(std::int32_t pid, std::uint64_t, std::vector<sources::Event>&) override {
    calls.push_back("enter " + std::to_string(pid));
  }
  void sum(std::uint64_t now_ns, std::vector<sources::Event>& out) const override {
    sources::ThreadWaitTime times;
    times.time_ns = now_ns;
    times.pid = times.tid = process;
    times.unwalked_waits = ++sums;
    times.waited_ns = 100 * sums;  // a thread that never waited is not booked
    out.emplace_back(times);
  }
  void finish(std::uint64_t end_ns, std::vector<sources::Event>& out) override {
    calls.push_back("finish " + std::to_string(end_ns));
    sum(end_ns, out);
  }

  Result<> starts, expects;  // what it answers
  bool more = false, samples = true, sees_waits = true;
  Unsampled not_sampled;
  std::vector<std::string> own_notes;
  std::uint64_t lost = 0;
  Batch next;
  std::uint64_t released_ns = 0;  // 0: not yet
  std::int32_t process = 0;       // whose sums it has
  mutable std::uint64_t sums = 0;
  std::vector<std::string> calls;
};

}  // namespace fathom::session
