// Every way to write down a function's address, in files made by hand, and the whole count in real ones.
#include "attach/allocators/hook_points.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "attach/allocators/nameless/code_map.h"
#include "attach/allocators/testing_libraries.h"
#include "binary/elf/module_file.h"
#include "binary/elf/testing_elf.h"

namespace fathom::allocators {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kCode = 0x10000, kData = 0x20000, kDynamic = 0x30000;
constexpr std::uint64_t kFunction = kCode + 0x800;  // 0x40 bytes

// Code, writable data, and if there are relocations a dynamic section.
class HandMade {
 public:
  explicit HandMade(std::uint16_t type = ET_DYN) : type_(type) {}

  // Bytes in the code, and behind them a rel32 to `target`, as if `behind` bytes followed up to the end of
  // the instruction.
  void reference(std::uint64_t at, std::initializer_list<std::uint8_t> opcode, std::uint64_t target,
                 std::size_t behind = 0) {
    for (const std::uint8_t byte : opcode) code_[at++ - kCode] = std::byte{byte};
    const auto distance = static_cast<std::int32_t>(target - (at + 4 + behind));
    std::memcpy(code_.data() + (at - kCode), &distance, sizeof distance);
  }
  void code(std::uint64_t at, std::uint32_t value) {
    std::memcpy(code_.data() + (at - kCode), &value, sizeof value);
  }
  void data(std::uint64_t at, std::uint64_t value) {
    std::memcpy(data_.data() + (at - kData), &value, sizeof value);
  }
  void relocation(std::uint32_t type, std::uint64_t word, std::int64_t addend, std::uint32_t symbol = 0) {
    elf::testing::put(rela_, Elf64_Rela{word, ELF64_R_INFO(std::uint64_t{symbol}, type), addend});
  }
  void packed_relocations(std::initializer_list<std::uint64_t> entries) {
    for (const std::uint64_t each : entries) elf::testing::put(relr_, each);
  }
  // Numbered from 1. `address` 0: an import.
  void symbol(const char* name, std::uint64_t address) {
    elf::testing::put(symbols_,
                      Elf64_Sym{static_cast<Elf64_Word>(names_.size()), STB_GLOBAL << 4 | STT_FUNC, 0,
                                static_cast<Elf64_Half>(address == 0 ? SHN_UNDEF : 1), address, 0x40});
    elf::testing::put_text(names_, name);
    names_.push_back({});
  }

  HookPoints points(std::vector<CodeRange> own_code = {{{kFunction}, {kFunction + 0x40}}},
                    const BranchCheck& may_branch = {}) {
    elf::testing::ElfBuilder builder(type_);
    builder.segment(PT_LOAD, PF_R | PF_X, kCode, builder.blob(code_));
    builder.segment(PT_LOAD, PF_R | PF_W, kData, builder.blob(data_));
    elf::testing::Bytes tables;
    const auto put_dynamic = [](elf::testing::Bytes& out, std::int64_t tag, std::uint64_t value) {
      elf::testing::put(out, Elf64_Dyn{tag, {value}});
    };
    // The tables behind room for the dynamic section itself.
    const std::uint64_t rela = kDynamic + 0x200, relr = rela + rela_.size(), symbols = relr + relr_.size(),
                        names = symbols + symbols_.size();
    put_dynamic(tables, DT_RELA, rela);
    put_dynamic(tables, DT_RELASZ, rela_.size());
    put_dynamic(tables, 36 /* DT_RELR */, relr_.empty() ? 0 : relr);
    put_dynamic(tables, 35 /* DT_RELRSZ */, relr_.size());
    put_dynamic(tables, DT_SYMTAB, symbols);
    put_dynamic(tables, DT_STRTAB, names);
    put_dynamic(tables, DT_STRSZ, names_.size());
    put_dynamic(tables, DT_NULL, 0);
    tables.resize(0x200);
    for (const auto* part : {&rela_, &relr_, &symbols_, &names_})
      tables.insert(tables.end(), part->begin(), part->end());
    const auto blob = builder.blob(tables);
    builder.segment(PT_LOAD, PF_R, kDynamic, blob);
    builder.segment(PT_DYNAMIC, PF_R, kDynamic, blob);
    const auto symbols_blob = builder.blob(symbols_), names_blob = builder.blob(names_);
    builder.section(".dynstr", SHT_STRTAB, 0, 0, names_blob);
    builder.section(".dynsym", SHT_DYNSYM, 0, 0, symbols_blob, 1, sizeof(Elf64_Sym));
    const auto bytes = builder.build();
    const auto file = elf::ElfFile::parse(bytes, "made by hand");
    EXPECT_TRUE(file);
    Allocator allocator{Kind::kJemalloc, "jemalloc", "", {}, std::move(own_code)};
    allocator.functions.push_back({"malloc", TRACER_MALLOC, {kFunction}, 0x40, std::nullopt});
    const auto all = hook_points_of(*file, allocator, may_branch);
    EXPECT_THAT(all, SizeIs(1));
    return all.at(0);
  }

