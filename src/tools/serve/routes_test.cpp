#include "tools/serve/routes.h"

#include <gtest/gtest.h>

namespace fathom::serve {
namespace {

using Kind = Route::Kind;

TEST(Routes, WhatScrapersAskFor) {
  struct Case {
    const char* asked;
    Kind kind;
    const char* target;
    Cost cost;
    std::uint64_t seconds;
    bool as_text;
  };
  const Case cases[] = {
      {"/", Kind::kIndex, "", Cost::kCpu, 0, false},
      {"/sd", Kind::kDiscovery, "", Cost::kCpu, 0, false},
      {"/metrics", Kind::kMetrics, "", Cost::kCpu, 0, false},
      {"/p/reth/metrics", Kind::kMetrics, "reth", Cost::kCpu, 0, false},
      // Alloy: 14 s of CPU time, and the others as they are since the start.
      {"/debug/pprof/profile?seconds=14", Kind::kProfile, "", Cost::kCpu, 14, false},
      {"/debug/pprof/allocs", Kind::kProfile, "", Cost::kAllocs, 0, false},
      {"/debug/pprof/block", Kind::kProfile, "", Cost::kBlock, 0, false},
      {"/p/reth/debug/pprof/mutex?seconds=5", Kind::kProfile, "reth", Cost::kMutex, 5, false},
      {"/p/reth/debug/pprof/heap", Kind::kProfile, "reth", Cost::kHeap, 0, false},
      {"/debug/pprof/profile", Kind::kProfile, "", Cost::kCpu, 30, false},  // as Go: 30 s
      {"/debug/pprof/block?debug=1", Kind::kProfile, "", Cost::kBlock, 0, true},
      {"/debug/pprof/block?debug=0&seconds=2", Kind::kProfile, "", Cost::kBlock, 2, false},
      {"/p/reth/debug/pprof/symbol", Kind::kSymbol, "reth", Cost::kCpu, 0, false},
      {"/debug/pprof/", Kind::kPprofIndex, "", Cost::kCpu, 0, false},
      {"/debug/pprof", Kind::kPprofIndex, "", Cost::kCpu, 0, false},
      {"/p/a%2Eb/metrics", Kind::kMetrics, "a.b", Cost::kCpu, 0, false},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.asked);
    const Route route = route_of(each.asked);
    EXPECT_EQ(route.kind, each.kind);
    EXPECT_EQ(route.target, each.target);
    if (each.kind != Kind::kProfile) continue;
    EXPECT_EQ(route.cost, each.cost);
    EXPECT_EQ(route.seconds, each.seconds);
    EXPECT_EQ(route.as_text, each.as_text);
  }
}

TEST(Routes, WhatIsNotServed) {
  // The command line, the environment and memory of a process never are.
  for (const char* asked :
       {"/debug/pprof/cmdline", "/debug/pprof/goroutine", "/debug/pprof/trace", "/debug/pprofile",
        "/debug/pprof/profile/x", "/p/reth", "/p//metrics", "/p/%/metrics", "/p/%4/metrics", "/p/%zz/metrics",
        "/metrics/", "/sd/x", "", "x", "/p/reth/sd", "/../metrics"}) {
    SCOPED_TRACE(asked);
    EXPECT_EQ(route_of(asked).kind, Kind::kUnknown);
  }
}

TEST(Routes, WrongNumbersAreRefusedAsGoRefusesThem) {
  for (const char* query : {"seconds=0", "seconds=-1", "seconds=x", "seconds=", "seconds=1.5", "seconds=301",
                            "seconds=99999999999999999999", "seconds=%zz", "debug=x", "debug="}) {
    SCOPED_TRACE(query);
    const Route route = route_of(std::string("/debug/pprof/block?") + query);
    EXPECT_EQ(route.kind, Kind::kWrong);
    EXPECT_FALSE(route.problem.empty());
  }
  EXPECT_EQ(route_of("/debug/pprof/heap?debug=1&seconds=2").problem,
            "\"debug\" and \"seconds\" are incompatible");
}

TEST(Routes, AnyBytesAreARouteOrNone) {
  std::string text = "/p/reth/debug/pprof/profile?seconds=14&debug=1";
  for (std::size_t i = 0; i < text.size(); ++i)
    for (int byte = 0; byte < 256; ++byte) {
      std::string other = text;
      other[i] = static_cast<char>(byte);
      (void)route_of(other);
      (void)route_of(other.substr(0, i));
    }
}

}  // namespace
}  // namespace fathom::serve
