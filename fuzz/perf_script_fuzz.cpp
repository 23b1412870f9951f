// Any bytes as the text of perf script: refused in one line, or read into a sound profile that can be
// reported.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "format/perf_script/perf_script.h"
#include "render/text_report.h"
#include "report/json.h"
#include "report/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)format::is_perf_script(text);
  const Result<profile::Profile> profile = format::read_perf_script(text, "fuzz");
  if (!profile) {
    if (profile.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (!profile::check(*profile)) std::abort();
  const Result<report::Report> report = report::make_report(*profile, {});
  if (!report) std::abort();
  (void)report::to_json(*report, 0);
  (void)render::report_text(*report, {.threads = true, .modules = true});
  return 0;
}
