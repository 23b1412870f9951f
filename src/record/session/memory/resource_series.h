// How many descriptors, threads and child processes the recorded processes have, over time: series `process.descriptors` and so on.
// A program that forgets to give them back fails at a limit, however much memory is free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/profile.h"

namespace fathom::session {

class ResourceSeries {
 public:
  explicit ResourceSeries(model::Profile& profile) : profile_(profile) {}
  // Call it often: it reads four times a second, children twice, and so rarely that either takes at most 0.1 % of a CPU. Of more
  // than 32 processes, the first 32.
  void look(std::uint64_t now_ns, std::span<const std::int32_t> pids);
  // A last time, also if it is not due, with the kinds of the newest descriptors.
  void finish(std::uint64_t now_ns, std::span<const std::int32_t> pids,
              std::map<std::string, std::string>& facts);

 private:
  enum Row : std::size_t { kDescriptors, kThreads, kChildren, kZombies, kRows };
  using RowsOfProcess = std::array<std::optional<std::size_t>, kRows>;  // of profile_.series
  void read_own(std::uint64_t now_ns, std::span<const std::int32_t> pids);
  void read_children(std::uint64_t now_ns, std::span<const std::int32_t> pids);
  void add(std::uint64_t now_ns, std::int32_t pid, Row row, std::optional<std::uint64_t> count);

  model::Profile& profile_;
  std::map<std::int32_t, RowsOfProcess> processes_;
  std::uint64_t own_due_ns_ = 0, children_due_ns_ = 0;
};

}  // namespace fathom::session
