#include "attach/allocators/nameless/mimalloc_code.h"
#include "attach/inject/trial/library_trial.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "attach/inject/trial/library_questions.h"
#include "attach/inject/trial/trial_testing.h"
#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "linux/process/testing_namespaces.h"

namespace fathom::inject {
namespace {

using allocators::nameless::MimallocCode;
using allocators::nameless::Role;

// Names of functions with this role.
std::set<std::string> names_for(Role role) {
  switch (role) {
    case Role::kMalloc:
      return {"mi_malloc", "malloc", "mi_new_nothrow", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t"};
    case Role::kZalloc:
      return {"mi_zalloc"};
    case Role::kNew:
      return {"mi_new", "_Znwm", "_Znam"};
    case Role::kFree:
      return {"mi_free",        "free", "cfree", "mi_cfree", "mi_free_size", "mi_free_size_aligned",
              "mi_free_aligned"};
    case Role::kCalloc:
      return {"mi_calloc", "calloc", "mi_calloc_aligned"};
    case Role::kMallocn:
      return {"mi_mallocn"};
    case Role::kRealloc:
      return {"mi_realloc", "realloc", "mi_rezalloc", "mi_reallocf"};
    case Role::kReallocAligned:
      return {"mi_realloc_aligned", "mi_rezalloc_aligned", "mi_realloc_aligned_at"};
    case Role::kReallocarray:
      return {"mi_reallocn", "mi_reallocarray", "mi_recalloc", "reallocarray"};
    case Role::kMallocAligned:
      return {"mi_malloc_aligned", "mi_malloc_aligned_at", "mi_new_aligned_nothrow",
              "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t"};
    case Role::kZallocAligned:
      return {"mi_zalloc_aligned", "mi_zalloc_aligned_at"};
    case Role::kNewAligned:
      return {"mi_new_aligned", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t"};
    case Role::kPosixMemalign:
      return {"mi_posix_memalign", "posix_memalign"};
    case Role::kAlignedAlloc:
      return {"mi_aligned_alloc", "mi_memalign", "aligned_alloc", "memalign"};
    case Role::kValloc:
      return {"mi_valloc", "valloc", "mi_pvalloc", "pvalloc"};
    default:
      return {};
  }
}

Result<LibraryTrial> trial_of(const std::string& path) {
  const auto stripped = elf::ModuleFile::open(path);
  if (!stripped) return tl::unexpected<Error>(stripped.error());
  auto code = MimallocCode::find(stripped->elf());
  if (!code) return tl::unexpected<Error>(code.error());
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return try_library(fd.get(), stripped->elf(), *code, mimalloc_questions(), 0);
}

void expect_entries_of(const std::string& twin, const std::string& path,
                       const std::vector<std::string>& at_least) {
  SCOPED_TRACE(path);
  FATHOM_NEEDS_NAMESPACES();
  expect_entries(twin, trial_of(path), names_for, at_least);
}

#ifdef USES_MIMALLOC
std::vector<std::string> called_by(const std::string& form) {
  if (form.starts_with("rust"))
    return {"mi_malloc_aligned", "mi_zalloc_aligned", "mi_realloc_aligned", "mi_free"};
  if (form.starts_with("own"))
    return {"mi_malloc", "mi_calloc", "mi_malloc_aligned", "mi_zalloc", "mi_realloc", "mi_free"};
  if (form.find("cpp") != std::string::npos) return {"malloc", "realloc", "free", "_Znwm"};
  return {"malloc", "calloc", "realloc", "free"};
}

// Every build: the compilers at each optimization level, in each form of program.
void expect_all(std::string_view begin) {
  std::istringstream forms(MIMALLOC_FORMS);
  int count = 0;
  for (std::string form; forms >> form;) {
    if (!form.starts_with(begin) || form.ends_with("_heaps")) continue;
    ++count;
    expect_entries_of(USES_MIMALLOC + form, USES_MIMALLOC + form + "_stripped", called_by(form));
    if (testing::Test::IsSkipped()) return;
  }
  if (count == 0)
    GTEST_SKIP() << "needs " << (begin == "rust" ? "rustc" : "clang") << ", which is not installed";
}
TEST(MimallocTrial, OfProgramsThatCallItByItsOwnNamesBuiltByGcc) {
  expect_all("own_gcc");
}
TEST(MimallocTrial, OfProgramsThatCallItByItsOwnNamesBuiltByClang) {
  expect_all("own_clang");
}
TEST(MimallocTrial, OfProgramsThatCallItAsMallocBuiltByGcc) {
  expect_all("all_gcc");
}
TEST(MimallocTrial, OfProgramsThatCallItAsMallocBuiltByClang) {
  expect_all("all_clang");
}
TEST(MimallocTrial, OfProgramsInRust) {
  expect_all("rust");
}

// mi_heap_realloc frees blocks that no hook would see.
TEST(MimallocTrial, AProgramThatCallsFunctionsWithAHeapArgumentIsRejected) {
  FATHOM_NEEDS_NAMESPACES();
  const auto found = trial_of(USES_MIMALLOC "own_gcc_O2_heaps_stripped");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(found.error().message, testing::HasSubstr("the program calls a function of it"));
}

TEST(MimallocTrial, AProgramThatInlinedItIsRejected) {
  FATHOM_NEEDS_NAMESPACES();
  const auto found = trial_of(USES_MIMALLOC "mixed_stripped");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kUnsupported);
  // Which of the two is found first depends on the compiler.
  EXPECT_THAT(found.error().message,
              testing::AnyOf(testing::HasSubstr("the program calls a function of it"),
                             testing::HasSubstr("its code is mixed with the program's")));
}
#else
TEST(MimallocTrial, OfProgramsThatCallItByItsOwnNamesBuiltByGcc) {
  GTEST_SKIP() << "needs the source of mimalloc, which is not unpacked";
}
#endif

// An external program and a stripped copy of it, both named in the environment, and the functions that it
// calls.
TEST(MimallocTrial, OfAnExternalProgram) {
  const char *twin = std::getenv("FATHOM_MIMALLOC_TWIN"), *stripped = std::getenv("FATHOM_MIMALLOC_STRIPPED");
  if (twin == nullptr || stripped == nullptr)
    GTEST_SKIP() << "FATHOM_MIMALLOC_TWIN and FATHOM_MIMALLOC_STRIPPED name none";
  expect_entries_of(twin, stripped, {});
}

}  // namespace
}  // namespace fathom::inject
