#include "present/exports/firefox_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/core/waits.h"
#include "base/stable_sort.h"
#include "present/exports/cost_rows.h"
#include "present/exports/firefox_tables.h"
#include "present/exports/json_text.h"

namespace fathom::present {
namespace {

using model::Metric;

// Milliseconds with all of their nanoseconds.
void append_ms(std::string& out, std::uint64_t ns) {
  append_number(out, ns / 1'000'000);
  if (const std::uint64_t rest = ns % 1'000'000; rest != 0) {
    std::string digits = std::to_string(1'000'000 + rest).substr(1);
    digits.resize(digits.find_last_not_of('0') + 1);
    out += '.' + digits;
  }
}

// One sample of a thread of the file. No stack: only its weight is known.
struct Row {
  std::uint64_t time_ns = 0;  // from the start
  std::optional<std::uint32_t> stack;
  std::int64_t weight = 1;
};

struct Marker {
  std::uint64_t start_ns = 0, end_ns = 0;  // from the start
  std::uint32_t wait = 0;                  // row of the selected waits
};

class FirefoxWriter {
 public:
  FirefoxWriter(const model::Profile& profile, const FirefoxOptions& options)
      : profile_(profile),
        options_(options),
        start_ns_(profile.meta.start_ns + options.selection.from_ns.value_or(0)),
        tables_(profile, options.fold_generics, options.selection.tracer) {}

  Result<std::string> write() {
    const std::vector<Metric> known = analysis::metrics_in(profile_);
    const auto has = [&](Metric metric) { return std::ranges::find(known, metric) != known.end(); };
    if (has(Metric::kCpu) || !profile_.spans.empty()) add_cpu();
    if (has(Metric::kOffCpu)) add_waits();
    if (has(Metric::kHeapLive)) add_heap(Metric::kHeapLive, "live heap");
    if (has(Metric::kHeapAllocated) && !profile_.heap.empty()) add_heap(Metric::kHeapAllocated, "allocated");
    if (threads_.empty())
      return fail(ErrorKind::kNotFound, "no samples, waits or heap in this selection",
                  "fathom report FILE shows what the file holds");
    add_counters();
    std::string out = R"({"meta":)" + meta_json() + R"(,"libs":)" + tables_.libs_json();
    out += R"(,"shared":)" + tables_.shared_json();
    out += R"(,"threads":[)" + threads_ + R"(],"counters":[)" + counters_ +
           R"(],"pages":[],"profilerOverhead":[]})"
           "\n";
    return out;
  }

 private:
  std::uint64_t from_start(std::uint64_t time_ns) const {
    return time_ns > start_ns_ ? time_ns - start_ns_ : 0;
  }

  analysis::Selection selection(Metric metric) const {
    analysis::Selection of = options_.selection;
    of.metric = metric;
    return of;
  }

  void add_cpu() {
    const analysis::Filter filter(profile_, selection(Metric::kCpu));
    const bool in_ns = analysis::unit_of(profile_, Metric::kCpu) == "ns";
    std::vector<std::vector<Row>> rows(profile_.threads.size());
    analysis::ValueBudget budget;
    for (const model::Sample& sample : profile_.samples)
      if (filter.takes(sample))
        rows[sample.thread.value].push_back(
            {from_start(sample.time_ns), tables_.stack(sample.stack, 0, ""), budget.take(sample.value)});
    for (std::uint32_t i = 0; i < rows.size(); ++i)
      add_thread({i}, "", "", rows[i], in_ns ? "tracing-ms" : "samples", spans_json({i}));
  }

  // Spans of the thread; those of no thread are on the first one.
  std::string spans_json(model::ThreadId thread) {
    std::vector<const model::Span*> spans;
    for (const model::Span& span : profile_.spans) {
      const bool here = span.thread == thread || (span.thread == model::kNoThread && thread.value == 0);
      // add_spans() puts spans of an unknown clock after the end.
      const bool is_placed = span.thread != model::kNoThread || span.start_ns < profile_.meta.end_ns;
      if (here && is_placed && span.start_ns >= start_ns_) spans.push_back(&span);
    }
    stable_sort_rows(spans, {}, [](const model::Span* span) { return span->start_ns; });
    std::string data, names, starts, ends, phases, categories;
    const auto next = [](std::string& column) -> std::string& {
      if (!column.empty()) column += ',';
      return column;
    };
    for (const model::Span* span : spans) {
      next(data) += R"({"type":"Span","name":)";
      append_json_text(data, profile_.strings[span->name]);
      if (span->id != 0) data += fmt::format(R"(,"id":"{:x}")", span->id);
      data += '}';
      append_number(next(names), tables_.text("Span"));
      append_ms(next(starts), from_start(span->start_ns));
      append_ms(next(ends), from_start(span->end_ns));
      next(phases) += '1';  // an interval
      append_number(next(categories), std::uint32_t{FirefoxTables::kOther});
    }
    return markers_text(spans.size(), data, names, starts, ends, phases, categories);
  }

