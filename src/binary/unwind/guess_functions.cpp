#include "binary/unwind/guess_functions.h"

#include <elf.h>

#include <algorithm>

#include "base/arch/common/code_references.h"
#include "base/arch/common/prologue.h"
#include "binary/unwind/function_starts.h"

namespace fathom::unwind {
namespace {

// One part of the code in so many has to be without rows before the whole file is read for them. What libraries have
// of it by assembly and by constants among the code is less: 6 % of libcrypto.
constexpr std::uint64_t kWorthReading = 8;
// Functions begin at multiples of it, but for those that are small on purpose.
constexpr std::uint64_t kAlignment = 16;
// What is no longer and holds no known start is padding.
constexpr std::uint64_t kMostPadding = 32;                          // bytes
constexpr std::uint64_t kLargestFunction = std::uint64_t{1} << 20;  // bytes; made by compilers, and seen so
// A place that may be a function: how far it is followed, and how many failures in a row are allowed.
constexpr std::uint64_t kLargestTrial = std::uint64_t{1} << 16;  // bytes
constexpr int kMostTrials = 64;

// Parts of code sections, or of the segments of a file that has no sections, in none of `covered`.
std::vector<CodeRange> bare_ranges(const std::vector<CodeRange>& code, const std::vector<Piece>& covered) {
  std::vector<CodeRange> bare;
  auto piece = covered.begin();
  for (const CodeRange& range : code) {
    std::uint64_t here = range.start;
    while (piece != covered.end() && piece->end <= here) ++piece;
    for (auto next = piece; next != covered.end() && next->start < range.end; ++next) {
      if (next->start > here) bare.push_back({here, next->start});
      here = std::max(here, next->end);
    }
    if (here < range.end) bare.push_back({here, range.end});
  }
  return bare;
}

std::span<const std::byte> code_of(const elf::ElfFile& file, const CodeRange& range) {
  const auto bytes = file.bytes_from({range.start});
  return bytes.first(std::min<std::size_t>(bytes.size(), range.end - range.start));
}

class Search {
 public:
  Search(const elf::ElfFile& file, FunctionStarts starts, dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi)
      : file_(file), starts_(std::move(starts)), rules_(rules), cfi_(cfi) {
    nothing_ = static_cast<std::uint32_t>(cfi.functions.size());
    cfi.functions.push_back({{}, 0, static_cast<std::uint32_t>(cfi.rows.size()), 1});
    cfi.rows.push_back({0, dwarf::RuleSet::kNone});
  }

  void look_at(const CodeRange& bare) {
    auto next = std::lower_bound(starts_.sure.begin(), starts_.sure.end(), bare.start);
    const auto end_of = [&] { return next == starts_.sure.end() ? bare.end : std::min(*next, bare.end); };
    if (bare.end - bare.start <= kMostPadding && end_of() == bare.end) return;
    if (next == starts_.sure.end() || *next != bare.start) try_in({bare.start, end_of()});
    while (next != starts_.sure.end() && *next < bare.end) {
      const std::uint64_t start = *next++;
      CodeRange code{start, std::min(end_of(), start + kLargestFunction)};
      follow(code, true);
    }
    while (!open_.empty()) {
      const CodeRange part = open_.back();
      open_.pop_back();
      try_in(part);
    }
  }

  Guesses take() && {
    if (found_.functions == 0) return {};
    sort_by_start(found_.pieces);
    return std::move(found_);
  }

 private:
  // True if something begins at the range's start. What the paths leave out is kept for later.
  bool follow(const CodeRange& code, bool is_sure) {
    const auto bytes = code_of(file_, code);
    const auto followed = arch::rows_from_start(bytes);
    if (!followed || followed->rows.empty()) return false;
    if (!is_sure && (!followed->returns || !leaves_well(code.start, followed->leaves_to))) return false;
    add(code, *followed);
    return true;
  }

  // What is no function may still look like one up to a jump back into the function that it belongs to, which lies
  // between the same two starts.
  bool leaves_well(std::uint64_t start, const std::vector<std::uint64_t>& targets) const {
    const auto next = std::upper_bound(starts_.sure.begin(), starts_.sure.end(), start);
    const std::uint64_t first = next == starts_.sure.begin() ? 0 : *std::prev(next);
    const std::uint64_t last = next == starts_.sure.end() ? ~std::uint64_t{0} : *next;
    return std::all_of(targets.begin(), targets.end(), [&](std::uint64_t offset) {
      const std::uint64_t target = start + offset;
      return target <= first || target >= last;
    });
  }

