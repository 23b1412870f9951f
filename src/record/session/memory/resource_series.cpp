#include "record/session/memory/resource_series.h"

#include <algorithm>

#include "base/clock.h"
#include "linux/process/resource_counts.h"
#include "model/newest_descriptors.h"

namespace fathom::session {
namespace {

constexpr std::size_t kMostCountedProcesses = 32, kNewest = 32;
constexpr std::uint64_t kOwnPauseNs = 250'000'000, kChildrenPauseNs = 500'000'000;
constexpr std::uint64_t kTimesTheCounting = 1000;  // at most 0.1 % of a CPU
constexpr std::array<std::string_view, 4> kCountedNames{"process.descriptors", "process.threads",
                                                        "process.children", "process.zombies"};

std::span<const std::int32_t> first_of(std::span<const std::int32_t> pids) {
  return pids.first(std::min(pids.size(), kMostCountedProcesses));
}

}  // namespace

void ResourceSeries::look(std::uint64_t now_ns, std::span<const std::int32_t> pids) {
  const std::uint64_t start = monotonic_ns();
  if (now_ns >= own_due_ns_) {
    read_own(now_ns, first_of(pids));
    own_due_ns_ = now_ns + std::max(kOwnPauseNs, (monotonic_ns() - start) * kTimesTheCounting);
  }
  if (now_ns >= children_due_ns_) {
    const std::uint64_t begun = monotonic_ns();
    read_children(now_ns, first_of(pids));
    children_due_ns_ = now_ns + std::max(kChildrenPauseNs, (monotonic_ns() - begun) * kTimesTheCounting);
  }
}

void ResourceSeries::finish(std::uint64_t now_ns, std::span<const std::int32_t> pids,
                            std::map<std::string, std::string>& facts) {
  read_own(now_ns, first_of(pids));
  read_children(now_ns, first_of(pids));
  for (const std::int32_t pid : first_of(pids)) {
    const auto kinds = process::kinds_of_newest_descriptors(pid, kNewest);
    model::NewestDescriptors newest;
    for (const auto& [kind, count] : kinds) {
      newest.asked += static_cast<std::uint32_t>(count);
      if (count <= newest.alike) continue;
      newest.alike = static_cast<std::uint32_t>(count);
      newest.kind = kind;
    }
    if (newest.asked != 0) model::put_newest_descriptors(pid, newest, facts);
  }
}

void ResourceSeries::read_own(std::uint64_t now_ns, std::span<const std::int32_t> pids) {
  for (const std::int32_t pid : pids) {
    add(now_ns, pid, kDescriptors, process::count_descriptors(pid));
    add(now_ns, pid, kThreads, process::count_threads(pid));
  }
}

void ResourceSeries::read_children(std::uint64_t now_ns, std::span<const std::int32_t> pids) {
  for (const std::int32_t pid : pids) {
    const auto children = process::count_children(pid);
    if (!children) continue;
    add(now_ns, pid, kChildren, children->all);
    add(now_ns, pid, kZombies, children->zombies);
  }
}

void ResourceSeries::add(std::uint64_t now_ns, std::int32_t pid, Row row,
                         std::optional<std::uint64_t> count) {
  if (!count) return;
  std::optional<std::size_t>& known = processes_[pid][row];
  if (!known) {
    if (*count == 0 && row >= kChildren) return;
    known = profile_.series.size();
    model::Series& series = profile_.series.emplace_back();
    series.name = profile_.strings.intern(kCountedNames[row]);
    series.unit = profile_.strings.intern("count");
    series.pid = pid;
  }
  profile_.series[*known].points.push_back({now_ns, static_cast<double>(*count)});
}

}  // namespace fathom::session
