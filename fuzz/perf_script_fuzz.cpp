// Any bytes as the text of perf script: rejected in one line, or read as a valid profile that can be
// reported.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/summary/report.h"
#include "formats/perf_script/perf_script.h"
#include "in_pieces.h"
#include "present/json/json.h"
#include "present/text/text_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)formats::is_perf_script(text);
  const Result<model::Profile> profile = formats::read_perf_script(text, "fuzz");
  formats::PerfScriptReader reader("fuzz");
  fuzz::check_in_pieces(reader, text, profile);
  if (!profile) {
    if (profile.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (!model::check(*profile)) std::abort();
  const Result<analysis::Report> report = analysis::make_report(*profile, {});
  if (!report) std::abort();
  (void)present::to_json(*report, 0);
  (void)present::report_text(*report,
                             {.sections = {analysis::Section::kThreads, analysis::Section::kModules}});
  return 0;
}
