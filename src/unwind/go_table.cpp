#include "unwind/go_table.h"

#include <elf.h>

#include <algorithm>

#include "arch/common/code_references.h"
#include "base/cursor.h"

namespace fathom::unwind {
namespace {

constexpr std::uint32_t kMagic118 = 0xfffffff0, kMagic120 = 0xfffffff1;
constexpr std::uint64_t kMostFunctions = 1 << 22;
constexpr std::uint32_t kLargestFunction = 1u << 24;  // bytes
constexpr std::int32_t kLargestFrame = 1 << 28;       // bytes
constexpr int kMostRows = 1 << 16;                    // of one function
constexpr std::int32_t kWord = 8;

// Of a function's entry.
constexpr std::uint8_t kIsFirstFrame = 1;      // nobody called it
constexpr std::uint8_t kSetsStackPointer = 2;  // to what the table does not know: another stack

struct GoTable {
  std::span<const std::byte> functions,
      offsets;  // pairs of offsets and what they lead to; rows of all functions
  std::uint64_t count = 0, text = 0;
  bool has_first_lines = false;
};

std::uint64_t text_of(const elf::ElfFile& file, const std::vector<CodeRange>& ranges) {
  if (const elf::Section* text = file.section(".text")) return text->address.value;
  return ranges.empty() ? 0 : ranges.front().start;
}

std::optional<GoTable> find_table(const elf::ElfFile& file, const std::vector<CodeRange>& ranges) {
  const elf::Section* section = file.section(".gopclntab");
  if (section == nullptr) section = file.section(".data.rel.ro.gopclntab");
  if (section == nullptr) return std::nullopt;
  const auto bytes = file.bytes_at(section->address, section->size);
  if (!bytes) return std::nullopt;
  Cursor in(*bytes);
  const auto magic = in.read<std::uint32_t>();
  in.skip(2);
  const auto quantum = in.read<std::uint8_t>();
  const auto word = in.read<std::uint8_t>();
  if ((magic != kMagic118 && magic != kMagic120) || quantum != 1 || word != kWord) return std::nullopt;
  GoTable table;
  table.has_first_lines = magic == kMagic120;
  table.count = in.read<std::uint64_t>();
  in.skip(8);  // count of files
  table.text = in.read<std::uint64_t>();
  in.skip(3 * 8);  // names, units, files
  const auto offsets = in.read<std::uint64_t>();
  const auto functions = in.read<std::uint64_t>();
  if (!in.ok() || offsets >= bytes->size() || functions >= bytes->size()) return std::nullopt;
  table.offsets = bytes->subspan(static_cast<std::size_t>(offsets));
  table.functions = bytes->subspan(static_cast<std::size_t>(functions));
  if (table.count == 0 || table.count > kMostFunctions || table.count > table.functions.size() / 8)
    return std::nullopt;
  if (table.text == 0) table.text = text_of(file, ranges);  // newer programs do not say
  return table;
}

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
  Compiler(const elf::ElfFile& file, const std::vector<CodeRange>& ranges, const GoTable& table,
           dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi)
      : file_(file), ranges_(ranges), table_(table), rules_(rules), cfi_(cfi) {}

  std::uint64_t run() {
    Cursor in(table_.functions);
    auto entry = in.read<std::uint32_t>();
    for (std::uint64_t i = 0; i < table_.count && in.ok(); ++i) {
      const auto at = in.read<std::uint32_t>();
      const auto next = in.read<std::uint32_t>();
      if (next > entry && next - entry <= kLargestFunction) add(table_.text + entry, next - entry, at);
      entry = next;
    }
    return added_;
  }

 private:
  void add(std::uint64_t start, std::uint32_t size, std::uint32_t at) {
    if (at > table_.functions.size() || size_within(ranges_, start, size) != size) return;
    Cursor in(table_.functions.subspan(at));
    in.skip(4 * 4);  // entry, name, arguments, deferred return
    const auto rows = in.read<std::uint32_t>();
    in.skip(4 * 4);  // files, lines, count of tables, unit
    if (table_.has_first_lines) in.skip(4);
    in.skip(1);  // what kind of function it is
    const auto flags = in.read<std::uint8_t>();
    if (!in.ok()) return;

    const auto first = static_cast<std::uint32_t>(cfi_.rows.size());
    unwind_rule whole{};
    if ((flags & kIsFirstFrame) != 0) {
      whole.cfa = CFA_END;
    } else if ((flags & kSetsStackPointer) != 0) {
      whole = rule_of_switch();
    } else if (is_signal_return(start)) {
      // A signal handler returns to its first byte, which is looked up one byte before, in the padding.
      whole.cfa = CFA_SIGNAL;
      --start;
      ++size;
    }
    if (whole.cfa != CFA_NONE) {
      cfi_.rows.push_back({0, rules_.insert(whole)});
    } else if (!add_rows(rows, size)) {
      cfi_.rows.resize(first);
      return;
    }
    ++added_;
    cfi_.functions.push_back({{start}, size, first, static_cast<std::uint32_t>(cfi_.rows.size() - first)});
  }

  bool is_signal_return(std::uint64_t start) const {
    const auto code = file_.bytes_at({start}, 16);
    return code && arch::is_signal_return(*code);
  }

  // Pairs of differences: of the depth, zigzag, and of the address. A 0 that is not the first ends them.
  bool add_rows(std::uint32_t at, std::uint32_t size) {
    if (at == 0 || at >= table_.offsets.size()) return false;
    Cursor in(table_.offsets.subspan(at));
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
  const GoTable& table_;
  dwarf::RuleSet& rules_;
  dwarf::CfiFunctions& cfi_;
  std::uint64_t added_ = 0;
};

}  // namespace

std::uint64_t compile_go_table(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                               dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi) {
  const auto table = find_table(file, ranges);
  if (!table) return 0;
  return Compiler(file, ranges, *table, rules, cfi).run();
}

}  // namespace fathom::unwind
