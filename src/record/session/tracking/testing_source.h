// Shared by the tests of this folder: a source without events of its own, because the test makes the events.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace fathom::session
