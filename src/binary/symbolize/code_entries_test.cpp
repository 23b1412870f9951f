#include "binary/symbolize/code_entries.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/fd.h"
#include "binary/symbolize/dies.h"
#include "binary/symbolize/testing_fixtures.h"

namespace fathom::symbolize {
namespace {

bool is_scope(int tag, EntryScopes scopes) {
  if (tag == DW_TAG_namespace || tag == DW_TAG_module) return true;
  return scopes == EntryScopes::kAll &&
         (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || tag == DW_TAG_class_type ||
          tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type);
}

// The same by libdw, entry by entry.
void collect(Dwarf_Die parent, EntryScopes scopes, std::vector<std::uint64_t>& found) {
  Dwarf_Die child;
  for (int more = dwarf_child(&parent, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram &&
        (dwarf_hasattr(&child, DW_AT_low_pc) || dwarf_hasattr(&child, DW_AT_ranges)))
      found.push_back(dwarf_dieoffset(&child));
    if (is_scope(tag, scopes)) collect(child, scopes, found);
  }
}

std::optional<std::vector<std::uint64_t>> functions_of(const EntrySections& sections, std::uint64_t unit,
                                                       EntryScopes scopes) {
  const auto entries = CodeEntries::open(sections, unit);
  return entries ? entries->functions(scopes) : std::nullopt;
}

struct Module {
  explicit Module(const std::string& path)
      : file(elf::ModuleFile::open(path).value()), fd(::open(path.c_str(), O_RDONLY)) {
    info = file.elf().contents(*file.elf().section(".debug_info")).value();
    abbreviations = file.elf().contents(*file.elf().section(".debug_abbrev")).value();
    dwarf = dwarf_begin(fd.get(), DWARF_C_READ);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() { dwarf_end(dwarf); }
  EntrySections sections() const { return {info.bytes(), abbreviations.bytes()}; }
  std::vector<Dwarf_Die> units() const {
    std::vector<Dwarf_Die> units;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) units.push_back(die);
    return units;
  }

