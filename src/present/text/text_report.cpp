#include "present/text/text_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/prose_name.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "present/sentences/heap_sentences.h"
#include "present/sentences/left_sentences.h"
#include "present/sentences/limit_sentences.h"
#include "present/sentences/quality_sentences.h"
#include "present/sentences/report_sentences.h"
#include "present/sentences/resource_sentences.h"
#include "present/sentences/selection_sentences.h"
#include "present/sentences/symbol_words.h"
#include "present/text/heading.h"
#include "present/text/rows_shown.h"
#include "present/text/text_calls.h"
#include "present/text/text_first_screen.h"
#include "present/text/text_groups.h"
#include "present/text/text_heap.h"
#include "present/text/text_heap_blocks.h"
#include "present/text/text_heap_groups.h"
#include "present/text/text_heap_verdicts.h"
#include "present/text/text_memory.h"
#include "present/text/text_table.h"
#include "present/text/text_waits.h"

namespace fathom::present {
namespace {

using analysis::amount;
using analysis::counted;
using analysis::percent;
using analysis::percent_number;
using analysis::printable;
using analysis::Section;
using analysis::with_commas;

class TextReport {
 public:
  TextReport(const analysis::Report& report, const TextOptions& options)
      : report_(report), tree_(report.tree), options_(options) {}

  std::string text() {
    if (options_.layout == Layout::kFirstScreen) return first_screen_text(report_, options_);
    const bool all = options_.layout == Layout::kAll;
    if (all) {
      if (const std::string left = left_line(*report_.profile); !left.empty())
        out_ += fill("", left, options_.width, 2);
      if (const std::string text = sentence_of_selection(report_.selection, tree_, report_.whole);
          report_.whole && !text.empty())
        out_ += fill("", text, options_.width, 2);
      for (const std::string& sentence : sentences_of(report_)) out_ += fill("", sentence, options_.width, 2);
      if (const std::string resources = sentence_of_resources(report_); !resources.empty())
        out_ += fill("", resources, options_.width, 2);
      if (const std::string limits = limits_line(*report_.profile); !limits.empty())
        out_ += fill("", limits, options_.width, 2);
      if (report_.heap) out_ += heap_verdicts_text(report_.heap->verdicts, options_);
      write_quality();
    } else {
      out_ += summary_line(report_, options_);
      if (const std::string text = sentence_of_selection(report_.selection, tree_, report_.whole);
          !text.empty())
        out_ += fill("", text, options_.width, 2);
    }
    write_tables(all);
    const std::string last = all ? closing_text(report_, options_) : present::quality_line(report_, options_);
    if (!last.empty()) out_ += "\n" + last;
    return std::move(out_);
  }

 private:
  bool prints(Section section) const { return options_.sections.has(section); }

  void write_tables(bool all) {
    if (report_.heap_groups) {
      out_ += heap_groups_text(*report_.heap_groups, options_);
      return;
    }
    const bool of_heap = report_.heap && model::is_heap(tree_.metric);
    // A table that the user asks for with a metric of the heap has its figures, and stands alone.
    const bool asks_for_another =
        options_.sections.has_any({Section::kTree, Section::kThreads, Section::kModules}) || report_.groups ||
        !report_.callers.empty() || !report_.callees.empty();
    if (report_.heap && ((of_heap && (all || !asks_for_another)) || prints(Section::kHeap))) {
      if (!all && prints(Section::kHeap)) {  // how it was traced, how much it allocated, and what that means
        const std::vector<std::string> sentences = sentences_of(*report_.heap);
        const std::size_t most = report_.heap->block_choice.empty() ? 2 : 3;
        for (std::size_t i = 0; i < std::min(most, sentences.size()); ++i)
          out_ += fill("", sentences[i], options_.width, 2);
        out_ += heap_verdicts_text(report_.heap->verdicts, options_);
      }
      out_ += heap_functions_text(*report_.heap, options_);
      if (prints(Section::kHeap)) {
        out_ += heap_detail_text(*report_.heap, options_);
      }
    }
    if (report_.heap && prints(Section::kBlocks)) out_ += heap_blocks_text(report_.heap->blocks, options_);
    if (report_.memory && prints(Section::kMemory))
      out_ += memory_text(*report_.memory, options_, !all || !report_.heap);
    if (prints(Section::kSeries) && !report_.series.empty()) write_series();
    if (tree_.samples == 0) {  // of CPU time; all threads waited
      if (report_.waits) write_waits(tree_.waits != 0 || prints(Section::kWaits));
      return;
    }
    if (report_.groups) out_ += groups_text(report_, options_);
    if (prints(Section::kTree)) out_ += call_tree_text(report_, options_);
    const bool asked_for_one = !report_.callers.empty() || !report_.callees.empty();
    for (const analysis::NeighboursOf& of : report_.callers) write_neighbours(of, true);
    for (const analysis::NeighboursOf& of : report_.callees) write_neighbours(of, false);
    const bool asked_for_waits =
        options_.sections.has_any({Section::kWaits, Section::kLocks, Section::kFiles});
    if (report_.waits) write_waits(!asked_for_one && (tree_.waits != 0 || prints(Section::kWaits)));
    if (all ? !asked_for_one && !asked_for_waits : prints(Section::kFunctions) && !of_heap) write_functions();
    if (prints(Section::kThreads)) write_threads();
    if (prints(Section::kThreads) && report_.processes.size() > 1) write_processes();
    if (prints(Section::kModules)) write_modules();
    if (all && !asked_for_one && !report_.series.empty() && !prints(Section::kSeries)) write_series();
  }

