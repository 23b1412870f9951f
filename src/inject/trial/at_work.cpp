#include "inject/trial/at_work.h"

#include <chrono>

namespace fathom::inject {
namespace {

// 3 to 9 ms of the process's time.
constexpr WatchLimits kShortLook{300, std::chrono::milliseconds(200)};

}  // namespace

std::vector<BelievedEntry> believed(const EntryTrial& trial) {
  std::vector<BelievedEntry> entries;
  for (const TriedEntry& each : trial.entries)
    entries.push_back({each.role, each.candidate.address, each.candidate.size,
                       std::uint64_t{each.candidate.direct} + each.candidate.through_words});
  return entries;
}

Result<std::string> look_at_work(int pid, std::uint64_t bias, const elf::ElfFile& file,
                                 const EntryTrial& trial) {
  const auto entries = believed(trial);
  const auto not_seen = [](const Error& why) { return "not seen at work in the process: " + why.message; };
  const auto choice = choose_to_watch(file, entries);
  if (!choice) return not_seen(choice.error());
  const auto plan = plan_watch(file, entries, *choice);
  if (!plan) return not_seen(plan.error());
  const auto seen = confirm(pid, bias, entries, *plan, kShortLook);
  if (!seen) return not_seen(seen.error());
  if (seen->verdict.kind == Verdict::Kind::kContradicted)
    return fail(ErrorKind::kUnsupported, describe(*seen));
  return describe(*seen);
}

}  // namespace fathom::inject