  elf::ModuleFile file;
  Fd fd;
  elf::SectionData info, abbreviations;
  Dwarf* dwarf = nullptr;
};

std::uint64_t header_of(Dwarf_Die unit) {
  return dwarf_dieoffset(&unit) - dwarf_cuoffset(&unit);
}

TEST(CodeEntries, AreTheSameAsByLibdw) {
  std::size_t units = 0, functions = 0;
  for (const std::string& path : {fixture("dwarf5"), fixture("dwarf4"), fixture("clang")}) {
    const Module module(path);
    for (const Dwarf_Die& unit : module.units()) {
      for (const auto scopes : {EntryScopes::kTop, EntryScopes::kAll}) {
        std::vector<std::uint64_t> expected;
        collect(unit, scopes, expected);
        const auto found = functions_of(module.sections(), header_of(unit), scopes);
        ASSERT_TRUE(found) << path << " unit at " << header_of(unit);
        EXPECT_EQ(*found, expected) << path << " unit at " << header_of(unit);
        functions += found->size();
      }
      ++units;
    }
  }
  EXPECT_GE(units, 4u);
  EXPECT_GT(functions, 20u);
}

// As libdw's entries say it: a call, then what is inlined into it.
void collect_inlined(Dwarf_Die parent, std::vector<InlinedEntry>& found) {
  Dwarf_Die child;
  for (int more = dwarf_child(&parent, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    const int tag = dwarf_tag(&child);
    const auto number = found.size();
    if (tag == DW_TAG_inlined_subroutine) found.push_back({dwarf_dieoffset(&child), 0});
    if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
        tag == DW_TAG_catch_block)
      collect_inlined(child, found);
    if (tag == DW_TAG_inlined_subroutine) found[number].after = static_cast<std::uint32_t>(found.size());
  }
}

TEST(CodeEntries, InlinedCallsAreTheSameAsByLibdw) {
  std::size_t calls = 0, into_another = 0;
  for (const std::string& path : {fixture("dwarf5"), fixture("dwarf4"), fixture("clang")}) {
    const Module module(path);
    for (const Dwarf_Die& unit : module.units()) {
      const auto entries = CodeEntries::open(module.sections(), header_of(unit)).value();
      const auto functions = entries.functions(EntryScopes::kTop).value();
      for (const std::uint64_t function : functions) {
        Dwarf_Die die;
        ASSERT_NE(dwarf_offdie(module.dwarf, function, &die), nullptr);
        std::vector<InlinedEntry> expected;
        collect_inlined(die, expected);
        const auto found = entries.inlined(function, 1 << 20);
        ASSERT_TRUE(found) << path << " function at " << function;
        ASSERT_EQ(found->size(), expected.size()) << path << " function at " << function;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ((*found)[i].offset, expected[i].offset);
          EXPECT_EQ((*found)[i].after, expected[i].after);
          into_another += expected[i].after > i + 1 ? 1 : 0;
        }
        calls += expected.size();
        if (expected.size() > 1) {
          EXPECT_EQ(entries.inlined(function, 1)->size(), 1u);
        }
      }
    }
  }
  EXPECT_GT(calls, 50u);
  EXPECT_GT(into_another, 10u);
}

TEST(CodeEntries, DamagedBytesEndAndStayInside) {
  const Module module(fixture("dwarf5"));
  const auto units = module.units();
  const auto whole = module.sections();
  std::mt19937 random(1);
  std::size_t refused = 0, read = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::byte> info(whole.info.begin(), whole.info.end());
    std::vector<std::byte> abbreviations(whole.abbreviations.begin(), whole.abbreviations.end());
    for (int i = 0; i < 3; ++i) {
      auto& hit = random() % 2 ? info : abbreviations;
      hit[random() % hit.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) info.resize(random() % info.size());
    const auto entries = CodeEntries::open({info, abbreviations}, header_of(units[random() % units.size()]));
    const auto found =
        entries ? entries->functions(random() % 2 ? EntryScopes::kTop : EntryScopes::kAll) : std::nullopt;
    for (int i = 0; entries && i < 20; ++i) {
      const auto calls = entries->inlined(random() % (whole.info.size() + 10), 100);
      for (std::size_t j = 0; calls && j < calls->size(); ++j) {
        EXPECT_LT((*calls)[j].offset, info.size());
        EXPECT_GT((*calls)[j].after, j);
        EXPECT_LE((*calls)[j].after, calls->size());
      }
    }
    if (!found) {
      ++refused;
      continue;
    }
    ++read;
    EXPECT_TRUE(std::ranges::is_sorted(*found));
    for (const std::uint64_t offset : *found) EXPECT_LT(offset, info.size());
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(read, 100u);
}

// A unit of version 5 with one abbreviation of a compilation unit (1) and one of a function with code and a sibling (2).
std::vector<std::byte> hand_made(std::uint32_t sibling) {
  std::vector<std::byte> out;
  const auto put = [&](std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
  };
  put(5, 2), put(DW_UT_compile, 1), put(8, 1), put(0, 4);
  put(1, 1);                                   // at 12: the unit
  put(2, 1), put(0x1000, 8), put(sibling, 4);  // at 13: a function with children
  put(2, 1), put(0x1100, 8), put(0, 4);        // at 26: a function inside
  put(0, 1), put(0, 1), put(0, 1);             // the ends of their children, and of the unit's
  std::vector<std::byte> whole;
  for (int i = 0; i < 4; ++i) whole.push_back(static_cast<std::byte>(out.size() >> (8 * i)));
  whole.insert(whole.end(), out.begin(), out.end());
  return whole;
}
std::vector<std::byte> abbreviations() {
  std::vector<std::byte> out;
  for (const int each :
       std::initializer_list<int>{1, DW_TAG_compile_unit, 1, 0, 0, 2, DW_TAG_subprogram, 1, DW_AT_low_pc,
                                  DW_FORM_addr, DW_AT_sibling, DW_FORM_ref4, 0, 0, 0})
    out.push_back(static_cast<std::byte>(each));
  return out;
}

TEST(CodeEntries, ASiblingIsFollowedForwardOnly) {
  const auto table = abbreviations();
  EXPECT_EQ(functions_of({hand_made(41), table}, 0, EntryScopes::kTop), (std::vector<std::uint64_t>{13}));
  EXPECT_EQ(functions_of({hand_made(41), table}, 0, EntryScopes::kAll), (std::vector<std::uint64_t>{13, 26}));
  EXPECT_EQ(functions_of({hand_made(0), table}, 0, EntryScopes::kTop), (std::vector<std::uint64_t>{13}));
  EXPECT_FALSE(functions_of({hand_made(13), table}, 0, EntryScopes::kTop)) << "to itself: for ever";
  EXPECT_FALSE(functions_of({hand_made(100), table}, 0, EntryScopes::kTop)) << "out of the unit";
}

TEST(CodeEntries, AFormOfUnknownLengthIsRefused) {
  auto table = abbreviations();
  table[9] = std::byte{0x7f};
  EXPECT_FALSE(functions_of({hand_made(41), table}, 0, EntryScopes::kTop));
}

}  // namespace
}  // namespace fathom::symbolize
