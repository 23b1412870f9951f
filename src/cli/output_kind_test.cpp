#include "cli/output_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::cli {
namespace {

using testing::HasSubstr;

constexpr OutputKind kKinds[] = {OutputKind::kPicture, OutputKind::kPage, OutputKind::kText,
                                 OutputKind::kJson, OutputKind::kExported};

TEST(OutputKind, NoCommandWritesAnImage) {
  for (const OutputKind kind : kKinds)
    for (const char* path : {"x.pdf", "a/b.png", "x.PDF", "x.svg.jpeg", "x.gif"}) {
      const auto fitting = fits_ending(path, kind);
      ASSERT_FALSE(fitting) << path;
      EXPECT_EQ(fitting.error().kind, ErrorKind::kUsage);
      EXPECT_THAT(fitting.error().remedy, HasSubstr("FILE.svg"));
    }
}

TEST(OutputKind, EachKindHasItsOwnEndings) {
  struct Row {
    const char* path;
    std::vector<OutputKind> fitting;
  };
  for (const Row& row :
       {Row{"x.svg", {OutputKind::kPicture}}, Row{"x.html", {OutputKind::kPage, OutputKind::kExported}},
        Row{"x.json", {OutputKind::kJson, OutputKind::kExported}}, Row{"x.pb.gz", {OutputKind::kExported}},
        Row{"x.pb", {OutputKind::kExported}}, Row{"x.svg.gz", {OutputKind::kExported}}, Row{"x.fathom", {}}})
    for (const OutputKind kind : kKinds)
      EXPECT_EQ(fits_ending(row.path, kind).has_value(),
                std::ranges::find(row.fitting, kind) != row.fitting.end())
          << row.path << " " << static_cast<int>(kind);
}

TEST(OutputKind, OtherNamesAreFree) {
  for (const OutputKind kind : kKinds)
    for (const char* path :
         {"", "-", "x", "x.txt", "x.md", "x.today", ".svg", "/dev/stdout", "a.svg/x", "/tmp/.json"})
      EXPECT_TRUE(fits_ending(path, kind)) << path;
}

TEST(OutputKind, TheErrorNamesTheWayOut) {
  EXPECT_EQ(fits_ending("a\n.json", OutputKind::kText).error().message,
            "a?.json: this command writes text, not a .json file");
  EXPECT_EQ(fits_ending("a.json", OutputKind::kText).error().remedy, "--json -o FILE.json");
}

}  // namespace
}  // namespace fathom::cli
