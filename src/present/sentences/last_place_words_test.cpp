#include "present/sentences/last_place_words.h"

#include <gtest/gtest.h>

namespace fathom::present {
namespace {

using analysis::EndReason;
using analysis::LastPlace;
using Frame = model::FatalSignal::Frame;

TEST(LastPlaceWords, NameTheOwnFunctionAndWhatItCalled) {
  const Frame parse{"shop::parse(std::string const&)", "server", "/home/me/src/request.cpp", 40};
  const Frame copy{"memcpy", "libc.so.6", "", 0};
  EXPECT_EQ(last_place_words({EndReason::kNullPointer, copy, parse}, false),
            " in memcpy below shop::parse (request.cpp:40)");
  EXPECT_EQ(last_place_words({EndReason::kNullPointer, copy, parse}, true), " in shop::parse");
  EXPECT_EQ(last_place_words({EndReason::kNullPointer, parse, parse}, false),
            " in shop::parse (request.cpp:40)");
  EXPECT_EQ(last_place_words({EndReason::kNone, copy, std::nullopt}, false), " in memcpy");
  EXPECT_EQ(last_place_words({EndReason::kHeapDamaged, copy, parse}, false),
            " in shop::parse (request.cpp:40)");
  EXPECT_EQ(last_place_words({}, false), "");
}

TEST(LastPlaceWords, EveryReasonHasWords) {
  const model::FatalSignal signal{.signal = 11, .code = 1, .address = 8, .sender_pid = 12};
  for (int i = 0; i <= static_cast<int>(EndReason::kSent); ++i)
    EXPECT_NE(end_reason_words(signal, static_cast<EndReason>(i)), "") << i;
  EXPECT_EQ(end_reason_words(signal, EndReason::kNullPointer), "a null pointer (address 0x8)");
  EXPECT_EQ(end_reason_words({.signal = 15, .sender_pid = 12}, EndReason::kSent), "sent by process 12");
  EXPECT_EQ(end_reason_words({.signal = 6}, EndReason::kNone), "");
}

}  // namespace
}  // namespace fathom::present
