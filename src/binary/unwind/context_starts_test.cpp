#include "binary/unwind/context_starts.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <ucontext.h>

#include <array>
#include <string_view>

#include "binary/elf/module_file.h"
#include "binary/unwind/testing_module.h"

namespace fathom::unwind {
namespace {

using testing::bytes;
using testing::kCode;
using testing::SectionBuilder;

// A function of 0x20 bytes, then the code in question, which has unwind information as if it were called.
Table table_of_code(const std::vector<std::byte>& code, std::uint64_t size) {
  std::vector<std::byte> all(0x20, std::byte{0x90});
  all.insert(all.end(), code.begin(), code.end());
  all.resize(0x100, std::byte{0x90});
  SectionBuilder frames;
  const auto cie = frames.cie();
  frames.fde(cie, kCode, 0x20, {});
  frames.fde(cie, kCode + 0x20, size, {});
  return testing::table_of({.eh_frame = frames.raw(), .code = all});
}

TEST(ContextStarts, WalksEndAtTheReturnAddressWithoutACaller) {
  // glibc: mov %rbx,%rsp; pop %rdi or mov (%rsp),%rdi; test; je; call setcontext; mov; call exit; hlt
  const auto popping = bytes({0x48, 0x89, 0xdc, 0x5f, 0x48, 0x85, 0xff, 0x74, 8, 0xe8, 0,   0,
                              0,    0,    0x48, 0x89, 0xc7, 0xe8, 0,    0,    0, 0,    0xf4});
  const auto loading = bytes({0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74, 8, 0xe8,
                              0,    0,    0,    0,    0x48, 0x89, 0xc7, 0xe8, 0,    0,    0,    0, 0xf4});
  for (const auto& code : {popping, loading}) {
    const auto table = table_of_code(code, code.size());
    EXPECT_EQ(find_rule(table, {kCode + 0x1e})->cfa, CFA_SP) << "the function before";
    EXPECT_EQ(find_rule(table, {kCode + 0x1f})->cfa, CFA_END) << "where the return address is looked up";
    for (std::uint64_t at = 0x20; at < 0x20 + code.size() - 1; ++at)
      EXPECT_EQ(find_rule(table, {kCode + at})->cfa, CFA_END) << at;
  }
}

TEST(ContextStarts, ThoseOfBoostStandBehindTheirTrampoline) {
  const auto code = bytes({0xc3, 0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0, 0xf4});
  const auto table = table_of_code(code, code.size());
  EXPECT_EQ(find_rule(table, {kCode + 0x20 + 1})->cfa, CFA_SP);
  EXPECT_EQ(find_rule(table, {kCode + 0x20 + 3})->cfa, CFA_END);
  EXPECT_EQ(find_rule(table, {kCode + 0x20 + 11})->cfa, CFA_END);
}

TEST(ContextStarts, OtherCodeThatTakesAStackIsLeftAlone) {
  for (const auto& code : {bytes({0x48, 0x89, 0xdc, 0x5b, 0xc3}), bytes({0x55, 0xff, 0xe3, 0x90, 0xf4}),
                           bytes({0x48, 0x89, 0xdc, 0x5f, 0x48, 0x85, 0xff, 0x74, 8, 0xc3})}) {
    const auto table = table_of_code(code, 0x10);
    for (std::uint64_t at = 0x1f; at < 0x30; ++at)
      EXPECT_EQ(find_rule(table, {kCode + at})->cfa, CFA_SP) << at;
  }
}

// The C library of this very program, stripped as it is: what makecontext wrote where a return address lies.
TEST(ContextStarts, TheCLibrarysIsFound) {
  std::array<char, 16384> stack{};
  ucontext_t context{};
  ASSERT_EQ(::getcontext(&context), 0);
  context.uc_stack.ss_sp = stack.data();
  context.uc_stack.ss_size = stack.size();
  ::makecontext(
      &context, [] {}, 0);
  const auto top = reinterpret_cast<const std::uint64_t*>(context.uc_mcontext.gregs[REG_RSP]);
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(*top), &info) == 0 ||
      std::string_view(info.dli_fname).find("libc") == std::string_view::npos)
    GTEST_SKIP() << "needs a C library of its own file, and this program holds it";
  const auto library = elf::ModuleFile::open(info.dli_fname).value();
  const auto table = build_table(library.elf()).value();
  const std::uint64_t start = *top - reinterpret_cast<std::uint64_t>(info.dli_fbase);
  EXPECT_EQ(find_rule(table, {start - 1})->cfa, CFA_END);
}

}  // namespace
}  // namespace fathom::unwind
