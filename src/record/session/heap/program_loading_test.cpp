#include "record/session/heap/program_loading.h"

#include <gtest/gtest.h>

#include <vector>

namespace fathom::session {
namespace {

bool may_be_loading(const std::vector<std::string_view>& names, std::uint64_t for_ns) {
  return for_ns < loading_limit_ns(names);
}

TEST(ProgramLoading, LastsUntilTheCLibraryIsMapped) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  EXPECT_TRUE(may_be_loading({}, kSecond)) << "in the middle of an exec";
  EXPECT_TRUE(may_be_loading({"sleep", "ld-linux-x86-64.so.2"}, kSecond));
  EXPECT_TRUE(
      may_be_loading({"a_program", "ld-linux-aarch64.so.1", "libstdc++.so.6.0.30", "libm.so.6"}, kSecond));
  EXPECT_FALSE(may_be_loading({"sleep", "ld-linux-x86-64.so.2", "libc.so.6"}, 0));
  EXPECT_FALSE(may_be_loading({"sleep", "ld-2.31.so", "libc-2.31.so"}, 0)) << "before glibc 2.34";
  EXPECT_FALSE(may_be_loading({"program", "ld-musl-x86_64.so.1"}, 0)) << "musl's linker is its C library";
}

TEST(ProgramLoading, IsWaitedForABoundedTime) {
  EXPECT_FALSE(may_be_loading({"static_program"}, 200'000'000));
  EXPECT_TRUE(may_be_loading({"static_program"}, 1'000'000)) << "its linker may come next";
  EXPECT_FALSE(may_be_loading({}, 3'000'000'000));
  EXPECT_FALSE(may_be_loading({"program", "ld-linux-x86-64.so.2"}, 3'000'000'000));
}

}  // namespace
}  // namespace fathom::session
