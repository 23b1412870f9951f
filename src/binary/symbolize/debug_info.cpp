#include "binary/symbolize/debug_info.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "binary/symbolize/code_entries.h"
#include "binary/symbolize/dies.h"
#include "binary/symbolize/dwarf_file.h"
#include "binary/symbolize/function_names.h"
#include "binary/symbolize/line_program.h"
#include "binary/symbolize/split_units.h"
#include "binary/symbolize/unit_index.h"

namespace fathom::symbolize {
namespace {

// What compilers write stays far below; what is beyond costs names, not memory or time.
constexpr std::size_t kMostRangesOfFunction = 4096;
constexpr std::size_t kMostInlinesOfFunction = 1 << 20;
constexpr int kMostOverlaps = 16;

// DW_AT_GNU_discriminator, of a call that was inlined: GCC and LLVM write it, and no header of elfutils names it.
constexpr unsigned kCallDiscriminator = 0x2136;

// The function entries of a unit, or the calls inlined into a function.
struct Function {
  AddressRange range;
  Dwarf_Die die;
};

// In the order of the entries: a call, then the calls inlined into it.
struct Inlined {
  Dwarf_Die die;
  std::uint32_t first_range, range_count;
  std::uint32_t after;  // the first entry that is not inlined into this one
};

struct FunctionTree {
  const void* of = nullptr;  // address of the function's entry
  std::vector<Inlined> calls;
  std::vector<AddressRange> ranges;
};

struct Unit {
  Dwarf_Die die;       // of the unit that has the functions
  Dwarf_Die skeleton;  // of the unit that has ranges and lines; the same one unless the DWARF is split
  std::unique_ptr<SplitUnit> split;
  SiblingWalk walk;
  std::optional<CodeEntries> entries;  // nullopt: libdw's alone are understood
  bool looked_everywhere = false;
  std::vector<Function> functions;  // sorted by start
  bool lines_tried = false;
  std::optional<LineProgram> lines;
  std::unordered_map<std::uint64_t, std::string> call_files;
  bool split_files_tried = false;
  std::optional<LineProgram> split_files;
};

template <class Row, class Start>
auto last_at_or_before(const std::vector<Row>& rows, std::uint64_t address, Start start) {
  return std::upper_bound(rows.begin(), rows.end(), address,
                          [&](std::uint64_t value, const Row& row) { return value < start(row); });
}

}  // namespace

class DebugInfo::Implementation {
 public:
  Implementation(std::unique_ptr<DwarfFile> file, std::uint16_t machine, PointedPaths paths)
      : file_(std::move(file)),
        dwarf_(file_->dwarf()),
        split_(*file_, machine, std::move(paths)),
        lines_{file_->section(".debug_line"), file_->section(".debug_line_str"),
               file_->section(".debug_str")},
        entries_{file_->section(".debug_info"), file_->section(".debug_abbrev")},
        index_(dwarf_) {}
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  std::vector<DebugChain> find(std::span<const ElfAddress> addresses);
  std::vector<std::vector<SourcePlace>> find_places(std::span<const ElfAddress> addresses);
  std::size_t memory_bytes() const;
  void check();
  std::string problem() const {
    const std::string split = split_.problem();
    return file_->problem().empty() || split.empty() ? file_->problem() + split
                                                     : file_->problem() + "; " + split;
  }

 private:
  Unit* unit_at(std::uint64_t address);
  Unit* unit(Dwarf_Off offset);
  void read_functions(Unit& unit, EntryScopes scopes);
  static std::vector<AddressRange> ranges(const Unit& unit, Dwarf_Die& die) {
    return unit.split ? unit.split->ranges(die, kMostRangesOfFunction)
                      : ranges_of(die, kMostRangesOfFunction);
  }
  static void collect_functions(Unit& unit, Dwarf_Die& parent, bool everywhere, int depth);
  const Function* function_at(Unit& unit, std::uint64_t address);
  const FunctionTree& tree_of(Unit& unit, const Function& function);
  void read_inlined(Unit& unit, Dwarf_Die& function);
  void collect_inlined(Unit& unit, Dwarf_Die& parent, int depth);
  LineProgram* lines_of(Unit& unit);
  const LineProgram* split_files_of(Unit& unit);
  const std::string& call_file(Unit& unit, std::uint64_t number);
  template <class Visit>
  void visit_chain(Unit& unit, const Function& function, std::uint64_t address, Visit visit);
  std::vector<std::optional<LineRow>> rows_of(Unit& unit, std::span<const ElfAddress> addresses,
                                              const std::vector<std::size_t>& indexes);

