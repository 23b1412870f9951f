#include "tools/push/server_profiles.h"

#include <algorithm>

#include "analysis/core/selection.h"
#include "base/packed/packer.h"

namespace fathom::push {
namespace {

struct Kind {
  model::Metric metric;
  const char* name;
  bool is_sum;
};
constexpr Kind kKinds[] = {{model::Metric::kCpu, "process_cpu", true},
                           {model::Metric::kOffCpu, "off_cpu", true},
                           {model::Metric::kHeapAllocated, "memory", true},
                           {model::Metric::kHeapLive, "memory", false}};

}  // namespace

Result<std::vector<ServerProfile>> server_profiles(const model::Profile& profile,
                                                   const present::PprofLimits& limits) {
  const std::vector<model::Metric> known = analysis::metrics_in(profile);
  std::vector<ServerProfile> all;
  for (const Kind& kind : kKinds) {
    if (std::ranges::find(known, kind.metric) == known.end()) continue;
    present::PprofOptions options;
    options.selection.metric = kind.metric;
    options.for_server = true;
    Result<std::vector<std::string>> parts = present::write_pprof_parts(profile, options, limits);
    if (!parts && parts.error().kind == ErrorKind::kNotFound) continue;
    if (!parts) return tl::unexpected(parts.error());
    all.push_back({kind.name, kind.is_sum, std::move(*parts)});
  }
  if (all.empty())
    return fail(ErrorKind::kNotFound, "the recording has no CPU time, no waits and no heap to send",
                "fathom report FILE shows what it holds");
  return all;
}

Result<std::string> gzip(std::string_view bytes) {
  packed::Packer packer(packed::Packing::kGzip);
  packer.add(bytes);
  return packer.finish();
}

}  // namespace fathom::push
