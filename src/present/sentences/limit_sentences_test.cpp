#include "present/sentences/limit_sentences.h"

#include <gtest/gtest.h>

namespace fathom::present {
namespace {

using Kind = model::CountedLimit::Kind;

TEST(LimitSentences, NameWhatIsNearAndWhatFailsThen) {
  model::Profile profile;
  model::Process& process = profile.processes.emplace_back();
  process.pid = 12;
  process.name = profile.strings.intern("server");
  EXPECT_EQ(limits_line(profile), "");
  model::put_counted_limits({12, {{Kind::kMappings, 48'313, 65'530}, {Kind::kDescriptors, 100, 256}}},
                            profile.meta.facts);
  EXPECT_EQ(limits_line(profile),
            "Limits: server (pid 12) reached 48,313 of 65,530 mappings (74 %); at the limit "
            "(vm.max_map_count) mmap and thread creation fail.");
  model::put_counted_limits({12, {{Kind::kDescriptors, 100, 256}}}, profile.meta.facts);
  EXPECT_EQ(limits_line(profile), "") << "39 % is far from the limit";
}

TEST(LimitSentences, ARemedyDoublesTheLimitOfThatProcess) {
  EXPECT_EQ(limit_remedy({Kind::kMappings, 48'313, 65'530}, 12), "sysctl -w vm.max_map_count=131072");
  EXPECT_EQ(limit_remedy({Kind::kDescriptors, 250, 256}, 12),
            "prlimit --nofile=512 --pid 12, or LimitNOFILE= in its unit");
  for (int kind = 0; kind <= static_cast<int>(Kind::kCommitted); ++kind) {
    const model::CountedLimit limit{static_cast<Kind>(kind), UINT64_MAX - 1, UINT64_MAX};
    EXPECT_NE(limit_remedy(limit, 12), "");
    EXPECT_NE(limit_text(limit), "");
    EXPECT_NE(limit_consequence(limit.kind), "");
  }
}

TEST(LimitSentences, OfMemoryAreBytesAndOfOthersCounts) {
  for (const Kind kind : {Kind::kLockedMemory, Kind::kAddressSpace, Kind::kCommitted})
    EXPECT_EQ(limit_text({kind, 1 << 20, 2 << 20}).find("1.0 MiB of 2.0 MiB of "), 0U)
        << limit_text({kind, 1 << 20, 2 << 20});
  for (const Kind kind : {Kind::kMappings, Kind::kDescriptors, Kind::kTasks})
    EXPECT_EQ(limit_text({kind, 1000, 2000}).find("1,000 of 2,000 "), 0U) << limit_text({kind, 1000, 2000});
}

}  // namespace
}  // namespace fathom::present
