#include "analysis/summary/first_touch.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "analysis/waits/wait_site.h"

namespace fathom::analysis {
namespace {

constexpr std::size_t kEnough = 8;  // faults on record: each of them stands for many
constexpr double kMost = 0.5;       // of the pages

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
  std::map<std::string, double> pages;
  std::size_t count = 0;
  double all = 0;
  for (const model::Fault& fault : profile.faults) {
    if (profile.objects[fault.object.value].kind != model::ObjectKind::kMemory || fault.time_ns < middle ||
        fault.time_ns >= to || !filter.takes_thread(fault.thread))
      continue;
    ++count;
    all += fault.weight;
    if (fault.stack.value != 0) pages[sites.of(fault.stack)] += fault.weight;
  }
  const auto most = std::max_element(pages.begin(), pages.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (count < kEnough || most == pages.end() || most->second < kMost * all) return std::nullopt;
  return FirstTouch{most->first, most->second / all};
}

}  // namespace fathom::analysis
