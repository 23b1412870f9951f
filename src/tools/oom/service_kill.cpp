#include "tools/oom/service_kill.h"

#include <limits>
#include <string>

#include "base/parse.h"
#include "linux/process/fields.h"
#include "tools/oom/log_line.h"
#include "tools/oom/message_fields.h"

namespace fathom::oom {
namespace {

// "66.31%" at the beginning.
std::optional<double> percent_in(std::string_view text) {
  const std::string_view whole = leading_digits(text);
  const auto value = parse_number(whole);
  if (!value || *value > 100'000) return std::nullopt;
  double percent = static_cast<double>(*value);
  text.remove_prefix(whole.size());
  if (text.starts_with('.')) {
    double unit = 0.1;
    for (const char digit : leading_digits(text.substr(1))) {
      percent += unit * (digit - '0');
      unit /= 10;
    }
  }
  return percent;
}

// "memory used (100) / total (200)" and the same of swap.
std::optional<MemoryUse> use_of(std::string_view text, std::string_view what) {
  const std::string_view rest = after(text, std::string(what) + " used (");
  const auto used = parse_number(leading_digits(rest));
  const auto total = number_after(rest, "/ total (");
  if (rest.empty() || !used || !total) return std::nullopt;
  return MemoryUse{*used, *total};
}

// "Killed /system.slice/a.service due to memory pressure for /system.slice being 66.31% > 50.00% for > 20s with reclaim activity",
// "Killed /a due to memory used (1) / total (2) and swap used (3) / total (4) being more than 90.00%"
std::optional<Record> systemd_oomd(std::string_view message) {
  constexpr std::string_view kKilled = "Killed ";
  const std::size_t due = message.find(" due to memory ");
  if (!message.starts_with(kKilled) || due == std::string_view::npos || due <= kKilled.size())
    return std::nullopt;
  const std::string_view cause = message.substr(due);
  Record record;
  record.service.emplace();
  record.service->name = "systemd-oomd";
  record.victim_group = message.substr(kKilled.size(), due - kKilled.size());
  if (cause.starts_with(" due to memory pressure for ")) {
    record.scope = Scope::kPressure;
    record.limited_group = between(cause, "pressure for ", " being ");
    record.service->measured_percent = percent_in(after(cause, " being "));
    record.service->limit_percent = percent_in(after(cause, "% > "));
    record.service->period = between(cause, " for > ", " with ");
    return record;
  }
  record.scope = Scope::kMachine;
  record.service->memory = use_of(cause, "memory");
  record.service->swap = use_of(cause, "swap");
  record.service->limit_percent = percent_in(after(cause, "more than "));
  return record.service->memory ? std::optional(record) : std::nullopt;
}

// "sending SIGTERM to process 7134 uid 1000 "java": badness 845, VmRSS 14035 MiB"
std::optional<Record> earlyoom(std::string_view message) {
  const auto pid = number_after(message, " to process ");
  const std::size_t quote = message.find('"');
  // The name is the target's: it may hold quotes, but what follows it does not begin in the same way.
  const std::size_t end = message.find("\": ", quote == std::string_view::npos ? 0 : quote + 1);
  if (!message.starts_with("sending SIG") || !pid ||
      *pid > std::uint64_t{std::numeric_limits<std::int32_t>::max()} || quote == std::string_view::npos ||
      end == std::string_view::npos)
    return std::nullopt;
  Record record;
  record.scope = Scope::kMachine;
  record.service.emplace();
  record.service->name = "earlyoom";
  Kill kill;
  kill.pid = static_cast<std::int64_t>(*pid);
  kill.name = message.substr(quote + 1, end - quote - 1);
  if (const auto resident = number_after(message.substr(end), "VmRSS "))
    kill.resident_bytes = times(*resident, std::uint64_t{1} << 20);
  if (const auto uid = number_after(message, " uid ");
      uid && *uid <= std::numeric_limits<std::uint32_t>::max())
    kill.uid = static_cast<std::uint32_t>(*uid);
  record.kills.push_back(std::move(kill));
  return record;
}

// "321 of 24105 MiB": how much is left.
std::optional<MemoryUse> left_in(std::string_view text) {
  process::skip_blanks(text);
  const auto left = parse_number(leading_digits(text));
  std::string_view rest = after(text, " of ");
  process::skip_blanks(rest);
  const auto total = parse_number(leading_digits(rest));
  if (!left || !total || *left > *total) return std::nullopt;
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  return MemoryUse{times(*total - *left, kMiB), times(*total, kMiB)};
}

}  // namespace

std::optional<MachineUse> read_machine_use(std::string_view line) {
  const auto memory = left_in(after(line, "mem avail:")), swap = left_in(after(line, "swap free:"));
  return memory && swap ? std::optional(MachineUse{*memory, *swap}) : std::nullopt;
}

bool is_dry_run(std::string_view line) {
  return line.ends_with("dryrun, not actually sending any signal");
}

std::optional<Record> read_service_kill(std::string_view line) {
  for (const std::string_view beginning : {"Killed /", "sending SIG"}) {
    const std::size_t at = line.find(beginning);
    if (at == std::string_view::npos) continue;
    const std::string_view message = line.substr(at);
    auto record = beginning == "Killed /" ? systemd_oomd(message) : earlyoom(message);
    if (!record) continue;
    const LogLine prefix = read_log_prefix(line.substr(0, at));
    record->host = prefix.host;
    record->time = prefix.time;
    return record;
  }
  return std::nullopt;
}

}  // namespace fathom::oom
