#include "tools/limit/outcome.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/core/words.h"
#include "base/shell_word.h"
#include "present/text/text_table.h"
#include "tools/oom/explanation.h"

namespace fathom::limit {
namespace {

using Json = nlohmann::ordered_json;  // keys in the order of the documentation

std::string size(std::uint64_t value) {
  return analysis::bytes(static_cast<double>(value));
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

const oom::Kill* kill_of(const Outcome& outcome) {
  for (const oom::Record& record : outcome.records)
    for (const oom::Kill& kill : record.kills)
      if (kill.pid == outcome.pid) return &kill;
  return outcome.records.empty() || outcome.records.front().kills.empty()
             ? nullptr
             : &outcome.records.front().kills.front();
}

std::string limit_text(const Limits& limits) {
  return fmt::format(
      "{}{}", size(limits.memory_bytes),
      limits.swap_bytes == 0 ? " without swap" : fmt::format(" and {} of swap", size(limits.swap_bytes)));
}

std::string why_died(const Outcome& outcome) {
  const oom::Kill* kill = kill_of(outcome);
  const std::string what = fmt::format("at its limit of {}", limit_text(outcome.limits));
  if (kill == nullptr)
    return fmt::format("the kernel killed {} {}",
                       analysis::counted(outcome.state.oom_kills, "process", "processes"), what);
  std::string text =
      fmt::format("the kernel killed {} (pid {}) {}", analysis::printable(kill->name), kill->pid, what);
  if (outcome.status == 0) text += ", though the command ended with 0";
  return text;
}

}  // namespace

Verdict judge(const Outcome& outcome) {
  // What the kernel did counts before what the user did: it may have come first.
  if (outcome.state.oom_kills != 0 ||
      std::ranges::any_of(outcome.records, [](const oom::Record& r) { return !r.kills.empty(); }))
    return Verdict::kDied;
  if (outcome.interrupted || !outcome.status) return Verdict::kInterrupted;
  if (outcome.signal != 0) return Verdict::kKilled;
  if (*outcome.status != 0) return Verdict::kFailed;
  return outcome.swapped_bytes != 0 ? Verdict::kSwapped : Verdict::kPassed;
}

const char* word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kSwapped:
      return "swapped";
    case Verdict::kDied:
      return "died";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kKilled:
      return "killed";
    case Verdict::kInterrupted:
      break;
  }
  return "interrupted";
}

std::string describe(const Outcome& outcome) {
  switch (judge(outcome)) {
    case Verdict::kPassed:
      if (outcome.limits.swap_bytes != 0)
        return fmt::format("passed with {}; of {} of swap none was used", size(outcome.limits.memory_bytes),
                           size(outcome.limits.swap_bytes));
      return fmt::format("passed with {}", limit_text(outcome.limits));
    case Verdict::kSwapped:
      return fmt::format("passed, but swapped {}: it is unknown whether {} of memory alone is enough",
                         size(outcome.swapped_bytes), size(outcome.limits.memory_bytes));
    case Verdict::kDied:
      return why_died(outcome);
    case Verdict::kFailed:
      return fmt::format(
          "the command itself failed with {}{}", *outcome.status,
          outcome.state.ooms != 0 ? ", after it had been refused memory" : "; the kernel killed nothing");
    case Verdict::kKilled:
      return fmt::format(
          "{} ended the command; the kernel killed nothing for lack of memory, so another process or the command itself sent it",
          signal_name(outcome.signal));
    case Verdict::kInterrupted:
      break;
  }
  return "interrupted";
}

std::uint64_t peak_of(const Outcome& outcome) {
  return outcome.state.peak_bytes.value_or(outcome.sampled_peak_bytes);
}

std::optional<std::uint64_t> peak_with_swap_of(const Outcome& outcome) {
  return outcome.state.peak_with_swap_bytes;
}

std::vector<oom::Record> about(std::vector<oom::Record> records, const std::string& group,
                               const std::set<int>& pids) {
  std::erase_if(records, [&](const oom::Record& record) {
    const std::string& of = record.victim_group.empty() ? record.limited_group : record.victim_group;
    if (!of.empty()) return of != group && !of.starts_with(group + "/");
    return record.scope != oom::Scope::kGroup || record.kills.empty() ||
           !pids.contains(static_cast<int>(record.kills.front().pid));
  });
  return records;
}

int exit_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return 0;
    case Verdict::kDied:
      return 5;
    case Verdict::kSwapped:
      return 6;
    case Verdict::kFailed:
    case Verdict::kKilled:
      return 7;
    case Verdict::kInterrupted:
      break;
  }
  return 1;
}

