#include "present/page/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/core/code_name.h"
#include "analysis/core/code_owner.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/runtimes.h"
#include "analysis/core/words.h"
#include "base/flat_map.h"
#include "present/page/call_nodes.h"
#include "present/page/columns.h"
#include "present/page/cost_table.h"
#include "present/page/parts.h"
#include "present/page/slice_sums.h"
#include "present/sentences/diff_legend.h"
#include "present/sentences/diff_sentences.h"

namespace fathom::page {
namespace {

using Json = nlohmann::ordered_json;
using analysis::Change;
using analysis::DiffReport;
using analysis::DiffUnit;
using analysis::NodeKind;
using analysis::UnionTree;

// As the page names what figures count.
std::string_view unit_of(const DiffReport& report) {
  const bool per_second = report.normalization == analysis::Normalization::kPerSecond;
  switch (report.unit) {
    case DiffUnit::kOfCore:
      return report.metric == model::Metric::kCpu ? "cores" : "threads";
    case DiffUnit::kShare:
      return "share";
    case DiffUnit::kNs:
      return "ns";
    case DiffUnit::kBytes:
      return per_second ? "bytes per second" : "bytes";
    case DiffUnit::kCount:
      break;
  }
  return per_second ? "per second" : "count";
}

// The calls of all reports as one tree without threads, and its places.
class Calls {
 public:
  // By row of the union's places: the page's place; of threads the row of `threads`.
  std::vector<std::uint32_t> places_of(const UnionTree& tree) {
    std::vector<std::uint32_t> out;
    for (const analysis::UnionPlace& place : tree.places) {
      const std::string& name = tree.names[place.name];
      out.push_back(place.kind == NodeKind::kThread ? thread_of(name)
                                                    : place_of(name, tree.modules[place.module], place.kind));
    }
    return out;
  }
  std::uint32_t place_of(const std::string& name, const std::string& module, NodeKind kind) {
    const bool cause = kind == NodeKind::kCause;
    const auto key = std::tuple(texts.of(name), texts.of(cause ? "" : module), cause);
    const auto [found, added] = place_ids_.try_emplace(key, static_cast<std::uint32_t>(places.size()));
    if (added) {
      analysis::TreeNode node;
      node.kind = kind;
      analysis::TreeModule described;
      described.name = module;
      Place place;
      place.name = std::get<0>(key);
      place.module = std::get<1>(key);
      if (!cause) {
        place.crate = texts.of(analysis::crate_of(name));
        place.short_name = texts.of(analysis::prose_name(name));
      }
      place.kind = place_kind(analysis::owner_of(node, name, described));
      if (analysis::built_in_runtime_rules().has_function(name)) place.whose = PlaceOwner::kRuntime;
      places.push_back(place);
    }
    return found->second;
  }
  std::uint32_t thread_of(const std::string& name) {
    const auto [found, added] =
        thread_ids_.try_emplace(texts.of(name), static_cast<std::uint32_t>(threads.size()));
    if (added) threads.push_back(found->first);
    return found->second;
  }
  void tell_file(std::uint32_t place, const std::string& file, std::uint32_t line) {
    if (file.empty() || places[place].file != 0) return;
    places[place].file = texts.of(file);
    places[place].first_line = places[place].last_line = line;
  }
  std::uint32_t child(std::uint32_t parent, std::uint32_t place) {
    std::uint32_t& node = children_[std::uint64_t{parent} << 32 | place];
    if (node == 0) {
      node = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back({parent, place});
    }
    return node;
  }