  std::unique_ptr<DwarfFile> file_;
  Dwarf* dwarf_;
  SplitUnits split_;
  LineSections lines_;
  EntrySections entries_;
  UnitIndex index_;
  std::unordered_map<Dwarf_Off, std::unique_ptr<Unit>> units_;
  FunctionTree tree_;  // of the function that was asked last: sorted addresses ask one after the other
  FunctionNames names_;
};

void DebugInfo::Implementation::check() {
  constexpr std::size_t kUnits = 4096, kSplit = 8;
  Dwarf_CU* unit = nullptr;
  std::size_t split = 0;
  for (std::size_t i = 0; i < kUnits && split < kSplit; ++i) {
    Dwarf_CU* next = nullptr;
    std::uint8_t type = 0;
    Dwarf_Die die;
    if (dwarf_get_units(dwarf_, unit, &next, nullptr, &type, &die, nullptr) != 0) break;
    unit = next;
    if (type != DW_UT_skeleton) continue;
    ++split;
    (void)this->unit(dwarf_dieoffset(&die));
  }
}

Unit* DebugInfo::Implementation::unit_at(std::uint64_t address) {
  if (const auto offset = index_.find(address))
    if (Unit* found = unit(*offset)) return found;
  if (!index_.read_ranges_of_units()) return nullptr;
  const auto offset = index_.find(address);
  return offset ? unit(*offset) : nullptr;
}

Unit* DebugInfo::Implementation::unit(Dwarf_Off offset) {
  if (const auto known = units_.find(offset); known != units_.end()) return known->second.get();
  auto& slot = units_[offset];
  Dwarf_Die skeleton;
  if (dwarf_offdie(dwarf_, offset, &skeleton) == nullptr) return nullptr;
  auto split = split_.find(skeleton);
  Dwarf_Die die = split ? split->die : skeleton;
  const bool is_split = split != nullptr;
  slot = std::make_unique<Unit>(
      Unit{die, skeleton, std::move(split), SiblingWalk(die), {}, false, {}, false, {}, {}, false, {}});
  if (!is_split && !entries_.info.empty())
    slot->entries = CodeEntries::open(entries_, dwarf_dieoffset(&die) - dwarf_cuoffset(&die));
  read_functions(*slot, EntryScopes::kTop);
  return slot.get();
}

// By a pass over the unit's bytes; where that does not understand them, by libdw's entries.
void DebugInfo::Implementation::read_functions(Unit& unit, EntryScopes scopes) {
  unit.functions.clear();
  const auto offsets = unit.entries ? unit.entries->functions(scopes) : std::nullopt;
  if (offsets) {
    for (const std::uint64_t offset : *offsets) {
      Dwarf_Die die;
      if (dwarf_offdie(dwarf_, offset, &die) == nullptr) continue;
      for (const auto& range : ranges_of(die, kMostRangesOfFunction)) unit.functions.push_back({range, die});
    }
  } else {
    collect_functions(unit, unit.die, scopes == EntryScopes::kAll, 0);
  }
  std::sort(unit.functions.begin(), unit.functions.end(),
            [](const Function& a, const Function& b) { return a.range.start < b.range.start; });
}

// The code of functions is described at the top of the unit, or in namespaces (Rust). Looking into types and
// functions as well, for nested ones, takes several times as long, and is done only when an address asks for
// it.
void DebugInfo::Implementation::collect_functions(Unit& unit, Dwarf_Die& parent, bool everywhere, int depth) {
  if (depth > kDeepestScope) return;
  for (auto child = SiblingWalk::first_child(parent); child; child = unit.walk.next(*child)) {
    const int tag = dwarf_tag(&*child);
    if (tag == DW_TAG_subprogram)
      for (const auto& range : ranges(unit, *child)) unit.functions.push_back({range, *child});
    const bool holds_functions = tag == DW_TAG_namespace || tag == DW_TAG_module;
    const bool may_hold_functions = tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block ||
                                    tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
                                    tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
    if (holds_functions || (everywhere && may_hold_functions))
      collect_functions(unit, *child, everywhere, depth + 1);
  }
}

const Function* DebugInfo::Implementation::function_at(Unit& unit, std::uint64_t address) {
  for (;;) {
    auto next =
        last_at_or_before(unit.functions, address, [](const Function& row) { return row.range.start; });
    for (int i = 0; i < kMostOverlaps && next != unit.functions.begin(); ++i)
      if ((--next)->range.contains(address)) return &*next;
    if (unit.looked_everywhere) return nullptr;
    unit.looked_everywhere = true;
    read_functions(unit, EntryScopes::kAll);
  }
}

// As read_functions() does it.
void DebugInfo::Implementation::read_inlined(Unit& unit, Dwarf_Die& function) {
  const auto calls =
      unit.entries ? unit.entries->inlined(dwarf_dieoffset(&function), kMostInlinesOfFunction) : std::nullopt;
  if (!calls) return collect_inlined(unit, function, 0);
  for (const InlinedEntry& call : *calls) {
    Dwarf_Die die{};
    std::vector<AddressRange> ranges;
    if (dwarf_offdie(dwarf_, call.offset, &die) != nullptr) ranges = ranges_of(die, kMostRangesOfFunction);
    tree_.calls.push_back({die, static_cast<std::uint32_t>(tree_.ranges.size()),
                           static_cast<std::uint32_t>(ranges.size()), call.after});
    tree_.ranges.insert(tree_.ranges.end(), ranges.begin(), ranges.end());
  }
}

void DebugInfo::Implementation::collect_inlined(Unit& unit, Dwarf_Die& parent, int depth) {
  if (depth > kDeepestScope) return;
  for (auto child = SiblingWalk::first_child(parent); child; child = unit.walk.next(*child)) {
    const int tag = dwarf_tag(&*child);
    if (tag == DW_TAG_inlined_subroutine && tree_.calls.size() < kMostInlinesOfFunction) {
      const auto covered = ranges(unit, *child);
      const auto index = tree_.calls.size();
      tree_.calls.push_back({*child, static_cast<std::uint32_t>(tree_.ranges.size()),
                             static_cast<std::uint32_t>(covered.size()), 0});
      tree_.ranges.insert(tree_.ranges.end(), covered.begin(), covered.end());
      collect_inlined(unit, *child, depth + 1);
      tree_.calls[index].after = static_cast<std::uint32_t>(tree_.calls.size());
    } else if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
      collect_inlined(unit, *child, depth + 1);
    }
  }
}

