#include "cli/open_store.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "analysis/core/words.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/shell_word.h"
#include "cli/clock_time.h"
#include "cli/notices.h"
#include "formats/open/interrupt_wakers.h"
#include "formats/open/short_names.h"
#include "model/store/reader.h"
#include "tools/serve/store.h"
#include "tools/serve/upgrade.h"

namespace fathom::cli {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000;

bool is_folder(const std::string& path) {
  std::error_code problem;
  return std::filesystem::is_directory(path, problem);
}

Result<> take_query(std::string_view query, StoreChoice& choice) {
  while (!query.empty()) {
    const std::string_view pair = take_until(query, '&');
    const std::size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const std::string value(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1));
    if (key == "target") {
      choice.target = value;
    } else if (key == "from") {
      choice.from = value;
    } else if (key == "until") {
      choice.until = value;
    } else if (key == "upgrade" && (value == "before" || value == "after")) {
      choice.upgrade = value == "before" ? StoreChoice::Upgrade::kBefore : StoreChoice::Upgrade::kAfter;
    } else {
      return fail(ErrorKind::kUsage,
                  fmt::format("'{}' chooses nothing in a store", analysis::printable(pair)),
                  "FOLDER?target=NAME&from=02:00&until=02:10");
    }
  }
  return {};
}

Result<std::string> choose_target(const std::string& folder, const std::string& wanted) {
  const std::vector<std::string> targets = serve::targets_in(folder);
  const std::string name = serve::folder_name(wanted);
  for (const std::string& target : targets)
    if (wanted.empty() ? targets.size() == 1 : target == name) return target;
  const std::string known = fmt::format("{}", fmt::join(targets, ", "));
  if (wanted.empty())
    return fail(ErrorKind::kUsage, fmt::format("{} has several targets: {}", folder, known), "--target NAME");
  return fail(ErrorKind::kNotFound,
              fmt::format("{} has no target '{}'; there is {}", folder, analysis::printable(wanted), known),
              "--target NAME");
}

Result<std::optional<std::uint64_t>> time_of(const std::string& text, const char* option) {
  if (text.empty()) return std::optional<std::uint64_t>();
  const auto time = clock_time(text, wall_clock_ns());
  if (time) return std::optional(*time);
  return fail(ErrorKind::kUsage, fmt::format("{} '{}' is not a time", option, analysis::printable(text)),
              fmt::format("{0} 02:00, {0} 2026-11-27T02:00, {0} 'yesterday 02:00' or {0} -10m", option));
}

// A window that is damaged, as after a power failure, costs its own time and not that of the others.
struct Readable {
  std::vector<serve::StoredWindow> windows;
  std::string missing;  // a sentence; empty: nothing
};
Readable readable_of(const std::vector<serve::StoredWindow>& windows) {
  Readable readable;
  std::string first;
  store::ReadOptions facts;
  facts.facts_only = true;
  for (const serve::StoredWindow& window : windows) {
    const auto read = store::read(window.path, facts);
    // One that is gone was merged into a longer one since.
    if (read || read.error().kind == ErrorKind::kNotFound)
      readable.windows.push_back(window);
    else if (first.empty())
      first = read.error().message;
  }
  if (!first.empty())
    readable.missing = fmt::format("{} of {} windows cannot be read, and their time is missing: {}",
                                   windows.size() - readable.windows.size(), windows.size(), first);
  return readable;
}

}  // namespace

Result<std::optional<StoreChoice>> store_choice(const std::string& input, std::string& folder) {
  folder = input;
  StoreChoice choice;
  std::string_view query;
  if (const std::size_t mark = input.rfind('?'); mark != std::string::npos && !is_folder(input)) {
    folder = input.substr(0, mark);
    query = std::string_view(input).substr(mark + 1);
  }
  if (!is_folder(folder)) return std::optional<StoreChoice>();
  if (serve::targets_in(folder).empty()) {
    if (serve::windows_in(folder, true).empty()) return std::optional<StoreChoice>();
    std::error_code problem;
    const auto of_target = std::filesystem::canonical(folder, problem);
    if (problem) return std::optional<StoreChoice>();
    choice.target = of_target.filename().string();
    folder = of_target.parent_path().string();
  }
  if (auto taken = take_query(query, choice); !taken) return tl::unexpected<Error>(taken.error());
  return std::optional(std::move(choice));
}

Result<model::Profile> open_store(const std::string& folder, StoreChoice choice, bool long_names) {
  const auto target = choose_target(folder, choice.target);
  if (!target) return tl::unexpected<Error>(target.error());
  const auto from = time_of(choice.from, "--from"), until = time_of(choice.until, "--until");
  if (!from) return tl::unexpected<Error>(from.error());
  if (!until) return tl::unexpected<Error>(until.error());
  if (*from && *until && **from >= **until)
    return fail(ErrorKind::kUsage, "--from must be before --until",
                "a date with each time, such as --from 'yesterday 23:50' --until 00:10");
  serve::TimeRange range{*from, *until};
  std::vector<serve::StoredWindow> windows = serve::windows_in(folder + "/" + *target);
  if (choice.upgrade != StoreChoice::Upgrade::kAny) {
    auto chosen = serve::windows_beside_upgrade(windows, choice.upgrade == StoreChoice::Upgrade::kAfter);
    if (!chosen) return within(folder + "/" + *target, chosen.error());
    windows = std::move(*chosen);
  }
  if (!range.from_unix_ns && !range.until_unix_ns && choice.upgrade == StoreChoice::Upgrade::kAny &&
      !windows.empty() && windows.back().name.end_unix_ns() - windows.front().name.start_unix_ns > kHourNs) {
    range.from_unix_ns = windows.back().name.end_unix_ns() - kHourNs;
    say("fathom: using the last hour of {}; --from and --until choose another time\n", *target);
  }
  const std::vector<serve::StoredWindow> chosen = serve::windows_of(windows, range);
  if (chosen.empty())
    return fail(ErrorKind::kNotFound, fmt::format("{}/{} has no window in this time", folder, *target),
                fmt::format("fathom list {}", shell_word(folder)));
  const Readable readable = readable_of(chosen);
  auto profile = serve::read_windows(readable.windows.empty() ? chosen : readable.windows, range);
  if (!profile) return tl::unexpected<Error>(profile.error());
  if (!readable.missing.empty()) {
    say("fathom: {}\n", analysis::printable(readable.missing));
    profile->quality.notes.push_back(readable.missing);
  }
  if (!choice.from.empty()) profile->meta.facts[kCutFromFact] = choice.from;
  if (!choice.until.empty()) profile->meta.facts[kCutUntilFact] = choice.until;
  if (!long_names) open::shorten_nameless_functions(*profile);
  open::drop_interrupt_wakers(*profile);
  return profile;
}

std::string input_for_upgrade(const std::string& input, bool after) {
  return input + (input.find('?') == std::string::npos ? '?' : '&') +
         (after ? "upgrade=after" : "upgrade=before");
}

}  // namespace fathom::cli
