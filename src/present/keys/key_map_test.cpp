#include "present/keys/key_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

namespace fathom::present {
namespace {

using testing::HasSubstr;

constexpr std::array kSurfaceList = {Surface::kPage, Surface::kPicture, Surface::kTui, Surface::kTop,
                                     Surface::kWatch};

// "/" searches on the page and filters in `fathom top`: one name, which each surface words for itself.
TEST(KeyMap, AKeyMeansTheSameEverywhere) {
  std::map<std::string, std::string> meaning;
  for (const Surface surface : kSurfaceList) {
    EXPECT_FALSE(keys_of(surface).empty());
    for (const KeyRow& row : keys_of(surface)) {
      if (row.name == "-") continue;
      for (const std::string_view key : row.keys) {
        const auto [found, added] = meaning.try_emplace(std::string(key), row.name);
        EXPECT_EQ(found->second, row.name) << key;
      }
    }
  }
}

TEST(KeyMap, AKeyHasOneMeaningOnASurface) {
  for (const Surface surface : kSurfaceList) {
    std::map<std::string, int> rows;
    for (const KeyRow& row : keys_of(surface))
      for (const std::string_view key : row.keys) EXPECT_EQ(++rows[std::string(key)], 1) << key;
  }
}

TEST(KeyMap, ASurfaceHasOnlyTheKeysOfItsColumn) {
  EXPECT_EQ(action_of(Surface::kPage, "m"), "metric");
  EXPECT_EQ(action_of(Surface::kTui, "N"), "previous");
  EXPECT_EQ(action_of(Surface::kTop, "g"), "");
  EXPECT_EQ(action_of(Surface::kPicture, "q"), "");
  EXPECT_EQ(action_of_byte(Surface::kWatch, ' '), "pause");
  EXPECT_EQ(action_of(Surface::kTui, "arrows"), "") << "a row of the help alone";
}

TEST(KeyMap, HelpAndFooterAreMadeFromTheTable) {
  const std::string help = keys_help(Surface::kTui);
  EXPECT_THAT(help, HasSubstr("\n  1 ... 0    answer, flat, callers"));
  EXPECT_THAT(help, HasSubstr("\n  p N        previous match\n"));
  EXPECT_EQ(keys_line(Surface::kTop), "/ f filter  x all  m metric  o order  s save  Space freeze  q quit");
}

}  // namespace
}  // namespace fathom::present
