#include "analysis/spans/keep_spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/core/words.h"
#include "analysis/spans/span_set.h"

namespace fathom::analysis {
namespace {

struct KeptTime {
  std::uint64_t from_ns = 0, to_ns = 0;
};

// Times of one thread, ascending and apart.
class KeptTimes {
 public:
  void add(std::uint64_t from, std::uint64_t to) {
    if (to > from) times_.push_back({from, to});
  }
  void join() {
    std::ranges::sort(times_, {}, &KeptTime::from_ns);
    std::vector<KeptTime> apart;
    for (const KeptTime& time : times_) {
      if (!apart.empty() && time.from_ns <= apart.back().to_ns)
        apart.back().to_ns = std::max(apart.back().to_ns, time.to_ns);
      else
        apart.push_back(time);
    }
    times_ = std::move(apart);
  }
  bool holds(std::uint64_t at) const {
    const auto after = std::ranges::upper_bound(times_, at, {}, &KeptTime::from_ns);
    return after != times_.begin() && at < std::prev(after)->to_ns;
  }
  // visit(from, to) for each part of [from, to) inside.
  template <class Visit>
  void visit(std::uint64_t from, std::uint64_t to, Visit visit) const {
    auto at = std::ranges::upper_bound(times_, from, {}, &KeptTime::from_ns);
    if (at != times_.begin()) --at;
    for (; at != times_.end() && at->from_ns < to; ++at) {
      const std::uint64_t begin = std::max(from, at->from_ns), end = std::min(to, at->to_ns);
      if (end > begin) visit(begin, end);
    }
  }
  std::uint64_t length(std::uint64_t from, std::uint64_t to) const {
    std::uint64_t ns = 0;
    visit(from, to, [&](std::uint64_t begin, std::uint64_t end) { ns += end - begin; });
    return ns;
  }
  bool is_empty() const { return times_.empty(); }
  void add(const KeptTimes& others) {
    times_.insert(times_.end(), others.times_.begin(), others.times_.end());
  }

 private:
  std::vector<KeptTime> times_;
};

// Times of all threads. Spans without a thread are of each thread: stored once, because there may be many of both.
class KeptThreads {
 public:
  explicit KeptThreads(std::size_t threads) : own_(threads) {}
  void add(const SpanPart& part) {
    (part.thread == model::kNoThread ? of_all_ : own_[part.thread.value]).add(part.from_ns, part.to_ns);
  }
  void join() {
    of_all_.join();
    for (KeptTimes& times : own_) {
      if (times.is_empty()) continue;
      times.add(of_all_);
      times.join();
    }
  }
  // Whether some of the span's time is kept. When a span without a thread took place on them is unknown, so it is.
  bool holds(const model::Span& span) const {
    if (span.thread == model::kNoThread && of_all_.is_empty()) return true;
    const KeptTimes& times = span.thread == model::kNoThread ? of_all_ : of(span.thread);
    return times.holds(span.start_ns) || times.length(span.start_ns, span.end_ns) != 0;
  }
  const KeptTimes& of(model::ThreadId thread) const {
    const KeptTimes& own = own_[thread.value];
    return own.is_empty() ? of_all_ : own;
  }

