#include "attach/allocators/nameless/tcmalloc_code.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "attach/inject/trial/library_questions.h"
#include "attach/inject/trial/library_trial.h"
#include "attach/inject/trial/trial_testing.h"
#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "linux/process/testing_namespaces.h"

namespace fathom::inject {
namespace {

#ifdef USES_TCMALLOC
using allocators::nameless::Role;
using allocators::nameless::TcmallocCode;

// Names of functions with this role.
std::set<std::string> tcmalloc_names_for(Role role) {
  switch (role) {
    case Role::kMalloc:
      return {"tc_malloc", "tc_malloc_skip_new_handler", "tc_new_nothrow"};
    case Role::kNew:
      return {"tc_new"};
    case Role::kFree:
      return {"tc_free",           "tc_free_sized",           "tc_delete_sized",          "tc_delete_nothrow",
              "tc_delete_aligned", "tc_delete_sized_aligned", "tc_delete_aligned_nothrow"};
    case Role::kCalloc:
      return {"tc_calloc"};
    case Role::kRealloc:
      return {"tc_realloc"};
    case Role::kMallocAligned:
      return {"tc_new_aligned_nothrow"};
    case Role::kNewAligned:
      return {"tc_new_aligned"};
    case Role::kPosixMemalign:
      return {"tc_posix_memalign"};
    case Role::kAlignedAlloc:
      return {"tc_memalign"};
    case Role::kValloc:
      return {"tc_valloc", "tc_pvalloc"};
    default:
      return {};
  }
}

std::vector<std::string> called_by_tcmalloc(std::string_view form) {
  if (form.starts_with("own"))
    return {"tc_malloc",   "tc_malloc_skip_new_handler",
            "tc_calloc",   "tc_realloc",
            "tc_memalign", "tc_posix_memalign",
            "tc_valloc",   "tc_new_nothrow",
            "tc_free",     "tc_free_sized"};
  if (form.starts_with("cpp"))
    return {"tc_malloc",         "tc_realloc",
            "tc_free",           "tc_new",
            "tc_new_nothrow",    "tc_new_aligned",
            "tc_delete_sized",   "tc_new_aligned_nothrow",
            "tc_delete_nothrow", "tc_delete_aligned_nothrow"};
  return {"tc_malloc", "tc_calloc", "tc_realloc", "tc_free", "tc_memalign", "tc_posix_memalign"};
}

Result<LibraryTrial> tcmalloc_trial_of(const std::string& path) {
  const auto stripped = elf::ModuleFile::open(path);
  if (!stripped) return tl::unexpected<Error>(stripped.error());
  auto code = TcmallocCode::find(stripped->elf());
  if (!code) return tl::unexpected<Error>(code.error());
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return try_library(fd.get(), stripped->elf(), *code, tcmalloc_questions(), 0);
}

// Every build: the compilers at each optimization level, in each form of program.
void expect_all_forms(std::string_view begin) {
  FATHOM_NEEDS_NAMESPACES();
  std::istringstream forms(TCMALLOC_FORMS);
  int count = 0;
  for (std::string form; forms >> form;) {
    if (!form.starts_with(begin)) continue;
    SCOPED_TRACE(form);
    ++count;
    const auto found = tcmalloc_trial_of(USES_TCMALLOC + form + "_stripped");
    expect_entries(USES_TCMALLOC + form, found, tcmalloc_names_for, called_by_tcmalloc(form));
    if (found) {
      EXPECT_EQ(found->trial.unknown, 0u);
    }
  }
  if (count == 0) GTEST_SKIP() << "needs clang, which is not installed";
}
TEST(TcmallocTrial, OfProgramsInCBuiltByGcc) {
  expect_all_forms("c_gcc");
}
TEST(TcmallocTrial, OfProgramsInCBuiltByClang) {
  expect_all_forms("c_clang");
}
TEST(TcmallocTrial, OfProgramsInCppBuiltByGcc) {
  expect_all_forms("cpp_gcc");
}
TEST(TcmallocTrial, OfProgramsInCppBuiltByClang) {
  expect_all_forms("cpp_clang");
}
TEST(TcmallocTrial, OfProgramsThatCallItByItsOwnNamesBuiltByGcc) {
  expect_all_forms("own_gcc");
}
TEST(TcmallocTrial, OfProgramsThatCallItByItsOwnNamesBuiltByClang) {
  expect_all_forms("own_clang");
}

// An external program and a stripped copy of it, both named in the environment; and whether it is one of the
// test programs, by its beginning: "own".
TEST(TcmallocTrial, OfAnExternalProgram) {
  const char *twin = std::getenv("FATHOM_TCMALLOC_TWIN"), *stripped = std::getenv("FATHOM_TCMALLOC_STRIPPED"),
             *form = std::getenv("FATHOM_TCMALLOC_FORM");
  if (twin == nullptr || stripped == nullptr)
    GTEST_SKIP() << "FATHOM_TCMALLOC_TWIN and FATHOM_TCMALLOC_STRIPPED name none";
  FATHOM_NEEDS_NAMESPACES();
  expect_entries(twin, tcmalloc_trial_of(stripped), tcmalloc_names_for,
                 form != nullptr ? called_by_tcmalloc(form) : std::vector<std::string>());
}
#else
TEST(TcmallocTrial, OfProgramsInCBuiltByGcc) {
  GTEST_SKIP() << "needs libtcmalloc.a of libgoogle-perftools-dev, which is not installed";
}
#endif

}  // namespace
}  // namespace fathom::inject