const FunctionTree& DebugInfo::Implementation::tree_of(Unit& unit, const Function& function) {
  if (tree_.of != function.die.addr) {
    tree_.of = function.die.addr;
    tree_.calls.clear();
    tree_.ranges.clear();
    Dwarf_Die die = function.die;
    read_inlined(unit, die);
  }
  return tree_;
}

LineProgram* DebugInfo::Implementation::lines_of(Unit& unit) {
  if (!unit.lines_tried) {
    unit.lines_tried = true;
    if (const auto offset = unsigned_attribute(unit.skeleton, DW_AT_stmt_list)) {
      auto program =
          LineProgram::parse(lines_, *offset, text_attribute(unit.skeleton, DW_AT_comp_dir).value_or(""),
                             text_attribute(unit.skeleton, DW_AT_name).value_or(""));
      if (program) unit.lines = std::move(*program);
    }
  }
  return unit.lines ? &*unit.lines : nullptr;
}

const std::string& DebugInfo::Implementation::call_file(Unit& unit, std::uint64_t number) {
  const auto [slot, is_new] = unit.call_files.try_emplace(number);
  if (!is_new) return slot->second;
  // A split unit may have a table of files of its own (gcc); where it has none, numbers are those of the skeleton's (clang).
  const bool own_table = unit.split && !unit.split->file->section(".debug_line").empty();
  const LineProgram* lines = own_table ? split_files_of(unit) : lines_of(unit);
  if (lines != nullptr) slot->second = lines->file(number);
  return slot->second;
}