  static std::string markers_text(std::size_t count, const std::string& data, const std::string& names,
                                  const std::string& starts, const std::string& ends,
                                  const std::string& phases, const std::string& categories) {
    if (count == 0) return {};
    return fmt::format(
        R"({{"length":{},"data":[{}],"name":[{}],"startTime":[{}],"endTime":[{}],"phase":[{}],"category":[{}]}})",
        count, data, names, starts, ends, phases, categories);
  }

  void add_waits() {
    const analysis::Selection of = selection(Metric::kOffCpu);
    const analysis::Waits waits(profile_, of);
    std::vector<std::vector<Row>> rows(profile_.threads.size());
    std::vector<std::vector<Marker>> markers(profile_.threads.size());
    const std::uint64_t shortest = shortest_marker(waits);
    std::size_t room = options_.most_markers;
    analysis::ValueBudget budget;
    for (std::uint32_t i = 0; i < waits.rows().size(); ++i) {
      const analysis::SelectedWait& row = waits.rows()[i];
      const model::Wait& wait = waits.wait(row);
      const std::uint64_t start = from_start(wait.start_ns),
                          woken = from_start(wait.start_ns + wait.waited_ns);
      std::vector<Row>& to = rows[wait.thread.value];
      if (row.waited_ns != 0)
        to.push_back({start, tables_.stack(wait.stack, 0, analysis::frame_of(row.cause)),
                      budget.take(analysis::weighted_ns(row.waited_ns, waits.weight(row)))});
      if (row.queued_ns != 0)
        to.push_back({woken, tables_.stack(wait.stack, 0, analysis::frame_of(row.queue_cause)),
                      budget.take(analysis::weighted_ns(row.queued_ns, waits.queue_weight(row)))});
      if (row.waited_ns >= shortest && row.waited_ns != 0 && room != 0) {
        markers[wait.thread.value].push_back({start, woken, i});
        --room;
      }
    }
    const analysis::Filter filter(profile_, of);  // others may count waiting as samples
    for (const model::Sample& sample : profile_.samples)
      if (filter.takes(sample))
        rows[sample.thread.value].push_back(
            {from_start(sample.time_ns), tables_.stack(sample.stack, 0, ""), budget.take(sample.value)});
    for (std::uint32_t i = 0; i < rows.size(); ++i)
      add_thread({i}, " (off-CPU)", " off-CPU", rows[i], "tracing-ms", markers_json(waits, markers[i]));
  }

  // The shortest of as many waits as have a marker.
  std::uint64_t shortest_marker(const analysis::Waits& waits) const {
    std::vector<std::uint64_t> lengths;
    for (const analysis::SelectedWait& row : waits.rows()) lengths.push_back(row.waited_ns);
    if (lengths.size() <= options_.most_markers || options_.most_markers == 0) return 0;
    const auto last = lengths.begin() + static_cast<std::ptrdiff_t>(options_.most_markers - 1);
    std::ranges::nth_element(lengths, last, std::greater<>());
    return *last;
  }

  std::string markers_json(const analysis::Waits& waits, const std::vector<Marker>& markers) {
    if (markers.empty()) return {};
    std::string data, names, starts, ends, phases, categories;
    const auto next = [](std::string& column) -> std::string& {
      if (!column.empty()) column += ',';
      return column;
    };
    for (const Marker& marker : markers) {
      const analysis::SelectedWait& row = waits.rows()[marker.wait];
      const model::Wait& wait = waits.wait(row);
      next(data) += R"({"type":"Wait","reason":)";
      append_json_text(data, waits.causes().label(wait));
      if (wait.waker != model::kNoThread) {
        data += R"(,"waker":)";
        append_json_text(data, fmt::format("{} ({})", analysis::thread_name(profile_, wait.waker),
                                           profile_.threads[wait.waker.value].tid));
      }
      if (wait.weight > 1) data += fmt::format(R"(,"stands_for":{})", wait.weight);
      if (const auto stack = tables_.stack(wait.stack, 0, ""))
        data += fmt::format(R"(,"cause":{{"stack":{}}})", *stack);
      data += '}';
      append_number(next(names), tables_.text(analysis::describe(row.cause)));
      append_ms(next(starts), marker.start_ns);
      append_ms(next(ends), marker.end_ns);
      next(phases) += '1';  // an interval
      append_number(next(categories), std::uint32_t{FirefoxTables::kWaiting});
    }
    return markers_text(markers.size(), data, names, starts, ends, phases, categories);
  }