  void heading(const std::string& text) { out_ += present::heading(text, options_); }
  void write(const TextTable& table) { out_ += table.text(table_width(options_), options_.color); }
  std::string module_name(std::uint32_t module) const {
    return keep_tail(printable(tree_.modules[module].name), 28);
  }
  std::string error(std::int64_t value) const {
    return "±" + percent_number(analysis::share_interval(tree_, value).half_width());
  }
  std::string share(std::int64_t value) const { return percent_number(analysis::share(tree_, value)); }
  // Of a function: "main", "main (inlined)".
  static std::string marked(const std::string& name, analysis::NodeKind kind) {
    switch (kind) {
      case analysis::NodeKind::kInlined:
        return printable(name) + " (inlined)";
      case analysis::NodeKind::kThread:
        return "(thread " + printable(name) + ")";
      case analysis::NodeKind::kRoot:
        return "(root)";
      default:
        return printable(name);
    }
  }

  void quality_line(std::string_view label, const std::string& text) {
    out_ += fill(fmt::format("  {:<10}", label), text, options_.width, 12);
  }

  void write_quality() {
    const model::Quality& quality = report_.profile->quality;
    const analysis::QualityView& view = report_.quality;
    // Foreign files do not say what was lost or cut short.
    const bool imported = report_.profile->meta.engine == "import";
    const std::vector<Complaint> complaints = complaints_of(report_);
    const bool nothing = quality.samples == 0 && quality.waits == 0 && !report_.heap;
    const bool certain = std::ranges::any_of(complaints, &Complaint::is_certain);
    heading(certain    ? "Quality: read these first"
            : imported ? "Quality: as far as the imported file shows"
            : nothing  ? "Quality: nothing was sampled"
                       : "Quality: good");
    for (const Complaint& finding : complaints) {
      out_ += fill(
          "  ! ",
          finding.text + (finding.is_certain ? "" : " This is based on few samples, so it may be chance."),
          options_.width, 4);
      if (!finding.remedy.empty()) out_ += fill("    try: ", finding.remedy, options_.width, 9);
    }
    std::string samples = with_commas(static_cast<std::int64_t>(view.samples)) + " received";
    if (view.received_share) {
      samples += " of " + expected_samples_text(report_);
    }
    samples += fmt::format("; {} lost", with_commas(static_cast<std::int64_t>(view.lost)));
    if (view.lost != 0) {
      samples += fmt::format(" (ring full {}, stack missing {}, disk {})", quality.lost_ring_full,
                             quality.lost_stack, quality.lost_disk);
    }
    samples += fmt::format("; throttled {}", counted(quality.lost_throttled, "time"));
    if (quality.lost_records != 0) samples += "; " + counted(quality.lost_records, "record") + " lost";
    if (quality.samples != 0 || (!report_.heap && quality.waits == 0)) quality_line("samples", samples);
    if (view.complete_share) quality_line("stacks", stacks_line());
    if (quality.waits != 0) quality_line("waits", waits_line());
    if (report_.heap) out_ += heap_quality_text(*report_.heap, options_);
    quality_line("names", fmt::format("{} of all frames have none", percent(view.unnamed_share)));
    if (const std::string tracer = tracer_share_text(tree_); !tracer.empty())
      quality_line(
          "tracer",
          fmt::format(
              "fathom's own tracing in the target used {}, which is excluded below; --tracer includes it",
              tracer));
    if (quality.profiler_cpu_ns != 0 || quality.profiler_rss_bytes != 0)
      quality_line("profiler", profiler_line());
    if (view.stolen_share.value_or(0) >= 0.01) {
      quality_line(
          "machine",
          fmt::format(
              "the host took {} of the CPUs' busy time away; that time is charged to what ran at the time",
              percent(*view.stolen_share)));
    }
    for (const std::string& note : quality.notes) quality_line("note", printable(note));
  }

