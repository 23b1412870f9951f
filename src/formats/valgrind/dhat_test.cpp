#include "formats/valgrind/dhat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/import/import_testing.h"
#include "formats/valgrind/frame_text.h"
#include "model/exact_count.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kLedger = R"json({"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated",
  "bklt": true, "bkacc": true, "tu": "ms", "cmd": "./ledger 1 1", "pid": 7, "te": 500, "tg": 400, "pps": [
  {"tb": 1000, "tbk": 10, "tl": 99, "mb": 300, "mbk": 3, "gb": 200, "gbk": 2, "eb": 0, "ebk": 0, "fs": [1, 2]},
  {"tb": 4096, "tbk": 1, "mb": 4096, "mbk": 1, "gb": 4096, "gbk": 1, "eb": 4096, "ebk": 1, "fs": [3, 1, 2]}],
  "ftbl": ["[root]", "0x401000: keep (book.c:12)", "0x402000: main (book.c:30)",
           "0x48FC7B9: ??? (in /usr/lib/libstdc++.so.6)"]})json";

TEST(Dhat, EveryCallThePeakAndTheEndAreThere) {
  ASSERT_TRUE(is_dhat(kLedger));
  const model::Profile profile = read_dhat(kLedger, "x").value();
  EXPECT_EQ(total_of(profile, Metric::kHeapAllocated), 5096);
  EXPECT_EQ(total_of(profile, Metric::kHeapAllocations), 11);
  EXPECT_THAT(stacks_of(profile, Metric::kHeapPeak),
              ElementsAre("main;keep 200", "main;keep;[libstdc++.so.6 at 0x48FC7B9] 4096"));
  EXPECT_THAT(stacks_of(profile, Metric::kHeapLive),
              ElementsAre("main;keep;[libstdc++.so.6 at 0x48FC7B9] 4096"));
  EXPECT_EQ(profile.heap.heaps[0].peak_bytes, 4296);
  EXPECT_EQ(profile.heap.heaps[0].peak_ns - profile.meta.start_ns, 400'000'000u);
  EXPECT_EQ(profile.strings[profile.processes[0].name], "ledger");
}

TEST(Dhat, WhatIsNoHeapIsCounted) {
  const model::Profile profile = read_dhat(R"json({"dhatFileVersion": 2, "mode": "copy", "verb": "Copied",
    "bklt": false, "pps": [{"tb": 77, "tbk": 2, "fs": [1]}], "ftbl": ["[root]", "0x1: memcpy (m.c:3)"]})json",
                                           "x")
                                     .value();
  EXPECT_EQ(total_of(profile, Metric::kCpu), 77);
  EXPECT_EQ(analysis::unit_of(profile, Metric::kCpu), "bytes");
  EXPECT_TRUE(model::counts_all(profile));
  EXPECT_THAT(profile.quality.notes, ElementsAre(HasSubstr("mode copy (Copied) and no CPU time")));
}

TEST(Dhat, DamageIsSaid) {
  EXPECT_THAT(read_dhat(R"json({"dhatFileVersion": 3})json", "x").error().message,
              HasSubstr("file version 3"));
  EXPECT_THAT(read_dhat(R"json({"dhatFileVersion": 2, "bklt": true, "pps": [{"tb": 1, "fs": [9]}]})json", "x")
                  .error()
                  .message,
              HasSubstr("program point 1 has no sound numbers"));
  EXPECT_THAT(read_dhat(R"json({"dhatFileVersion": 2, "bklt": true, "pps": [{"tb": 1, "eb": 2}]})json", "x")
                  .error()
                  .message,
              HasSubstr("program point 1 has no sound numbers"));
}

TEST(FrameText, HasAPlaceOrAModule) {
  const FrameText rust = parse_frame_text("0x1f: <T as Tr>::run (x) (src/main.rs:12:5)");
  EXPECT_EQ(rust.function, "<T as Tr>::run (x)");
  EXPECT_EQ(rust.file, "src/main.rs");
  EXPECT_EQ(rust.line, 12u);
  EXPECT_EQ(parse_frame_text("[root]").function, "[root]");
  EXPECT_EQ(parse_frame_text("0x2: ???").function, "[0x2]");
  EXPECT_EQ(parse_frame_text("0x2: f(int)").function, "f(int)");
  EXPECT_EQ(parse_frame_text("").function, "[unknown]");
}

}  // namespace
}  // namespace fathom::formats
