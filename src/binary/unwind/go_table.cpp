#include "binary/unwind/go_table.h"

#include <string_view>

#include "base/arch/common/code_references.h"
#include "base/cursor.h"
#include "binary/elf/go_functions.h"

namespace fathom::unwind {
namespace {

constexpr std::int32_t kLargestFrame = 1 << 28;  // bytes
constexpr int kMostRows = 1 << 16;               // of one function
constexpr std::int32_t kWord = 8;

unwind_rule rule_at(std::int32_t depth) {
  unwind_rule rule{};
  rule.cfa = CFA_SP;
  rule.cfa_offset = depth + kWord;
  // A frame that holds anything holds its caller's frame pointer first.
  if (depth >= kWord) {
    rule.fp = FP_AT_CFA;
    rule.fp_offset = -2 * kWord;
  }
  return rule;
}

// Code that went over to another stack left the frame pointer, by which the stack that it came from goes on. Where it
// has no frame of its own, the frame that called it is left out.
unwind_rule rule_of_switch() {
  unwind_rule rule{};
  rule.cfa = CFA_FP;
  rule.cfa_offset = 2 * kWord;
  rule.fp = FP_AT_FP;
  rule.flags = UNWIND_RULE_SWITCHES;
  return rule;
}

class Compiler {
 public:
  Compiler(const elf::ElfFile& file, const std::vector<CodeRange>& ranges, const elf::GoFunctions& table,
           dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi)
      : file_(file), ranges_(ranges), table_(table), rules_(rules), cfi_(cfi) {}

  std::uint64_t run() {
    for (std::uint64_t i = 0; i < table_.count(); ++i)
      if (const auto function = table_.function(i)) add(*function);
    return added_;
  }

 private:
  void add(const elf::GoFunction& function) {
    std::uint64_t start = function.start.value;
    std::uint32_t size = function.size;
    if (size_within(ranges_, start, size) != size) return;
    const auto first = static_cast<std::uint32_t>(cfi_.rows.size());
    unwind_rule whole{};
    if ((function.flags & elf::kGoFirstFrame) != 0 && !is_signal_handler(function)) {
      whole.cfa = CFA_END;
    } else if ((function.flags & elf::kGoSetsStackPointer) != 0) {
      whole = rule_of_switch();
    } else if (is_signal_return(start)) {
      // A signal handler returns to its first byte, which is looked up one byte before, in the padding.
      whole.cfa = CFA_SIGNAL;
      --start;
      ++size;
    }
    if (whole.cfa != CFA_NONE) {
      cfi_.rows.push_back({0, rules_.insert(whole)});
    } else if (!add_rows(function.frames, size)) {
      cfi_.rows.resize(first);
      return;
    }
    ++added_;
    cfi_.functions.push_back({{start}, size, first, static_cast<std::uint32_t>(cfi_.rows.size() - first)});
  }

  // Go's tracebacks start again below it. The kernel has called it, and the code that was interrupted follows.
  bool is_signal_handler(const elf::GoFunction& function) const {
    const std::string_view name = table_.name(function);
    return name == "runtime.sigtramp" || name == "runtime.sigtramp.abi0";
  }

  bool is_signal_return(std::uint64_t start) const {
    const auto code = file_.bytes_at({start}, 16);
    return code && arch::is_signal_return(*code);
  }

  // Pairs of differences: of the depth, zigzag, and of the address. A 0 that is not the first ends them.
  bool add_rows(std::uint32_t at, std::uint32_t size) {
    Cursor in(table_.values(at));
    std::int64_t depth = -1;
    std::uint64_t offset = 0;
    for (int i = 0; i < kMostRows && offset < size; ++i) {
      const std::uint64_t change = in.read_uleb128();
      if (!in.ok() || (change == 0 && i != 0)) break;
      depth += (change & 1) != 0 ? ~static_cast<std::int64_t>(change >> 1)
                                 : static_cast<std::int64_t>(change >> 1);
      if (depth < 0 || depth > kLargestFrame) return false;
      cfi_.rows.push_back(
          {static_cast<std::uint32_t>(offset), rules_.insert(rule_at(static_cast<std::int32_t>(depth)))});
      const std::uint64_t bytes = in.read_uleb128();
      if (!in.ok() || bytes == 0 || bytes > size) return false;
      offset += bytes;
    }
    return offset != 0;
  }

  const elf::ElfFile& file_;
  const std::vector<CodeRange>& ranges_;
  const elf::GoFunctions& table_;
  dwarf::RuleSet& rules_;
  dwarf::CfiFunctions& cfi_;
  std::uint64_t added_ = 0;
};

}  // namespace

std::uint64_t compile_go_table(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                               dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi) {
  const auto table = elf::GoFunctions::find(file);
  // Before 1.18 the table does not say where a stack begins.
  if (!table || table->version() == elf::GoVersion::k116) return 0;
  return Compiler(file, ranges, *table, rules, cfi).run();
}

}  // namespace fathom::unwind
