#include "tools/shelf/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "analysis/core/words.h"
#include "present/text/text_table.h"

namespace fathom::shelf {
namespace {

using analysis::printable;

std::string recorded(const Recording& row) {
  std::string text = row.cpu_ns != 0 || (!row.waits && !row.heap) ? "CPU" : "";
  if (row.waits) text += text.empty() ? "waits" : ", waits";
  if (row.heap) text += text.empty() ? "heap" : ", heap";
  return text;
}

std::string state(const Recording& row) {
  if (row.being_written) return "still recording";
  return row.cut ? "cut short" : "";
}

std::string short_id(const std::string& build_id) {
  return build_id.empty() ? "-" : printable(build_id.substr(0, 12));
}

}  // namespace

std::string utc_time(std::uint64_t unix_ns) {
  if (unix_ns == 0) return "-";
  const std::time_t seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "-";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string list_text(const std::vector<Recording>& recordings, std::size_t width) {
  const bool tagged = std::ranges::any_of(recordings, [](const Recording& row) { return !row.tags.empty(); });
  std::vector<present::TextTable::Column> columns{{"began (UTC)"},
                                                  {"program"},
                                                  {"build"},
                                                  {"for", present::Align::kRight},
                                                  {"CPU time", present::Align::kRight},
                                                  {"size", present::Align::kRight},
                                                  {"recorded"},
                                                  {"file"}};
  if (tagged) columns.insert(columns.end() - 1, {"tags"});
  present::TextTable table(std::move(columns));
  const auto add = [&](std::vector<std::string> cells, const std::string& tags) {
    if (tagged) cells.insert(cells.end() - 1, tags);
    table.add(std::move(cells));
  };
  std::uint64_t bytes = 0;
  for (auto newest = recordings.rbegin(); newest != recordings.rend(); ++newest) {
    const Recording& row = *newest;
    bytes += row.bytes;
    const std::string file = printable(row.path.string());
    if (!row.problem.empty()) {
      add({"-", "-", "-", "-", "-", analysis::bytes(static_cast<double>(row.bytes)), "not readable", file},
          "");
      continue;
    }
    std::string what = recorded(row);
    if (const std::string how = state(row); !how.empty()) what += "; " + how;
    add({utc_time(row.start_unix_ns), row.program.empty() ? "-" : printable(row.program),
         short_id(row.build_id), analysis::seconds(static_cast<double>(row.duration_ns) / 1e9),
         row.cpu_ns == 0 ? "-" : analysis::seconds(static_cast<double>(row.cpu_ns) / 1e9),
         analysis::bytes(static_cast<double>(row.bytes)), what, file},
        printable(fmt::format("{}", fmt::join(row.tags, ", "))));
  }
  std::string text = recordings.empty() ? std::string() : table.text(width, false);
  for (const Recording& row : recordings)
    if (!row.problem.empty())
      text += fmt::format("{}: {}\n", printable(row.path.string()), printable(row.problem));
  if (recordings.empty()) return "no recordings\n";
  text += fmt::format("{}, {}\n", analysis::counted(recordings.size(), "recording"),
                      analysis::bytes(static_cast<double>(bytes)));
  return text;
}

std::string list_json(const std::vector<Recording>& recordings) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (auto newest = recordings.rbegin(); newest != recordings.rend(); ++newest) {
    const Recording& row = *newest;
    Json one;
    one["file"] = row.path.string();
    one["bytes"] = row.bytes;
    for (const auto& companion : row.companions) one["with"].push_back(companion.string());
    if (!row.problem.empty()) {
      one["problem"] = row.problem;
    } else {
      one["target"] = row.target;
      one["program"] = row.program;
      if (!row.build_id.empty()) one["build_id"] = row.build_id;
      if (!row.tags.empty()) one["tags"] = row.tags;
      one["start_unix_ns"] = row.start_unix_ns;
      one["duration_ns"] = row.duration_ns;
      if (row.cpu_ns != 0) one["cpu_ns"] = row.cpu_ns;
      one["waits"] = row.waits;
      one["heap"] = row.heap;
      one["still_recording"] = row.being_written;
      one["cut_short"] = row.cut;
    }
    list.push_back(std::move(one));
  }
  return Json{{"recordings", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string removal_text(const std::vector<Recording>& recordings, const std::vector<Removal>& removals,
                         bool done, std::string_view what) {
  std::string text;
  std::uint64_t bytes = 0;
  for (const Removal& removal : removals) {
    const Recording& row = recordings[removal.recording];
    bytes += row.bytes;
    text += fmt::format("{} {}  ({}, {}{})\n", done ? "removed" : "would remove",
                        printable(row.path.string()), analysis::bytes(static_cast<double>(row.bytes)),
                        removal.reason == Removal::Reason::kAge ? "too old" : "over the size",
                        row.companions.empty()
                            ? std::string()
                            : fmt::format(", with {}", analysis::counted(row.companions.size(), "file")));
  }
  if (removals.empty()) return "nothing to remove\n";
  text += fmt::format("{}{}, {}; {} stay\n", done ? "removed " : "would remove ",
                      analysis::counted(removals.size(), what), analysis::bytes(static_cast<double>(bytes)),
                      recordings.size() - removals.size());
  return text;
}

}  // namespace fathom::shelf
