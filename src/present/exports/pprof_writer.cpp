#include "present/exports/pprof_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "analysis/core/empty_selection.h"
#include "analysis/core/fold_generics.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/core/words.h"
#include "base/flat_map.h"
#include "base/stable_sort.h"
#include "present/exports/cost_rows.h"
#include "present/exports/pprof_kind.h"
#include "present/exports/wire_writer.h"

namespace fathom::present {
namespace {

using model::Metric;

// Numbers of fields in profile.proto.
enum Field : std::uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kString = 6,
  kTime = 9,
  kDuration = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultType = 14,
};

class PprofWriter {
 public:
  // No limits: one part.
  PprofWriter(const model::Profile& profile, const PprofOptions& options, std::optional<PprofLimits> limits)
      : profile_(profile),
        options_(options),
        limits_(limits),
        selection_(options.selection),
        with_labels_(!options.for_server && !options.as_go),
        tracer_(selection_.tracer ? std::nullopt : analysis::tracer_module(profile)) {}

  Result<std::vector<std::string>> write() {
    begin_part();
    if (model::is_heap(selection_.metric))
      write_heap();
    else
      write_times();
    if (written_ == 0 && !options_.allow_empty)
      return tl::unexpected(analysis::nothing_selected(profile_, selection_));
    parts_.push_back(finish());
    return std::move(parts_);
  }

 private:
  // Nothing is written of any row of the model.
  void begin_part() {
    text_numbers_.clear();
    texts_.clear();
    text_bytes_ = 0;
    strings_.assign(profile_.strings.size(), 0);
    locations_.assign(profile_.frames.size(), 0);
    mappings_.assign(profile_.modules.size(), 0);
    functions_ = {};
    cut_locations_.clear();
    causes_.clear();
    threads_.clear();
    named_.clear();
    nameless_.clear();
    order_.clear();
    last_location_ = last_function_ = written_ = 0;
    samples_.clear();
    places_of_file_.clear();
    functions_of_file_.clear();
    text("");
    map_main_binary();
  }

  // One sample may bring a stack of new names with it: leaves room for one.
  bool is_full() const {
    if (!limits_ || written_ == 0) return false;
    const std::size_t bytes = samples_.view().size() + places_of_file_.view().size() +
                              functions_of_file_.view().size() + text_bytes_;
    return written_ >= limits_->most_samples || bytes >= limits_->most_bytes / 4 * 3;
  }

  // Of time: samples and waits.
  void write_times() {
    CostRows rows = sample_rows(profile_, selection_);
    if (!with_labels_) add_up_threads(rows.rows);
    kind_ = pprof_kind_of_time(profile_, options_);
    const bool rated = kind_.types.size() == 2 && kind_.period != 0 && selection_.metric != Metric::kOffCpu;
    analysis::ValueBudget budget;
    std::vector<std::int64_t> values(kind_.types.size());
    for (const CostRow& row : rows.rows) {
      values.back() = row.value;
      if (rated) {  // so many samples of a period each
        values.front() = row.value;
        std::int64_t ns = 0;
        if (__builtin_mul_overflow(row.value, kind_.period, &ns))
          ns = row.value < 0 ? INT64_MIN + 1 : INT64_MAX;
        values.back() = budget.take(ns);
      } else if (values.size() == 2) {
        values.front() = row.count;
      }
      sample(row.thread, row.stack, row.skip, rows.causes[row.cause], values);
    }
  }

  static void add_up_threads(std::vector<CostRow>& rows) {
    const auto key = [](const CostRow& row) { return std::tuple(row.stack, row.skip, row.cause); };
    stable_sort_rows(rows, {}, key);
    std::vector<CostRow> sums;
    for (const CostRow& row : rows) {
      if (sums.empty() || key(sums.back()) != key(row)) {
        sums.push_back(row);
        continue;
      }
      sums.back().count = sums.back().count + row.count;
      sums.back().value = sums.back().value + row.value;
    }
    rows = std::move(sums);
  }