  std::string stacks_line() const {
    const model::Quality& quality = report_.profile->quality;
    const analysis::QualityView& view = report_.quality;
    std::string text = percent(*view.complete_share) + " complete";
    constexpr std::size_t kMost = 3;
    for (std::size_t i = 0; i < std::min(view.early_ends.size(), kMost); ++i) {
      const analysis::EarlyEndRow& end = view.early_ends[i];
      text += fmt::format("; {} ended early{}: {}", with_commas(static_cast<std::int64_t>(end.count)),
                          end.module.empty() ? "" : " in " + printable(end.module),
                          describe_walk_end(end.reason));
    }
    if (view.early_ends.size() > kMost)
      text += fmt::format("; {} more kinds in --json", view.early_ends.size() - kMost);
    if (quality.kernel_truncated != 0)
      text += fmt::format("; {} kernel stacks cut", quality.kernel_truncated);
    if (quality.table_overflows != 0) {
      text += "; no room for the unwind tables of " + counted(quality.table_overflows, "module");
    }
    return text;
  }

  std::string waits_line() const {
    const model::Quality& quality = report_.profile->quality;
    const auto number = [](std::uint64_t count) { return with_commas(static_cast<std::int64_t>(count)); };
    std::string text = number(quality.waits) + " walked";
    if (quality.unwalked_waits != 0) {
      text += fmt::format("; they represent {} more ({})", number(quality.unwalked_waits),
                          analysis::seconds(static_cast<double>(quality.unwalked_ns) * 1e-9));
    } else {
      text += ", which is all of them: times are exact";
    }
    text += fmt::format("; {} lost", number(quality.lost_waits));
    if (quality.switches != 0 && quality.switch_ns != 0) {
      text += fmt::format("; {} context switches recorded, {} each", number(quality.switches),
                          analysis::seconds(static_cast<double>(quality.switch_ns) /
                                            static_cast<double>(quality.switches) * 1e-9));
    }
    return text;
  }

  std::string profiler_line() const {
    const model::Quality& quality = report_.profile->quality;
    std::string text = own_cost_parts(report_);
    if (!text.empty()) text += "; ";
    text += fmt::format("{} memory", analysis::bytes(static_cast<double>(quality.profiler_rss_bytes)));
    if (quality.kernel_memory_bytes != 0) {
      text += fmt::format(", {} in the kernel",
                          analysis::bytes(static_cast<double>(quality.kernel_memory_bytes)));
    }
    if (quality.bpf_runs != 0) {
      text +=
          fmt::format(", BPF {} in {} runs", analysis::seconds(static_cast<double>(quality.bpf_ns) * 1e-9),
                      with_commas(static_cast<std::int64_t>(quality.bpf_runs)));
    }
    text += quality.target_stops == 0
                ? "; the target was never stopped"
                : fmt::format("; {} in the target, the longest {}", counted(quality.target_stops, "stop"),
                              analysis::seconds(static_cast<double>(quality.target_stop_ns) * 1e-9));
    return text;
  }

  void write_functions() {
    const bool by_self = report_.sort == analysis::SortBy::kSelf;
    const auto rank = [&](const analysis::FunctionRow& row) { return by_self ? row.self : row.total; };
    const auto narrow = std::find_if(
        report_.functions.begin(), report_.functions.end(),
        [&](const auto& row) { return analysis::share(tree_, rank(row)) < options_.least_share; });
    const std::size_t all = report_.functions.size();
    const std::size_t rows =
        std::min(rows_shown(all, options_), static_cast<std::size_t>(narrow - report_.functions.begin()));
    const std::string cut =
        rows == all ? "" : fmt::format(", {} of {}", rows, with_commas(static_cast<std::int64_t>(all)));
    heading(fmt::format("Functions by {}{} (% of {}, ± is the 95 % sampling error)",
                        by_self ? "self" : "total", cut, analysis::amount_of(tree_, tree_.total)));
    TextTable table({{"self %", Align::kRight},
                     {"±", Align::kRight},
                     {"total %", Align::kRight},
                     {"±", Align::kRight},
                     {tree_.unit == "samples" ? "samples" : "self", Align::kRight},
                     {"function", Align::kLeft, true},
                     {"module"}});
    // The names of functions have more to say than those of modules.
    constexpr std::size_t kRoomy = 120;
    const bool slim = table_width(options_) != 0 && table_width(options_) < kRoomy;
    bool noise = false;
    for (std::size_t i = 0; i < rows; ++i) {
      const analysis::FunctionRow& row = report_.functions[i];
      const bool faint = rank(row) != 0 && analysis::is_noise(tree_, rank(row));
      noise = noise || faint;
      table.add({share(row.self), error(row.self), share(row.total), error(row.total) + (faint ? " ~" : "  "),
                 value(row.self), marked(tree_.names[row.name], row.kind),
                 slim ? analysis::short_module(module_name(row.module)) : module_name(row.module)},
                faint);
    }
    write(table);
    if (noise)
      out_ += fill("  ~ ", "the error is more than half of the share: the order of these rows is chance",
                   options_.width, 4);
  }

