#include "attach/inject/trial/at_work.h"

#include <chrono>

namespace fathom::inject {
namespace {

// Usually 3 ms of the process's time.
constexpr WatchLimits kShortLook{300, std::chrono::milliseconds(200)};
constexpr int kMostLooks = 3;

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
  const auto look = [&](const WatchChoice& choice) -> Result<Confirmation> {
    const auto plan = plan_watch(file, entries, choice);
    if (!plan) return tl::unexpected<Error>(plan.error());
    return confirm(pid, bias, entries, *plan, kShortLook);
  };
  auto choice = choose_to_watch(file, entries);
  if (!choice) return not_seen(choice.error());
  auto seen = look(*choice);
  // The function with the most callers may be called by none of them in practice: they are in the program and
  // not in its runtime. Or there was only a burst of frees.
  std::vector<std::size_t> quiet;
  for (int looks = 1; looks < kMostLooks && seen && seen->hits != 0; ++looks) {
    const Verdict& verdict = seen->verdict;
    if (verdict.kind != Verdict::Kind::kQuiet) break;
    if (!seen->met[choice->gives])
      quiet.push_back(choice->gives);
    else if (choice->frees && verdict.blocks >= kEnoughBlocks && verdict.known_frees == 0)
      quiet.push_back(*choice->frees);
    else if (choice->resizes && !seen->met[*choice->resizes])
      quiet.push_back(*choice->resizes);
    const auto other = choose_to_watch(file, entries, quiet);
    if (!other) break;
    choice = other;
    seen = look(*choice);
  }
  if (!seen) return not_seen(seen.error());
  if (seen->verdict.kind == Verdict::Kind::kContradicted)
    return fail(ErrorKind::kUnsupported, describe(*seen));
  return describe(*seen);
}

}  // namespace fathom::inject
