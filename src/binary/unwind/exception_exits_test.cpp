#include "binary/unwind/exception_exits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include "binary/elf/module_file.h"
#include "binary/unwind/testing_module.h"

namespace fathom::unwind {
namespace {

using testing::bytes;
using testing::kCode;
using testing::SectionBuilder;

// push %rbp; mov %rsp,%rbp; call (what overwrites); mov %rdx,%rcx; call (what debuggers stop at); then the exit, and at
// 0x20 another block of the function.
Table table_of_function(std::vector<std::byte> exit) {
  auto code = bytes({0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x48, 0x89, 0xd1, 0xe8, 0, 0, 0, 0});
  code.insert(code.end(), exit.begin(), exit.end());
  code.resize(0x100, std::byte{0x90});
  SectionBuilder frames;
  frames.fde(frames.cie(), kCode, 0x100, {});
  return testing::table_of({.eh_frame = frames.raw(), .code = code});
}

TEST(ExceptionExits, WalksEndFromTheCallThatOverwritesOn) {
  for (const auto& exit : {bytes({0x48, 0x89, 0xcc, 0xc3}), bytes({0x48, 0x89, 0xcc, 0x59, 0xff, 0xe1})}) {
    const auto table = table_of_function(exit);
    EXPECT_EQ(find_rule(table, {kCode + 3})->cfa, CFA_SP);
    EXPECT_EQ(find_rule(table, {kCode + 4})->cfa, CFA_EXCEPTION);
    EXPECT_EQ(find_rule(table, {kCode + 8})->cfa,
              CFA_EXCEPTION);  // where the caller of what overwrites is looked up
    EXPECT_EQ(find_rule(table, {kCode + 0x10 + exit.size()})->cfa, CFA_EXCEPTION);
    EXPECT_EQ(find_rule(table, {kCode + 0x11 + exit.size()})->cfa, CFA_SP);
  }
}

TEST(ExceptionExits, OtherEndsOfFunctionsAreLeftAlone) {
  const auto table = table_of_function(bytes({0x48, 0x89, 0xec, 0xc3}));  // mov %rbp,%rsp; ret
  EXPECT_EQ(find_rule(table, {kCode + 4})->cfa, CFA_SP);
}

// The library that passes on the exceptions of this very program, stripped as it is.
TEST(ExceptionExits, TheLibraryOfGccHasFour) {
  void* raise = ::dlsym(RTLD_DEFAULT, "_Unwind_RaiseException");
  Dl_info info{};
  if (raise == nullptr || ::dladdr(raise, &info) == 0 ||
      std::string(info.dli_fname).find("libgcc_s") == std::string::npos)
    GTEST_SKIP() << "needs exceptions passed on by libgcc_s, and this program was built otherwise";
  const auto file = elf::ModuleFile::open(info.dli_fname).value();
  const auto table = build_table(file.elf()).value();
  for (const char* name :
       {"_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_ForcedUnwind", "_Unwind_Resume_or_Rethrow"}) {
    const auto start = reinterpret_cast<std::uint64_t>(::dlsym(RTLD_DEFAULT, name)) -
                       reinterpret_cast<std::uint64_t>(info.dli_fbase);
    bool ends = false, walks = false;
    for (std::uint64_t at = start; at < start + 0x180; ++at) {
      const auto rule = find_rule(table, {at});
      walks |= rule && (rule->cfa == CFA_SP || rule->cfa == CFA_FP);
    }
    for (std::uint64_t at = start; at < start + 0x400; ++at) {
      const auto rule = find_rule(table, {at});
      ends |= rule && rule->cfa == CFA_EXCEPTION;
    }
    EXPECT_TRUE(ends && walks) << name;
  }
}

}  // namespace
}  // namespace fathom::unwind
