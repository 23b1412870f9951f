#include "base/capabilities.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

#include <fstream>
#include <string>
#include <thread>

namespace fathom {
namespace {

// A line of /proc/thread-self/status, as a number.
CapabilitySet in_status(const std::string& name) {
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1), nullptr, 16);
  return ~CapabilitySet{0};
}

TEST(Capabilities, AreThoseThatTheKernelShows) {
  EXPECT_EQ(own_capabilities(), in_status("CapEff"));
}

TEST(Capabilities, WhatIsNotKeptIsGoneFromEverySetOfTheThreadAndOfNoOther) {
  const CapabilitySet before = own_capabilities();
  std::thread([&] {
    ASSERT_TRUE(keep_capabilities(capability(CAP_SYS_NICE) | capability(CAP_BPF)));
    const CapabilitySet kept = before & (capability(CAP_SYS_NICE) | capability(CAP_BPF));
    EXPECT_EQ(own_capabilities(), kept);
    for (const char* set : {"CapEff", "CapPrm"}) EXPECT_EQ(in_status(set), kept) << set;
    for (const char* set : {"CapInh", "CapAmb"}) EXPECT_EQ(in_status(set), 0u) << set;
    if ((before & capability(CAP_SETPCAP)) != 0) {
      EXPECT_EQ(in_status("CapBnd") & ~kept, 0u);
    }
  }).join();
  EXPECT_EQ(own_capabilities(), before);
}

TEST(Capabilities, NothingKeptIsNothingLeft) {
  std::thread([] {
    ASSERT_TRUE(keep_capabilities(0));
    EXPECT_EQ(own_capabilities(), 0u);
    EXPECT_EQ(in_status("CapPrm"), 0u);
    EXPECT_TRUE(keep_capabilities(~CapabilitySet{0})) << "asking for more than there is gives nothing";
    EXPECT_EQ(own_capabilities(), 0u);
  }).join();
}

}  // namespace
}  // namespace fathom
