#include "attach/allocators/nameless/mimalloc_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "attach/allocators/find.h"
#include "attach/allocators/nameless/damaged_testing.h"
#include "attach/allocators/nameless/twin_testing.h"
#include "binary/elf/module_file.h"

namespace fathom::allocators::nameless {
namespace {

#ifdef USES_MIMALLOC
const std::vector<std::string> kCalled = {"mi_malloc", "mi_calloc",  "mi_malloc_aligned",
                                          "mi_zalloc", "mi_realloc", "mi_free"};

TEST(MimallocCode, HasThoseThatTheProgramCallsAmongItsCandidates) {
  for (const std::string form : {"own_gcc_O2", "own_gcc_Os", "own_gcc_O2_sections", "own_gcc_O2_static"}) {
    SCOPED_TRACE(form);
    auto functions = functions_of(USES_MIMALLOC + form);
    const auto stripped = elf::ModuleFile::open(USES_MIMALLOC + form + "_stripped");
    ASSERT_TRUE(stripped);
    auto code = MimallocCode::find(stripped->elf());
    ASSERT_TRUE(code) << code.error().message;
    const auto candidates = code->candidates();
    for (const std::string& name : kCalled) EXPECT_TRUE(holds(candidates, functions.at(name))) << name;
    EXPECT_FALSE(holds(candidates, functions.at("main")));
  }
}

// Given all doors but one, that one is what else the program calls; beyond the last door, what it goes on to.
TEST(MimallocCode, ReportsTheOtherFunctionsThatTheProgramCalls) {
  const std::string form = "own_gcc_O2";
  auto functions = functions_of(USES_MIMALLOC + form);
  const auto stripped = elf::ModuleFile::open(USES_MIMALLOC + form + "_stripped");
  ASSERT_TRUE(stripped);
  for (const std::string& left_out : kCalled) {
    SCOPED_TRACE(left_out);
    auto code = MimallocCode::find(stripped->elf());
    ASSERT_TRUE(code) << code.error().message;
    std::vector<ElfAddress> doors;
    for (const std::string& name : kCalled)
      if (name != left_out) doors.push_back(functions.at(name));
    const auto ways = code->ways_in(doors);
    ASSERT_TRUE(ways) << ways.error().message;
    EXPECT_EQ(ways->entries.size(), doors.size());
    EXPECT_FALSE(ways->others.empty());
    if (functions.at(left_out) < std::ranges::max(doors)) {
      EXPECT_TRUE(holds(ways->others, functions.at(left_out)));
    }
    for (const CodeRange& range : ways->own_code)
      for (const char* name : {"main", "make"})
        EXPECT_FALSE(functions.at(name) >= range.start && functions.at(name) < range.end) << name;
  }
}

// The linker leaves out mi_malloc where only that with an alignment is called.
TEST(MimallocCode, IsKnownByTheNamesThatAProgramInRustHas) {
  const auto twin = elf::ModuleFile::open(USES_MIMALLOC "rust_gcc_O2");
  if (!twin) GTEST_SKIP() << "needs rustc, which is not installed";
  const Found found = find(twin->elf(), nullptr);
  const auto it = std::ranges::find(found.allocators, Kind::kMimalloc, &Allocator::kind);
  ASSERT_NE(it, found.allocators.end());
  std::vector<std::string> names;
  for (const Function& each : it->functions) names.push_back(each.name);
  for (const char* name : {"mi_malloc_aligned", "mi_zalloc_aligned", "mi_realloc_aligned", "mi_free"})
    EXPECT_THAT(names, testing::Contains(name));
}

TEST(MimallocCode, DamagedFilesAreReadOrRefused) {
  const auto whole = elf::ModuleFile::open(USES_MIMALLOC "own_gcc_O2_stripped");
  ASSERT_TRUE(whole);
  for (const auto& damaged : damaged_copies(whole->elf().bytes(), 200)) {
    const auto file = elf::ElfFile::parse(damaged, "damaged");
    if (!file) continue;
    auto code = MimallocCode::find(*file);
    if (code) (void)code->ways_in(addresses_of(code->candidates()));
  }
}
#else
TEST(MimallocCode, HasThoseThatTheProgramCallsAmongItsCandidates) {
  GTEST_SKIP() << "needs the source of mimalloc, which is not unpacked";
}
#endif

TEST(MimallocCode, AProgramWithoutItHasNone) {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const auto found = MimallocCode::find(file->elf());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::allocators::nameless
