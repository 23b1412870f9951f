#include "analysis/core/last_place.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

using model::FatalSignal;

class LastPlaceOf : public testing::Test {
 protected:
  LastPlaceOf() {
    hand.module("server");
    hand.module("libc.so.6");
    hand.module("libstdc++.so.6");
    const auto process = hand.process(10, "server");
    hand.profile.processes[0].executable = hand.builder.string("/usr/bin/server");
    hand.thread(process, 12, "worker");
  }
  // Functions from the leaf on: "parse" is the program's, "libc.so.6:abort" the C library's.
  FatalSignal aborted(const std::vector<std::string>& functions) const {
    FatalSignal signal{.signal = SIGABRT, .code = SI_TKILL, .sender_pid = 10, .tid = 12};
    for (const std::string& each : functions) {
      const std::size_t colon = each.find(".so.6:");
      if (colon == std::string::npos)
        signal.frames.push_back({each, "server", "", 0});
      else
        signal.frames.push_back({each.substr(colon + 6), each.substr(0, colon + 5), "", 0});
    }
    return signal;
  }
  EndReason reason(const FatalSignal& signal) const { return last_place_of(hand.profile, signal).reason; }

  HandMade hand;
};

TEST_F(LastPlaceOf, AnAbortHasTheReasonThatItsCallersGive) {
  const std::vector<std::pair<std::vector<std::string>, EndReason>> table{
      {{"libc.so.6:malloc_printerr", "libc.so.6:_int_free", "libc.so.6:free", "drop"},
       EndReason::kHeapDamaged},
      {{"libc.so.6:libc@0x8a3c0", "libc.so.6:free", "drop"}, EndReason::kHeapDamaged},
      {{"libc.so.6:__assert_fail_base", "libc.so.6:__assert_fail", "check"}, EndReason::kAssertion},
      {{"libc.so.6:__stack_chk_fail", "copy"}, EndReason::kStackSmashed},
      {{"libc.so.6:__chk_fail", "libc.so.6:__strcpy_chk", "copy"}, EndReason::kBufferOverflow},
      {{"libstdc++.so.6:__cxxabiv1::__terminate(void (*)())", "libstdc++.so.6:std::terminate()",
        "libstdc++.so.6:__cxa_throw", "parse"},
       EndReason::kException},
      {{"libstdc++.so.6:std::terminate()", "parse"}, EndReason::kTerminate},
      {{"libstdc++.so.6:std::terminate()", "libstdc++.so.6:__cxa_pure_virtual", "parse"},
       EndReason::kPureVirtual},
      {{"rust_panic", "std::panicking::begin_panic_handler", "core::panicking::panic_fmt", "parse"},
       EndReason::kRustPanic},
      {{"parse"}, EndReason::kAbort},
      // What the program does before it aborts is no reason.
      {{"parse", "libc.so.6:__assert_fail"}, EndReason::kAbort},
  };
  for (const auto& [functions, expected] : table) {
    std::vector<std::string> whole{"libc.so.6:__pthread_kill_implementation", "libc.so.6:raise",
                                   "libc.so.6:abort"};
    whole.insert(whole.end(), functions.begin(), functions.end());
    EXPECT_EQ(reason(aborted(whole)), expected) << functions[0];
  }
}

TEST_F(LastPlaceOf, TheOwnFunctionIsTheInnermostOfTheProgram) {
  const FatalSignal signal =
      aborted({"libc.so.6:raise", "libc.so.6:abort", "libc.so.6:__assert_fail", "check", "serve", "main"});
  const LastPlace place = last_place_of(hand.profile, signal);
  ASSERT_TRUE(place.own);
  EXPECT_EQ(place.own->function, "check");
  ASSERT_TRUE(place.where);
  EXPECT_EQ(place.where->function, "__assert_fail");
}

TEST_F(LastPlaceOf, AFaultHasTheReasonThatItsAddressGives) {
  FatalSignal fault{.signal = SIGSEGV, .code = SEGV_MAPERR, .stack_pointer = 0x7ffc'0001'0000, .tid = 12};
  fault.address = 8;
  EXPECT_EQ(reason(fault), EndReason::kNullPointer);
  fault.address = fault.stack_pointer - 8;
  EXPECT_EQ(reason(fault), EndReason::kStackOverflow);
  fault.address = fault.stack_pointer - (1 << 20);
  EXPECT_EQ(reason(fault), EndReason::kNone);
  fault.address = 0;
  fault.code = SI_KERNEL;  // an address that is none at all: the kernel does not say which
  EXPECT_EQ(reason(fault), EndReason::kNone);
  EXPECT_EQ(reason({.signal = SIGFPE, .code = FPE_INTDIV, .tid = 12}), EndReason::kDivision);
  EXPECT_EQ(reason({.signal = SIGBUS, .code = BUS_ADRERR, .address = 1 << 20, .tid = 12}),
            EndReason::kFileCut);
}

TEST_F(LastPlaceOf, ASignalOfAnotherProcessIsSent) {
  EXPECT_EQ(reason({.signal = SIGTERM, .code = SI_USER, .sender_pid = 99, .tid = 12}), EndReason::kSent);
  EXPECT_EQ(reason({.signal = SIGTERM, .code = SI_USER, .sender_pid = 10, .tid = 12}), EndReason::kNone);
}

}  // namespace
}  // namespace fathom::analysis
