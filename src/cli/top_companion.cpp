#include "cli/top_companion.h"

#include <algorithm>
#include <functional>

#include "analysis/core/call_tree.h"
#include "analysis/core/functions.h"
#include "base/stable_sort.h"

namespace fathom::cli {
namespace {

constexpr std::size_t kMostTopRows = 200;

}  // namespace

void TopCompanion::step(const Lent& lent, std::uint64_t now_ns) {
  if (began_ns_ == 0) began_ns_ = from_ns_ = now_ns;
  if (now_ns < from_ns_ + interval_ns_) return;
  lent.readings.take_names();
  (void)lent.readings.names_are_known();  // a user looks on, so finding names is not left to idle CPUs
  collect(lent.profile, lent.readings.open_waits(now_ns));
  const std::uint64_t end_ns = std::max(now_ns, latest_ns_);
  screen_.take(table(lent, end_ns));
  from_ns_ = end_ns;
  cpu_.clear();
  waits_.clear();
  allocations_.clear();
  cpu_ns_ = waited_ns_ = allocated_bytes_ = 0;
  fresh_ = true;
}

session::Companion::Save TopCompanion::before_save(const Lent& lent, bool /*last*/) {
  collect(lent.profile, {});
  samples_seen_ = waits_seen_ = heap_rows_seen_ = 0;
  return Save::kAppend;
}

// The part of a wait that lies in this interval: it may have begun long before.
void TopCompanion::cut_to_interval(model::Wait& wait) const {
  const std::uint64_t before = from_ns_ > wait.start_ns ? from_ns_ - wait.start_ns : 0;
  const std::uint64_t waited = std::min(before, wait.waited_ns);
  wait.waited_ns -= waited;
  wait.queued_ns -= std::min(before - waited, wait.queued_ns);
  wait.start_ns += before;
}

// Adds the rows that came since the last call; the profile still has those before them. `open`: waits in progress, up to now.
void TopCompanion::collect(model::Profile& profile, const std::vector<model::Wait>& open) {
  std::vector<model::Sample> samples(profile.samples.begin() + static_cast<std::ptrdiff_t>(samples_seen_),
                                     profile.samples.end());
  std::vector<model::Wait> waits(profile.waits.begin() + static_cast<std::ptrdiff_t>(waits_seen_),
                                 profile.waits.end());
  samples_seen_ = profile.samples.size();
  waits_seen_ = profile.waits.size();
  waits.insert(waits.end(), open.begin(), open.end());
  // On a busy machine rows may be later than the step that takes them.
  for (const model::Wait& wait : waits)
    latest_ns_ = std::max(latest_ns_, wait.start_ns + wait.waited_ns + wait.queued_ns);
  for (model::Wait& wait : waits) cut_to_interval(wait);
  std::erase_if(waits, [](const model::Wait& wait) { return wait.waited_ns + wait.queued_ns == 0; });
  samples.swap(profile.samples);
  waits.swap(profile.waits);
  cpu_ns_ += add(profile, model::Metric::kCpu,
                 profile.meta.frequency_hz == 0 ? 0 : 1e9 / profile.meta.frequency_hz, cpu_);
  waited_ns_ += add(profile, model::Metric::kOffCpu, 1, waits_);
  samples.swap(profile.samples);
  waits.swap(profile.waits);
  collect_allocations(profile);
}

// The heap adds its rows right before they go into the file.
void TopCompanion::collect_allocations(model::Profile& profile) {
  std::vector<model::HeapRow>& all = profile.heap.rows;
  if (heap_rows_seen_ >= all.size()) return;
  std::vector<model::HeapRow> rows(all.begin() + static_cast<std::ptrdiff_t>(heap_rows_seen_), all.end());
  heap_rows_seen_ = all.size();
  rows.swap(all);
  allocated_bytes_ += add(profile, model::Metric::kHeapAllocated, 1, allocations_);
  rows.swap(all);
}

// In all: nanoseconds, or bytes that were allocated. `unit`: of the values of the metric.
double TopCompanion::add(const model::Profile& profile, model::Metric metric, double unit, Book& book) {
  analysis::TreeOptions options;
  options.selection.metric = metric;
  options.thread_roots = false;
  options.drop_idle = true;
  const analysis::CallTree tree = analysis::build_call_tree(profile, options);
  for (const analysis::FunctionRow& row : analysis::function_table(tree, analysis::SortBy::kTotal)) {
    Sums& sums = book[{tree.names[row.name], tree.modules[row.module].name}];
    sums.self += unit * static_cast<double>(row.self);
    sums.total += unit * static_cast<double>(row.total);
  }
  return unit * static_cast<double>(tree.total);
}

TopTable TopCompanion::table(const Lent& lent, std::uint64_t end_ns) const {
  const model::Profile& profile = lent.profile;
  const auto length_ns = static_cast<double>(std::max<std::uint64_t>(end_ns - from_ns_, 1));
  TopTable table;
  table.target = profile.meta.target;
  table.at_s = static_cast<double>(end_ns - began_ns_) * 1e-9;
  table.interval_s = length_ns * 1e-9;
  table.cpus = cpu_ns_ / length_ns;
  table.waiting = waited_ns_ / length_ns;
  // Of the target: rows of threads are also those of other processes that end its waits.
  for (const std::int32_t pid : lent.processes.pids()) table.threads += lent.processes.threads(pid).size();
  // `length`: of the interval, in the unit that makes a rate of the sums.
  const auto rows = [&](const Book& book, double length) {
    std::vector<TopRow> out;
    for (const auto& [of, sums] : book)
      out.push_back({of.first, of.second, sums.self / length, sums.total / length});
    stable_sort_rows(out, std::ranges::greater(), &TopRow::total);
    if (out.size() > kMostTopRows) out.resize(kMostTopRows);
    return out;
  };
  table.cpu = rows(cpu_, length_ns);
  table.waits = rows(waits_, length_ns);
  if (!profile.heap.empty()) {
    table.allocations = rows(allocations_, table.interval_s);
    table.allocated_per_s = allocated_bytes_ / table.interval_s;
  }
  return table;
}

}  // namespace fathom::cli
