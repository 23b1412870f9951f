#include "analysis/core/ending.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <string_view>

#include "base/parse.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

constexpr std::string_view kEnd = "end.", kOutOfMemory = "oom.";

int signal_or_none(std::optional<int> signal) {
  return signal && *signal > 0 && *signal <= 64 ? *signal : 0;
}

// "67108864 /nodes/a", "none /".
void read_kill(const model::Profile& profile, std::int32_t pid, Ending& ending) {
  const auto fact = profile.meta.facts.find(std::string(kOutOfMemory) + std::to_string(pid));
  if (fact == profile.meta.facts.end()) return;
  const std::string_view text = fact->second;
  const std::size_t space = std::min(text.find(' '), text.size());
  ending.out_of_memory = true;
  ending.limit_bytes = parse_number<std::uint64_t>(text.substr(0, space));
  ending.cgroup = text.substr(std::min(space + 1, text.size()));
}

// "exit 3", "signal 9", "unknown".
std::optional<Ending> told_apart(const model::Profile& profile, std::int32_t pid) {
  const auto fact = profile.meta.facts.find(std::string(kEnd) + std::to_string(pid));
  if (fact == profile.meta.facts.end()) return std::nullopt;
  Ending ending;
  ending.pid = pid;
  const std::string_view text = fact->second;
  if (text.starts_with("signal ")) ending.signal = signal_or_none(parse_number<int>(text.substr(7)));
  ending.not_known = ending.signal == 0 && !text.starts_with("exit ");
  if (ending.signal == SIGKILL) read_kill(profile, pid, ending);
  const auto gone = profile.meta.facts.find("oom_unknown." + std::to_string(pid));
  if (ending.signal == SIGKILL && !ending.out_of_memory && gone != profile.meta.facts.end())
    ending.gone_cgroup = gone->second;
  return ending;
}

bool tells_apart(const model::Profile& profile) {
  const auto first = profile.meta.facts.lower_bound(std::string(kEnd));
  return first != profile.meta.facts.end() && first->first.starts_with(kEnd);
}

// A reused number refers to its last process.
bool is_last_of_its_number(const model::Profile& profile, const model::Process& process) {
  return std::ranges::none_of(profile.processes, [&](const model::Process& other) {
    return other.pid == process.pid && other.start_ns > process.start_ns;
  });
}

}  // namespace

bool Ending::crashed() const {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGABRT ||
         signal == SIGSYS || signal == SIGTRAP;
}

Ending ending_of(const model::Profile& profile) {
  const auto facts = model::facts_of<model::EndingFacts>(profile.meta);
  Ending ending;
  ending.signal = signal_or_none(facts.signal);
  ending.pid = facts.ended_pid;
  ending.not_known = ending.pid && ending.signal == 0 && !facts.exit;
  if (facts.oom_cgroup.empty()) return ending;
  ending.out_of_memory = true;
  ending.cgroup = facts.oom_cgroup;
  ending.limit_bytes = facts.oom_limit_bytes;
  return ending;
}

Ending ending_of(const model::Profile& profile, const model::Process& process) {
  if (const auto ending = told_apart(profile, process.pid))
    return is_last_of_its_number(profile, process) ? *ending : Ending{};
  if (tells_apart(profile)) return {};
  const Ending ending = ending_of(profile);
  // The parent of the launched process is not recorded.
  const bool concerned = ending.pid ? process.pid == *ending.pid : process.parent_pid == 0;
  return concerned ? ending : Ending{};
}

std::vector<Ending> endings_of(const model::Profile& profile) {
  std::vector<Ending> endings;
  for (auto fact = profile.meta.facts.lower_bound(std::string(kEnd));
       fact != profile.meta.facts.end() && fact->first.starts_with(kEnd); ++fact)
    if (const auto pid = parse_number<std::int32_t>(std::string_view(fact->first).substr(kEnd.size())))
      if (const auto ending = told_apart(profile, *pid); ending && !ending->by_itself())
        endings.push_back(*ending);
  std::ranges::sort(endings, {}, &Ending::pid);
  return endings;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

}  // namespace fathom::analysis
