#include "cli/drawn_output.h"

#include <gtest/gtest.h>

namespace fathom::cli {
namespace {

TEST(DrawnOutput, TheEndingSaysTheKind) {
  struct Row {
    const char *output, *recording, *file;
  };
  for (const Row& row : std::initializer_list<Row>{{"run.fathom", "run.fathom", ""},
                                                   {"run", "run", ""},
                                                   {"a.b/run", "a.b/run", ""},
                                                   {"reth-1.2.3", "reth-1.2.3", ""},
                                                   {"run.svg", "run.fathom", "run.svg"},
                                                   {"d/run.html", "d/run.fathom", "d/run.html"},
                                                   {"profile.json.gz", "profile.fathom", "profile.json.gz"},
                                                   {"x.speedscope.json", "x.fathom", "x.speedscope.json"},
                                                   {"cpu.pb.gz", "cpu.fathom", "cpu.pb.gz"},
                                                   {".svg", ".svg", ""}}) {
    const auto split = split_output(row.output);
    ASSERT_TRUE(split.has_value()) << row.output;
    EXPECT_EQ(split->recording, row.recording) << row.output;
    EXPECT_EQ(split->file, row.file) << row.output;
  }
}

TEST(DrawnOutput, AKindThatCannotBeWrittenIsRefused) {
  for (const char* output : {"perf.data", "x.perf", "x.pdf", "x.png", "x.fathom.gz", "x.txt"}) {
    const auto split = split_output(output);
    ASSERT_FALSE(split.has_value()) << output;
    EXPECT_EQ(split.error().kind, ErrorKind::kUsage);
    EXPECT_NE(split.error().remedy, "");
  }
}

}  // namespace
}  // namespace fathom::cli
