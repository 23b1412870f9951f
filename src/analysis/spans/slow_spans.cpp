#include "analysis/spans/slow_spans.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "analysis/core/quantiles.h"
#include "analysis/diff/estimate.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

// Thresholds of a finding. The slowest of equal spans differ from the faster half by less than half of its mean, whatever the noise
// of a clock, a cache or a short preemption.
constexpr double kMuchSlower = 1.5;
constexpr double kLeastExcessNs = 50'000;
constexpr double kLeastPart = 0.2;  // of the excess
// Waits that were not recorded count as running; samples show that it was none.
constexpr double kLeastSampled = 0.3;    // of the difference of a running row
constexpr std::size_t kLeastWithIt = 3;  // slow spans that have more of it than the fast ones

struct GroupSum {
  double sum = 0, squares = 0;
  std::size_t count = 0;
  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  double variance_of_mean() const {
    if (count < 2) return 0;
    const auto n = static_cast<double>(count);
    return std::max(0.0, squares - sum * sum / n) / (n - 1) / n;
  }
};

struct RowGroups {
  GroupSum slow, fast;
  std::size_t with_it = 0;
  double slow_sampled = 0, fast_sampled = 0;
};

// Adds up what the spans of one group spent in each row.
class GroupSums {
 public:
  GroupSums(const std::vector<SpanRows>& spans, const RowValues& usual, std::vector<RowGroups>& rows)
      : spans_(spans), usual_(usual), rows_(rows) {}

  // The mean length of these spans.
  double add(std::span<const std::size_t> members, GroupSum RowGroups::*group, double RowGroups::*sampled) {
    const auto count = static_cast<double>(members.size());
    double length = 0, unsampled = 0, unsampled_squares = 0;
    for (const std::size_t member : members) {
      const SpanRows& span = spans_[member];
      length += static_cast<double>(span.length_ns);
      for (const auto& [row, ns] : span.sampled_ns) {
        rows_[row].*sampled += ns / count;
        has_sampled_ = true;
      }
      unsampled += span.unsampled_ns;
      unsampled_squares += span.unsampled_ns * span.unsampled_ns;
      for (const auto& [row, ns] : span.ns) {
        (rows_[row].*group).sum += ns;
        (rows_[row].*group).squares += ns * ns;
      }
    }
    // A span with samples has none of this.
    for (const auto& [row, share] : usual_) {
      (rows_[row].*group).sum += share * unsampled;
      (rows_[row].*group).squares += share * share * unsampled_squares;
    }
    for (RowGroups& row : rows_) (row.*group).count = members.size();
    return length / count;
  }

  // How many of these slow spans have more of a row than the fast ones.
  void count_with_it(std::span<const std::size_t> slow) {
    const auto count = [&](std::uint32_t row, double ns) {
      if (ns > 2 * rows_[row].fast.mean()) ++rows_[row].with_it;
    };
    for (const std::size_t member : slow) {
      for (const auto& [row, ns] : spans_[member].ns) count(row, ns);
      if (spans_[member].unsampled_ns > 0)
        for (const auto& [row, share] : usual_) count(row, share * spans_[member].unsampled_ns);
    }
  }

  bool has_sampled() const { return has_sampled_; }

 private:
  const std::vector<SpanRows>& spans_;
  const RowValues& usual_;
  std::vector<RowGroups>& rows_;
  bool has_sampled_ = false;
};

bool is_running(SpanWork work) {
  return work == SpanWork::kRunning || work == SpanWork::kAllocating || work == SpanWork::kFaulting;
}

}  // namespace

SlowSpans compare_slow(const std::vector<SpanRows>& spans, const RowValues& usual, const SpanPlaces& places) {
  std::vector<std::size_t> order(spans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  stable_sort_rows(order, std::greater<>(), [&](std::size_t i) { return spans[i].length_ns; });
  const auto slow_count = std::max<std::size_t>(
      5, static_cast<std::size_t>(std::lround(kSlowShare * static_cast<double>(spans.size()))));
  const std::size_t fast_count = spans.size() / 2;
  const std::span<const std::size_t> all(order);

  SlowSpans result;
  result.count = slow_count;
  result.fast_count = fast_count;
  result.members.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(slow_count));
  result.least_ns = spans[result.members.back()].length_ns;

  std::vector<RowGroups> rows(places.size());
  GroupSums sums(spans, usual, rows);
  result.slow_mean_ns = sums.add(all.first(slow_count), &RowGroups::slow, &RowGroups::slow_sampled);
  result.fast_mean_ns = sums.add(all.last(fast_count), &RowGroups::fast, &RowGroups::fast_sampled);
  sums.count_with_it(result.members);

  const double excess = result.slow_mean_ns - result.fast_mean_ns;
  const auto freedom = static_cast<double>(slow_count - 1);  // of the smaller group: on the safe side
  std::vector<double> chances;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const double difference = rows[i].slow.mean() - rows[i].fast.mean();
    if (difference <= 0.01 * excess) continue;
    SlowCause cause;
    cause.row = i;
    cause.place = places[i];
    cause.slow_ns = rows[i].slow.mean();
    cause.fast_ns = rows[i].fast.mean();
    const double deviation = std::sqrt(rows[i].slow.variance_of_mean() + rows[i].fast.variance_of_mean());
    cause.error_ns = deviation * students_t_upper_quantile(0.025, freedom);
    chances.push_back(deviation > 0 ? students_t_tail(difference / deviation, freedom) : 0);
    result.causes.push_back(cause);
  }
  const double level = holm_level(chances);
  const bool much = result.slow_mean_ns >= kMuchSlower * result.fast_mean_ns && excess >= kLeastExcessNs;
  for (std::size_t i = 0; i < result.causes.size(); ++i) {
    SlowCause& cause = result.causes[i];
    const RowGroups& row = rows[cause.row];
    const bool is_real = !is_running(cause.place.work) || !sums.has_sampled() ||
                         row.slow_sampled - row.fast_sampled >= kLeastSampled * cause.more_ns();
    cause.is_certain = much && chances[i] < level && cause.more_ns() >= kLeastPart * excess &&
                       row.with_it >= kLeastWithIt && is_real;
  }
  stable_sort_rows(result.causes, std::greater<>(), &SlowCause::more_ns);
  return result;
}

}  // namespace fathom::analysis
