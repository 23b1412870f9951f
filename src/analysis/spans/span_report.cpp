#include "analysis/spans/span_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/core/call_tree.h"
#include "analysis/spans/critical_path.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

using model::ThreadId;

// Nanoseconds by row of places, and running time that samples divide.
struct RowSums {
  std::map<std::uint32_t, double> ns;  // waiting, queued, between
  std::map<std::uint32_t, std::uint64_t> spans;
  std::map<std::uint32_t, double> samples;  // running, in values of samples
  double ran_ns = 0;

  double sampled() const {
    double sum = 0;
    for (const auto& [row, value] : samples) sum += value;
    return sum;
  }
};

class KindReporter {
 public:
  explicit KindReporter(const model::Profile& profile)
      : profile_(profile),
        causes_(profile),
        times_(profile),
        paths_(times_, causes_, profile.threads.size()),
        places_(profile, causes_) {}

  SpanKindReport report(const SpansOfKind& kind) {
    SpanKindReport out;
    out.name = kind.name;
    out.source = kind.source;
    out.count = kind.spans.size();
    out.cut = kind.cut;
    std::vector<std::uint64_t> lengths;
    for (const WholeSpan& span : kind.spans) {
      lengths.push_back(span.length_ns());
      out.total_ns += static_cast<double>(span.length_ns());
    }
    std::ranges::sort(lengths);
    if (!lengths.empty()) {
      for (const double share : {0.5, 0.95, 0.99}) out.quantiles.push_back(span_quantile(lengths, share));
      out.max_ns = lengths.back();
    }
    seen_.clear();
    for (const WholeSpan& span : kind.spans)
      if (span.is_seen) seen_.push_back(&span);
    out.seen = seen_.size();
    for (const WholeSpan* span : seen_) out.seen_ns += static_cast<double>(span->length_ns());
    if (!seen_.empty()) {
      std::vector<SpanRows> rows;
      out.segments = segments(rows);
      out.path = path();
      if (seen_.size() >= kLeastSpans) out.slow = slow(rows);
    }
    return out;
  }

  const std::set<std::uint32_t>& threads() const { return threads_; }

 private:
  using Holders = std::map<std::pair<std::string, model::StackId>, double>;

  // The rows of one span: exact ns, and running rows in values of samples.
  struct Parts {
    std::map<std::uint32_t, double> ns, samples;
    double ran_ns = 0;
  };

  Parts parts_of(const WholeSpan& span, std::map<std::uint32_t, Holders>* holders) {
    Parts parts;
    std::uint64_t at = span.parts.front().from_ns;
    for (const SpanPart& part : span.parts) {
      if (part.from_ns > at) parts.ns[places_.between()] += static_cast<double>(part.from_ns - at);
      at = part.to_ns;
      threads_.insert(part.thread.value);
      times_.visit(part.thread, part.from_ns, part.to_ns, [&](const TimePiece& piece) {
        const auto ns = static_cast<double>(piece.length_ns());
        if (piece.doing == Doing::kRunning) {
          parts.ran_ns += ns;
          for (const ThreadTimes::Tick& tick : times_.samples(part.thread, piece.from_ns, piece.to_ns))
            parts.samples[places_.of_sample(tick.stack)] += static_cast<double>(tick.value);
          return;
        }
        const std::uint32_t row = places_.of(piece);
        parts.ns[row] += ns;
        if (holders != nullptr && paths_.is_ended(piece))
          (*holders)[row][{thread_name(profile_, piece.wait->waker), piece.wait->waker_stack}] += ns;
      });
    }
    return parts;
  }

