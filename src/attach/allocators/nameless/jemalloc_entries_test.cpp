#include "attach/allocators/nameless/jemalloc_entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attach/allocators/nameless/code_map.h"
#include "attach/allocators/nameless/damaged_testing.h"
#include "binary/elf/module_file.h"

namespace fathom::allocators::nameless {
namespace {

std::map<std::string, std::uint64_t> addresses_in(const elf::ElfFile& file) {
  std::map<std::string, std::uint64_t> found;
  for (const elf::Symbol& symbol : file.symbols(elf::SymbolTable::kSymtab))
    if (symbol.section != 0) found.emplace(std::string(symbol.name), symbol.address.value);
  return found;
}

#ifdef USES_JEMALLOC
const Candidate* at(const JemallocEntries& entries, std::uint64_t address) {
  for (const Candidate& each : entries.candidates)
    if (each.address.value == address) return &each;
  return nullptr;
}

// Compares the findings in the stripped file with the names of its twin.
TEST(JemallocEntries, AreThoseThatTheUnstrippedTwinNames) {
  for (const std::string form : {"pie", "static", "static_pie", "fixed"}) {
    SCOPED_TRACE(form);
    const auto twin = elf::ModuleFile::open(USES_JEMALLOC + form);
    const auto stripped = elf::ModuleFile::open(USES_JEMALLOC + form + "_stripped");
    ASSERT_TRUE(twin && stripped);
    const auto found = find_jemalloc_entries(stripped->elf());
    ASSERT_TRUE(found) << found.error().message;
    auto functions = addresses_in(twin->elf());
    EXPECT_EQ(found->version, "5.3.0");
    for (const std::string name : {"malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc"})
      EXPECT_NE(at(*found, functions.at(name)), nullptr) << name;
    // Separates what the program uses without a label from what the library's own helpers use.
    std::set<std::uint64_t> used;
    for (const char* name : {"calloc", "realloc", "free", "posix_memalign", "aligned_alloc"}) {
      used.insert(functions.at(name));
      EXPECT_GT(at(*found, functions.at(name))->from_program, 0u) << name;
    }
    EXPECT_EQ(at(*found, functions.at("malloc"))->from_program, 0u);
    std::size_t others = 0;
    for (const Candidate& each : found->candidates)
      others += each.from_program != 0 && !used.contains(each.address.value) ? 1 : 0;
    EXPECT_LE(others, 8u);
    for (const Candidate& each : found->candidates) {
      if (each.label == Role::kUnknown) continue;
      EXPECT_EQ(each.address.value, functions.at(std::string(name_of(each.label))));
    }
    ASSERT_NE(found->labelled(Role::kMalloc), nullptr);
    ASSERT_EQ(found->tables.size(), 2u);
    EXPECT_EQ(found->tables[0].value, functions.at("je_sz_size2index_tab"));
    EXPECT_EQ(found->tables[1].value, functions.at("je_sz_index2size_tab"));
    // Nothing of the program is taken for the library's own.
    for (const std::string name : {"main", "make"})
      for (const CodeRange& range : found->own_code)
        EXPECT_FALSE(functions.at(name) >= range.start.value && functions.at(name) < range.end.value) << name;
  }
}

TEST(JemallocEntries, BytesThatLookLikeABranchAreNotTakenForOne) {
  const auto twin = elf::ModuleFile::open(USES_JEMALLOC "fixed");
  ASSERT_TRUE(twin);
  const auto functions = addresses_in(twin->elf());
  const CodeMap code(twin->elf());
  const std::uint64_t inside = functions.at("make") + 1, malloc = functions.at("malloc");
  EXPECT_TRUE(code.may_branch(inside, malloc));
  EXPECT_FALSE(code.may_branch(inside, malloc + 5));
  EXPECT_TRUE(code.may_branch(1, malloc + 5)) << "of code that no function holds nothing is known";
}

TEST(JemallocEntries, DamagedFilesAreReadOrRefused) {
  const auto whole = elf::ModuleFile::open(USES_JEMALLOC "pie_stripped");
  ASSERT_TRUE(whole);
  for (const auto& damaged : damaged_copies(whole->elf().bytes(), 2000)) {
    const auto file = elf::ElfFile::parse(damaged, "damaged");
    if (file) (void)find_jemalloc_entries(*file);
  }
}
#else
TEST(JemallocEntries, AreThoseThatTheUnstrippedTwinNames) {
  GTEST_SKIP() << "needs libjemalloc_pic.a of libjemalloc-dev, which is not installed";
}
#endif

TEST(JemallocEntries, AProgramWithoutItHasNone) {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const auto found = find_jemalloc_entries(file->elf());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
}

// A large program from elsewhere, and a stripped copy of it, both named in the environment: FATHOM_TWIN, FATHOM_STRIPPED.
TEST(JemallocEntries, OfALargeRustProgramAllSixAreLabelled) {
  const char *twin_path = std::getenv("FATHOM_TWIN"), *stripped_path = std::getenv("FATHOM_STRIPPED");
  if (twin_path == nullptr || stripped_path == nullptr)
    GTEST_SKIP() << "FATHOM_TWIN and FATHOM_STRIPPED name none";
  const auto twin = elf::ModuleFile::open(twin_path), stripped = elf::ModuleFile::open(stripped_path);
  ASSERT_TRUE(twin && stripped);
  const auto found = find_jemalloc_entries(stripped->elf());
  ASSERT_TRUE(found) << found.error().message;
  const auto functions = addresses_in(twin->elf());
  for (const Role role :
       {Role::kMalloc, Role::kCalloc, Role::kRealloc, Role::kMallocx, Role::kRallocx, Role::kSdallocx}) {
    const Candidate* entry = found->labelled(role);
    ASSERT_NE(entry, nullptr) << name_of(role);
    EXPECT_EQ(entry->address.value, functions.at("_rjem_" + std::string(name_of(role))));
    EXPECT_EQ(entry->direct, 0u);
  }
}

}  // namespace
}  // namespace fathom::allocators::nameless
