// Call frame information to a searchable table: compile, put the functions in order, write their rows one
// after the other. The alternative, to look functions up in .eh_frame_hdr and run their programs when a frame
// asks for it, suits a process that unwinds itself; it cannot run in the kernel.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/arch/facts.h"
#include "binary/dwarf/compile.h"
#include "binary/unwind/context_starts.h"
#include "binary/unwind/exception_exits.h"
#include "binary/unwind/frame_sections.h"
#include "binary/unwind/go_table.h"
#include "binary/unwind/guess_functions.h"
#include "binary/unwind/lazy_binding.h"
#include "binary/unwind/overlap.h"
#include "binary/unwind/synthesize.h"
#include "binary/unwind/table.h"

namespace fathom::unwind {
namespace {

// Padding between functions. A return address never lies there, so the rule before may as well hold on: a row
// saved.
constexpr std::uint64_t kPadding = 32;  // bytes

class RowWriter {
 public:
  RowWriter(Table& table, std::uint64_t first_address, std::uint64_t end_address, std::size_t rows_expected)
      : table_(table) {
    table_.page_base = first_address >> UNWIND_PAGE_SHIFT;
    const std::uint64_t last_page = (end_address - 1) >> UNWIND_PAGE_SHIFT;
    table_.pages.reserve(static_cast<std::size_t>(last_page - table_.page_base + 1));
    table_.rows.reserve(rows_expected);
    table_.rows.push_back(UNWIND_ROW(0, dwarf::RuleSet::kNone));
    last_address_ = table_.page_base << UNWIND_PAGE_SHIFT;
  }

  // Addresses ascend. A row at the same address replaces the one before.
  void add(std::uint64_t address, std::uint16_t rule) {
    if (rule == last_rule_) return;
    if (address == last_address_ && table_.rows.size() > 1) {
      table_.rows.back() = UNWIND_ROW(address, rule);
    } else {
      close_pages(address >> UNWIND_PAGE_SHIFT);
      table_.rows.push_back(UNWIND_ROW(address, rule));
    }
    last_rule_ = rule;
    last_address_ = address;
  }

  void finish(std::uint64_t end_address) { close_pages(((end_address - 1) >> UNWIND_PAGE_SHIFT) + 1); }

 private:
  void close_pages(std::uint64_t page) {
    while (table_.page_base + table_.pages.size() < page) {
      const auto end = static_cast<std::uint32_t>(table_.rows.size());
      table_.pages.push_back(page_first_ | std::uint64_t{end} << 32);
      page_first_ = end;
    }
  }