  void add(const CodeRange& code, const arch::FollowedCode& followed) {
    const auto function = static_cast<std::uint32_t>(cfi_.functions.size());
    const auto first = static_cast<std::uint32_t>(cfi_.rows.size());
    const std::uint64_t size = code.end - code.start;
    for (std::size_t i = 0; i < followed.rows.size(); ++i) {
      const arch::PrologueRow& row = followed.rows[i];
      const std::uint64_t end = i + 1 < followed.rows.size() ? followed.rows[i + 1].offset : size;
      unwind_rule rule = row.rule;
      if (rule.cfa == CFA_NONE) {
        open_.push_back({code.start + row.offset, code.start + end});
      } else {
        rule.flags = UNWIND_RULE_GUESSED;
        auto& pieces = found_.pieces;
        if (!pieces.empty() && pieces.back().end == code.start + row.offset &&
            pieces.back().function == function)
          pieces.back().end = code.start + end;
        else
          pieces.push_back({code.start + row.offset, code.start + end, function});
      }
      cfi_.rows.push_back({row.offset, rules_.insert(rule)});
    }
    cfi_.functions.push_back({{code.start},
                              static_cast<std::uint32_t>(size),
                              first,
                              static_cast<std::uint32_t>(followed.rows.size())});
    ++found_.functions;
  }

  // The first place in the range that looks like a function; what follows it is looked at later.
  void try_in(const CodeRange& range) {
    auto possible = std::lower_bound(starts_.possible.begin(), starts_.possible.end(), range.start);
    std::uint64_t aligned = (range.start + kAlignment - 1) / kAlignment * kAlignment;
    std::uint64_t nothing_until = range.end;
    for (int trial = 0; trial < kMostTrials; ++trial) {
      std::uint64_t start = aligned;
      if (possible != starts_.possible.end() && *possible <= aligned) start = *possible++;
      if (start == aligned) aligned += kAlignment;
      if (start >= range.end) break;
      if (!follow({start, std::min(range.end, start + kLargestTrial)}, false)) continue;
      nothing_until = start;
      break;
    }
    // Said, as a short gap would pass for padding, where the rule before holds on.
    if (range.start < nothing_until && nothing_until - range.start <= kMostPadding)
      found_.pieces.push_back({range.start, nothing_until, nothing_});
  }

  const elf::ElfFile& file_;
  FunctionStarts starts_;
  dwarf::RuleSet& rules_;
  dwarf::CfiFunctions& cfi_;
  Guesses found_;
  std::uint32_t nothing_;        // a function with no rule
  std::vector<CodeRange> open_;  // where no path led
};

}  // namespace

Guesses guess_functions(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                        const std::vector<Piece>& covered, dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi) {
  const auto code = code_sections(file, ranges);
  const auto bare = bare_ranges(code, covered);
  std::uint64_t all = 0, without = 0;
  for (const CodeRange& each : code) all += each.end - each.start;
  for (const CodeRange& each : bare)
    if (each.end - each.start > kMostPadding) without += each.end - each.start;
  if (without == 0 || without < all / kWorthReading) return {};
  Search search(file, find_function_starts(file, ranges), rules, cfi);
  for (const CodeRange& each : bare) search.look_at(each);
  return std::move(search).take();
}

std::vector<Piece> end_threads(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                               const std::vector<Piece>& covered, dwarf::RuleSet& rules,
                               dwarf::CfiFunctions& cfi) {
  std::vector<Piece> ends;
  unwind_rule end{};
  end.cfa = CFA_END;
  for (const CodeRange& bare : bare_ranges(code_sections(file, ranges), covered)) {
    for (const arch::ThreadStart& each : arch::thread_starts(code_of(file, bare), bare.start)) {
      ends.push_back({each.start, each.end, static_cast<std::uint32_t>(cfi.functions.size())});
      cfi.functions.push_back({{each.start},
                               static_cast<std::uint32_t>(each.end - each.start),
                               static_cast<std::uint32_t>(cfi.rows.size()),
                               1});
      cfi.rows.push_back({0, rules.insert(end)});
    }
  }
  return ends;
}

}  // namespace fathom::unwind