  std::string value(std::int64_t number) const {
    return tree_.unit == "samples" ? with_commas(number) : analysis::amount_of(tree_, number);
  }

  // The functions that one short name stands for.
  static std::string all_of(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i)
      text += (i == 0 ? "" : "; ") + printable(names[i]);
    return text + (names.size() > kMost ? fmt::format("; and {} more", names.size() - kMost) : "");
  }

  void write_neighbours(const analysis::NeighboursOf& of, bool callers) {
    const analysis::Neighbours& around = of.around;
    const bool is_one = around.matched.size() == 1;
    const bool is_expression =
        of.pattern.size() > 2 && of.pattern.starts_with('/') && of.pattern.ends_with('/');
    const std::string what =
        is_one ? printable(around.matched.front())
               : fmt::format("{} functions {} {}", around.matched.size(),
                             is_expression ? "that match" : "called", printable(of.pattern));
    const std::string start = callers ? "Callers of " : "Callees of ";
    const std::size_t width = table_width(options_);
    heading(start +
            (width == 0 ? what : shorten_name(what, std::max<std::size_t>(40, width) - start.size())));
    if (!is_one && !is_expression) out_ += fill("  ", all_of(around.matched), options_.width, 4);
    out_ += fmt::format("  self {} % {}, total {} % {}; the shares of its total add up\n", share(around.self),
                        error(around.self), share(around.total), error(around.total));
    out_ += call_chains_text(report_, of, options_, callers);
  }

  void write_waits(bool causes) {
    if (causes) out_ += causes_text(*report_.waits, options_);
    if (prints(Section::kWaits)) out_ += waits_text(*report_.waits, options_);
    if (prints(Section::kLocks)) out_ += locks_text(*report_.waits, options_);
    if (prints(Section::kFiles)) out_ += files_text(*report_.waits, options_);
  }

  static std::string cpu_text(std::uint64_t cpu_ns) {
    return cpu_ns == 0 ? "" : analysis::seconds(static_cast<double>(cpu_ns) * 1e-9);
  }

  void write_threads() {
    heading("Threads" + rows_of_all(report_.threads.size(), options_));
    // Exact times are known of the whole recording only; the tables of --waits add up waits of a part of it.
    const bool whole = !report_.selection.from_ns && !report_.selection.to_ns;
    std::vector<TextTable::Column> columns{{"%", Align::kRight},
                                           {"±", Align::kRight},
                                           {tree_.unit == "samples" ? "samples" : "value", Align::kRight}};
    if (whole) columns.push_back({"exact CPU", Align::kRight});
    if (report_.waits && whole) {
      columns.insert(columns.end(), {{"ran", Align::kRight},
                                     {"waited", Align::kRight},
                                     {"run queue", Align::kRight},
                                     {"waits", Align::kRight}});
    }
    columns.insert(columns.end(),
                   {{"tid", Align::kRight}, {"pid", Align::kRight}, {"thread", Align::kLeft, true}});
    TextTable table(std::move(columns));
    for (std::size_t i = 0; i < rows_shown(report_.threads.size(), options_); ++i) {
      const analysis::ThreadRow& row = report_.threads[i];
      std::vector<std::string> cells{share(row.value), error(row.value), value(row.value)};
      if (whole) cells.push_back(cpu_text(row.cpu_ns));
      if (report_.waits && whole) {
        cells.insert(cells.end(), {cpu_text(row.ran_ns), cpu_text(row.waited_ns), cpu_text(row.queued_ns),
                                   with_commas(static_cast<std::int64_t>(row.waits))});
      }
      cells.insert(cells.end(), {std::to_string(row.tid), std::to_string(row.pid), printable(row.name)});
      table.add(std::move(cells));
    }
    write(table);
  }

