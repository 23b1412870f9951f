#include "tools/serve/store.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "formats/open/merge_profiles.h"
#include "model/store/reader.h"
#include "model/store/writer.h"
#include "tools/serve/cut_waits.h"
#include "tools/serve/heap_parts.h"
#include "tools/serve/join_heaps.h"
#include "tools/serve/seconds.h"

namespace fathom::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMilliNs = 1'000'000;
constexpr std::string_view kEnding = ".fathom", kPinned = "-pinned";

// Exactly `count` digits at the beginning of `text`, which are taken from it.
std::optional<std::uint64_t> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, value);
  if (error != std::errc{} || end != text.data() + count) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

struct Part {
  double inside = 0, all = 0;
  // Without a row the time is taken as even.
  double share(double of_time) const { return all > 0 ? inside / all : of_time; }
};

void scale(std::uint64_t& value, double share) {
  value = static_cast<std::uint64_t>(std::llround(static_cast<double>(value) * share));
}

// The exact times of a thread are of its whole window: a part of the window gets the share that its rows have.
class ThreadParts {
 public:
  ThreadParts(const model::Profile& profile, std::uint64_t from_ns, std::uint64_t until_ns)
      : cpu_(profile.threads.size()), waited_(cpu_.size()), queued_(cpu_.size()) {
    for (const model::Sample& row : profile.samples) {
      if (row.metric != model::Metric::kCpu) continue;
      Part& part = cpu_[row.thread.value];
      part.all += static_cast<double>(row.value);
      if (row.time_ns >= from_ns && row.time_ns < until_ns) part.inside += static_cast<double>(row.value);
    }
    for (const model::Wait& row : profile.waits) {
      const auto inside = part_of(row, from_ns, until_ns);
      Part &waited = waited_[row.thread.value], &queued = queued_[row.thread.value];
      waited.all += static_cast<double>(row.waited_ns) * row.weight;
      queued.all += static_cast<double>(row.queued_ns) * row.weight;
      if (!inside) continue;
      waited.inside += static_cast<double>(inside->waited_ns) * inside->weight;
      queued.inside += static_cast<double>(inside->queued_ns) * inside->weight;
    }
  }

  void cut(std::vector<model::Thread>& threads, double of_time) const {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      model::Thread& thread = threads[i];
      const double cpu = cpu_[i].share(of_time), waited = waited_[i].share(of_time);
      scale(thread.cpu_ns, cpu);
      scale(thread.ran_ns, cpu);
      scale(thread.waited_ns, waited);
      scale(thread.queued_ns, queued_[i].share(of_time));
      for (std::uint64_t* count : {&thread.waits, &thread.unwalked_waits, &thread.unwalked_ns})
        scale(*count, waited);
      scale(thread.preemptions, of_time);
    }
  }

 private:
  std::vector<Part> cpu_, waited_, queued_;
};

// What --from and --until select, done to the rows of a window. Whether anything is left of it: the name of a window is rounded.
bool cut_to(model::Profile& profile, const TimeRange& range) {
  model::Meta& meta = profile.meta;
  const std::uint64_t start_ns = meta.start_ns, start_unix_ns = meta.start_unix_ns;
  const auto monotonic = [&](std::uint64_t unix_ns) {
    return unix_ns > start_unix_ns ? start_ns + (unix_ns - start_unix_ns) : start_ns;
  };
  const std::uint64_t from = range.from_unix_ns ? monotonic(*range.from_unix_ns) : start_ns;
  const std::uint64_t until =
      std::min(range.until_unix_ns ? monotonic(*range.until_unix_ns) : meta.end_ns, meta.end_ns);
  if (from == start_ns && until == meta.end_ns) return true;
  if (from >= until) return false;
  ThreadParts(profile, from, until)
      .cut(profile.threads, static_cast<double>(until - from) / static_cast<double>(meta.end_ns - start_ns));
  const auto is_outside = [&](std::uint64_t time_ns) { return time_ns < from || time_ns >= until; };
  profile.quality.filtered +=
      std::erase_if(profile.samples, [&](const model::Sample& row) { return is_outside(row.time_ns); });
  std::vector<model::Wait> waits;
  for (const model::Wait& wait : profile.waits)
    if (const auto part = part_of(wait, from, until)) waits.push_back(*part);
  profile.quality.filtered_waits += profile.waits.size() - waits.size();
  profile.waits = std::move(waits);
  std::erase_if(profile.faults, [&](const model::Fault& row) { return is_outside(row.time_ns); });
  std::erase_if(profile.memory_ranges,
                [&](const model::MemoryRange& row) { return is_outside(row.time_ns); });
  cut_heap(profile, from, until);
  for (model::Series& series : profile.series)
    std::erase_if(series.points, [&](const model::Point& point) { return is_outside(point.time_ns); });
  meta.start_ns = from;
  meta.end_ns = until;
  meta.start_unix_ns = start_unix_ns + (from - start_ns);
  return true;
}

}  // namespace

