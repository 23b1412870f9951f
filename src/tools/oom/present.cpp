#include "tools/oom/present.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/core/words.h"
#include "base/shell_word.h"
#include "present/text/text_table.h"
#include "tools/oom/explanation.h"

namespace fathom::oom {
namespace {

using analysis::printable;
using Json = nlohmann::ordered_json;  // keys in the order of the documentation

std::string size_text(std::uint64_t value) {
  return analysis::bytes(static_cast<double>(value));
}

std::string parts_text(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", part.name, size_text(part.bytes));
  return text;
}

std::string headline(const Record& record, const Explanation& told) {
  std::string text = told.who;
  if (const std::string time = when(record); !time.empty()) text += fmt::format(": {}", time);
  if (!record.host.empty()) text += fmt::format(", on {}", printable(record.host));
  return text;
}

constexpr std::size_t kIndent = 10;

std::string paragraph(std::string_view label, std::string_view text, std::size_t width) {
  return present::fill(fmt::format("  {:<8}", label), text, width, kIndent);
}

std::string in_full(const Record& record, const std::vector<Evidence>& evidence, std::size_t width) {
  const Explanation told = explain(record);
  std::string text = headline(record, told) + "\n";
  const auto add = [&](std::string_view label, std::string_view line) {
    if (!line.empty()) text += paragraph(label, line, width);
  };
  const auto add_all = [&](std::string_view label, const std::vector<std::string>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) add(i == 0 ? label : "", lines[i]);
  };
  add_all("why", told.why);
  if (!told.victim.empty()) {
    std::string held = size_text(told.resident_bytes) + " resident";
    const bool is_all = told.victim.size() == 1 && told.victim.front().name == "resident";
    if (!is_all) held += "; " + parts_text(told.victim);
    if (record.kills.front().total_vm_bytes != 0)
      held += fmt::format("; {} mapped, most of which may never have been touched",
                          size_text(record.kills.front().total_vm_bytes));
    add("it held", held);
  } else if (!record.kills.empty()) {
    add("it held", "what it consisted of is not in this record");
  }
  add("group", parts_text(told.group));
  for (std::size_t i = 0; i < told.large.size(); ++i) {
    const Task& task = told.large[i];
    add(i == 0 ? "beside" : "",
        fmt::format("{} (pid {}) {}{}", printable(task.name), task.pid, size_text(task.rss_bytes),
                    task.swap_bytes != 0 ? fmt::format(", {} in swap", size_text(task.swap_bytes)) : ""));
  }
  for (std::size_t i = 0; i < evidence.size(); ++i)
    add(i == 0 ? "known" : "", fmt::format("{}: {}; fathom report {}", printable(evidence[i].path),
                                           evidence[i].what, shell_word(printable(evidence[i].path))));
  add_all("try", told.remedies);
  return text;
}

std::string one_line(std::size_t number, const Record& record) {
  std::string text = fmt::format("  {:>3}  {}", number, headline(record, explain(record, 0)));
  if (!record.kills.empty() && record.kills.front().measured)
    text += fmt::format(", {} anonymous", size_text(record.kills.front().anon_bytes));
  return text + "\n";
}

const char* word_of(Scope scope) {
  switch (scope) {
    case Scope::kGroup:
      return "group";
    case Scope::kMachine:
      return "machine";
    case Scope::kCpuset:
      return "cpuset";
    case Scope::kMemoryPolicy:
      return "memory_policy";
    case Scope::kPressure:
      return "pressure";
    case Scope::kUnknown:
      break;
  }
  return "unknown";
}

std::string utf8(const std::string& text) {
  return analysis::valid_utf8(text);
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(utf8(text));
}

Json usage_json(const std::optional<Usage>& usage) {
  if (!usage) return nullptr;
  return {{"usage_bytes", usage->usage_bytes},
          {"limit_bytes", or_null(usage->limit_bytes)},
          {"failures", usage->failures}};
}

Json kill_json(const Kill& kill) {
  Json json{{"pid", kill.pid}, {"name", utf8(kill.name)}};
  if (kill.resident_bytes) json["resident_bytes"] = *kill.resident_bytes;
  if (kill.measured) {
    json["total_vm_bytes"] = kill.total_vm_bytes;
    json["anon_bytes"] = kill.anon_bytes;
    json["file_bytes"] = kill.file_bytes;
    json["shmem_bytes"] = kill.shmem_bytes;
  }
  json["page_table_bytes"] = or_null(kill.page_table_bytes);
  json["uid"] = or_null(kill.uid);
  json["oom_score_adj"] = or_null(kill.oom_score_adj);
  json["reaped"] = kill.reaped;
  return json;
}

Json task_json(const Task& task) {
  return {{"pid", task.pid},
          {"name", utf8(task.name)},
          {"uid", task.uid},
          {"total_vm_bytes", task.total_vm_bytes},
          {"rss_bytes", task.rss_bytes},
          {"anon_bytes", or_null(task.anon_bytes)},
          {"file_bytes", or_null(task.file_bytes)},
          {"shmem_bytes", or_null(task.shmem_bytes)},
          {"page_table_bytes", task.page_table_bytes},
          {"swap_bytes", task.swap_bytes},
          {"oom_score_adj", task.oom_score_adj}};
}

Json parts_json(const std::vector<Part>& parts) {
  Json json = Json::array();
  for (const Part& part : parts) json.push_back({{"name", part.name}, {"bytes", part.bytes}});
  return json;
}

Json record_json(const Record& record, const std::vector<Evidence>& evidence) {
  const Explanation told = explain(record);
  Json json{{"time", text_or_null(record.time)},
            {"uptime_s", text_or_null(record.uptime)},
            {"host", text_or_null(record.host)},
            {"scope", word_of(record.scope)},
            {"asked_for", record.asked_for},
            {"killed_by", record.service ? record.service->name : "kernel"},
            {"who", utf8(told.who)},
            {"why", told.why},
            {"invoked_by", text_or_null(record.invoked_by)},
            {"request", text_or_null(record.request)},
            {"order", or_null(record.order)},
            {"limited_group", text_or_null(record.limited_group)},
            {"victim_group", text_or_null(record.victim_group)},
            {"memory", usage_json(record.memory)},
            {"memory_and_swap", usage_json(record.memory_and_swap)},
            {"swap", usage_json(record.swap)},
            {"kernel", usage_json(record.kernel)},
            {"ram_bytes", or_null(record.ram_bytes)},
            {"total_swap_bytes", or_null(record.total_swap_bytes)},
            {"free_swap_bytes", or_null(record.free_swap_bytes)},
            {"whole_group", record.whole_group},
            {"kills", Json::array()},
            {"victim_parts", parts_json(told.victim)},
            {"group_parts", parts_json(told.group)},
            {"tasks", Json::array()},
            {"evidence", Json::array()},
            {"remedies", told.remedies}};
  for (const Kill& kill : record.kills) json["kills"].push_back(kill_json(kill));
  for (const Task& task : record.tasks) json["tasks"].push_back(task_json(task));
  for (const Evidence& found : evidence)
    json["evidence"].push_back({{"path", utf8(found.path)}, {"what", utf8(found.what)}});
  return json;
}

const std::vector<Evidence>& evidence_of(const std::vector<Shown>& shown, std::size_t number) {
  static const std::vector<Evidence> kNone;
  const auto found = std::ranges::find(shown, number, &Shown::number);
  return found == shown.end() ? kNone : found->evidence;
}

}  // namespace

std::string to_text(const std::vector<Record>& records, const std::vector<Shown>& shown, std::size_t width) {
  std::string text;
  for (const Shown& one : shown) {
    if (!text.empty()) text += "\n";
    text += in_full(records.at(one.number - 1), one.evidence, width);
  }
  if (shown.size() == records.size()) return text;
  text += fmt::format("\n{} in this log; --record N shows one, --all shows each\n",
                      analysis::counted(records.size(), "record"));
  constexpr std::size_t kLines = 20;
  for (std::size_t i = records.size() > kLines ? records.size() - kLines : 0; i < records.size(); ++i)
    text += one_line(i + 1, records[i]);
  return text;
}

std::string to_json(const std::vector<Record>& records, const std::vector<Shown>& shown) {
  Json json{{"version", 1}, {"records", Json::array()}};
  for (std::size_t i = 0; i < records.size(); ++i)
    json["records"].push_back(record_json(records[i], evidence_of(shown, i + 1)));
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::oom
