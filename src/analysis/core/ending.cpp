#include "analysis/core/ending.h"

#include <fmt/format.h>
#include <string.h>

#include <charconv>

namespace fathom::analysis {
namespace {

template <class T>
std::optional<T> number_in(const model::Profile& profile, const std::string& key) {
  const auto fact = profile.meta.facts.find(key);
  if (fact == profile.meta.facts.end()) return std::nullopt;
  const char *begin = fact->second.data(), *end = begin + fact->second.size();
  T value{};
  const auto [at, error] = std::from_chars(begin, end, value);
  return error == std::errc{} && at == end ? std::optional(value) : std::nullopt;
}

}  // namespace

Ending ending_of(const model::Profile& profile) {
  Ending ending;
  ending.signal = number_in<int>(profile, "signal").value_or(0);
  if (ending.signal < 0 || ending.signal > 64) ending.signal = 0;
  ending.pid = number_in<std::int32_t>(profile, "ended_pid");
  ending.not_known = ending.pid && ending.signal == 0 && !profile.meta.facts.contains("exit");
  const auto cgroup = profile.meta.facts.find("oom_cgroup");
  if (cgroup == profile.meta.facts.end()) return ending;
  ending.out_of_memory = true;
  ending.cgroup = cgroup->second;
  ending.limit_bytes = number_in<std::uint64_t>(profile, "oom_limit_bytes");
  return ending;
}

Ending ending_of(const model::Profile& profile, const model::Process& process) {
  const Ending ending = ending_of(profile);
  // Nobody recorded the parent of the launched one.
  const bool concerned = ending.pid ? process.pid == *ending.pid : process.parent_pid == 0;
  return concerned ? ending : Ending{};
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

}  // namespace fathom::analysis