  void write_heap() {
    const std::vector<PprofHeapColumn> columns = pprof_heap_columns(profile_, options_);
    kind_ = pprof_kind_of_heap(profile_, options_, columns);
    if (columns.front().name == "alloc") write_allocation_samples();
    if (profile_.heap.empty()) return;
    const analysis::HeapSums sums(profile_, selection_);
    std::vector<WholeSum> wholes(kind_.types.size());
    std::vector<std::int64_t> values(kind_.types.size());
    for (const HeapCostRow& row : heap_rows(profile_, selection_, sums)) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const analysis::HeapAmounts amounts = columns[i].amounts(sums, row.site);
        values[2 * i] = wholes[2 * i].take(amounts.blocks.value);
        values[2 * i + 1] = wholes[2 * i + 1].take(amounts.bytes.value);
      }
      sample(row.thread, row.stack, row.skip, "", values);
    }
  }

  // Recordings by others may count allocations as samples.
  void write_allocation_samples() {
    std::vector<std::int64_t> values(kind_.types.size());
    for (const auto& [metric, column] :
         {std::pair(Metric::kHeapAllocations, 0), std::pair(Metric::kHeapAllocated, 1)}) {
      analysis::Selection selection = selection_;
      selection.metric = metric;
      for (const CostRow& row : sample_rows(profile_, selection).rows) {
        std::ranges::fill(values, 0);
        values[static_cast<std::size_t>(column)] = row.value;
        sample(row.thread, row.stack, row.skip, "", values);
      }
    }
  }

  void sample(model::ThreadId thread, model::StackId stack, std::uint32_t skip, std::string_view cause,
              const std::vector<std::int64_t>& values) {
    if (std::ranges::all_of(values, [](std::int64_t value) { return value == 0; })) return;
    if (is_full()) {
      parts_.push_back(finish());
      begin_part();
    }
    places_.clear();
    if (!cause.empty()) put_wire_varint(places_, place_of_cause(cause));
    for (bool leaf = true; stack.value != 0; stack = profile_.stacks[stack.value].parent, leaf = false) {
      const std::uint64_t place = place_of(profile_.stacks[stack.value].frame, leaf ? skip : 0);
      if (place != 0) put_wire_varint(places_, place);
    }
    amounts_.clear();
    for (const std::int64_t value : values) put_wire_varint(amounts_, static_cast<std::uint64_t>(value));
    row_.clear();
    row_.bytes(1, places_).bytes(2, amounts_);
    if (with_labels_ && thread != model::kNoThread)
      row_.bytes(3, label_of_thread(thread, 0)).bytes(3, label_of_thread(thread, 1));
    if (with_labels_ && !cause.empty())
      row_.message(3, WireWriter().number(1, text("state")).number(2, text(cause)));
    samples_.message(kSample, row_);
    ++written_;
  }

  // Its name and its number; made once, as every sample has them.
  std::string_view label_of_thread(model::ThreadId id, int which) {
    auto [known, added] = threads_.try_emplace(id.value);
    if (added) {
      const model::Thread& thread = profile_.threads[id.value];
      const std::uint64_t name = model_text(thread.name);
      known->second.name = WireWriter()
                               .number(1, text("thread"))
                               .number(2, name != 0 ? name : text(fmt::format("[thread {}]", thread.tid)))
                               .take();
      known->second.number = WireWriter().number(1, text("tid")).signed_number(3, thread.tid).take();
    }
    return which == 0 ? known->second.name : known->second.number;
  }

  // 0: a frame that is left out. A frame whose innermost lines are left out is a place of its own.
  std::uint64_t place_of(model::FrameId id, std::uint32_t skip) {
    const model::Frame& frame = profile_.frames[id.value];
    if (tracer_ && frame.module == *tracer_) return 0;
    std::uint64_t& known = skip == 0 ? locations_[id.value] : cut_locations_[{id.value, skip}];
    if (known != 0) return known;
    known = ++last_location_;
    const std::uint64_t mapping = mapping_of(frame.module);
    WireWriter place;
    place.number(1, known).number(2, mapping).number(3, frame.address.value);
    for (std::uint32_t i = skip; i < frame.line_count; ++i) {
      const model::Line& line = profile_.lines[frame.first_line + i];
      place.message(4, WireWriter().number(1, function_of(line)).number(2, line.line));
    }
    // Other tools cannot name code that is in no file, so its name is stored as its place.
    if (frame.line_count == 0 && profile_.modules[frame.module.value].kind != model::ModuleKind::kFile)
      place.message(4, WireWriter().number(1, function(profile_.pseudo_name(frame), 0)));
    else if (frame.line_count == 0)
      nameless_[frame.module.value] = true;
    if (frame.line_count != 0) named_[frame.module.value] = true;
    places_of_file_.message(kLocation, place);
    return known;
  }

  std::uint64_t place_of_cause(std::string_view cause) {
    const auto [known, added] = causes_.try_emplace(std::string(cause));
    if (added) {
      known->second = ++last_location_;
      places_of_file_.message(
          kLocation,
          WireWriter().number(1, known->second).message(4, WireWriter().number(1, function(cause, 0))));
    }
    return known->second;
  }

  std::uint64_t function_of(const model::Line& line) {
    std::uint64_t& known = functions_[std::uint64_t{line.function.value} << 32 | line.file.value];
    if (known == 0) {
      const std::string_view name = profile_.strings[profile_.functions[line.function.value].name];
      known = function(options_.fold_generics ? analysis::fold_generics(name) : std::string(name),
                       model_text(line.file));
    }
    return known;
  }

  std::uint64_t function(std::string_view name, std::uint64_t file) {
    const std::uint64_t number = text(name.empty() ? "[unknown]" : name);
    functions_of_file_.message(
        kFunction,
        WireWriter().number(1, ++last_function_).number(2, number).number(3, number).number(4, file));
    return last_function_;
  }

  // 0: it is in nothing that has a name.
  std::uint64_t mapping_of(model::ModuleId id) {
    const model::Module& module = profile_.modules[id.value];
    if (id.value == 0 || (module.path.value == 0 && module.name.value == 0)) return 0;
    std::uint64_t& known = mappings_[id.value];
    if (known == 0) {
      known = order_.size() + 1;
      order_.push_back(id);
    }
    return known;
  }

  // The first mapping is the program's, and its path names the profile.
  void map_main_binary() {
    for (const model::Process& process : profile_.processes) {
      if (process.executable.value == 0 || (selection_.pid && process.pid != *selection_.pid)) continue;
      for (std::uint32_t i = 1; i < profile_.modules.size(); ++i)
        if (profile_.modules[i].kind == model::ModuleKind::kFile &&
            profile_.modules[i].path == process.executable) {
          mapping_of({i});
          return;
        }
    }
  }

  std::string mappings() {
    WireWriter all;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const model::Module& module = profile_.modules[order_[i].value];
      const std::string_view build_id = profile_.strings[module.build_id];
      WireWriter row;
      row.number(1, i + 1).number(3, UINT64_MAX);  // starting at 0: as the file's own tables count
      row.number(5, model_text(module.path.value != 0 ? module.path : module.name));
      if (!build_id.starts_with("x-")) row.number(6, model_text(module.build_id));  // no hash in its place
      const bool named = named_[order_[i].value] && !nameless_[order_[i].value];
      const bool lines = named && (module.symbols == model::SymbolSource::kDwarf ||
                                   module.symbols == model::SymbolSource::kGo);
      row.number(7, named).number(8, lines).number(9, lines).number(10, lines);
      all.message(kMapping, row);
    }
    return all.take();
  }

  std::string finish() {
    WireWriter head, tail;
    for (const PprofType& type : kind_.types) head.message(kSampleType, type_of(type));
    std::string all = samples_.take();  // nearly all of it, which does not stand in memory twice
    all.insert(0, head.view());
    all += mappings();
    all += places_of_file_.view();
    all += functions_of_file_.view();
    set_times(tail);
    if (kind_.period_type)
      tail.message(kPeriodType, type_of(*kind_.period_type)).signed_number(kPeriod, kind_.period);
    for (const std::string& comment : options_.comments) tail.number(kComment, text(comment));
    tail.number(kDefaultType, text(kind_.opens));
    for (const std::string* one : texts_) all += WireWriter().bytes(kString, *one).view();
    all += tail.view();
    return all;
  }

  // Amounts of a moment have no duration, else a server takes them for the change since the last file.
  void set_times(WireWriter& to) {
    const model::Meta& meta = profile_.meta;
    const std::uint64_t length = meta.end_ns > meta.start_ns ? meta.end_ns - meta.start_ns : 0;
    const std::uint64_t from = std::min(selection_.from_ns.value_or(0), length);
    const std::uint64_t until = std::clamp(selection_.to_ns.value_or(length), from, length);
    if (meta.start_unix_ns != 0) to.number(kTime, meta.start_unix_ns + (kind_.moment ? until : from));
    if (!kind_.moment) to.number(kDuration, until - from);
  }

  WireWriter type_of(const PprofType& type) {
    return WireWriter().number(1, text(type.name)).number(2, text(type.unit));
  }

  std::uint64_t model_text(model::StringId id) {
    std::uint64_t& known = strings_[id.value];
    if (known == 0 && id.value != 0) known = text(profile_.strings[id]);
    return known;
  }
  std::uint64_t text(std::string_view raw) {
    const auto [known, added] = text_numbers_.try_emplace(analysis::printable(raw), texts_.size());
    if (added) {
      texts_.push_back(&known->first);
      text_bytes_ += known->first.size() + 4;
    }
    return known->second;
  }

  struct ThreadLabels {
    std::string name, number;
  };

  const model::Profile& profile_;
  const PprofOptions& options_;
  std::optional<PprofLimits> limits_;
  const analysis::Selection& selection_;
  bool with_labels_;
  std::optional<model::ModuleId> tracer_;
  PprofKind kind_;
  std::unordered_map<std::string, std::uint64_t> text_numbers_;
  std::vector<const std::string*> texts_;  // keys, which never move
  std::size_t text_bytes_ = 0;
  // Numbers in the file, 0 for what is not in it yet, by rows of the model.
  std::vector<std::uint64_t> strings_, locations_, mappings_;
  FlatMap<std::uint64_t> functions_;  // by function and file
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> cut_locations_;
  std::map<std::string, std::uint64_t> causes_;
  std::unordered_map<std::uint32_t, ThreadLabels> threads_;
  std::map<std::uint32_t, bool> named_, nameless_;  // by module
  std::vector<model::ModuleId> order_;              // of the mappings
  std::uint64_t last_location_ = 0, last_function_ = 0, written_ = 0;
  std::string places_, amounts_;  // of one sample
  WireWriter row_, samples_, places_of_file_, functions_of_file_;
  std::vector<std::string> parts_;
};

}  // namespace

Result<std::string> write_pprof(const model::Profile& profile, const PprofOptions& options) {
  Result<std::vector<std::string>> parts = PprofWriter(profile, options, std::nullopt).write();
  if (!parts) return tl::unexpected(parts.error());
  return std::move(parts->front());
}

Result<std::vector<std::string>> write_pprof_parts(const model::Profile& profile, const PprofOptions& options,
                                                   const PprofLimits& limits) {
  return PprofWriter(profile, options, limits).write();
}

}  // namespace fathom::present