  std::vector<SpanSegment> segments(std::vector<SpanRows>& rows) {
    RowSums sums;
    std::vector<Parts> all;
    holders_.clear();
    for (const WholeSpan* span : seen_) {
      Parts parts = parts_of(*span, &holders_);
      sums.ran_ns += parts.ran_ns;
      for (const auto& [row, ns] : parts.ns) sums.ns[row] += ns, ++sums.spans[row];
      for (const auto& [row, value] : parts.samples) sums.samples[row] += value, ++sums.spans[row];
      all.push_back(std::move(parts));
    }
    const double sampled = sums.sampled();
    const double scale = sampled > 0 ? sums.ran_ns / sampled : 0;
    const std::uint32_t running = places_.of({});
    const double period_ns = sample_period_ns(profile_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      SpanRows& of = rows.emplace_back();
      of.length_ns = seen_[i]->length_ns();
      for (const auto& [row, ns] : all[i].ns) of.ns.emplace_back(row, ns);
      // How long the span ran is exact; its samples only say where. A span that is shorter than their period would otherwise seem to run
      // for a period or not at all, and the sample itself makes it one of the slow ones.
      double own = 0;
      for (const auto& [row, value] : all[i].samples) own += value;
      if (period_ns > 0)
        for (const auto& [row, value] : all[i].samples) of.sampled_ns.emplace_back(row, value * period_ns);
      for (const auto& [row, value] : all[i].samples)
        if (own > 0) of.ns.emplace_back(row, value / own * all[i].ran_ns);
      if (own <= 0) of.unsampled_ns = all[i].ran_ns;
    }
    usual_.clear();
    for (const auto& [row, value] : sums.samples)
      if (sampled > 0) usual_.emplace_back(row, value / sampled);
    if (sampled <= 0) usual_.emplace_back(running, 1);
    std::vector<SpanSegment> out;
    for (const auto& [row, ns] : sums.ns) out.push_back({places_[row], "", ns, sums.spans[row], holder(row)});
    for (const auto& [row, value] : sums.samples)
      out.push_back({places_[row], "", value * scale, sums.spans[row], {}});
    if (sampled <= 0 && sums.ran_ns > 0) out.push_back({places_[running], "", sums.ran_ns, seen_.size(), {}});
    return sorted(std::move(out));
  }

  SpanHolder holder(std::uint32_t row) {
    const auto found = holders_.find(row);
    if (found == holders_.end()) return {};
    const auto most = std::ranges::max_element(found->second, {}, [](const auto& one) { return one.second; });
    SpanHolder holder;
    holder.thread = most->first.first;
    std::tie(holder.site, holder.line) = places_.site_of(most->first.second);
    return holder;
  }

  // By name of thread.
  using PathSums = std::map<std::string, RowSums>;

  void add_path(ThreadId thread, std::uint64_t from, std::uint64_t to, PathSums& sums) {
    paths_.visit(thread, from, to, [&](const PathPiece& on) {
      RowSums& of = sums[thread_name(profile_, on.thread)];
      const auto ns = static_cast<double>(on.piece.length_ns());
      if (on.piece.doing == Doing::kRunning) {
        of.ran_ns += ns;
        for (const ThreadTimes::Tick& tick : times_.samples(on.thread, on.piece.from_ns, on.piece.to_ns))
          of.samples[places_.of_sample(tick.stack)] += static_cast<double>(tick.value);
        return;
      }
      const std::uint32_t row = places_.of(on.piece);
      of.ns[row] += ns;
      ++of.spans[row];
    });
  }

  std::vector<SpanSegment> segments_of(const PathSums& sums) {
    std::vector<SpanSegment> out;
    for (const auto& [thread, of] : sums) {
      for (const auto& [row, ns] : of.ns) out.push_back({places_[row], thread, ns, of.spans.at(row), {}});
      const double sampled = of.sampled();
      for (const auto& [row, value] : of.samples)
        out.push_back({places_[row], thread, value / sampled * of.ran_ns, 0, {}});
      if (sampled <= 0 && of.ran_ns > 0) out.push_back({places_[places_.of({})], thread, of.ran_ns, 0, {}});
    }
    return sorted(std::move(out));
  }

  std::vector<SpanSegment> path() {
    PathSums sums;
    double between = 0;
    for (const WholeSpan* span : seen_) {
      std::uint64_t at = span->parts.front().from_ns;
      for (const SpanPart& part : span->parts) {
        between += static_cast<double>(part.from_ns - at);
        at = part.to_ns;
        add_path(part.thread, part.from_ns, part.to_ns, sums);
      }
    }
    std::vector<SpanSegment> out = segments_of(sums);
    if (between > 0) out.push_back({places_[places_.between()], "", between, 0, {}});
    return sorted(std::move(out));
  }

