#include "present/page/story.h"

#include <algorithm>

#include "analysis/core/words.h"
#include "analysis/summary/report.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/left_sentences.h"
#include "present/sentences/limit_sentences.h"
#include "present/sentences/memory_summary_sentences.h"
#include "present/sentences/quality_sentences.h"
#include "present/sentences/report_sentences.h"
#include "present/sentences/resource_sentences.h"
#include "present/sentences/waiting_sentence.h"

namespace fathom::page {
namespace {

using analysis::Report;
using model::Metric;

std::string hot_function(const Report& report) {
  if (!report.hot_path.spot) return "";
  // What is not the same when it is printed could not be typed either.
  const std::string& name = report.hot_path.spot->name;
  return analysis::printable(name) == name ? name : "";
}

}  // namespace

Story tell(const model::Profile& profile) {
  Story story;
  analysis::ReportOptions options;
  options.selection.metric = analysis::default_metric(profile);
  options.selection.fold_idle = true;
  const Result<Report> made = analysis::make_report(profile, options);
  if (!made) {
    story.headline = analysis::printable(profile.meta.target);
    story.claims.push_back({"", analysis::printable(made.error().message), "", ""});
    return story;
  }
  const Report& report = *made;
  story.headline = analysis::printable(present::headline_of(report));
  story.quality = analysis::printable(present::quality_sentence(report));
  const auto claim = [&](const char* subject, const std::string& text, std::string_view metric,
                         const std::string& focus = "") {
    if (!text.empty())
      story.claims.push_back({subject, analysis::printable(text), std::string(metric), focus});
  };
  claim("", present::left_line(profile), "");
  const Metric metric = options.selection.metric;
  if (metric == Metric::kCpu && report.tree.total > 0) {
    constexpr double kTooFew = 10;  // samples, as on the report's first screen
    if (report.waits) claim("CPU", present::sentence_of_little_cpu(report), model::to_string(metric));
    if (report.tree.effective_samples >= kTooFew) {
      claim("CPU", present::sentence_of_hot_spot(report), model::to_string(metric), hot_function(report));
      claim("CPU", present::sentence_of_runtime_costs(report), model::to_string(metric));
    }
  }
  if (report.waits) claim("Waiting", present::sentence_of_waiting(report), model::to_string(Metric::kOffCpu));
  const bool has_heap = !profile.heap.empty();
  claim("Memory", present::sentence_of_resident(report), has_heap ? model::to_string(Metric::kHeapLive) : "");
  if (has_heap) claim("Heap", present::sentence_of_heap(report), model::to_string(Metric::kHeapLive));
  claim("", present::sentence_of_resources(report), "");
  claim("", present::limits_line(profile), "");
  if (story.claims.empty()) {
    for (const std::string& sentence : present::sentences_of(report))
      claim("", sentence, model::to_string(metric));
  }
  for (const present::Complaint& complaint : present::complaints_of(report)) {
    if (complaint.is_certain)
      story.complaints.push_back(analysis::printable(
          complaint.text + (complaint.remedy.empty() ? "" : " Try: " + complaint.remedy)));
  }
  for (const std::string& note : profile.quality.notes) story.complaints.push_back(analysis::printable(note));
  return story;
}

}  // namespace fathom::page
