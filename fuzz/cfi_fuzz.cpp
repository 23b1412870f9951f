// Any bytes as .eh_frame, as .debug_frame and as code: rows must come out in order and within their function.
// Then the same bytes as a module, walked with registers and a stack from its own bytes: a hostile table must
// not lead the walk astray.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "base/arch/common/prologue.h"
#include "binary/dwarf/compile.h"
#include "binary/unwind/unwinder.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void compile_as(std::span<const std::byte> bytes, fathom::dwarf::FrameKind kind, bool ends_at_zero) {
  using namespace fathom::dwarf;
  RuleSet rules;
  CfiFunctions out;
  compile({bytes, {0x100000}, kind, {0x200000}, ends_at_zero}, rules, out);
  for (const CfiFunction& function : out.functions) {
    check(function.row_count > 0 && function.size > 0);
    check(std::uint64_t{function.first_row} + function.row_count <= out.rows.size());
    const auto rows = std::span(out.rows).subspan(function.first_row, function.row_count);
    check(rows[0].offset == 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      check(rows[i].rule < rules.rules().size() && rows[i].offset < function.size);
      if (i > 0) check(rows[i].offset > rows[i - 1].offset && rows[i].rule != rows[i - 1].rule);
    }
  }
}

void walk(const fathom::elf::ElfFile& file, std::span<const std::byte> bytes) {
  using namespace fathom::unwind;
  auto built = build_table(file);
  if (!built || built->rows.empty()) return;
  const auto table = std::make_shared<const Table>(std::move(*built));
  check(table->pages.size() <= 65537 && table->rules.size() <= UNWIND_MAX_RULES);
  const std::uint64_t first = table->page_base << UNWIND_PAGE_SHIFT;
  AddressSpace space;
  space.add({first}, {first + (std::uint64_t{table->pages.size()} << UNWIND_PAGE_SHIFT)}, 0, table);
  const Unwinder unwinder(space);
  constexpr std::uint64_t kStack = 0x7ffc00000000;
  for (std::uint64_t step = 0; step < 16; ++step) {
    std::vector<fathom::FrameAddress> frames;
    unwinder.unwind({first + step * 0x111, kStack + step * 8, kStack + 64, nullptr, {kStack}, bytes}, frames);
    check(frames.size() <= WALK_MAX_FRAMES);
    (void)find_rule(*table, {first + step * 0x1001});
  }
  (void)function_bounds(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto file = fathom::elf::ElfFile::parse(bytes, "fuzz")) {
    walk(*file, bytes);
    return 0;
  }
  compile_as(bytes, fathom::dwarf::FrameKind::kEhFrame, false);
  compile_as(bytes, fathom::dwarf::FrameKind::kEhFrame, true);
  compile_as(bytes, fathom::dwarf::FrameKind::kDebugFrame, false);
  if (const auto rows = fathom::arch::rows_from_code(bytes)) {
    check(!rows->empty() && rows->front().offset == 0);
    for (std::size_t i = 1; i < rows->size(); ++i) check((*rows)[i].offset > (*rows)[i - 1].offset);
    check(rows->back().offset < bytes.size());
  }
  return 0;
}
