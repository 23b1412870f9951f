#include "analysis/spans/span_set.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/stable_sort.h"
#include "model/marks.h"

namespace fathom::analysis {
namespace {

// Phases as spans of no thread: they are of the whole program.
std::vector<std::pair<std::string, SpanPart>> phases(const model::Profile& profile) {
  std::vector<std::pair<std::string, SpanPart>> spans;
  const std::uint64_t start = profile.meta.start_ns, end = profile.meta.end_ns;
  const auto at = [&](double seconds) {
    const double ns = std::min(seconds * 1e9, 9e18);
    return std::min(end, start + std::min(static_cast<std::uint64_t>(ns), UINT64_MAX - start));
  };
  for (const model::Phase& phase : model::phases_of(profile)) {
    const SpanPart part{at(phase.from_s), phase.to_s ? at(*phase.to_s) : end, model::kNoThread};
    if (part.to_ns > part.from_ns) spans.emplace_back(phase.name, part);
  }
  return spans;
}

class SpanSorter {
 public:
  SpanSorter(const model::Profile& profile, const Selection& selection)
      : profile_(profile), filter_(profile, selection) {}

  std::vector<SpansOfKind> sort() {
    for (const model::Span& span : profile_.spans) {
      const SpanPart part{span.start_ns, span.end_ns, span.thread};
      if (span.id == 0) {
        add(std::string(profile_.strings[span.name]), span.source, {part});
        continue;
      }
      const std::uint32_t process =
          span.thread == model::kNoThread ? UINT32_MAX : profile_.threads[span.thread.value].process.value;
      joined_[{span.name.value, span.source, process, span.id}].push_back(part);
    }
    for (auto& [key, parts] : joined_)
      add(std::string(profile_.strings[{std::get<0>(key)}]), std::get<1>(key), std::move(parts));
    for (auto& [name, part] : phases(profile_)) add(name, model::SpanSource::kMark, {part});

    std::vector<SpansOfKind> kinds;
    for (auto& [key, kind] : kinds_) {
      stable_sort_rows(kind.spans, {}, &WholeSpan::start_ns);
      kinds.push_back(std::move(kind));
    }
    const auto time = [](const SpansOfKind& kind) {
      double ns = 0;
      for (const WholeSpan& span : kind.spans) ns += static_cast<double>(span.length_ns());
      return ns;
    };
    stable_sort_rows(kinds, [&](const auto& a, const auto& b) { return time(a) > time(b); });
    return kinds;
  }

 private:
  void add(const std::string& name, model::SpanSource source, std::vector<SpanPart> parts) {
    stable_sort_rows(parts, {}, &SpanPart::from_ns);
    WholeSpan span;
    span.start_ns = parts.front().from_ns;
    span.end_ns = 0;
    span.is_seen = true;
    for (const SpanPart& part : parts) {
      span.end_ns = std::max(span.end_ns, part.to_ns);
      span.is_seen = span.is_seen && part.thread != model::kNoThread;
    }
    SpansOfKind& kind = kinds_[{name, source}];
    kind.name = name;
    kind.source = source;
    const model::ThreadId thread = parts.front().thread;
    if (!filter_.takes_time(span.start_ns) || (thread != model::kNoThread && !filter_.takes_thread(thread))) {
      ++kind.outside_selection;
      return;
    }
    // Of a span without a thread only the length is asked, and its clock may be another one.
    if (span.is_seen && (span.start_ns < profile_.meta.start_ns || span.end_ns > profile_.meta.end_ns)) {
      ++kind.cut;
      return;
    }
    // Parts that overlap would count twice.
    std::uint64_t at = 0;
    for (SpanPart& part : parts) {
      part.from_ns = std::max(part.from_ns, at);
      part.to_ns = std::max(part.to_ns, part.from_ns);
      at = part.to_ns;
    }
    span.parts = std::move(parts);
    kind.spans.push_back(std::move(span));
  }

  const model::Profile& profile_;
  const Filter filter_;
  std::map<std::tuple<std::uint32_t, model::SpanSource, std::uint32_t, std::uint64_t>, std::vector<SpanPart>>
      joined_;
  std::map<std::pair<std::string, model::SpanSource>, SpansOfKind> kinds_;
};

}  // namespace

std::vector<SpansOfKind> find_spans(const model::Profile& profile, const Selection& selection) {
  return SpanSorter(profile, selection).sort();
}

}  // namespace fathom::analysis
