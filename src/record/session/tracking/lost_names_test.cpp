#include "record/session/tracking/lost_names.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::session {
namespace {

TEST(LostNames, NothingLostIsNotMentioned) {
  EXPECT_EQ(LostNames().sentence(), "");
}

TEST(LostNames, AreCountedAndNamedWithTheReason) {
  LostNames lost;
  lost.add("a.so", "ended by signal 11");
  EXPECT_EQ(lost.sentence(),
            "the names of 1 file are missing, as the process that reads them had to be ended: a.so (ended by "
            "signal 11)");
  lost.add("b", "took more than 20 s");
  EXPECT_EQ(lost.sentence(),
            "the names of 2 files are missing, as the process that reads them had to be ended: a.so (ended "
            "by signal 11), b "
            "(took more than 20 s)");
}

TEST(LostNames, ManyAreNotAllNamed) {
  LostNames lost;
  for (int i = 0; i < 100; ++i) lost.add("x", "y");
  EXPECT_TRUE(lost.sentence().starts_with("the names of 100 files are missing"));
  EXPECT_TRUE(lost.sentence().ends_with(" and 95 more"));
}

}  // namespace
}  // namespace fathom::session
