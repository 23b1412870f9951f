// What a request of the endpoints asks for. Pure; the bytes are a stranger's.
//
//   /                        what there is
//   /sd                      targets for Prometheus' HTTP service discovery
//   /metrics                 all targets
//   /p/NAME/metrics          one target
//   /p/NAME/debug/pprof/X    one target; without /p/NAME the only one
//   .../debug/pprof/symbol   go tool pprof asks for names that a profile lacks, and gives up where there is no answer
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/serve/pulls.h"

namespace fathom::serve {

struct Route {
  enum class Kind : std::uint8_t {
    kIndex,
    kDiscovery,
    kMetrics,
    kPprofIndex,
    kProfile,
    kSymbol,
    kUnknown,
    kWrong
  };
  Kind kind = Kind::kUnknown;
  std::string target = {};  // of /p/NAME; empty: none was named
  Cost cost = Cost::kCpu;
  std::uint64_t seconds = 0;  // 0: since the start
  bool as_text = false;       // debug=1
  std::string problem = {};   // of kWrong: a sentence
};

inline constexpr std::uint64_t kMostPullSeconds = 300, kUsualPullSeconds = 30;

Route route_of(std::string_view request_target);

// "%2F" and the like; false: broken.
bool decode_percent(std::string_view text, std::string& decoded);

}  // namespace fathom::serve
