#include "present/sentences/ending_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <charconv>
#include <optional>
#include <vector>

#include "analysis/core/ending.h"
#include "analysis/core/last_place.h"
#include "analysis/core/words.h"
#include "model/facts.h"
#include "present/sentences/last_place_words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

constexpr std::size_t kMostTold = 3;

bool has_several_targets(const model::Meta& meta) {
  return meta.target.find("(pid ") != meta.target.rfind("(pid ");
}

bool is_target(const model::Meta& meta, std::int32_t pid) {
  const auto command = meta.facts.find("command_pid");
  return meta.target.find(fmt::format("(pid {})", pid)) != std::string::npos ||
         (command != meta.facts.end() && command->second == std::to_string(pid));
}

std::string name_of(const model::Profile& profile, std::int32_t pid) {
  for (const model::Process& process : profile.processes)
    if (process.pid == pid && !profile.strings[process.name].empty())
      return fmt::format("process {} ({})", pid, printable(profile.strings[process.name]));
  return fmt::format("process {}", pid);
}

std::string limit_text(const Ending& ending) {
  return ending.limit_bytes
             ? fmt::format("out of memory, limit {} of cgroup {}",
                           bytes(static_cast<double>(*ending.limit_bytes)), printable(ending.cgroup))
             : std::string("out of memory, of the machine");
}

// Whatever the kernel killed meanwhile, a program that a user ended was not it.
bool by_the_kernel(const Ending& ending) {
  return ending.out_of_memory && (ending.signal == 0 || ending.signal == SIGKILL);
}

// " in parse", " in write_reply", " (sent by process 12)".
std::string place_text(const model::Profile& profile, const Ending& ending) {
  const auto pid = ending.pid ? ending.pid : model::facts_of<model::EndingFacts>(profile.meta).command_pid;
  const auto signal = pid ? model::fatal_signal_of(*pid, profile.meta.facts) : std::nullopt;
  if (!signal || signal->signal != ending.signal || by_the_kernel(ending)) return "";
  const LastPlace place = last_place_of(profile, *signal);
  return place.reason == EndReason::kSent ? fmt::format(" ({})", end_reason_words(*signal, place.reason))
                                          : last_place_words(place, true);
}

std::string ending_text(const model::Profile& profile, const Ending& ending,
                        const std::optional<ResidentMemory>& resident) {
  std::string text = ending.not_known && !ending.out_of_memory ? "ended; how is unknown"
                     : ending.signal == 0                      ? "a process was killed"
                     : ending.crashed()                        ? "crashed: " + signal_name(ending.signal)
                     : ending.signal == SIGKILL                ? "killed by SIGKILL"
                                                               : "ended by " + signal_name(ending.signal);
  text += place_text(profile, ending);
  if (by_the_kernel(ending))
    text += ": " + limit_text(ending);
  else if (!ending.gone_cgroup.empty())
    text += fmt::format(
        " (it is unknown whether memory was the reason: cgroup {} was removed before its kills were counted)",
        printable(ending.gone_cgroup));
  if (resident)
    text += fmt::format("{}{} resident at last", by_the_kernel(ending) ? ", " : ": ", bytes(resident->last));
  return text;
}

// For a recording that covers one process only.
std::string one_ending_text(const Report& report) {
  const Ending ending = ending_of(*report.profile);
  if (ending.by_itself() && !ending.out_of_memory) return "";
  const bool named = ending.pid && has_several_targets(report.profile->meta);
  return (named ? fmt::format("process {} ", *ending.pid) : "") +
         ending_text(*report.profile, ending, report.resident);
}

}  // namespace

std::string endings_text(const Report& report) {
  const model::Profile& profile = *report.profile;
  const std::vector<Ending> endings = endings_of(profile);
  const bool one_target = !has_several_targets(profile.meta);
  std::vector<std::string> texts;
  std::size_t untold = 0;
  bool kernel_told = false;
  for (const bool targets : {true, false}) {
    for (const Ending& ending : endings) {
      if (is_target(profile.meta, *ending.pid) != targets) continue;
      // A program that ends its helpers does so by a signal that they could have caught.
      if (!targets && !ending.crashed() && ending.signal != SIGKILL) continue;
      kernel_told = kernel_told || ending.out_of_memory;
      if (texts.size() == kMostTold) {
        ++untold;
        continue;
      }
      const std::string text = ending_text(profile, ending, find_resident(profile, {.pid = ending.pid}));
      texts.push_back(targets && one_target ? text : name_of(profile, *ending.pid) + " " + text);
    }
  }
  if (texts.empty() && endings.empty()) return one_ending_text(report);
  if (untold > 0)
    texts.push_back(counted(untold, "more process", "more processes") + " that did not exit on their own");
  if (const Ending any = ending_of(profile); any.out_of_memory && !kernel_told)
    texts.push_back("a process of its cgroup was killed: " + limit_text(any));
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace fathom::present
