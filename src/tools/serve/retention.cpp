#include "tools/serve/retention.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "tools/serve/heap_parts.h"
#include "tools/serve/seconds.h"

namespace fathom::serve {
namespace {

// Reading a window takes many times the size of its file in memory, and all of a group are read at once.
constexpr std::uint64_t kMostMergedBytes = std::uint64_t{8} << 20;

// As fine as windows of a minute are for ten minutes; each more would cost a row for each call site.
constexpr std::uint64_t kHeapSlices = 60;

bool is_older(const StoredWindow& window, std::uint64_t than_ns, std::uint64_t now_unix_ns) {
  return window.name.end_unix_ns() < now_unix_ns && now_unix_ns - window.name.end_unix_ns() > than_ns;
}

void remove_file(const StoredWindow& window, Aged& aged) {
  std::error_code problem;
  std::filesystem::remove(window.path, problem);
  if (problem) aged.problems.push_back(window.path + ": " + problem.message());
}

// The longer window is there before the shorter ones go, and replaces them from then on (without_replaced()).
void merge_windows(const std::string& folder, const std::vector<StoredWindow>& group, Aged& aged) {
  auto merged = read_windows(group);
  if (!merged) {
    aged.problems.push_back(merged.error().message);
    return;
  }
  // Reading skips windows that are gone. Where another fathom merges the same store, what it has not removed yet would replace the whole.
  const bool all_there = std::ranges::all_of(group, [](const StoredWindow& window) {
    std::error_code problem;
    return std::filesystem::exists(window.path, problem);
  });
  if (!all_there) return;
  fold_slices(*merged, (merged->meta.end_ns - merged->meta.start_ns) / kHeapSlices);
  const auto written = write_window(folder, *merged);
  if (!written) {
    aged.problems.push_back(written.error().message);
    return;
  }
  for (const StoredWindow& window : group)
    if (window.path != *written) remove_file(window, aged);
  aged.merged += group.size();
}

}  // namespace

std::vector<std::vector<StoredWindow>> to_merge(const std::vector<StoredWindow>& windows,
                                                const RetentionRule& rule, std::uint64_t now_unix_ns) {
  // A pinned window ends a group: the longer one may not span it, or it would seem to be a part of it.
  std::map<std::tuple<std::uint64_t, std::uint64_t, int>, std::vector<StoredWindow>> groups;  // length, start
  int pinned = 0;
  for (const StoredWindow& window : windows) {
    if (window.name.pinned) {
      ++pinned;
      continue;
    }
    for (auto tier = rule.tiers.rbegin(); tier != rule.tiers.rend(); ++tier) {
      const std::uint64_t length_ns = tier->length_s * kSecondNs;
      const std::uint64_t start = window.name.start_unix_ns - window.name.start_unix_ns % length_ns;
      // The whole stretch is old enough, or later windows of it would be a group of their own.
      if (window.name.length_ms >= tier->length_s * 1000 || now_unix_ns < tier->after_ns + start + length_ns)
        continue;
      groups[{tier->length_s, start, pinned}].push_back(window);
      break;
    }
  }
  std::vector<std::vector<StoredWindow>> chosen;
  for (auto& [place, group] : groups) {
    std::vector<StoredWindow> part;
    std::uint64_t bytes = 0;
    const auto end_part = [&] {
      if (part.size() > 1) chosen.push_back(std::move(part));
      part.clear();
      bytes = 0;
    };
    for (StoredWindow& window : group) {
      if (bytes + window.bytes > kMostMergedBytes) end_part();
      bytes += window.bytes;
      part.push_back(std::move(window));
    }
    end_part();
  }
  return chosen;
}

std::vector<StoredWindow> to_remove(std::vector<StoredWindow> windows, const RetentionRule& rule,
                                    std::uint64_t now_unix_ns) {
  std::ranges::sort(windows, {}, [](const StoredWindow& window) { return window.name.end_unix_ns(); });
  std::uint64_t left = 0;
  for (const StoredWindow& window : windows) left += window.bytes;
  std::vector<StoredWindow> chosen;
  // Else triggers that fire often would leave room for nothing but what they pin.
  std::uint64_t pinned = 0;
  for (const StoredWindow& window : windows) pinned += window.name.pinned ? window.bytes : 0;
  for (const StoredWindow& window : windows) {
    if (!window.name.pinned || !rule.most_bytes || pinned <= *rule.most_bytes / 2) continue;
    pinned -= window.bytes;
    left -= window.bytes;
    chosen.push_back(window);
  }
  for (const StoredWindow& window : windows) {
    const bool too_old = rule.keep_ns && is_older(window, *rule.keep_ns, now_unix_ns);
    const bool too_much = rule.most_bytes && left > *rule.most_bytes;
    if (window.name.pinned || (!too_old && !too_much)) continue;
    left -= window.bytes;
    chosen.push_back(window);
  }
  return chosen;
}

Aged age_store(const std::string& store, const RetentionRule& rule, std::uint64_t now_unix_ns) {
  Aged aged;
  std::vector<StoredWindow> all;
  for (const std::string& target : targets_in(store)) {
    const std::string folder = store + "/" + target;
    for (const auto& group : to_merge(windows_in(folder), rule, now_unix_ns))
      merge_windows(folder, group, aged);
    // A kill came between the two steps of an earlier pass.
    const std::vector<StoredWindow> counted = windows_in(folder);
    for (const StoredWindow& window : windows_in(folder, true))
      if (std::ranges::find(counted, window.path, &StoredWindow::path) == counted.end() &&
          !window.name.pinned)
        remove_file(window, aged);
    all.insert(all.end(), counted.begin(), counted.end());
  }
  for (const StoredWindow& window : to_remove(std::move(all), rule, now_unix_ns)) {
    remove_file(window, aged);
    ++aged.removed;
    if (window.name.pinned) ++aged.removed_pinned;
  }
  return aged;
}

}  // namespace fathom::serve