  void write_processes() {
    heading("Processes" + rows_of_all(report_.processes.size(), options_));
    const bool whole = !report_.selection.from_ns && !report_.selection.to_ns;  // as for threads
    std::vector<TextTable::Column> columns{{"%", Align::kRight},
                                           {tree_.unit == "samples" ? "samples" : "value", Align::kRight}};
    if (whole) columns.push_back({"exact CPU", Align::kRight});
    columns.insert(columns.end(),
                   {{"threads", Align::kRight}, {"pid", Align::kRight}, {"process", Align::kLeft, true}});
    TextTable table(std::move(columns));
    for (std::size_t i = 0; i < rows_shown(report_.processes.size(), options_); ++i) {
      const analysis::ProcessRow& row = report_.processes[i];
      std::vector<std::string> cells{share(row.value), value(row.value)};
      if (whole) cells.push_back(cpu_text(row.cpu_ns));
      cells.insert(cells.end(), {std::to_string(row.threads), std::to_string(row.pid),
                                 printable(row.name.empty() ? row.executable : row.name)});
      table.add(std::move(cells));
    }
    write(table);
  }

  void write_modules() {
    heading("Modules" + rows_of_all(report_.modules.size(), options_));
    TextTable table({{"self %", Align::kRight},
                     {"total %", Align::kRight},
                     {"unnamed %", Align::kRight},
                     {"symbols"},
                     {"module", Align::kLeft, true}});
    for (std::size_t i = 0; i < rows_shown(report_.modules.size(), options_); ++i) {
      const analysis::ModuleRow& row = report_.modules[i];
      const analysis::TreeModule& module = tree_.modules[row.module];
      const double unnamed = row.frames == 0 ? 0 : row.unnamed_frames / row.frames;
      const bool imported = module.kind == model::ModuleKind::kNames || row.module == 0;
      table.add(
          {share(row.self), share(row.total), percent_number(unnamed),
           imported ? "" : std::string(describe(module.symbols)),
           module.name.empty() ? "(no module)" : printable(module.path.empty() ? module.name : module.path)});
    }
    write(table);
  }

  // For times that the kernel adds up since boot, prints the increase during the recording.
  static analysis::SeriesRow since_start(analysis::SeriesRow row) {
    if (row.unit != "us") return row;
    for (double* value : {&row.last, &row.least, &row.most}) *value = (*value - row.first) * 1e3;
    row.first = 0;
    row.unit = "ns";
    return row;
  }

  // What concerns the program, and what concerns all of its control group.
  void write_series() {
    std::size_t zero = 0;
    for (const bool of_group : {false, true}) {
      const std::string text = series_text(of_group, zero);
      if (text.empty()) continue;
      heading(of_group ? "Over time, of the whole control group" : "Over time");
      out_ += text;
    }
    if (zero != 0) out_ += fmt::format("  {} stayed at 0\n", counted(zero, "series", "series"));
  }

  std::string series_text(bool of_group, std::size_t& zero) const {
    TextTable table({{"first", Align::kRight},
                     {"last", Align::kRight},
                     {"least", Align::kRight},
                     {"most", Align::kRight},
                     {"pid", Align::kRight},
                     {"series"}});  // a name that is cut is none
    for (const analysis::SeriesRow& recorded : report_.series) {
      const analysis::SeriesRow row = since_start(recorded);
      if (row.name.starts_with("cgroup.") != of_group) continue;
      if (row.least == 0 && row.most == 0) {
        ++zero;
        continue;
      }
      table.add({amount(row.first, row.unit), amount(row.last, row.unit), amount(row.least, row.unit),
                 amount(row.most, row.unit), of_group ? "" : std::to_string(row.pid), printable(row.name)});
    }
    return table.empty() ? "" : table.text(table_width(options_), options_.color);
  }

  const analysis::Report& report_;
  const analysis::CallTree& tree_;
  TextOptions options_;
  std::string out_;
};

}  // namespace

std::string report_text(const analysis::Report& report, const TextOptions& options) {
  std::string text = TextReport(report, options).text();
  // Each name was made printable where it was put; should one have been forgotten, it still commands no terminal. What has
  // colours goes to a terminal, and by the same check when it is written there.
  return options.color ? text : analysis::printable_lines(text);
}

}  // namespace fathom::present