  std::vector<CallNode> nodes{{}};
  std::vector<Place> places{{}};
  std::vector<std::uint32_t> threads;  // texts
  Texts texts;

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint32_t> place_ids_;
  std::map<std::uint32_t, std::uint32_t> thread_ids_;
  FlatMap<std::uint32_t> children_;
};

// What values of a side in the document are multiplied with to be figures. Of one run they are its own. Of several they are
// their mean in the units of the first, finer, so that what is rounded away of a call is no part of any figure.
class SideFactors {
 public:
  explicit SideFactors(const DiffReport& report) : report_(report) {
    constexpr double kFiner = 1024, kMost = 1e15;  // doubles hold whole numbers up to 9e15
    for (std::uint32_t side = 0; side < 2; ++side) {
      factors_[side] = report.run_factors[first(side)];
      if (end(side) - first(side) == 1) continue;
      if (whole_of(side) * kFiner < kMost * factors_[side]) factors_[side] /= kFiner;
    }
  }
  const std::array<double, 2>& factors() const { return factors_; }
  std::int64_t value(std::size_t node, std::uint32_t side) const {
    const UnionTree& tree = report_.tree;
    const std::int64_t* values = &tree.node_self[node * tree.runs];
    if (end(side) - first(side) == 1) return values[first(side)];
    if (factors_[side] <= 0) return 0;
    double figure = 0;
    for (std::size_t run = first(side); run < end(side); ++run)
      figure += static_cast<double>(values[run]) * report_.run_factors[run];
    return std::llround(figure / factors_[side]);
  }

 private:
  std::size_t first(std::uint32_t side) const { return side == 0 ? 0 : report_.base_runs; }
  std::size_t end(std::uint32_t side) const { return side == 0 ? report_.base_runs : report_.tree.runs; }
  double whole_of(std::uint32_t side) const {
    double sum = 0;
    for (std::size_t node = 0; node < report_.tree.nodes.size(); ++node)
      for (std::size_t run = first(side); run < end(side); ++run)
        sum += std::abs(static_cast<double>(report_.tree.node_self[node * report_.tree.runs + run])) *
               report_.run_factors[run];
    return sum;
  }
  const DiffReport& report_;
  std::array<double, 2> factors_{};
};

// What both sides spent in each call, by thread: slice 0 is base, slice 1 is new.
CostTable costs_of(const DiffReport& report, const SideFactors& factors,
                   const std::vector<std::uint32_t>& place_of, Calls& calls) {
  const UnionTree& tree = report.tree;
  std::vector<Cell> cells(tree.nodes.size());
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const analysis::UnionNode& node = tree.nodes[i];
    const Cell& above = cells[node.parent];
    cells[i] = node.kind == NodeKind::kThread
                   ? Cell{place_of[node.place], 0}
                   : Cell{above.thread, calls.child(above.node, place_of[node.place])};
  }
  return add_up_slices(report.metric, [&](auto visit) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      for (std::uint32_t side = 0; side < 2; ++side)
        visit(cells[i].thread, cells[i].node, side, factors.value(i, side));
  });
}

// Changes in columns NAME.values and NAME.flags.
class Changes {
 public:
  void add(const Change& change) {
    values_.insert(values_.end(), {change.base, change.fresh, change.change, change.error, change.p});
    flags_.push_back((change.looked_at ? 1u : 0u) | (change.beyond_noise ? 2u : 0u));
  }
  void put(const std::string& name, Columns& columns) const {
    columns.add_reals(name + ".values", values_);
    columns.add_unsigned(name + ".flags", flags_);
  }

 private:
  std::vector<double> values_;
  std::vector<std::uint64_t> flags_;
};

void add_judged(const std::string& name, const DiffReport& report, Calls& calls, Columns& columns) {
  std::vector<std::uint64_t> places, threads;
  Changes of_places, of_threads;
  for (const analysis::DiffRow& row : report.rows) {
    const std::uint32_t place = calls.place_of(row.name, row.module, row.kind);
    calls.tell_file(place, row.file, row.line);
    places.push_back(place);
    of_places.add(row.self);
    of_places.add(row.total);
  }
  for (const analysis::DiffGroup& row : report.causes) {  // nothing is called from a cause
    places.push_back(calls.place_of(row.name, "", NodeKind::kCause));
    of_places.add(row.self);
    of_places.add(row.self);
  }
  for (const analysis::DiffGroup& row : report.threads) {
    threads.push_back(calls.thread_of(row.name));
    of_threads.add(row.self);
  }
  Changes whole;
  whole.add(report.whole);
  columns.add_unsigned(name + ".places", places);
  of_places.put(name + ".places", columns);
  columns.add_unsigned(name + ".threads", threads);
  of_threads.put(name + ".threads", columns);
  whole.put(name + ".whole", columns);
}

Json lines_of(const std::vector<std::string>& sentences) {
  Json lines = Json::array();
  for (const std::string& sentence : sentences)
    if (!sentence.empty()) lines.push_back(analysis::printable(sentence));
  return lines;
}

