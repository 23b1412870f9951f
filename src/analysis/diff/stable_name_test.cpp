#include "analysis/diff/stable_name.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace fathom::analysis {
namespace {

TEST(StableName, LosesNumbersThatChangeWithEachBuild) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"core::fmt::write::h0123456789abcdef", "core::fmt::write"},
      {"parse.llvm.1234567890123", "parse"},
      {"parse.part.0", "parse"},
      {"parse.cold", "parse"},
      {"parse.cold.12", "parse"},
      {"parse.part.0.cold", "parse"},
      {"parse.constprop.0.isra.1", "parse"},
      {"parse(int) [clone .constprop.0]", "parse(int)"},
      {"parse(int) [clone .part.0] [clone .cold]", "parse(int)"},
      {"app[1f2e3d4c]::run::<alloc[77aa]::string::String>", "app::run::<alloc::string::String>"},
      {"app::serve::{closure#3}", "app::serve::{closure}"},
      {"app::serve::{closure#3}::{closure#0}", "app::serve::{closure}::{closure}"},
      {"run(int)::{lambda(int)#2}::operator()(int) const", "run(int)::{lambda(int)}::operator()(int) const"},
      {"run()::$_7::operator()() const", "run()::$_::operator()() const"},
      {"run()::'lambda3'(int)::operator()(int) const", "run()::'lambda'(int)::operator()(int) const"},
      {"/root/.cargo/registry/src/index.crates.io-6f17d22bba15001f/tokio-1.38.0/src/lib.rs",
       "/root/.cargo/registry/src/index.crates.io/tokio/src/lib.rs"},
      {"jit code 0x7f01a2b3c4", "jit code 0x"},
      {"malloc@@GLIBC_2.2.5", "malloc"},
  };
  for (const auto& [name, stable] : cases) EXPECT_EQ(stable_name(name), stable) << name;
}

TEST(StableName, KeepsPartsThatDistinguishFunctions) {
  for (const std::string name :
       {"std::vector<int>::push_back(int)", "std::vector<long>::push_back(long)", "operator<<", "main",
        "<reth::Pool as Api>::go", "memcpy@plt", "a[12]", "f(int [16])", "sha256_block", "utf8-2", "",
        ".cold", "md5::round0x1", "aes-1.2", "T::operator->"})
    EXPECT_EQ(stable_name(name), name);
}

TEST(StableName, IsStableAndNeverLongerForAnyBytes) {
  std::mt19937 random(7);
  const std::string alphabet = ".:#{}[]<>$_'@-/ 0123456789abcdefhxlambdllvmcoldpart\n\xff";
  for (int i = 0; i < 20'000; ++i) {
    std::string name;
    for (unsigned length = random() % 40; length > 0; --length) name += alphabet[random() % alphabet.size()];
    const std::string stable = stable_name(name);
    EXPECT_LE(stable.size(), name.size());
    EXPECT_EQ(stable_name(stable), stable) << name;
    EXPECT_EQ(stable.empty(), name.empty()) << name;
  }
}

TEST(StableModule, LosesItsVersion) {
  EXPECT_EQ(stable_module("libssl.so.1.1"), "libssl.so");
  EXPECT_EQ(stable_module("libLLVM-14.so.1"), "libLLVM.so");
  EXPECT_EQ(stable_module("libc.so.6"), "libc.so");
  EXPECT_EQ(stable_module("libc-2.36.so"), "libc.so");
  EXPECT_EQ(stable_module("redis-server"), "redis-server");
  EXPECT_EQ(stable_module("[kernel]"), "[kernel]");
  EXPECT_EQ(stable_module("a.so.txt"), "a.so.txt");
}

TEST(StableThread, LosesItsNumbers) {
  EXPECT_EQ(stable_thread("io_thd_3"), "io_thd_#");
  EXPECT_EQ(stable_thread("[thread 4711]"), "[thread #]");
  EXPECT_EQ(stable_thread("redis-server"), "redis-server");
}

}  // namespace
}  // namespace fathom::analysis