 private:
  std::uint16_t type_;
  elf::testing::Bytes code_ = elf::testing::Bytes(0x1000, std::byte{0x90}),
                      data_ = elf::testing::Bytes(0x1000);
  elf::testing::Bytes rela_, relr_, symbols_ = elf::testing::Bytes(sizeof(Elf64_Sym)),
                                    names_ = elf::testing::Bytes(1);
};

TEST(HookPoints, CallsJumpsBranchesAndOperandsNameTheFunction) {
  HandMade file;
  EXPECT_EQ(file.points().direct_references, 0U);
  file.reference(kCode + 0x10, {0xe8}, kFunction);              // call
  file.reference(kCode + 0x20, {0xe9}, kFunction);              // jmp
  file.reference(kCode + 0x30, {0x0f, 0x84}, kFunction);        // je
  file.reference(kCode + 0x40, {0x48, 0x8d, 0x05}, kFunction);  // lea function(%rip),%rax
  EXPECT_EQ(file.points().direct_references, 4U);
}

TEST(HookPoints, AnImmediateBehindTheOperandMovesTheEndOfTheInstruction) {
  HandMade file;
  file.reference(kCode + 0x10, {0x80, 0x3d}, kFunction, 1);        // cmpb $imm8,function(%rip)
  file.reference(kCode + 0x20, {0x66, 0x81, 0x3d}, kFunction, 2);  // cmpw $imm16
  file.reference(kCode + 0x30, {0x81, 0x3d}, kFunction, 4);        // cmpl $imm32
  EXPECT_EQ(file.points().direct_references, 3U);
}

TEST(HookPoints, TheFirstAndTheLastBytesOfTheCodeAreLookedAt) {
  HandMade file;
  file.reference(kCode, {0xe8}, kFunction);
  file.reference(kCode + 0x1000 - 5, {0xe9}, kFunction);
  EXPECT_EQ(file.points().direct_references, 2U);
}

TEST(HookPoints, BytesThatNoInstructionCouldHaveBeforeSuchAFieldAreChance) {
  HandMade file;
  file.reference(kCode + 0x10, {0x90}, kFunction);
  file.reference(kCode + 0x20, {0x48}, kFunction);
  EXPECT_EQ(file.points().direct_references, 0U);
}

TEST(HookPoints, CallsFromTheAllocatorsOwnCodeAreNoProgramsCalls) {
  HandMade file;
  file.reference(kCode + 0x10, {0xe8}, kFunction);
  file.reference(kFunction + 0x10, {0xe8}, kFunction);
  file.reference(kCode + 0x900, {0xe8}, kFunction);
  EXPECT_EQ(file.points().direct_references, 2U);
  EXPECT_EQ(file.points({{{kFunction}, {kFunction + 0x200}}}).direct_references, 1U);
  EXPECT_EQ(file.points({}).direct_references, 3U);
}

TEST(HookPoints, BranchesIntoTheFirstBytesFromOutsideAreReported) {
  HandMade file;
  file.reference(kCode + 0x10, {0x0f, 0x85}, kFunction + 3);  // a cold part goes back
  file.reference(kCode + 0x20, {0xe9}, kFunction + 9);
  file.reference(kCode + 0x30, {0xe9}, kFunction + 9);
  file.reference(kCode + 0x40, {0x48, 0x8d, 0x05}, kFunction + 5);  // no branch
  file.reference(kFunction + 0x20, {0xe9}, kFunction + 7);          // its own: a decoder sees that
  file.reference(kCode + 0x50, {0xe9}, kFunction + 30);             // nothing changes that
  EXPECT_THAT(file.points().entered_at, ElementsAre(3, 9));
  EXPECT_EQ(file.points().direct_references, 0U);
}

TEST(HookPoints, BytesThatTheCheckKnowsToBeNoBranchAreNone) {
  HandMade file;
  file.reference(kCode + 0x10, {0x0f, 0x42, 0xe8}, kFunction + 1);  // the end of a cmov, and a comparison
  file.reference(kCode + 0x20, {0xe9}, kFunction + 9);
  std::vector<std::uint64_t> asked;
  const auto points = file.points({}, [&](std::uint64_t, std::uint64_t target) {
    asked.push_back(target - kFunction);
    return target == kFunction + 9;
  });
  EXPECT_THAT(asked, ElementsAre(1, 9));
  EXPECT_THAT(points.entered_at, ElementsAre(9));
}

TEST(HookPoints, ACallOfWhatFollowsAnEndbrIsACallOfTheFunction) {
  HandMade file;
  file.code(kFunction, 0xfa1e0ff3);
  file.reference(kCode + 0x10, {0xe8}, kFunction + 4);
  EXPECT_THAT(file.points().entered_at, IsEmpty());
  EXPECT_EQ(file.points().direct_references, 1U);
}

TEST(HookPoints, ARelativeRelocationMakesASlot) {
  HandMade file;
  file.relocation(R_X86_64_RELATIVE, kData + 0x18, kFunction);
  file.relocation(R_X86_64_RELATIVE, kData + 0x10, kFunction);
  file.relocation(R_X86_64_RELATIVE, kData + 0x20, kFunction + 1);
  file.relocation(R_X86_64_IRELATIVE, kData + 0x28, kFunction);
  EXPECT_THAT(file.points().slots, ElementsAre(ElfAddress{kData + 0x10}, ElfAddress{kData + 0x18}));
}

TEST(HookPoints, ARelocationAgainstASymbolOfTheFileMakesASlot) {
  HandMade file;
  file.symbol("other", kCode);
  file.symbol("malloc", kFunction);
  file.symbol("imported", 0);
  file.relocation(R_X86_64_GLOB_DAT, kData, 0, 2);
  file.relocation(R_X86_64_JUMP_SLOT, kData + 8, 0, 2);
  file.relocation(R_X86_64_64, kData + 16, 0, 2);
  file.relocation(R_X86_64_64, kData + 24, 0x800, 1);  // other + 0x800 is the function as well
  file.relocation(R_X86_64_64, kData + 32, 8, 2);
  file.relocation(R_X86_64_GLOB_DAT, kData + 40, 0, 1);
  file.relocation(R_X86_64_GLOB_DAT, kData + 48, 0, 3);
  file.relocation(R_X86_64_GLOB_DAT, kData + 56, 0, 4000);  // no such symbol
  const HookPoints points = file.points();
  EXPECT_THAT(points.slots, ElementsAre(ElfAddress{kData}, ElfAddress{kData + 8}, ElfAddress{kData + 16},
                                        ElfAddress{kData + 24}));
  EXPECT_TRUE(points.exported);
}

TEST(HookPoints, PackedRelativeRelocationsMakeSlots) {
  HandMade file;
  file.data(kData + 8, kFunction);
  file.data(kData + 16, kFunction);
  file.data(kData + 16 + 63 * 8, kFunction);
  file.data(kData + 0x800, kFunction);  // not named by a relocation
  // The word at 8; of the 63 that follow the first; of the next 63 again the first.
  file.packed_relocations({kData + 8, 1 | 1 << 1, 1 | 1 << 1});
  EXPECT_THAT(file.points().slots,
              ElementsAre(ElfAddress{kData + 8}, ElfAddress{kData + 16}, ElfAddress{kData + 16 + 63 * 8}));
}

TEST(HookPoints, CallsThroughASlotDifferFromLoadsOfIt) {
  HandMade file;
  file.relocation(R_X86_64_RELATIVE, kData + 0x18, kFunction);
  file.reference(kCode + 0x10, {0xff, 0x15}, kData + 0x18);           // call *slot(%rip)
  file.reference(kCode + 0x20, {0xff, 0x25}, kData + 0x18);           // jmp *slot(%rip)
  file.reference(kCode + 0x30, {0x4c, 0x8b, 0x25}, kData + 0x18);     // mov slot(%rip),%r12
  file.reference(kCode + 0x40, {0x48, 0x83, 0x3d}, kData + 0x18, 1);  // cmpq $0,slot(%rip)
  file.reference(kFunction + 0x10, {0xff, 0x15}, kData + 0x18);       // the allocator's own
  const HookPoints points = file.points();
  EXPECT_EQ(points.slot_calls, 2U);
  EXPECT_EQ(points.slot_loads, 2U);
  EXPECT_EQ(points.table_slots, 0U);
  EXPECT_EQ(points.direct_references, 0U);
  EXPECT_FALSE(points.exported);
}

TEST(HookPoints, ASlotThatNoCodeNamesIsPartOfATable) {
  HandMade file;
  file.relocation(R_X86_64_RELATIVE, kData + 0x18, kFunction);
  file.relocation(R_X86_64_RELATIVE, kData + 0x20, kFunction);
  file.relocation(R_X86_64_RELATIVE, kData + 0x28, kFunction);
  file.reference(kCode + 0x10, {0xff, 0x15}, kData + 0x18);
  file.reference(kFunction + 0x10, {0xff, 0x15}, kData + 0x20);  // the allocator names it as well
  EXPECT_THAT(file.points().slots, SizeIs(3));
  EXPECT_EQ(file.points().table_slots, 1U);
}

TEST(HookPoints, InAFileOfFixedAddressPlainNumbersNameTheFunction) {
  HandMade fixed(ET_EXEC), anywhere(ET_DYN);
  for (HandMade* file : {&fixed, &anywhere}) {
    file->code(kCode + 0x11, kFunction);   // mov $function,%edi
    file->data(kData + 0x10, kFunction);   // a pointer in data
    file->data(kData + 0x103, kFunction);  // in a packed structure
  }
  EXPECT_EQ(fixed.points().direct_references, 3U);
  // Where the file is loaded somewhere else these numbers mean nothing.
  EXPECT_EQ(anywhere.points().direct_references, 0U);
}

TEST(HookPoints, InAFileOfFixedAddressAWordThatTheLoaderFillsIsASlotAndCountedOnce) {
  HandMade file(ET_EXEC);
  file.symbol("other", kCode);
  file.relocation(R_X86_64_64, kData + 8, 0x800, 1);
  file.data(kData + 8, kFunction);
  EXPECT_THAT(file.points().slots, SizeIs(1));
  EXPECT_EQ(file.points().direct_references, 0U);
}

TEST(HookPoints, TheyComeInTheOrderOfTheFunctions) {
  HandMade file;
  file.relocation(R_X86_64_RELATIVE, kData, kFunction);
  elf::testing::ElfBuilder builder;
  elf::testing::Bytes code(0x1000, std::byte{0x90});
  builder.segment(PT_LOAD, PF_R | PF_X, kCode, builder.blob(code));
  const auto bytes = builder.build();
  const auto parsed = elf::ElfFile::parse(bytes, "made by hand");
  Allocator allocator{Kind::kOther, "", "", {}, {}};
  for (const std::uint64_t each : {kCode + 0x100, kCode, kCode + 0x100})
    allocator.functions.push_back({"f", TRACER_MALLOC, {each}, 16, std::nullopt});
  EXPECT_THAT(hook_points_of(*parsed, allocator), SizeIs(3));
  allocator.functions.clear();
  EXPECT_THAT(hook_points_of(*parsed, allocator), IsEmpty());
}

// --- whole programs

struct Program {
  elf::ModuleFile file;
  Allocator allocator;
  std::vector<HookPoints> points;
};

Program read(const std::string& path) {
  auto file = elf::ModuleFile::open(path);
  if (!file) throw std::runtime_error(file.error().message);
  auto found = find(file->elf(), nullptr);
  if (found.allocators.empty()) throw std::runtime_error(path + ": no allocator");
  // As a recording does: in a megabyte of code, some bytes look like a branch to any place.
  const nameless::CodeMap code(file->elf());
  auto points = hook_points_of(file->elf(), found.allocators[0], [&](std::uint64_t at, std::uint64_t target) {
    return code.may_branch(at, target);
  });
  return {std::move(*file), std::move(found.allocators[0]), std::move(points)};
}

const HookPoints& of(const Program& program, std::string_view name) {
  for (std::size_t i = 0; i < program.allocator.functions.size(); ++i)
    if (program.allocator.functions[i].name == name) return program.points[i];
  throw std::runtime_error("no " + std::string(name));
}

TEST(HookPoints, AProgramThatCallsThroughItsGotHasSlotsOnly) {
  for (const char* path : {PREFIXED_PROGRAM_SLOTS, PREFIXED_PROGRAM_PACKED}) {
    const Program program = read(path);
    for (const HookPoints& each : program.points) EXPECT_FALSE(each.exported);
    EXPECT_EQ(of(program, "try_malloc").direct_references, 0U) << path;
    EXPECT_EQ(of(program, "try_sdallocx").direct_references, 0U) << path;
    EXPECT_THAT(of(program, "try_malloc").slots, SizeIs(1)) << path;
    // A compiler may load the slot once for two calls.
    EXPECT_GE(of(program, "try_malloc").slot_calls + of(program, "try_malloc").slot_loads, 1U) << path;
    EXPECT_EQ(of(program, "try_sdallocx").slot_calls + of(program, "try_sdallocx").slot_loads, 1U) << path;
    // Called by the allocator itself only: the call in its static function does not count.
    EXPECT_EQ(of(program, "try_mallocx").direct_references, 0U) << path;
    EXPECT_THAT(of(program, "try_mallocx").slots, IsEmpty()) << path;
    // A table of function pointers is a slot too.
    EXPECT_THAT(of(program, "try_realloc").slots, SizeIs(1)) << path;
    EXPECT_EQ(of(program, "try_realloc").table_slots, 1U) << path;
    EXPECT_EQ(of(program, "try_realloc").direct_references, 0U) << path;
    EXPECT_EQ(of(program, "try_malloc").table_slots, 0U) << path;
  }
}

TEST(HookPoints, AProgramThatCallsDirectlyNeedsItsEntriesChanged) {
  const Program program = read(PREFIXED_PROGRAM);
  EXPECT_EQ(of(program, "try_malloc").direct_references, 2U);
  EXPECT_EQ(of(program, "try_sdallocx").direct_references, 1U);
  EXPECT_EQ(of(program, "try_mallocx").direct_references, 0U);
  EXPECT_EQ(of(program, "try_realloc").direct_references, 0U);
}

TEST(HookPoints, AProgramOfFixedAddressNeedsItsEntriesChangedForItsTablesToo) {
  const Program program = read(PREFIXED_PROGRAM_FIXED);
  EXPECT_EQ(of(program, "try_malloc").direct_references, 2U);
  EXPECT_GE(of(program, "try_realloc").direct_references, 1U);
  EXPECT_THAT(of(program, "try_realloc").slots, IsEmpty());
}

TEST(HookPoints, LibrariesExportTheirFunctions) {
  int libraries = 0;
  for (const auto& path : {testing::glibc(), testing::musl(), testing::libjemalloc(), testing::libmimalloc(),
                           testing::libtcmalloc()}) {
    if (!path) continue;
    ++libraries;
    const Program program = read(*path);
    for (std::size_t i = 0; i < program.points.size(); ++i) {
      EXPECT_TRUE(program.points[i].exported) << *path << " " << program.allocator.functions[i].name;
      EXPECT_THAT(program.points[i].entered_at, IsEmpty())
          << *path << " " << program.allocator.functions[i].name;
    }
  }
  EXPECT_GT(libraries, 0);
}

// Section 6 of the study on finding allocators counted these by disassembling everything.
TEST(HookPoints, EachFunctionOfAnvilIsReachedThroughOneSlotAlone) {
  FATHOM_NEEDS(testing::anvil(), "anvil, named by ANVIL");
  const Program program = read(*testing::anvil());
  ASSERT_THAT(program.points, SizeIs(6));
  for (std::size_t i = 0; i < program.points.size(); ++i) {
    const std::string& name = program.allocator.functions[i].name;
    EXPECT_THAT(program.points[i].slots, SizeIs(1)) << name;
    EXPECT_EQ(program.points[i].direct_references, 0U) << name;
    EXPECT_GT(program.points[i].slot_calls, 0U) << name;
    EXPECT_EQ(program.points[i].table_slots, 0U) << name;
    EXPECT_FALSE(program.points[i].exported) << name;
  }
}

}  // namespace
}  // namespace fathom::allocators
