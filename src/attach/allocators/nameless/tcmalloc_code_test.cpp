#include "attach/allocators/nameless/tcmalloc_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attach/allocators/find.h"
#include "attach/allocators/nameless/damaged_testing.h"
#include "attach/allocators/nameless/twin_testing.h"
#include "binary/elf/module_file.h"

namespace fathom::allocators::nameless {
namespace {

#ifdef USES_TCMALLOC
TEST(TcmallocCode, HasItsFunctionsAmongItsCandidatesAndNoneOfTheProgram) {
  for (const std::string form : {"own_gcc_O2", "own_gcc_static", "own_gcc_fixed", "own_gcc_full"}) {
    SCOPED_TRACE(form);
    auto functions = functions_of(USES_TCMALLOC + form);
    const auto stripped = elf::ModuleFile::open(USES_TCMALLOC + form + "_stripped");
    ASSERT_TRUE(stripped);
    auto code = TcmallocCode::find(stripped->elf());
    ASSERT_TRUE(code) << code.error().message;
    const auto candidates = code->candidates();
    for (const char* name : {"tc_malloc", "tc_free", "tc_calloc", "tc_realloc", "tc_memalign", "tc_new",
                             "tc_delete_sized", "tc_malloc_skip_new_handler"})
      EXPECT_TRUE(holds(candidates, functions.at(name))) << name;
    for (const char* name : {"main", "make"}) EXPECT_FALSE(holds(candidates, functions.at(name))) << name;
  }
}

// What the library alone comes to is no way in, whatever it does to a block.
TEST(TcmallocCode, ReportsTheFunctionsThatTheProgramCalls) {
  for (const std::string form : {"own_gcc_static", "own_gcc_fixed", "own_gcc_full"}) {
    SCOPED_TRACE(form);
    auto functions = functions_of(USES_TCMALLOC + form);
    const auto stripped = elf::ModuleFile::open(USES_TCMALLOC + form + "_stripped");
    ASSERT_TRUE(stripped);
    auto code = TcmallocCode::find(stripped->elf());
    ASSERT_TRUE(code) << code.error().message;
    const auto ways = code->ways_in(addresses_of(code->candidates()));
    ASSERT_TRUE(ways) << ways.error().message;
    for (const char* name : {"tc_malloc", "tc_free", "tc_free_sized", "tc_valloc", "tc_new_nothrow",
                             "tc_malloc_skip_new_handler"})
      EXPECT_TRUE(holds(ways->entries, functions.at(name))) << name;
    for (const char* name : {"_ZN8tcmallocL21invoke_hooks_and_freeEPv",
                             "_ZN8tcmalloc24allocate_full_malloc_oomEm", "_ZN8tcmalloc13cpp_throw_oomEm"})
      EXPECT_FALSE(holds(ways->entries, functions.at(name))) << name;
    for (const CodeRange& range : ways->own_code)
      for (const char* name : {"main", "make"})
        EXPECT_FALSE(functions.at(name) >= range.start && functions.at(name) < range.end) << name;
  }
}

TEST(TcmallocCode, AStrippedProgramIsKnownToHaveIt) {
  for (const std::string form : {"c_gcc_O2", "cpp_gcc_O2", "own_gcc_static"}) {
    SCOPED_TRACE(form);
    const auto stripped = elf::ModuleFile::open(USES_TCMALLOC + form + "_stripped");
    ASSERT_TRUE(stripped);
    const Found found = find(stripped->elf(), nullptr);
    ASSERT_EQ(found.unseen.size(), 1u);
    EXPECT_EQ(found.unseen.front().kind, Kind::kTcmalloc);
    EXPECT_TRUE(found.unseen.front().label.starts_with("tcmalloc 2.")) << found.unseen.front().label;
  }
}

// Without section headers nothing says where its functions stand.
TEST(TcmallocCode, WithoutSectionHeadersItIsRefused) {
  const auto whole = elf::ModuleFile::open(USES_TCMALLOC "c_gcc_O2_stripped");
  ASSERT_TRUE(whole);
  const auto bytes = whole->elf().bytes();
  std::vector<std::byte> without(bytes.begin(), bytes.end());
  for (const std::size_t field : {0x28, 0x3c})  // e_shoff, e_shnum and e_shstrndx
    std::fill_n(without.begin() + static_cast<std::ptrdiff_t>(field), field == 0x28 ? 8 : 4, std::byte{0});
  const auto file = elf::ElfFile::parse(without, "without");
  ASSERT_TRUE(file);
  const auto found = TcmallocCode::find(*file);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(found.error().message, testing::HasSubstr("has no name here either"));
}

TEST(TcmallocCode, DamagedFilesAreReadOrRefused) {
  const auto whole = elf::ModuleFile::open(USES_TCMALLOC "own_gcc_O2_stripped");
  ASSERT_TRUE(whole);
  for (const auto& damaged : damaged_copies(whole->elf().bytes(), 200)) {
    const auto file = elf::ElfFile::parse(damaged, "damaged");
    if (!file) continue;
    auto code = TcmallocCode::find(*file);
    if (code) (void)code->ways_in(addresses_of(code->candidates()));
  }
}
#else
TEST(TcmallocCode, HasItsFunctionsAmongItsCandidatesAndNoneOfTheProgram) {
  GTEST_SKIP() << "needs libtcmalloc.a of libgoogle-perftools-dev, which is not installed";
}
#endif

TEST(TcmallocCode, AProgramWithoutItHasNone) {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const auto found = TcmallocCode::find(file->elf());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::allocators::nameless
