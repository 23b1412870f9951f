#include "record/session/heap/code_history.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

const int kAlpha = 0, kBeta = 0;

TEST(CodeHistory, OtherCodeAtTheSameAddressesIsReportedOnce) {
  CodeHistory history;
  EXPECT_FALSE(history.add(0x1000, 0x3000, &kAlpha, 0x1000));
  EXPECT_FALSE(history.add(0x1000, 0x3000, &kAlpha, 0x1000)) << "the same again";
  EXPECT_FALSE(history.add(0x3000, 0x4000, &kBeta, 0x3000)) << "next to it";
  EXPECT_TRUE(history.add(0x2000, 0x3000, &kBeta, 0x1000));
  EXPECT_FALSE(history.add(0x2000, 0x3000, &kBeta, 0x1000));
  EXPECT_FALSE(history.add(0x1000, 0x2000, &kAlpha, 0x1000)) << "what is left of the first";
  EXPECT_TRUE(history.add(0x1000, 0x2000, &kAlpha, 0)) << "the same file, loaded elsewhere";
}

TEST(CodeHistory, AGapInTheMiddleKeepsBothEnds) {
  CodeHistory history;
  history.add(0x1000, 0x5000, &kAlpha, 0);
  EXPECT_TRUE(history.add(0x2000, 0x3000, &kBeta, 0));
  EXPECT_FALSE(history.add(0x3000, 0x5000, &kAlpha, 0));
  EXPECT_TRUE(history.add(0x0, 0x6000, &kBeta, 0));
  EXPECT_FALSE(history.add(0x5000, 0x5000, &kAlpha, 0)) << "nothing";
}

}  // namespace
}  // namespace fathom::session
