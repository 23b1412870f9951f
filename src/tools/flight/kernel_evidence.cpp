#include "tools/flight/kernel_evidence.h"

#include <algorithm>
#include <vector>

namespace fathom::flight {
namespace {

constexpr std::size_t kMostLog = std::size_t{16} << 20;

// A record begins where a task asked for memory that was not there. After more than ten in five seconds the kernel prints the
// line of the victim alone.
bool begins_record(std::string_view line) {
  return line.find("invoked oom-killer:") != std::string_view::npos;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    lines.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

bool is_in_group(const oom::Record& record, const std::string& group) {
  if (group.empty()) return false;
  const std::string& of = record.victim_group.empty() ? record.limited_group : record.victim_group;
  return of == group || of.starts_with(group + "/");
}

// The head says who asked and what the group held, the end who was killed.
std::string without_middle(const std::vector<std::string_view>& lines) {
  std::string head, tail;
  for (const std::string_view line : lines) {
    if (head.size() + line.size() > kMostText / 2) break;
    head += line;
  }
  std::size_t from = lines.size(), bytes = 0;
  while (from > 0 && bytes + lines[from - 1].size() <= kMostText / 2) bytes += lines[--from].size();
  for (; from < lines.size(); ++from) tail += lines[from];
  return head + tail;
}

}  // namespace

bool is_about(const oom::Record& record, const AboutUs& us) {
  if (record.kills.empty()) return is_in_group(record, us.group);
  return std::ranges::any_of(record.kills, [&](const oom::Kill& kill) { return us.pids.contains(kill.pid); });
}

std::string evidence_in(std::string_view log, const AboutUs& us) {
  if (log.size() > kMostLog) log.remove_prefix(log.size() - kMostLog);
  std::vector<std::vector<std::string_view>> pieces;
  for (const std::string_view line : lines_of(log)) {
    if (pieces.empty() || begins_record(line)) pieces.emplace_back();
    pieces.back().push_back(line);
  }
  std::string ours, of_group;
  for (auto piece = pieces.rbegin(); piece != pieces.rend() && ours.empty(); ++piece) {
    std::string text;
    for (const std::string_view line : *piece) text += line;
    for (const oom::Record& record : oom::read_records(text)) {
      const bool about = is_about(record, us);
      if (!about && !(of_group.empty() && is_in_group(record, us.group))) continue;
      if (text.size() > kMostText) text = without_middle(*piece);
      (about ? ours : of_group) = text;
      break;
    }
  }
  return ours.empty() ? of_group : ours;
}

std::optional<oom::Record> read_evidence(std::string_view text, const AboutUs& us) {
  auto records = oom::read_records(text.substr(0, 2 * kMostText));
  if (records.empty()) return std::nullopt;
  const auto ours =
      std::ranges::find_if(records, [&](const oom::Record& record) { return is_about(record, us); });
  return std::move(ours == records.end() ? records.back() : *ours);
}

}  // namespace fathom::flight
