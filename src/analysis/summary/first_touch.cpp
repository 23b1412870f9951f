#include "analysis/summary/first_touch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/core/call_tree.h"
#include "analysis/core/container_frames.h"
#include "analysis/core/functions.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {
namespace {

constexpr std::size_t kEnough = 8;  // faults on record: each of them stands for many
constexpr double kMost = 0.5;       // of the pages
// memfd_create, shm_open, shmget, shared anonymous memory
constexpr std::array<std::string_view, 4> kFilesInMemory{"/memfd:", "/dev/shm/", "/SYSV", "/dev/zero"};

// Memory that the kernel only gives up to swap: without a file, or in a file that exists in memory alone. RSS counts both as the
// program's.
bool is_memory(const model::Profile& profile, const model::Fault& fault) {
  const model::WaitObject& object = profile.objects[fault.object.value];
  if (object.kind == model::ObjectKind::kMemory) return true;
  if (object.kind != model::ObjectKind::kMappedFile) return false;
  const std::string_view name = profile.strings[object.name];
  return std::ranges::any_of(kFilesInMemory, [&](std::string_view start) { return name.starts_with(start); });
}

// A function of a stripped program has no name; the one that it calls may have: sqlite3_step says more than an address.
std::string named_site(const model::Profile& profile, model::StackId stack, const std::string& site) {
  if (!is_unnamed(site)) return site;
  std::string callee;
  for (; stack.value != 0; stack = profile.stacks[stack.value].parent) {
    const model::Frame& frame = profile.frames[profile.stacks[stack.value].frame.value];
    if (profile.modules[frame.module.value].kind == model::ModuleKind::kKernel) continue;
    const std::uint32_t outermost = frame.line_count == 0 ? 0 : frame.line_count - 1;
    std::string name = frame_name(profile, profile.stacks[stack.value].frame, outermost);
    if (name == site) return callee.empty() ? site : callee;
    if (!is_unnamed(name)) callee = std::move(name);
  }
  return site;
}

// Who wanted the memory: an interpreter's own allocator touches all of its objects first.
model::StackId without_allocator(const model::Profile& profile, HeapLeaves& leaves, model::StackId stack) {
  model::StackId user = stack;
  while (user.value != 0 &&
         profile.modules[profile.frames[profile.stacks[user.value].frame.value].module.value].kind ==
             model::ModuleKind::kKernel)
    user = profile.stacks[user.value].parent;
  return user.value == 0 ? stack : leaves.of(user).stack;
}

}  // namespace

std::optional<FirstTouch> find_first_touch(const model::Profile& profile, const Selection& selection) {
  if (profile.faults.size() < kEnough) return std::nullopt;
  const std::uint64_t start = profile.meta.start_ns;
  const std::uint64_t from = start + selection.from_ns.value_or(0);
  const std::uint64_t to =
      std::min(profile.meta.end_ns, selection.to_ns ? start + *selection.to_ns : profile.meta.end_ns);
  if (to <= from) return std::nullopt;
  const std::uint64_t middle = from + (to - from) / 2;
  const Filter filter(profile, selection);
  WaitSites sites(profile);
  HeapLeaves leaves(profile, HeapLeaves::Fold::kContainers);
  std::map<std::string, double> pages;
  std::size_t count = 0;
  double all = 0;
  for (const model::Fault& fault : profile.faults) {
    if (!is_memory(profile, fault) || fault.time_ns < middle || fault.time_ns >= to ||
        !filter.takes_thread(fault.thread))
      continue;
    ++count;
    all += fault.weight;
    if (fault.stack.value == 0) continue;
    const model::StackId stack = without_allocator(profile, leaves, fault.stack);
    pages[named_site(profile, stack, sites.of(stack))] += fault.weight;
  }
  const auto most = std::max_element(pages.begin(), pages.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (count < kEnough || most == pages.end() || most->second < kMost * all) return std::nullopt;
  return FirstTouch{most->first, most->second / all};
}

}  // namespace fathom::analysis
