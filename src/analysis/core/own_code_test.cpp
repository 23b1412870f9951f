#include "analysis/core/own_code.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

TEST(OwnCode, IsWhatTheUserCanChange) {
  HandMade hand;
  hand.process(1, "server");
  const auto app = hand.module("server"), libc = hand.module("libc.so.6"), kernel = hand.module("[kernel]"),
             tracer = hand.module("[fathom]");
  hand.profile.modules[kernel.value].kind = model::ModuleKind::kKernel;
  const OwnCode own(hand.profile);
  EXPECT_TRUE(own.is_own("LogParser::parse_line(char const*)", app, "/home/me/slow.cpp"));
  EXPECT_TRUE(own.is_own("LogParser::parse_line(char const*)", app, ""));
  EXPECT_TRUE(own.is_own("main", app, ""));
  EXPECT_FALSE(own.is_own("std::vector<int>::push_back(int)", app, "")) << "the language's library";
  EXPECT_FALSE(own.is_own("helper", app, "/usr/include/c++/12/bits/regex.h"));
  EXPECT_FALSE(own.is_own("serde::de::visit", app, "/home/me/.cargo/registry/src/serde-1.0/src/de.rs"));
  EXPECT_FALSE(own.is_own("tokio::runtime::park", app, "")) << "a runtime";
  EXPECT_FALSE(own.is_own("_start", app, ""));
  EXPECT_FALSE(own.is_own("[server+0x12]", app, "")) << "nobody knows whose it is";
  EXPECT_FALSE(own.is_own("memcpy", libc, ""));
  EXPECT_FALSE(own.is_own("ksys_write", kernel, ""));
  EXPECT_FALSE(own.is_own("(heap tracer)", tracer, ""));
}

// Of a Rust program without lines the crate of main says what is its own.
TEST(OwnCode, OfARustProgramIsTheCrateOfItsMain) {
  HandMade hand;
  hand.process(1, "server");
  const auto app = hand.module("server");
  hand.frame(app, {"anvil::main"});
  const OwnCode own(hand.profile);
  EXPECT_TRUE(own.is_own("anvil::eth::api::execute", app, ""));
  EXPECT_TRUE(own.is_own("anvil_core::types::parse", app, ""));
  EXPECT_FALSE(own.is_own("k256::ecdsa::recover", app, ""));
  EXPECT_FALSE(own.is_own("__KeccakF1600", app, "")) << "C code that was linked in";
}

// Whether main was sampled must not decide whose code the rest is.
TEST(OwnCode, OfARustProgramIsTheCrateThatItsFileIsCalledAfterAlsoIfMainWasNotSampled) {
  for (const bool sampled : {false, true}) {
    HandMade hand;
    auto& row = hand.profile.processes[hand.process(1, "my-node").value];
    row.executable = hand.builder.string("/usr/bin/my-node");
    const auto app = hand.module("my-node");
    hand.frame(app, {"my_node::state::build_root"});
    hand.frame(app, {"<alloc::vec::Vec<u8> as core::clone::Clone>::clone"});
    if (sampled) hand.frame(app, {"launcher::main"});
    const OwnCode own(hand.profile);
    EXPECT_TRUE(own.is_own("my_node::state::build_root", app, "")) << sampled;
    EXPECT_TRUE(own.is_own("my_node_core::add", app, "")) << sampled;
    EXPECT_FALSE(own.is_own("alloy_trie::HashBuilder::add_leaf", app, "")) << sampled;
    EXPECT_FALSE(own.is_own("__KeccakF1600", app, "")) << sampled;
  }
}

// A recording of CPU time and one of waits see different functions of one program.
TEST(OwnCode, OfARustProgramDoesNotDependOnWhatWasSampled) {
  for (const bool waits : {false, true}) {
    HandMade hand;
    auto& row = hand.profile.processes[hand.process(1, "my-node").value];
    row.executable = hand.builder.string("/usr/bin/my-node-0123456789abcdef");
    const auto app = hand.module("my-node-0123456789abcdef");
    hand.frame(app, {"alloy_trie::HashBuilder::add_leaf"});
    hand.frame(app, {"__KeccakF1600"});
    hand.frame(app, {"<alloc::vec::Vec<u8> as core::clone::Clone>::clone"});
    if (waits) hand.frame(app, {"my_node::state::build_root"});
    const OwnCode own(hand.profile);
    EXPECT_TRUE(own.is_own("my_node::state::build_root", app, "")) << waits;
    EXPECT_FALSE(own.is_own("alloy_trie::HashBuilder::add_leaf", app, "")) << waits;
    EXPECT_FALSE(own.is_own("__KeccakF1600", app, "")) << waits;
    EXPECT_FALSE(own.is_own("__KeccakF1600", app, "/src/target/release/build/keccak/out/keccakf.s")) << waits;
    EXPECT_TRUE(own.is_linked_code("__KeccakF1600", app)) << waits;
    EXPECT_FALSE(own.is_linked_code("alloy_trie::HashBuilder::add_leaf", app)) << waits;
  }
}

// The file is called otherwise, and main was not sampled.
TEST(OwnCode, OfARenamedRustProgramIsTheCrateThatItsSymbolTableNames) {
  for (const bool waits : {false, true}) {
    HandMade hand;
    auto& row = hand.profile.processes[hand.process(1, "app").value];
    row.executable = hand.builder.string("/srv/app");
    hand.profile.meta.facts["main_crate./srv/app"] = "my_node";
    hand.profile.meta.facts["main_crate./srv/other"] = "alloy_trie";  // not run here
    const auto app = hand.module("app");
    hand.frame(app, {"alloy_trie::HashBuilder::add_leaf"});
    hand.frame(app, {"<alloc::vec::Vec<u8> as core::clone::Clone>::clone"});
    if (waits) hand.frame(app, {"app::main"});
    const OwnCode own(hand.profile);
    EXPECT_TRUE(own.is_own("my_node::state::build_root", app, "")) << waits;
    EXPECT_TRUE(own.is_own("my_node_core::add", app, "")) << waits;
    EXPECT_FALSE(own.is_own("alloy_trie::HashBuilder::add_leaf", app, "")) << waits;
    EXPECT_FALSE(own.is_own("__KeccakF1600", app, "")) << waits;
    EXPECT_TRUE(own.is_linked_code("__KeccakF1600", app)) << waits;
  }
}

TEST(OwnCode, OfACProgramHasNoLinkedCode) {
  HandMade hand;
  hand.process(1, "server");
  const auto app = hand.module("server");
  hand.frame(app, {"sha256_block_data_order"});
  EXPECT_FALSE(OwnCode(hand.profile).is_linked_code("sha256_block_data_order", app));
  EXPECT_TRUE(OwnCode(hand.profile).is_own("sha256_block_data_order", app, ""));
}

}  // namespace
}  // namespace fathom::analysis