// The table of files of a split unit, which has no program.
const LineProgram* DebugInfo::Implementation::split_files_of(Unit& unit) {
  if (!unit.split_files_tried) {
    unit.split_files_tried = true;
    const DwarfFile& file = *unit.split->file;
    auto table = LineProgram::parse(
        {file.section(".debug_line"), file.section(".debug_line_str"), file.section(".debug_str")},
        unsigned_attribute(unit.die, DW_AT_stmt_list).value_or(0),
        text_attribute(unit.skeleton, DW_AT_comp_dir).value_or(""),
        text_attribute(unit.die, DW_AT_name).value_or(""));
    if (table) unit.split_files = std::move(*table);
  }
  return unit.split_files ? &*unit.split_files : nullptr;
}

// From outside in: the function whose code is at the address, then what was inlined there.
template <class Visit>
void DebugInfo::Implementation::visit_chain(Unit& unit, const Function& function, std::uint64_t address,
                                            Visit visit) {
  Dwarf_Die die = function.die;
  visit(die);
  const FunctionTree& tree = tree_of(unit, function);
  const auto covers = [&](const Inlined& call) {
    for (std::uint32_t j = 0; j < call.range_count; ++j)
      if (tree.ranges[call.first_range + j].contains(address)) return true;
    return false;
  };
  for (std::size_t call = 0; call < tree.calls.size();) {
    if (!covers(tree.calls[call])) {
      call = tree.calls[call].after;
      continue;
    }
    Dwarf_Die inlined = tree.calls[call].die;
    visit(inlined);
    ++call;
  }
}

std::vector<std::optional<LineRow>> DebugInfo::Implementation::rows_of(
    Unit& unit, std::span<const ElfAddress> addresses, const std::vector<std::size_t>& indexes) {
  std::vector<std::uint64_t> wanted;
  for (const auto index : indexes) wanted.push_back(addresses[index].value);
  LineProgram* lines = lines_of(unit);
  return lines != nullptr ? lines->find(wanted) : std::vector<std::optional<LineRow>>(wanted.size());
}

std::vector<DebugChain> DebugInfo::Implementation::find(std::span<const ElfAddress> addresses) {
  std::vector<DebugChain> chains(addresses.size());
  std::map<Unit*, std::vector<std::size_t>> asked;  // indexes into addresses, ascending
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto address = addresses[i].value;
    Unit* unit = unit_at(address);
    if (unit == nullptr) continue;
    asked[unit].push_back(i);
    auto& names = chains[i].names;
    const Function* function = function_at(*unit, address);
    if (function == nullptr) {
      names.emplace_back();
      continue;
    }
    Dwarf_Die die = function->die;
    Dwarf_Addr entry = 0;
    chains[i].entry = {dwarf_entrypc(&die, &entry) == 0 ? entry : function->range.start};
    // The line of each is known where it was called.
    visit_chain(*unit, *function, address, [&](Dwarf_Die& one) {
      if (!names.empty()) {
        names.back().file = call_file(*unit, unsigned_attribute(one, DW_AT_call_file).value_or(0));
        names.back().line = static_cast<std::uint32_t>(unsigned_attribute(one, DW_AT_call_line).value_or(0));
      }
      names.push_back(names_.name_of(one));
    });
  }
  for (const auto& [unit, indexes] : asked) {
    const auto rows = rows_of(*unit, addresses, indexes);
    std::map<std::uint64_t, std::string> files;
    for (std::size_t j = 0; j < indexes.size(); ++j) {
      auto& names = chains[indexes[j]].names;
      if (rows[j]) {
        const auto [file, is_new] = files.try_emplace(rows[j]->file);
        if (is_new) file->second = lines_of(*unit)->file(rows[j]->file);
        names.back().file = file->second;
        names.back().line = rows[j]->line;
      }
      if (names.size() == 1 && names[0].function.empty() && names[0].file.empty())
        names.clear();
      else
        std::reverse(names.begin(), names.end());
    }
  }
  return chains;
}