std::string to_file_name(const WindowName& name) {
  const auto seconds = static_cast<time_t>(name.start_unix_ns / kSecondNs);
  tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}.{:03}Z-{}.{:03}s{}{}", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     name.start_unix_ns / kMilliNs % 1000, name.length_ms / 1000, name.length_ms % 1000,
                     name.pinned ? kPinned : "", kEnding);
}

std::optional<WindowName> parse_window_name(std::string_view file) {
  const auto year = take_digits(file, 4), month = take_digits(file, 2), day = take_digits(file, 2);
  if (!take(file, "T")) return std::nullopt;
  const auto hour = take_digits(file, 2), minute = take_digits(file, 2), second = take_digits(file, 2);
  if (!take(file, ".")) return std::nullopt;
  const auto milli = take_digits(file, 3);
  if (!take(file, "Z-") || !year || !month || !day || !hour || !minute || !second || !milli)
    return std::nullopt;
  WindowName name;
  std::uint64_t length_s = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), length_s);
  if (error != std::errc{} || length_s > 366 * 86'400) return std::nullopt;
  file.remove_prefix(static_cast<std::size_t>(end - file.data()));
  if (!take(file, ".")) return std::nullopt;
  const auto length_ms = take_digits(file, 3);
  if (!length_ms || !take(file, "s")) return std::nullopt;
  name.length_ms = length_s * 1000 + *length_ms;
  if (name.length_ms == 0) return std::nullopt;
  name.pinned = take(file, kPinned);
  if (file != kEnding) return std::nullopt;
  tm utc{};
  utc.tm_year = static_cast<int>(*year) - 1900;
  utc.tm_mon = static_cast<int>(*month) - 1;
  utc.tm_mday = static_cast<int>(*day);
  utc.tm_hour = static_cast<int>(*hour);
  utc.tm_min = static_cast<int>(*minute);
  utc.tm_sec = static_cast<int>(*second);
  const time_t seconds = timegm(&utc);
  if (seconds < 0 || *year > 2200) return std::nullopt;
  name.start_unix_ns = static_cast<std::uint64_t>(seconds) * kSecondNs + *milli * kMilliNs;
  // 31 February is another day by now.
  if (utc.tm_mday != static_cast<int>(*day) || utc.tm_hour != static_cast<int>(*hour)) return std::nullopt;
  return name;
}

std::string folder_name(std::string_view target) {
  constexpr std::size_t kLongest = 64;
  std::string name;
  for (const char letter : target.substr(0, kLongest)) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || letter == '_' || letter == '+';
    const bool inner = (letter == '.' || letter == '-') && !name.empty();
    name += plain || inner ? letter : '_';
  }
  return name.empty() ? "target" : name;
}

std::vector<StoredWindow> without_replaced(std::vector<StoredWindow> windows) {
  std::ranges::sort(windows, [](const StoredWindow& a, const StoredWindow& b) {
    if (a.name.start_unix_ns != b.name.start_unix_ns) return a.name.start_unix_ns < b.name.start_unix_ns;
    return a.name.length_ms > b.name.length_ms;
  });
  std::vector<StoredWindow> kept;
  for (StoredWindow& window : windows) {
    // Windows of one target follow each other: one inside of a longer one is a part of it. Names are rounded.
    const bool replaced = !kept.empty() && window.name.length_ms < kept.back().name.length_ms &&
                          window.name.end_unix_ns() <= kept.back().name.end_unix_ns() + 2 * kMilliNs;
    if (!replaced) kept.push_back(std::move(window));
  }
  return kept;
}

