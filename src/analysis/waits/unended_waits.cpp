#include "analysis/waits/unended_waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/core/call_tree.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

constexpr double kLeast_ns = 1e9, kLeastOfRecording = 0.5;  // of the recording

bool is_counted(FutexKind kind) {
  return kind != FutexKind::kLock && kind != FutexKind::kReaderWriter && kind != FutexKind::kJoin;
}

struct Draft {
  std::set<std::uint32_t> threads;
  std::uint64_t shortest_ns = UINT64_MAX, longest_ns = 0;
  bool only_by_statistics = false;
};

}  // namespace

std::vector<UnendedRow> find_unended_waits(const Waits& waits, WaitSites& sites) {
  const model::Profile& profile = waits.profile();
  using Place = std::pair<std::string, FutexKind>;
  std::map<Place, Draft> drafts;
  std::map<std::uint32_t, Place> places;  // of the threads
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    if (!wait.unfinished || row.cause != Cause::kFutex || static_cast<double>(row.waited_ns) < kLeast_ns)
      continue;
    const bool by_statistics = row.idle && waits.idle().crowd(*row.idle) != 0;
    const FutexKind kind = sites.futex_kind(wait.stack);
    if ((row.idle && !by_statistics) || !is_counted(kind)) continue;
    Place place{sites.of(wait.stack), kind};
    Draft& draft = drafts[place];
    draft.threads.insert(wait.thread.value);
    draft.shortest_ns = std::min(draft.shortest_ns, row.waited_ns);
    draft.longest_ns = std::max(draft.longest_ns, row.waited_ns);
    draft.only_by_statistics = draft.only_by_statistics || by_statistics;
    places.emplace(wait.thread.value, std::move(place));
  }
  // Who woke these threads in the same place before.
  std::map<Place, std::set<std::uint32_t>> wakers;
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    const auto place = places.find(wait.thread.value);
    if (place == places.end() || wait.unfinished || wait.waker == model::kNoThread ||
        row.cause != Cause::kFutex)
      continue;
    if (place->second == Place{sites.of(wait.stack), sites.futex_kind(wait.stack)})
      wakers[place->second].insert(wait.waker.value);
  }
  std::vector<UnendedRow> rows;
  for (const auto& [place, draft] : drafts) {
    UnendedRow row;
    row.site = place.first;
    row.kind = place.second;
    row.threads = draft.threads.size();
    row.shortest_ns = draft.shortest_ns;
    row.longest_ns = draft.longest_ns;
    const std::set<std::uint32_t>& known = wakers[place];
    row.wakers = known.size();
    row.is_waker_gone = !known.empty() && std::ranges::all_of(known, [&](std::uint32_t waker) {
      return profile.threads[waker].end_ns != 0;
    });
    if (row.is_waker_gone) {
      const std::uint32_t last = *std::ranges::max_element(
          known, {}, [&](std::uint32_t waker) { return profile.threads[waker].end_ns; });
      row.waker = thread_name(profile, {last});
      row.waker_tid = profile.threads[last].tid;
      const std::uint64_t end_ns = profile.threads[last].end_ns;
      row.waker_ended_ns = end_ns - std::min(end_ns, profile.meta.start_ns);
    }
    const bool is_long =
        static_cast<double>(row.longest_ns) >= kLeastOfRecording * profile.duration_s() * 1e9;
    if (row.is_waker_gone || (is_long && !draft.only_by_statistics)) rows.push_back(std::move(row));
  }
  stable_sort_rows(rows, [](const UnendedRow& a, const UnendedRow& b) {
    return std::tuple(a.is_waker_gone, a.threads, a.longest_ns) >
           std::tuple(b.is_waker_gone, b.threads, b.longest_ns);
  });
  return rows;
}

}  // namespace fathom::analysis