std::vector<std::vector<SourcePlace>> DebugInfo::Implementation::find_places(
    std::span<const ElfAddress> addresses) {
  std::vector<std::vector<SourcePlace>> chains(addresses.size());
  std::map<Unit*, std::vector<std::size_t>> asked;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    Unit* unit = unit_at(addresses[i].value);
    const Function* function = unit != nullptr ? function_at(*unit, addresses[i].value) : nullptr;
    if (function == nullptr) continue;
    asked[unit].push_back(i);
    auto& places = chains[i];
    visit_chain(*unit, *function, addresses[i].value, [&](Dwarf_Die& one) {
      if (!places.empty()) {
        places.back().line = static_cast<std::uint32_t>(unsigned_attribute(one, DW_AT_call_line).value_or(0));
        places.back().discriminator =
            static_cast<std::uint32_t>(unsigned_attribute(one, kCallDiscriminator).value_or(0));
      }
      places.push_back(names_.place_of(one));
    });
  }
  for (const auto& [unit, indexes] : asked) {
    const auto rows = rows_of(*unit, addresses, indexes);
    for (std::size_t j = 0; j < indexes.size(); ++j) {
      auto& places = chains[indexes[j]];
      if (rows[j]) {
        places.back().line = rows[j]->line;
        places.back().discriminator = rows[j]->discriminator;
      }
      std::reverse(places.begin(), places.end());
    }
  }
  return chains;
}

std::size_t DebugInfo::Implementation::memory_bytes() const {
  std::size_t total = index_.memory_bytes() + tree_.calls.capacity() * sizeof(Inlined) +
                      tree_.ranges.capacity() * sizeof(AddressRange);
  total += file_->memory_bytes() + names_.memory_bytes();
  for (const auto& [offset, unit] : units_) {
    total += 32 * 1024;  // libdw's abbreviations and our table of files, roughly
    if (unit) total += unit->functions.capacity() * sizeof(Function);
    if (unit && unit->split) total += unit->split->file->memory_bytes();
    if (unit && unit->entries) total += unit->entries->memory_bytes();
  }
  return total;
}

DebugInfo::DebugInfo(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
DebugInfo::~DebugInfo() = default;

bool DebugInfo::present(const elf::ElfFile& file) {
  const auto* info = file.debug_section(".debug_info");
  return info != nullptr && info->type != SHT_NOBITS && info->size != 0;
}

Result<std::unique_ptr<DebugInfo>> DebugInfo::open(int fd, const elf::ElfFile& file,
                                                   const PointedPaths& paths) {
  auto dwarf = DwarfFile::open(fd, file, paths);
  if (!dwarf) return tl::unexpected(dwarf.error());
  return std::unique_ptr<DebugInfo>(
      new DebugInfo(std::make_unique<Implementation>(std::move(*dwarf), file.machine(), paths)));
}

void DebugInfo::check() {
  implementation_->check();
}

std::string DebugInfo::problem() const {
  return implementation_->problem();
}

std::vector<DebugChain> DebugInfo::find(std::span<const ElfAddress> addresses) {
  return implementation_->find(addresses);
}

std::vector<std::vector<SourcePlace>> DebugInfo::find_places(std::span<const ElfAddress> addresses) {
  return implementation_->find_places(addresses);
}

std::size_t DebugInfo::memory_bytes() const {
  return implementation_->memory_bytes();
}

}  // namespace fathom::symbolize
