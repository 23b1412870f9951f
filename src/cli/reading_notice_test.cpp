#include "cli/reading_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace fathom::cli {
namespace {

TEST(ReadingNotice, IsThereWhileAFileIsReadAndGoesAtTheEnd) {
  std::vector<std::string> written;
  std::promise<void> first;
  {
    const ReadingNotice notice("big.folded (37.4 MiB)", std::chrono::milliseconds(1),
                               [&](std::string_view text) {
                                 written.emplace_back(text);
                                 if (written.size() == 1) first.set_value();
                               });
    first.get_future().wait();
  }
  EXPECT_THAT(written.front(), testing::HasSubstr("fathom: reading big.folded (37.4 MiB), "));
  EXPECT_EQ(written.back(), "\r\x1b[K");
}

TEST(ReadingNotice, WhatIsReadQuicklyHasNone) {
  std::vector<std::string> written;
  {
    const ReadingNotice notice("x", std::chrono::hours(1),
                               [&](std::string_view text) { written.emplace_back(text); });
  }
  EXPECT_TRUE(written.empty());
}

}  // namespace
}  // namespace fathom::cli
