#include "analysis/core/breakdown.h"

#include <algorithm>
#include <tuple>

#include "analysis/core/functions.h"
#include "analysis/core/waits.h"

namespace fathom::analysis {
namespace {

struct ThreadSums {
  std::vector<std::uint64_t> samples;
  std::vector<std::int64_t> values;
};

ThreadSums sum_by_thread(const model::Profile& profile, const Selection& selection) {
  ThreadSums sums{std::vector<std::uint64_t>(profile.threads.size()),
                  std::vector<std::int64_t>(profile.threads.size())};
  for_each_value(profile, selection, [&](model::ThreadId thread, std::int64_t value) {
    ++sums.samples[thread.value];
    sums.values[thread.value] += value;
  });
  return sums;
}

double seconds_into(const model::Profile& profile, std::uint64_t time_ns) {
  const std::uint64_t start = profile.meta.start_ns;
  return time_ns <= start ? 0 : static_cast<double>(time_ns - start) * 1e-9;
}

// Rows of threads that were announced and never seen are no threads to anybody.
bool did_anything(const model::Thread& thread, std::uint64_t samples) {
  return samples != 0 || (thread.cpu_ns | thread.ran_ns | thread.waited_ns) != 0;
}

}  // namespace

std::vector<ThreadRow> thread_table(const model::Profile& profile, const Selection& selection) {
  const Filter filter(profile, selection);
  const ThreadSums sums = sum_by_thread(profile, selection);
  std::vector<ThreadRow> rows;
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    const model::Thread& thread = profile.threads[i];
    if (!filter.takes_thread({i}) || !did_anything(thread, sums.samples[i])) continue;
    ThreadRow row;
    row.tid = thread.tid;
    row.pid = profile.processes[thread.process.value].pid;
    row.name = thread_name(profile, {i});
    row.samples = sums.samples[i];
    row.value = sums.values[i];
    row.cpu_ns = thread.cpu_ns;
    row.ran_ns = thread.ran_ns;
    row.waited_ns = thread.waited_ns;
    row.queued_ns = thread.queued_ns;
    row.waits = thread.waits;
    row.preemptions = thread.preemptions;
    row.from_s = seconds_into(profile, thread.start_ns);
    row.to_s = seconds_into(profile, thread.end_ns != 0 ? thread.end_ns : profile.meta.end_ns);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const ThreadRow& a, const ThreadRow& b) {
    return std::tuple(-a.value, b.cpu_ns, a.pid, a.tid) < std::tuple(-b.value, a.cpu_ns, b.pid, b.tid);
  });
  return rows;
}

std::vector<ProcessRow> process_table(const model::Profile& profile, const Selection& selection) {
  const Filter filter(profile, selection);
  const ThreadSums sums = sum_by_thread(profile, selection);
  std::vector<ProcessRow> rows(profile.processes.size());
  std::vector<char> allocated(profile.threads.size(), 0);
  for (const model::HeapSite& site : profile.heap.sites)
    if (site.thread != model::kNoThread) allocated[site.thread.value] = 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const model::Process& process = profile.processes[i];
    rows[i].pid = process.pid;
    rows[i].parent_pid = process.parent_pid;
    rows[i].name = profile.strings[process.name];
    rows[i].executable = profile.strings[process.executable];
  }
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    if (!filter.takes_thread({i})) continue;
    ProcessRow& row = rows[profile.threads[i].process.value];
    if (did_anything(profile.threads[i], sums.samples[i]) || allocated[i] != 0) ++row.threads;
    row.samples += sums.samples[i];
    row.value += sums.values[i];
    row.cpu_ns += profile.threads[i].cpu_ns;
  }
  std::erase_if(rows, [](const ProcessRow& row) { return row.samples == 0 && row.cpu_ns == 0; });
  std::sort(rows.begin(), rows.end(), [](const ProcessRow& a, const ProcessRow& b) {
    return std::tuple(-a.value, b.cpu_ns, a.pid) < std::tuple(-b.value, a.cpu_ns, b.pid);
  });
  return rows;
}

std::vector<ModuleRow> module_table(const CallTree& tree) {
  std::vector<ModuleRow> rows(tree.modules.size());
  std::vector<std::uint32_t> open(tree.modules.size(), 0);
  std::vector<std::uint32_t> path{
      0};  // modules by depth; threads and the root stand under "no module", not counted
  std::vector<char> counted{0};
  std::vector<char> unnamed(tree.names.size());
  for (std::size_t i = 0; i < unnamed.size(); ++i) unnamed[i] = is_unnamed(tree.names[i]);
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    for (; path.size() > node.depth; path.pop_back(), counted.pop_back()) {
      if (counted.back() != 0) --open[path.back()];
    }
    const bool is_frame = node.kind != NodeKind::kThread;
    path.push_back(node.module);
    counted.push_back(is_frame ? 1 : 0);
    if (!is_frame) continue;
    ModuleRow& row = rows[node.module];
    row.self += node.self;
    row.frames += static_cast<double>(node.total);
    if (unnamed[node.name] != 0 && node.kind != NodeKind::kCause) {
      row.unnamed_frames += static_cast<double>(node.total);
      row.unnamed_self += node.self;
    }
    if (open[node.module]++ == 0) row.total += node.total;
  }
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i].module = i;
  std::erase_if(rows, [](const ModuleRow& row) { return row.total == 0; });
  std::sort(rows.begin(), rows.end(), [](const ModuleRow& a, const ModuleRow& b) {
    return std::tuple(-a.self, -a.total, a.module) < std::tuple(-b.self, -b.total, b.module);
  });
  return rows;
}

std::vector<SeriesRow> series_table(const model::Profile& profile, const Selection& selection) {
  std::vector<SeriesRow> rows;
  for (const model::Series& series : profile.series) {
    if (selection.pid && series.pid != *selection.pid) continue;
    SeriesRow row;
    row.name = profile.strings[series.name];
    row.unit = profile.strings[series.unit];
    row.pid = series.pid;
    for (const model::Point& point : series.points) {
      const std::uint64_t at = point.time_ns - std::min(point.time_ns, profile.meta.start_ns);
      if ((selection.from_ns && at < *selection.from_ns) || (selection.to_ns && at >= *selection.to_ns))
        continue;
      if (row.points++ == 0) row.first = row.least = row.most = point.value;
      row.last = point.value;
      row.least = std::min(row.least, point.value);
      row.most = std::max(row.most, point.value);
    }
    if (row.points != 0) rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const SeriesRow& a, const SeriesRow& b) {
    return std::tie(a.name, a.pid) < std::tie(b.name, b.pid);
  });
  return rows;
}

}  // namespace fathom::analysis
