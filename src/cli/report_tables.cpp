#include "cli/report_tables.h"

#include <fmt/format.h>

#include "analysis/annotate/annotation.h"
#include "analysis/spans/span_report.h"
#include "analysis/summary/call_table.h"
#include "analysis/summary/system_call_table.h"
#include "attach/allocators/statistics/statistics.h"
#include "cli/annotate_options.h"
#include "cli/output.h"
#include "present/code/annotation_json.h"
#include "present/code/annotation_text.h"
#include "present/json/call_table_json.h"
#include "present/json/spans_json.h"
#include "present/json/system_calls_json.h"
#include "present/statistics/statistics_report.h"
#include "present/text/text_call_table.h"
#include "present/text/text_first_screen.h"
#include "present/text/text_spans.h"
#include "present/text/text_system_calls.h"
#include "present/text/text_table.h"
#include "present/text/text_timeline.h"

namespace fathom::cli {
namespace {

using analysis::Section;

Result<int> report_timeline(const model::Profile& profile, const analysis::Selection& selection,
                            const ReportArguments& arguments) {
  const present::TextOptions style = style_of(arguments);
  analysis::TimelineOptions options;
  options.selection = selection;
  options.columns = present::timeline_columns(style);
  if (!arguments.by.empty() && !analysis::timeline_by_from(arguments.by))
    return fail(ErrorKind::kUsage, "--timeline cannot show '" + arguments.by + "' apart",
                "--by function, module, thread, allocator");
  options.by = analysis::timeline_by_from(arguments.by).value_or(options.by);
  const std::optional<analysis::HeapTimeline> timeline = analysis::make_heap_timeline(profile, options);
  if (!timeline)
    return fail(ErrorKind::kNotFound, arguments.file + ": the heap was not recorded", "fathom record --heap");
  std::string text = present::heap_timeline_text(*timeline, style);
  analysis::ReportOptions report_options;
  report_options.selection = selection;
  // Nothing but the heap may have been recorded, or selected.
  if (const Result<analysis::Report> report = analysis::make_report(profile, report_options)) {
    text = present::summary_line(*report, style) + text + "\n" + present::quality_line(*report, style);
  } else {
    text.erase(0, 1);
  }
  return end_with_output(text, arguments.output);
}

// A table as text or JSON, with as many rows as --top says; JSON has all of them by default.
template <class ToJson, class ToText>
Result<int> write_table(const ReportArguments& arguments, const ToJson& to_json, const ToText& to_text) {
  present::TextOptions style = style_of(arguments);
  style.top = arguments.top.value_or(style.top);
  return end_with_output(arguments.json ? to_json(arguments.top.value_or(0)) : to_text(style),
                         arguments.output);
}

// Of functions that were probed.
Result<int> report_calls(const model::Profile& profile, const analysis::Selection& selection,
                         const ReportArguments& arguments) {
  if (selection.thread)
    return fail(ErrorKind::kUsage, "calls are counted for whole processes, not for threads", "--pid PID");
  const auto table = analysis::make_call_table(profile, selection);
  if (!table)
    return fail(ErrorKind::kNotFound, arguments.file + ": no function was probed",
                "fathom record --probe FUNCTION");
  return write_table(
      arguments,
      [&](std::size_t top) {
        return present::to_json(*table, profile.meta.target, profile.duration_s(), top);
      },
      [&](const present::TextOptions& style) { return present::call_table_text(*table, style); });
}

Result<int> report_system_calls(const model::Profile& profile, const analysis::Selection& selection,
                                const ReportArguments& arguments) {
  const auto table = analysis::make_system_call_table(profile, selection);
  if (!table)
    return fail(ErrorKind::kNotFound, arguments.file + ": system calls were not counted",
                "fathom record --syscalls -p PID; --waits shows the calls that waited");
  if (table->calls.empty() && (selection.from_ns || selection.to_ns))
    return fail(ErrorKind::kNotFound,
                arguments.file +
                    ": fathom counts system calls once a second, and the selected time has no such moment",
                "a longer time: --from and --until, in whole seconds");
  return write_table(
      arguments,
      [&](std::size_t top) {
        return present::to_json(*table, profile.meta.target, profile.duration_s(), top);
      },
      [&](const present::TextOptions& style) { return present::system_calls_text(*table, style); });
}

Result<int> report_spans(const model::Profile& profile, const analysis::Selection& selection,
                         const ReportArguments& arguments) {
  const analysis::SpanReport report = analysis::make_span_report(profile, selection);
  if (report.kinds.empty() && profile.spans.empty())
    return fail(ErrorKind::kNotFound, arguments.file + ": no spans were recorded",
                "fathom report --spans FILE reads them from marker files or traces");
  return write_table(
      arguments, [&](std::size_t top) { return present::to_json(report, profile.meta.target, top); },
      [&](const present::TextOptions& style) { return present::spans_text(report, style); });
}

// Source and machine code of a function, of the files of this machine.
Result<int> report_annotation(const model::Profile& profile, const analysis::Selection& selection,
                              const ReportArguments& arguments) {
  const present::TextOptions style = style_of(arguments);
  std::string text;
  for (const std::string& pattern : arguments.annotate) {
    const Result<annotate::Annotation> annotation =
        annotate::annotate(profile, selection, annotate_options(pattern, arguments.selection.symbols));
    if (!annotation) return within(arguments.file, annotation.error());
    if (!text.empty()) text += "\n";
    text += arguments.json ? present::to_json(*annotation)
                           : present::annotation_text(*annotation, style, arguments.percent_limit != 0.0);
  }
  return end_with_output(text, arguments.output);
}

}  // namespace

present::TextOptions style_of(const ReportArguments& arguments) {
  present::TextOptions style;
  style.width = arguments.wide ? 0 : output_width();
  style.cut_names = arguments.output.path.empty() && output_is_narrow();
  style.color = output_has_color(arguments.color, arguments.output);
  return style;
}

std::optional<Result<int>> report_one_table(const model::Profile& profile,
                                            const analysis::Selection& selection,
                                            const ReportArguments& arguments) {
  if (!arguments.annotate.empty()) return report_annotation(profile, selection, arguments);
  if (arguments.selection.spans.asked && arguments.selection.spans.name.empty())
    return report_spans(profile, selection, arguments);
  if (arguments.system_calls) return report_system_calls(profile, selection, arguments);
  if (arguments.has(Section::kCalls)) return report_calls(profile, selection, arguments);
  if (arguments.has(Section::kTimeline)) return report_timeline(profile, selection, arguments);
  return std::nullopt;
}

Result<int> report_statistics(const std::string& text, const ReportArguments& arguments) {
  const std::vector<allocators::Statistics> all = allocators::read_statistics(text);
  const present::TextOptions style = style_of(arguments);
  return end_with_output(arguments.json ? present::statistics_json(all)
                                        : present::statistics_text(all, style.width, style.color,
                                                                   arguments.top.value_or(style.top)),
                         arguments.output);
}

}  // namespace fathom::cli