  SlowSpans slow(const std::vector<SpanRows>& rows) {
    SlowSpans slow = compare_slow(rows, usual_, places_);
    // The holder of the slow ones, who may be another than that of most waits.
    holders_.clear();
    for (const std::size_t i : slow.members) parts_of(*seen_[i], &holders_);
    constexpr std::size_t kMostExplained = 3;
    for (std::size_t i = 0; i < std::min(slow.causes.size(), kMostExplained); ++i) {
      SlowCause& cause = slow.causes[i];
      const SpanHolder by = holder(cause.row);
      cause.holder_thread = by.thread, cause.holder_site = by.site, cause.holder_line = by.line;
      if (!by.thread.empty()) cause.behind = behind(slow, cause.row);
    }
    return slow;
  }

  // What the threads that ended the waits of `row` did in the time of these waits.
  std::vector<SlowDetail> behind(const SlowSpans& slow, std::uint32_t row) {
    PathSums sums;
    for (const std::size_t i : slow.members)
      for (const SpanPart& part : seen_[i]->parts)
        times_.visit(part.thread, part.from_ns, part.to_ns, [&](const TimePiece& piece) {
          if (piece.doing == Doing::kWaiting && places_.of(piece) == row && paths_.follows(piece))
            add_path(piece.wait->waker, piece.from_ns, piece.to_ns, sums);
        });
    std::vector<SlowDetail> out;
    for (SpanSegment& segment : segments_of(sums))
      out.push_back({segment.thread, segment.place, segment.total_ns / static_cast<double>(slow.count)});
    return out;
  }

  static std::vector<SpanSegment> sorted(std::vector<SpanSegment> rows) {
    stable_sort_rows(rows, std::greater<>(), &SpanSegment::total_ns);
    return rows;
  }

  const model::Profile& profile_;
  WaitCauses causes_;
  ThreadTimes times_;
  CriticalPaths paths_;
  SpanPlaces places_;
  std::vector<const WholeSpan*> seen_;  // of the kind at hand
  RowValues usual_;                     // shares of its running time
  std::map<std::uint32_t, Holders> holders_;
  std::set<std::uint32_t> threads_;
};

}  // namespace

SpanQuantile span_quantile(const std::vector<std::uint64_t>& lengths, double share) {
  const auto count = static_cast<double>(lengths.size());
  const auto at = [&](double rank) {
    return lengths[static_cast<std::size_t>(std::clamp(rank, 1.0, count)) - 1];
  };
  SpanQuantile quantile;
  quantile.share = share;
  quantile.ns = at(std::ceil(share * count));
  // The number of spans below the true quantile is binomial.
  const double half = 1.959964 * std::sqrt(count * share * (1 - share));
  quantile.low_ns = at(std::floor(share * count - half));
  const double high = std::ceil(share * count + half) + 1;
  if (high <= count) quantile.high_ns = at(high);
  return quantile;
}

SpanReport make_span_report(const model::Profile& profile, const Selection& selection) {
  SpanReport report;
  const double length = profile.duration_s();
  const double from =
      selection.from_ns ? std::min(length, static_cast<double>(*selection.from_ns) * 1e-9) : 0;
  const double to = selection.to_ns ? std::min(length, static_cast<double>(*selection.to_ns) * 1e-9) : length;
  report.duration_s = std::max(0.0, to - from);
  report.has_waits = !profile.all_waits().empty();
  KindReporter reporter(profile);
  for (const SpansOfKind& kind : find_spans(profile, selection)) {
    if (kind.spans.empty() && kind.cut == 0) continue;
    SpanKindReport& row = report.kinds.emplace_back(reporter.report(kind));
    if (report.duration_s > 0) row.rate = static_cast<double>(row.count) / report.duration_s;
  }
  double unwalked = 0, all = 0;
  for (const std::uint32_t id : reporter.threads()) {
    const model::Thread& thread = profile.threads[id];
    unwalked += static_cast<double>(thread.unwalked_ns);
    all += static_cast<double>(thread.ran_ns) + static_cast<double>(thread.waited_ns) +
           static_cast<double>(thread.queued_ns);
  }
  if (all > 0) report.unwalked_share = std::min(1.0, unwalked / all);
  return report;
}

}  // namespace fathom::analysis