  // By process, as blocks belong to it; amounts of one moment stand at its time.
  void add_heap(Metric metric, std::string_view what) {
    const analysis::Selection of = selection(metric);
    const analysis::HeapSums sums(profile_, of);
    std::map<std::uint32_t, std::vector<Row>> rows;  // by process
    WholeSum whole;
    const std::uint64_t end = from_start(profile_.meta.end_ns);
    for (const HeapCostRow& row : heap_rows(profile_, of, sums)) {
      const double value = sums.value(row.site, metric, analysis::HeapUnit::kBytes).value;
      const std::int64_t bytes = whole.take(value);
      if (bytes == 0) continue;
      const model::HeapId heap = profile_.heap.sites[row.site.value].heap;
      rows[profile_.heap.heaps[heap.value].process.value].push_back(
          {end, tables_.stack(row.stack, row.skip, ""), bytes});
    }
    for (auto& [process, of_process] : rows) {
      const model::Process& row = profile_.processes[process];
      add_rows(fmt::format("{} ({})", profile_.strings[row.name], what), row,
               json_text(fmt::format("{} {}", row.pid, what)), false, of_process, "bytes", {});
    }
  }

  void add_thread(model::ThreadId id, std::string_view name_end, std::string_view tid_end,
                  std::vector<Row>& rows, std::string_view weight, const std::string& markers) {
    const model::Thread& thread = profile_.threads[id.value];
    const model::Process& process = profile_.processes[thread.process.value];
    const std::string tid =
        tid_end.empty() ? std::to_string(thread.tid) : json_text(fmt::format("{}{}", thread.tid, tid_end));
    add_rows(analysis::thread_name(profile_, id) + std::string(name_end), process, tid,
             thread.tid == process.pid && tid_end.empty(), rows, weight, markers);
  }

  void add_rows(const std::string& name, const model::Process& process, const std::string& tid, bool is_main,
                std::vector<Row>& rows, std::string_view weight, const std::string& markers) {
    if (rows.empty() && markers.empty()) return;
    stable_sort_rows(rows, {}, &Row::time_ns);
    main_threads_.try_emplace(process.pid, thread_count_);
    ++thread_count_;
    std::string& out = threads_;
    out += out.empty() ? "" : ",\n";
    out += R"({"name":)";
    append_json_text(out, name);
    out += fmt::format(R"(,"isMainThread":{},"pid":"{}","tid":{},"processType":"default","processName":)",
                       is_main, process.pid, tid);
    append_json_text(out, profile_.strings[process.name]);
    out += R"(,"processStartupTime":0,"processShutdownTime":null,"registerTime":0,"unregisterTime":null,)"
           R"("pausedRanges":[],"showMarkersInTimeline":true,"samples":{"length":)";
    append_number(out, rows.size());
    out += R"(,"stack":)";
    append_list(out, rows, [](std::string& to, const Row& row) {
      if (row.stack)
        append_number(to, *row.stack);
      else
        to += "null";
    });
    out += R"(,"time":)";
    append_list(out, rows, [](std::string& to, const Row& row) { append_ms(to, row.time_ns); });
    out += R"(,"weight":)";
    const bool ones =
        weight == "samples" && std::ranges::all_of(rows, [](const Row& row) { return row.weight == 1; });
    if (ones)
      out += "null";
    else if (weight == "tracing-ms")
      append_list(out, rows, [](std::string& to, const Row& row) {
        append_ms(to, static_cast<std::uint64_t>(std::max<std::int64_t>(row.weight, 0)));
      });
    else
      append_list(out, rows, [](std::string& to, const Row& row) { append_number(to, row.weight); });
    // From which the viewer draws how busy a thread was.
    if (const double period_ns = analysis::sample_period_ns(profile_); weight == "samples" && period_ns > 0) {
      out += R"(,"threadCPUDelta":)";
      append_list(out, rows, [&](std::string& to, const Row& row) {
        append_number(to, std::round(period_ns * static_cast<double>(row.weight)));
      });
    }
    out += fmt::format(R"(,"weightType":"{}"}},"markers":)", weight);
    out += markers.empty()
               ? R"({"length":0,"data":[],"name":[],"startTime":[],"endTime":[],"phase":[],"category":[]})"
               : markers;
    out += '}';
  }