Json metric_of(const DiffReport& report, const SideFactors& factors) {
  const model::MetricInfo& info = model::info_of(report.metric);
  const std::string name(info.name);
  return {{"name", name},
          {"title", info.title},
          {"unit", info.unit},
          {"table", name},
          {"weight", 0},
          {"compared",
           {{"unit", unit_of(report)},
            {"seconds", {report.base.seconds, report.fresh.seconds}},
            {"factors", factors.factors()},
            {"looked_at", report.looked_at},
            {"level", report.level},
            {"judged", report.whole_is_judged},
            {"headline", analysis::printable(present::diff_headline(report))},
            {"legend", analysis::printable(present::diff_legend(report))},
            {"doubts", lines_of(present::doubt_sentences(report))}}}};
}

Json words_of(std::span<const DiffReport> reports, const ComparisonOptions& options) {
  const auto name = [](const std::vector<std::string>& files) {
    const std::string first = analysis::printable(std::filesystem::path(files.front()).filename().string());
    return files.size() == 1 ? first : fmt::format("{} and {} more", first, files.size() - 1);
  };
  Json claims = Json::array();
  std::vector<std::string> complaints;
  for (const DiffReport& report : reports) {
    claims.push_back({{"text", analysis::printable(present::diff_headline(report))},
                      {"metric", model::to_string(report.metric)},
                      {"focus", ""}});
    for (const std::string& doubt : present::doubt_sentences(report))
      if (std::ranges::find(complaints, doubt) == complaints.end()) complaints.push_back(doubt);
  }
  return {{"headline", fmt::format("{} → {}", name(options.base), name(options.fresh))},
          {"quality", analysis::printable(present::unmatched_sentence(reports.front()))},
          {"claims", claims},
          {"complaints", lines_of(complaints)}};
}

std::vector<std::string> printed(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(analysis::printable(text));
  return out;
}

}  // namespace

Result<Document> make_comparison(std::span<const DiffReport> reports, const ComparisonOptions& options) {
  Calls calls;
  Columns columns;
  Json metrics = Json::array();
  for (const DiffReport& report : reports) {
    const std::string name(model::to_string(report.metric));
    const SideFactors factors(report);
    add_table(name, costs_of(report, factors, calls.places_of(report.tree), calls), columns);
    add_judged("compared." + name, report, calls, columns);
    metrics.push_back(metric_of(report, factors));
  }
  add_nodes(calls.nodes, calls.places, columns);
  add_no_waits(columns);
  Json courses = add_courses(options.base_courses, options.fresh_courses, columns);
  Json threads = Json::array();
  for (const std::uint32_t name : calls.threads)
    threads.push_back({{"name", calls.texts.rows()[name]}, {"threads", 0}});
  Json head = {{"version", kDocumentVersion},
               {"file", analysis::printable(options.base.front())},
               {"compared_with", analysis::printable(options.fresh.front())},
               {"runs", {{"base", printed(options.base)}, {"new", printed(options.fresh)}}},
               {"courses", std::move(courses)},
               {"arguments", printed(options.arguments)},
               {"target", ""},
               {"event", ""},
               {"frequency_hz", 0},
               {"period_ns", 0},
               {"start_unix_ms", 0},
               {"duration_ns", 0},
               {"cpus", ""},
               {"host", ""},
               {"memory_limit", 0},
               {"marks", Json::array()},
               {"slice_ms", 1},
               {"slices", 2},
               {"folded", {{"calls", 0}, {"share", 0}}},
               {"words", words_of(reports, options)},
               {"metrics", std::move(metrics)},
               {"threads", std::move(threads)},
               {"series", Json::array()},
               {"waits", {{"objects", Json::array()}, {"shorter", 0}}},
               {"heap", nullptr},
               {"modules", Json::array()},
               {"texts", calls.texts.rows()}};
  Result<std::string> packed = pack_document(std::move(head), columns);
  if (!packed) return tl::unexpected(packed.error());
  if (packed->size() > options.most_bytes)
    return fail(ErrorKind::kUnsupported,
                fmt::format("the page would be larger than {}",
                            analysis::bytes(static_cast<double>(options.most_bytes))),
                "fathom diff --flamegraph FILE.svg");
  return Document{std::move(*packed), 1, 0};
}

}  // namespace fathom::page
