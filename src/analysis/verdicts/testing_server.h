// For tests of verdicts: a server by hand, and what a verdict says.
#pragma once

#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "analysis/heap/hand_made_heap.h"
#include "analysis/verdicts/heap_verdicts.h"
#include "present/sentences/heap_verdict_sentences.h"

namespace fathom::analysis {

// So many seconds of a server that answers 1000 requests a second, and whatever a test adds to it.
class Server : public HandMadeHeap {
 public:
  explicit Server(model::HeapMode mode = model::HeapMode::kExact, bool from_start = true)
      : HandMadeHeap(mode) {
    app_ = module("server");
    process_ = process(10, "server");
    thread_ = thread(process_, 11, "worker");
    profile.heap.heaps[0].process = process_;
    profile.heap.heaps[0].from_start = from_start;
    request_ = function("handle_request");
  }
  model::HeapSiteId function(const std::string& name) {
    return site(stack({frame(app_, {"main"}), frame(app_, {"caller_of_" + name}), frame(app_, {name})}),
                thread_);
  }
  void second(double requests = 1000) {
    slice();
    row(request_, {requests, requests * 100}, {requests, requests * 100});
    profile.meta.end_ns = profile.heap.slices.back().end_ns;
  }
  void end_program() { profile.processes[process_.value].end_ns = profile.meta.end_ns; }
  void rss(const std::function<double(int)>& value, int seconds) {
    model::Series series{builder.string("memory.rss_anon"), builder.string("bytes"), 10, {}};
    for (int i = 0; i <= seconds; ++i)
      series.points.push_back(
          {profile.meta.start_ns + static_cast<std::uint64_t>(i) * 1'000'000'000, value(i)});
    profile.series.push_back(series);
  }
  std::vector<HeapVerdict> verdicts(const Selection& selection = {}) {
    return judge_heap(profile, selection, HeapSums(profile, selection));
  }
  model::ThreadId worker() const { return thread_; }
  model::ModuleId app() const { return app_; }

 private:
  model::ModuleId app_;
  model::ProcessId process_;
  model::ThreadId thread_;
  model::HeapSiteId request_;
};

inline const HeapVerdict* find(const std::vector<HeapVerdict>& verdicts, HeapVerdictKind kind,
                               const std::string& function = "") {
  for (const HeapVerdict& verdict : verdicts)
    if (verdict.kind == kind && (function.empty() || verdict.function == function)) return &verdict;
  return nullptr;
}
inline std::string all_text(const HeapVerdict& verdict) {
  return fmt::format("{} [{}] {} | {} | {}", present::sentence_of(verdict), to_string(verdict.confidence),
                     fmt::join(present::evidence_of(verdict), "; "),
                     fmt::join(present::doubts_of(verdict), "; "), present::advice_of(verdict));
}
inline double number(const HeapVerdict& verdict, const std::string& name) {
  for (const auto& [key, value] : verdict.numbers)
    if (key == name) return value;
  return NAN;
}

}  // namespace fathom::analysis
