#include "attach/inject/trial/labelled_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "attach/inject/live/confirmation.h"
#include "attach/inject/trial/at_work.h"

namespace fathom::inject {
namespace {

using allocators::nameless::Candidate;
using allocators::nameless::JemallocEntries;
using allocators::nameless::name_of;
using allocators::nameless::Role;

// 10 to 20 ms of the process's time for the first, less for the others.
constexpr WatchLimits kLongLook{1000, std::chrono::milliseconds(2000)};
constexpr WatchLimits kOtherLook{400, std::chrono::milliseconds(500)};
constexpr std::string_view kRemedy =
    "give the program work in the meantime, or let fathom try its functions in a private copy";

class Looks {
 public:
  Looks(int pid, std::uint64_t bias, const elf::ElfFile& file, const EntryTrial& labelled)
      : pid_(pid),
        bias_(bias),
        file_(file),
        labelled_(labelled),
        entries_(believed(labelled)),
        met_(entries_.size()),
        asked_(entries_.size()) {}

  Result<std::string> run() {
    const auto choice = choose_to_watch(file_, entries_);
    if (!choice) return tl::unexpected<Error>(choice.error());
    if (choice->resizes) asked_[*choice->resizes] = true;
    const auto first = look(*choice, kLongLook);
    if (!first) return tl::unexpected<Error>(first.error());
    const Verdict& verdict = first->verdict;
    if (verdict.kind == Verdict::Kind::kQuiet)
      return fail(ErrorKind::kUnsupported, fmt::format("{}: {}", describe(*first), kRemedy));
    // Blocks that another function moved explain some of these; a wrong label cannot be distinguished from
    // that.
    const bool tells_size = entries_[*choice->frees].role == Role::kSdallocx;
    if (tells_size && verdict.equal_sizes < verdict.known_frees - verdict.known_frees / 10)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("too many blocks are freed with another size: {}", describe(*first)));
    std::string text = describe(*first);
    // Every other function that allocates, together with another one that resizes.
    for (std::size_t each = 0; each < entries_.size(); ++each) {
      if (!gives_blocks(entries_[each].role) || met_[each]) continue;
      if (auto other = look({each, std::nullopt, next_resizing()}, kOtherLook); !other)
        return tl::unexpected<Error>(other.error());
    }
    while (const auto resizes = next_resizing())
      if (auto other = look({choice->gives, std::nullopt, resizes}, kOtherLook); !other)
        return tl::unexpected<Error>(other.error());
    if (auto enough = check_unmet(text); !enough) return tl::unexpected<Error>(enough.error());
    return text;
  }

 private:
  Result<Confirmation> look(const WatchChoice& choice, const WatchLimits& limits) {
    const auto plan = plan_watch(file_, entries_, choice);
    if (!plan) return tl::unexpected<Error>(plan.error());
    auto seen = confirm(pid_, bias_, entries_, *plan, limits);
    if (!seen) return seen;
    if (seen->verdict.kind == Verdict::Kind::kContradicted)
      return fail(ErrorKind::kUnsupported, describe(*seen));
    for (std::size_t i = 0; i < met_.size(); ++i) met_[i] = met_[i] || seen->met[i];
    return seen;
  }
  // Each of those that were not called yet.
  std::optional<std::size_t> next_resizing() {
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (resizes_blocks(entries_[i].role) && !met_[i] && !asked_[i]) {
        asked_[i] = true;
        return i;
      }
    return std::nullopt;
  }

  // The four functions of Rust show which functions they call: a function that one of them calls was reached,
  // so its label, which follows from the others, is confirmed. The resizing function has another path in the
  // same function.
  Result<> check_unmet(std::string& text) const {
    std::string names;
    const auto is_met = [&](bool (*does)(Role)) {
      for (std::size_t i = 0; i < entries_.size(); ++i)
        if (met_[i] && does(entries_[i].role)) return true;
      return false;
    };
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (met_[i]) continue;
      const Role role = entries_[i].role;
      const bool stands =
          labelled_.entries[i].candidate.by_shim && (!resizes_blocks(role) || is_met(resizes_blocks));
      if (!stands)
        return fail(ErrorKind::kUnsupported,
                    fmt::format("its {} was not called while it was watched: {}", name_of(role), kRemedy));
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(role));
    }
    if (!names.empty())
      text += fmt::format("; not called in that time, and recognised by its callers: {}", names);
    return {};
  }

  int pid_;
  std::uint64_t bias_;
  const elf::ElfFile& file_;
  const EntryTrial& labelled_;
  std::vector<BelievedEntry> entries_;
  std::vector<bool> met_, asked_;
};

}  // namespace

Result<EntryTrial> labelled_entries(const JemallocEntries& found) {
  EntryTrial trial;
  bool has_malloc = false, has_free = false;
  std::size_t unlabelled = 0;
  for (const Candidate& each : found.candidates) {
    if (each.is_wrapper) continue;
    if (each.label == Role::kUnknown) {
      unlabelled += each.from_program > 0 ? 1 : 0;
      continue;
    }
    has_malloc |= each.label == Role::kMalloc && each.by_shape;
    has_free |= frees_blocks(each.label);
    trial.entries.push_back({each, each.label});
  }
  if (!has_malloc || !has_free)
    return fail(ErrorKind::kUnsupported, fmt::format("only a trial can show which of its functions {}",
                                                     has_malloc ? "frees" : "is malloc"));
  if (unlabelled != 0)
    return fail(ErrorKind::kUnsupported,
                fmt::format("only a trial can show what {} of the functions that the program uses do{}",
                            unlabelled, unlabelled == 1 ? "es" : ""));
  return trial;
}

Result<std::string> confirm_labels(int pid, std::uint64_t bias, const elf::ElfFile& file,
                                   const EntryTrial& labelled) {
  return Looks(pid, bias, file, labelled).run();
}

}  // namespace fathom::inject