  Table& table_;
  std::uint32_t page_first_ = 0;
  std::uint16_t last_rule_ = dwarf::RuleSet::kNone;
  std::uint64_t last_address_;
};

void write_piece(RowWriter& writer, const Piece& piece, const dwarf::CfiFunctions& cfi) {
  const dwarf::CfiFunction& function = cfi.functions[piece.function];
  const auto first = cfi.rows.begin() + function.first_row;
  const auto last = first + function.row_count;
  auto row = first;
  // A piece that starts inside of its function starts with the row that holds there.
  if (const std::uint64_t skipped = piece.start - function.start.value; skipped != 0) {
    row = std::upper_bound(first, last, skipped, [](std::uint64_t offset, const dwarf::CfiRow& each) {
      return offset < each.offset;
    });
    --row;  // the first has offset 0
  }
  for (; row != last; ++row) {
    const std::uint64_t address = function.start.value + row->offset;
    if (address >= piece.end) break;
    writer.add(std::max(address, piece.start), row->rule);
  }
}

void write_rows(const std::vector<Piece>& pieces, const dwarf::CfiFunctions& cfi, Table& table) {
  if (pieces.empty()) return;
  // One byte more: the row that says where the last function ends.
  const std::uint64_t end = pieces.back().end + 1;
  RowWriter writer(table, pieces.front().start, end, cfi.rows.size() + pieces.size() + 2);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    write_piece(writer, pieces[i], cfi);
    if (i + 1 == pieces.size() || pieces[i + 1].start - pieces[i].end > kPadding)
      writer.add(pieces[i].end, dwarf::RuleSet::kNone);
  }
  writer.finish(end);
}

// The functions as pieces of code that can run. Those that cannot are counted.
std::vector<Piece> pieces_of(const dwarf::CfiFunctions& cfi, const std::vector<CodeRange>& ranges,
                             Table& table) {
  std::vector<Piece> pieces;
  pieces.reserve(cfi.functions.size());
  for (std::uint32_t i = 0; i < cfi.functions.size(); ++i) {
    const dwarf::CfiFunction& function = cfi.functions[i];
    const std::uint64_t start = function.start.value;
    const std::uint64_t size = size_within(ranges, start, function.size);
    if (size == 0) {
      ++table.skipped;
      continue;
    }
    pieces.push_back({start, start + size, i});
  }
  return pieces;
}

// Where the kernel enters a program there is no caller: the arguments are where a return address would be.
// Compilers mark that in _start's entry; the loader's, in assembly, has no entry. 64 bytes hold what these do
// before they jump on.
void add_entry(const elf::ElfFile& file, const std::vector<CodeRange>& ranges, std::vector<Piece>& pieces,
               dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi) {
  const std::uint64_t entry = file.entry().value;
  const auto next =
      std::upper_bound(pieces.begin(), pieces.end(), entry,
                       [](std::uint64_t address, const Piece& each) { return address < each.start; });
  if (next != pieces.begin() && std::prev(next)->end > entry) return;
  const std::uint64_t room = next == pieces.end() ? 64 : std::min<std::uint64_t>(64, next->start - entry);
  const std::uint64_t size = size_within(ranges, entry, room);
  if (entry == 0 || size == 0) return;
  unwind_rule end{};
  end.cfa = CFA_END;
  pieces.insert(next, {entry, entry + size, static_cast<std::uint32_t>(cfi.functions.size())});
  cfi.functions.push_back(
      {{entry}, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(cfi.rows.size()), 1});
  cfi.rows.push_back({0, rules.insert(end)});
}

// Both sorted, and together disjoint.
void add_pieces(std::vector<Piece>& pieces, const std::vector<Piece>& more) {
  const auto middle = static_cast<std::ptrdiff_t>(pieces.size());
  pieces.insert(pieces.end(), more.begin(), more.end());
  std::inplace_merge(pieces.begin(), pieces.begin() + middle, pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.start < b.start; });
}

}  // namespace

Result<Table> build_table(const elf::ElfFile& file, const TableOptions& options) {
  if (file.machine() != arch::kElfMachine)
    return fathom::fail(ErrorKind::kUnsupported, fmt::format("{}: not for {}", file.name(), arch::kName));
  if (file.type() != ET_EXEC && file.type() != ET_DYN)
    return fathom::fail(ErrorKind::kUnsupported, file.name() + ": neither an executable nor a shared object");
  const auto ranges = code_ranges(file);
  const FrameSections sections = find_frame_sections(file);
  dwarf::RuleSet rules;
  dwarf::CfiFunctions cfi;
  if (sections.eh_frame) dwarf::compile(*sections.eh_frame, rules, cfi);
  Table table;
  // Go's .debug_frame says the same, but for the places where the stack is another one.
  table.go_functions = compile_go_table(file, ranges, rules, cfi);
  if (sections.debug_frame && table.go_functions == 0) dwarf::compile(*sections.debug_frame, rules, cfi);

  end_at_exception_exits(file, ranges, rules, cfi);
  size_binding_frames(file, rules, cfi);

  auto pieces = pieces_of(cfi, ranges, table);
  table.fdes = pieces.size() - std::min<std::uint64_t>(pieces.size(), table.go_functions);
  table.skipped += cfi.skipped;
  table.unsupported = cfi.unsupported;
  if (options.synthesize) end_at_context_starts(file, ranges, rules, cfi, pieces);
  resolve_overlaps(pieces);
  if (options.synthesize) {
    add_entry(file, ranges, pieces, rules, cfi);
    add_pieces(pieces, end_threads(file, ranges, pieces, rules, cfi));
    const auto made = synthesize(file, ranges, pieces, rules, cfi);
    table.synthesized = made.size();
    add_pieces(pieces, made);
    if (options.guess) {
      const Guesses guesses = guess_functions(file, ranges, pieces, rules, cfi);
      table.guessed = guesses.functions;
      add_pieces(pieces, guesses.pieces);
    }
  }
  write_rows(pieces, cfi, table);
  table.rules = std::move(rules).take();
  return table;
}

}  // namespace fathom::unwind
