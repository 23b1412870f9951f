#include "tools/shelf/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fathom::shelf {
namespace {

using testing::HasSubstr;

Recording redis() {
  Recording row;
  row.path = "fathom-profiles/redis-server/a.fathom";
  row.bytes = 3 << 20;
  row.target = "redis-server (pid 7)";
  row.program = "redis-server";
  row.build_id = "abcdef0123456789";
  row.start_unix_ns = 1'772'368'205'000'000'000;
  row.duration_ns = 30'000'000'000;
  row.cpu_ns = 1'500'000'000;
  row.waits = true;
  return row;
}

TEST(ShelfText, ALineSaysWhatARecordingIs) {
  EXPECT_EQ(
      list_text({redis()}, 0),
      "  began (UTC)          program       build             for  CPU time     size  recorded    file\n"
      "  2026-03-01 12:30:05  redis-server  abcdef012345  30.00 s    1.50 s  3.0 MiB  CPU, waits  "
      "fathom-profiles/redis-server/a.fathom\n"
      "1 recording, 3.0 MiB\n");
}

TEST(ShelfText, TagsHaveAColumnIfThereAreAny) {
  Recording tagged = redis();
  tagged.tags = {"v1.2", "before"};
  EXPECT_THAT(list_text({redis(), tagged}, 0), HasSubstr("CPU, waits  v1.2, before  fathom-profiles"));
  EXPECT_THAT(list_text({redis()}, 0), testing::Not(HasSubstr("tags")));
  const auto json = nlohmann::json::parse(list_json({tagged}));
  EXPECT_EQ(json["recordings"][0]["tags"], (std::vector<std::string>{"v1.2", "before"}));
}

TEST(ShelfText, AnEmptyFolderHasNoTable) {
  EXPECT_EQ(list_text({}, 0), "no recordings\n");
}

TEST(ShelfText, WhatIsNotKnownIsADash) {
  Recording row = redis();
  row.cpu_ns = 0;
  row.build_id.clear();
  row.cut = true;
  const std::string text = list_text({row}, 0);
  EXPECT_THAT(text, HasSubstr("redis-server  -      30.00 s         -  3.0 MiB  waits; cut short"));
}

TEST(ShelfText, NamesCannotWriteToTheTerminal) {
  Recording row = redis();
  row.program = "evil\x1b[2J";
  row.path = "a\x1b]0;x\x07.fathom";
  row.problem = "bad\x1b[31m";
  EXPECT_EQ(list_text({row}, 0).find('\x1b'), std::string::npos);
  row.problem.clear();
  EXPECT_EQ(list_text({row}, 0).find('\x1b'), std::string::npos);
  EXPECT_EQ(removal_text({row}, {{0, Removal::Reason::kAge}}, true).find('\x1b'), std::string::npos);
}

TEST(ShelfText, CleaningSaysWhatWentAndWhy) {
  EXPECT_EQ(removal_text({redis(), redis()}, {{0, Removal::Reason::kSize}}, false),
            "would remove fathom-profiles/redis-server/a.fathom  (3.0 MiB, over the size)\n"
            "would remove 1 recording, 3.0 MiB; 1 stay\n");
  EXPECT_EQ(removal_text({redis()}, {}, true), "nothing to remove\n");
}

TEST(ShelfJson, HasTheFactsAndLeavesOutWhatIsNotKnown) {
  Recording row = redis();
  row.build_id.clear();
  const auto json = nlohmann::json::parse(list_json({row}));
  EXPECT_EQ(json["recordings"][0]["program"], "redis-server");
  EXPECT_EQ(json["recordings"][0]["duration_ns"], 30'000'000'000u);
  EXPECT_FALSE(json["recordings"][0].contains("build_id"));
}

}  // namespace
}  // namespace fathom::shelf