 private:
  KeptTimes of_all_;
  std::vector<KeptTimes> own_;  // after join(), with the times of all threads
};

Result<const SpansOfKind*> kind_of(const std::vector<SpansOfKind>& kinds, const std::string& name) {
  const SpansOfKind* part = nullptr;
  std::size_t parts = 0;
  std::string known;
  for (const SpansOfKind& kind : kinds) {
    if (kind.name == name) return &kind;
    if (kind.name.find(name) != std::string::npos) part = &kind, ++parts;
    if (known.size() < 200) known += (known.empty() ? "" : ", ") + printable(kind.name);
  }
  if (parts == 1) return part;
  if (parts > 1)
    return fail(ErrorKind::kUsage, fmt::format("--span: '{}' is a part of several names", printable(name)),
                "one of " + known);
  return fail(ErrorKind::kNotFound, fmt::format("--span: there is no span '{}'", printable(name)),
              known.empty() ? "fathom report --spans FILE reads spans" : "one of " + known);
}

void cut_waits(model::Profile& profile, const KeptThreads& kept) {
  std::vector<model::Wait> rows;
  for (const model::Wait& wait : profile.all_waits()) {
    const std::uint64_t woken = wait.start_ns + wait.waited_ns, end = woken + wait.queued_ns;
    bool any = false;
    const KeptTimes& times = kept.of(wait.thread);
    if (end == wait.start_ns && times.holds(wait.start_ns)) {
      rows.push_back(wait);
      continue;
    }
    times.visit(wait.start_ns, end, [&](std::uint64_t from, std::uint64_t to) {
      model::Wait part = wait;
      part.start_ns = from;
      part.waited_ns = from < woken ? std::min(to, woken) - from : 0;
      part.queued_ns = to - from - part.waited_ns;
      part.began_before = wait.began_before || from > wait.start_ns;
      part.unfinished = wait.unfinished || to < end;
      rows.push_back(part);
      any = true;
    });
    if (!any) ++profile.quality.filtered_waits;
  }
  profile.packed_waits = {};
  profile.waits = std::move(rows);
  profile.quality.waits = profile.waits.size() + profile.quality.filtered_waits;
}

void sum_threads(model::Profile& profile, const KeptThreads& kept, bool has_waits) {
  // Others are known only because they woke a thread: when they ran was not recorded.
  std::vector<char> is_recorded(profile.threads.size());
  for (const model::Sample& sample : profile.samples) is_recorded[sample.thread.value] = 1;
  for (const model::Wait& wait : profile.waits) is_recorded[wait.thread.value] = 1;
  std::vector<std::uint64_t> ran_ns;  // in the whole recording; 0: unknown
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    model::Thread& thread = profile.threads[i];
    thread.waits = thread.preemptions = thread.waited_ns = thread.queued_ns = 0;
    thread.unwalked_waits = thread.unwalked_ns = 0;
    // Without waits it is not known when the thread ran.
    const bool is_known = has_waits && (is_recorded[i] != 0 || thread.ran_ns != 0 || thread.cpu_ns != 0);
    const std::uint64_t end_ns = thread.end_ns == 0 ? profile.meta.end_ns : thread.end_ns;
    ran_ns.push_back(thread.ran_ns);
    thread.ran_ns =
        is_known ? kept.of({i}).length(std::max(thread.start_ns, profile.meta.start_ns), end_ns) : 0;
  }
  for (const model::Wait& wait : profile.waits) {
    model::Thread& thread = profile.threads[wait.thread.value];
    ++(wait.waited_ns > 0 ? thread.waits : thread.preemptions);
    thread.waited_ns += wait.waited_ns;
    thread.queued_ns += wait.queued_ns;
    thread.ran_ns -= std::min(thread.ran_ns, wait.waited_ns + wait.queued_ns);
  }
  for (std::size_t i = 0; i < ran_ns.size(); ++i) {
    model::Thread& thread = profile.threads[i];
    // Waits without a row count as running, but no more than all that the thread ran.
    if (ran_ns[i] != 0) thread.ran_ns = std::min(thread.ran_ns, ran_ns[i]);
    thread.cpu_ns = thread.ran_ns;
  }
}

}  // namespace

Result<KeptSpans> keep_spans(model::Profile& profile, const SpanChoice& choice) {
  const std::vector<SpansOfKind> kinds = find_spans(profile, {});
  const auto kind = kind_of(kinds, choice.name);
  if (!kind) return tl::unexpected(kind.error());
  KeptSpans result;
  result.name = (*kind)->name;
  KeptThreads kept(profile.threads.size());
  bool known = false;
  for (const WholeSpan& span : (*kind)->spans) {
    ++result.of;
    if (span.length_ns() < choice.slower_than_ns ||
        (choice.faster_than_ns && span.length_ns() >= *choice.faster_than_ns))
      continue;
    ++result.spans;
    result.time_ns += static_cast<double>(span.length_ns());
    for (const SpanPart& part : span.parts) {
      kept.add(part);
      known = known || (part.from_ns < profile.meta.end_ns && part.to_ns >= profile.meta.start_ns);
    }
  }
  if (result.spans == 0)
    return fail(ErrorKind::kNotFound,
                fmt::format("--span: none of the {} is that {}", counted(result.of, "span"),
                            choice.slower_than_ns != 0 ? "slow" : "fast"),
                "fathom report --spans prints how long they take");
  // add_spans() puts spans of an unknown clock after the end.
  if (!known)
    return fail(ErrorKind::kNotFound,
                fmt::format("--span: when the spans {} took place in the recording is unknown",
                            printable(result.name)),
                "fathom report --spans prints how long they take");
  kept.join();

  std::vector<model::Sample> samples;
  for (const model::Sample& sample : profile.all_samples())
    if (kept.of(sample.thread).holds(sample.time_ns)) samples.push_back(sample);
  const std::uint64_t before = profile.all_samples().size();
  profile.quality.filtered += before - samples.size();
  profile.packed_samples = {};
  profile.samples = std::move(samples);
  // What should have arrived in the spans is not known, and the share of the whole recording says nothing about it.
  profile.quality.expected_samples = 0;
  const bool has_waits = !profile.all_waits().empty();
  cut_waits(profile, kept);
  std::erase_if(profile.faults,
                [&](const model::Fault& row) { return !kept.of(row.thread).holds(row.time_ns); });
  const std::uint64_t end_ns = profile.meta.end_ns;
  std::erase_if(profile.spans,
                [&](const model::Span& row) { return row.start_ns >= end_ns || !kept.holds(row); });
  sum_threads(profile, kept, has_waits);
  return result;
}

}  // namespace fathom::analysis