std::vector<StoredWindow> windows_in(const std::string& folder, bool all) {
  std::vector<StoredWindow> found;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code ignored;
    if (fs::symlink_status(entry->path(), ignored).type() != fs::file_type::regular) continue;
    const auto name = parse_window_name(entry->path().filename().string());
    if (!name) continue;
    const auto bytes = entry->file_size(ignored);
    found.push_back({*name, entry->path().string(), ignored ? 0 : bytes});
  }
  if (!all) return without_replaced(std::move(found));
  std::ranges::sort(found, {}, [](const StoredWindow& window) { return window.name.start_unix_ns; });
  return found;
}

std::vector<std::string> targets_in(const std::string& store) {
  std::vector<std::string> targets;
  std::error_code problem;
  for (fs::directory_iterator entry(store, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code ignored;
    if (fs::symlink_status(entry->path(), ignored).type() != fs::file_type::directory) continue;
    if (!windows_in(entry->path().string(), true).empty())
      targets.push_back(entry->path().filename().string());
  }
  std::ranges::sort(targets);
  return targets;
}

std::vector<StoredWindow> windows_of(const std::vector<StoredWindow>& windows, const TimeRange& range) {
  std::vector<StoredWindow> chosen;
  for (const StoredWindow& window : windows) {
    if (range.until_unix_ns && window.name.start_unix_ns >= *range.until_unix_ns) continue;
    if (range.from_unix_ns && window.name.end_unix_ns() <= *range.from_unix_ns) continue;
    chosen.push_back(window);
  }
  return chosen;
}

Result<std::string> write_window(const std::string& folder, const model::Profile& window, bool pinned) {
  WindowName name;
  name.start_unix_ns = window.meta.start_unix_ns - window.meta.start_unix_ns % kMilliNs;
  const std::uint64_t length = window.meta.end_ns - window.meta.start_ns;
  name.length_ms = std::max<std::uint64_t>((length + kMilliNs / 2) / kMilliNs, 1);
  name.pinned = pinned;
  const std::string path = (fs::path(folder) / to_file_name(name)).string();
  auto writer = store::Writer::create(path, {.overwrite = true});
  if (!writer) return tl::unexpected<Error>(writer.error());
  if (auto written = writer->finish(window); !written) return tl::unexpected<Error>(written.error());
  return path;
}

void pin_window(const StoredWindow& window) {
  if (window.name.pinned) return;
  WindowName name = window.name;
  name.pinned = true;
  std::error_code gone;
  fs::rename(window.path, fs::path(window.path).parent_path() / to_file_name(name), gone);
}

Result<model::Profile> read_windows(const std::vector<StoredWindow>& windows, const TimeRange& cut) {
  std::vector<open::MergeInput> inputs;
  for (const StoredWindow& window : windows) {
    auto profile = store::read(window.path, {});
    // Retention may have removed one since the folder was listed. The others are still readable.
    std::error_code problem;
    if (!profile && windows.size() > 1 && !fs::exists(window.path, problem)) continue;
    if (!profile) return tl::unexpected<Error>(profile.error());
    if (cut_to(*profile, cut)) inputs.push_back({window.path, std::move(*profile)});
  }
  if (inputs.empty())
    return fail(ErrorKind::kNotFound, "the store has no window of this time", "fathom list STORE");
  if (inputs.size() == 1) return std::move(inputs.front().profile);
  const std::string target = inputs.front().profile.meta.target;
  HeapJoin heaps;
  for (open::MergeInput& input : inputs) heaps.add(input.profile, &input == &inputs.back());
  auto merged = open::merge_profiles(std::move(inputs));
  if (!merged) return tl::unexpected<Error>(merged.error());
  merged->profile.meta.target = target;
  join_parts(merged->profile);
  finish_heaps(merged->profile);
  return std::move(merged->profile);
}

}  // namespace fathom::serve