std::string to_text(const Outcome& outcome, std::size_t width) {
  constexpr std::size_t kIndent = 10;
  std::string text = fmt::format("fathom: {}\n", describe(outcome));
  const auto add = [&](std::string_view label, const std::string& line) {
    text += present::fill(fmt::format("  {:<8}", label), line, width, kIndent);
  };
  const GroupState& state = outcome.state;
  std::string memory = fmt::format("peak {}", size(peak_of(outcome)));
  if (!state.peak_bytes) memory += " (the largest of ten readings per second)";
  if (const auto both = peak_with_swap_of(outcome)) memory += fmt::format(", with swap {}", size(*both));
  if (outcome.swapped_bytes != 0)
    memory += fmt::format(", {} of it swapped out", size(outcome.swapped_bytes));
  add("memory", memory);
  if (outcome.limit_above)
    add("", fmt::format("a group above has a lower limit of {}: that one holds, and --memory does nothing",
                        size(*outcome.limit_above)));
  add("wall",
      state.limit_hits == 0
          ? "the limit was never met"
          : fmt::format(
                "met {}, {} killed; {} faults, {} of them from disk; {} needed again after they had been taken",
                analysis::counted(state.limit_hits, "time"),
                analysis::counted(state.oom_kills, "process", "processes"),
                analysis::with_commas(static_cast<std::int64_t>(state.minor_faults + state.major_faults)),
                analysis::with_commas(static_cast<std::int64_t>(state.major_faults)),
                analysis::counted(state.refaults, "page")));
  if (state.pressure || outcome.machine_pressure) {
    const Pressure& pressure = state.pressure ? *state.pressure : *outcome.machine_pressure;
    add("stalled",
        fmt::format("{} for lack of memory, {} of it with nothing running{}",
                    analysis::seconds(static_cast<double>(pressure.some_us) * 1e-6),
                    analysis::seconds(static_cast<double>(pressure.full_us) * 1e-6),
                    state.pressure ? "" : " (of the whole machine: the group has no figure of its own)"));
  }
  std::string time = analysis::seconds(outcome.seconds);
  if (outcome.status)
    time += outcome.signal != 0 ? fmt::format("; ended by {}", signal_name(outcome.signal))
                                : fmt::format("; exit status {}", *outcome.status);
  if (outcome.left_behind != 0)
    time += fmt::format("; {} that it left behind also ended",
                        analysis::counted(outcome.left_behind, "process", "processes"));
  add("time", time);
  for (const oom::Record& record : outcome.records) {
    const oom::Explanation told = oom::explain(record, 3);
    std::string held;
    for (const oom::Part& part : told.victim)
      held += fmt::format("{}{} {}", held.empty() ? "" : ", ", part.name, size(part.bytes));
    add("killed", told.who + (held.empty() ? "" : ": " + held));
  }
  if (outcome.records.empty() && state.oom_kills != 0)
    add("killed",
        outcome.log_unreadable
            ? "the kernel log names the process, but this user cannot read it"
            : "the kernel's record of it did not arrive: of many kills in a few seconds it prints only some");
  for (std::size_t i = 0; i < outcome.holders.size(); ++i) {
    const Holder& holder = outcome.holders[i];
    add(i == 0 ? "held by" : "",
        fmt::format("{} in {}: {}{} live", analysis::printable(holder.name),
                    analysis::printable(holder.module), analysis::bytes(holder.bytes),
                    holder.error_bytes > 0 ? fmt::format(" ±{}", analysis::bytes(holder.error_bytes)) : ""));
  }
  if (!outcome.recording.empty())
    add("heap", fmt::format("fathom report --heap {}", shell_word(outcome.recording)));
  return text;
}

std::string to_json(const Outcome& outcome) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  const GroupState& state = outcome.state;
  Json json{{"version", 1},
            {"verdict", word_of(judge(outcome))},
            {"text", analysis::valid_utf8(describe(outcome))},
            {"status", or_null(outcome.status)},
            {"signal", outcome.signal},
            {"pid", outcome.pid},
            {"cgroup_version", outcome.version},
            {"memory_limit_bytes", outcome.limits.memory_bytes},
            {"swap_limit_bytes", outcome.limits.swap_bytes},
            {"limit_above_bytes", or_null(outcome.limit_above)},
            {"peak_bytes", peak_of(outcome)},
            {"peak_with_swap_bytes", or_null(peak_with_swap_of(outcome))},
            {"swapped_bytes", outcome.swapped_bytes},
            {"limit_hits", state.limit_hits},
            {"high_hits", state.high_hits},
            {"ooms", state.ooms},
            {"oom_kills", state.oom_kills},
            {"minor_faults", state.minor_faults},
            {"major_faults", state.major_faults},
            {"refaults", state.refaults},
            {"seconds", outcome.seconds},
            {"left_behind", outcome.left_behind},
            {"held", outcome.held},
            {"recording",
             outcome.recording.empty() ? Json(nullptr) : Json(analysis::valid_utf8(outcome.recording))},
            {"held_by", Json::array()},
            {"killed", Json::array()}};
  for (const Holder& holder : outcome.holders)
    json["held_by"].push_back({{"name", analysis::valid_utf8(holder.name)},
                               {"module", analysis::valid_utf8(holder.module)},
                               {"bytes", holder.bytes},
                               {"error_bytes", holder.error_bytes}});
  const auto pressure = state.pressure ? state.pressure : outcome.machine_pressure;
  json["stalled_us"] = pressure ? Json(pressure->some_us) : Json(nullptr);
  json["all_stalled_us"] = pressure ? Json(pressure->full_us) : Json(nullptr);
  json["stalled_is_of_machine"] = !state.pressure && outcome.machine_pressure;
  for (const oom::Record& record : outcome.records)
    for (const oom::Kill& kill : record.kills)
      json["killed"].push_back({{"pid", kill.pid},
                                {"name", analysis::valid_utf8(kill.name)},
                                {"anon_bytes", kill.anon_bytes},
                                {"file_bytes", kill.file_bytes},
                                {"shmem_bytes", kill.shmem_bytes},
                                {"page_table_bytes", or_null(kill.page_table_bytes)}});
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::limit