  // A counter is a list of changes, and the viewer draws it from 0 and drops the first one: so a change of 0 goes first, and the
  // whole first value comes a microsecond later.
  void add_counters() {
    for (const model::Series& series : profile_.series) {
      if (profile_.strings[series.unit] != "bytes" || series.points.empty()) continue;
      const auto main = main_threads_.find(series.pid);
      if (main == main_threads_.end()) continue;  // the viewer has counters of processes with threads only
      std::string times, changes;
      double level = 0;
      std::size_t count = 1;
      append_ms(times, from_start(series.points.front().time_ns));
      changes = "0";
      for (const model::Point& point : series.points) {
        if (!std::isfinite(point.value)) continue;
        times += ',';
        append_ms(times, from_start(point.time_ns) + (count == 1 ? 1000 : 0));
        changes += ',';
        append_number(changes, point.value - level);
        level = point.value;
        ++count;
      }
      const std::string name = json_text(profile_.strings[series.name]);
      counters_ += counters_.empty() ? "" : ",\n";
      counters_ += fmt::format(
          R"({{"name":{0},"category":"Memory","description":{0},"pid":"{1}","mainThreadIndex":{2},)"
          R"("samples":{{"length":{3},"time":[{4}],"count":[{5}]}},)"
          R"("display":{{"graphType":"line-accumulated","unit":"bytes","color":"purple","markerSchemaLocation":null,)"
          R"("sortWeight":10,"label":{0},"tooltipRows":[{{"type":"value","source":"accumulated","format":{{"unit":"bytes"}},)"
          R"("label":{0}}}]}}}})",
          name, series.pid, main->second, count, times, changes);
    }
  }

  // Shown where the viewer lists what it knows of the profile.
  std::string extra_json() const {
    if (options_.comments.empty()) return "";
    std::string out = R"(,"extra":[{"label":"fathom","entries":[)";
    for (std::size_t i = 0; i < options_.comments.size(); ++i) {
      out += fmt::format(R"({}{{"label":"{}","format":"string","value":)", i == 0 ? "" : ",",
                         i == 0 ? "Quality" : "Note");
      append_json_text(out, options_.comments[i]);
      out += '}';
    }
    return out + "]}]";
  }

  std::string meta_json() const {
    const model::Meta& meta = profile_.meta;
    const double interval = meta.frequency_hz == 0 ? 1 : 1e3 / meta.frequency_hz;
    std::string out =
        fmt::format(R"({{"interval":{},"startTime":{},"processType":0,"product":)", interval,
                    static_cast<double>(meta.start_unix_ns + options_.selection.from_ns.value_or(0)) / 1e6);
    append_json_text(out, meta.target.empty() ? "fathom" : meta.target);
    out += R"(,"importedFrom":)";
    append_json_text(out, options_.version.empty() ? "fathom" : options_.version);
    out += extra_json();
    out +=
        R"(,"stackwalk":1,"version":24,"preprocessedProfileVersion":63,"symbolicated":true,)"
        R"("usesOnlyOneStackType":true,"sourceCodeIsNotOnSearchfox":true,)"
        R"("sampleUnits":{"time":"ms","eventDelay":"ms","threadCPUDelta":"ns"},"markerSchema":[{"name":"Wait",)"
        R"("display":["marker-chart","marker-table","timeline-overview"],"tooltipLabel":"{marker.data.reason}",)"
        R"("tableLabel":"{marker.data.reason}","chartLabel":"{marker.data.reason}","fields":[)"
        R"({"key":"reason","label":"Reason","format":"string"},{"key":"waker","label":"Woken by","format":"string"},)"
        R"({"key":"stands_for","label":"Waits that it stands for","format":"integer"}]},{"name":"Span",)"
        R"("display":["marker-chart","marker-table","timeline-overview"],"tooltipLabel":"{marker.data.name}",)"
        R"("tableLabel":"{marker.data.name}","chartLabel":"{marker.data.name}","fields":[)"
        R"({"key":"name","label":"Span","format":"string"},{"key":"id","label":"Id","format":"string"}]}],"categories":)";
    return out + tables_.categories_json() + "}";
  }

  const model::Profile& profile_;
  const FirefoxOptions& options_;
  std::uint64_t start_ns_;
  FirefoxTables tables_;
  std::string threads_, counters_;
  std::size_t thread_count_ = 0;
  std::map<std::int32_t, std::size_t> main_threads_;  // the first thread of each process in the file
};

}  // namespace

Result<std::string> write_firefox(const model::Profile& profile, const FirefoxOptions& options) {
  return FirefoxWriter(profile, options).write();
}

}  // namespace fathom::present
