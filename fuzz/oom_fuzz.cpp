// Any bytes as a kernel log: records within their bounds, sentences for each, JSON that is UTF-8; also every
// line alone and the log cut anywhere.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/oom/explanation.h"
#include "tools/oom/kernel_log.h"
#include "tools/oom/present.h"
#include "tools/oom/records.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void read(std::string_view log) {
  using namespace fathom::oom;
  const std::vector<Record> records = read_records(log);
  require(records.size() <= kMostRecords);
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < records.size(); ++i) {
    require(records[i].tasks.size() <= kMostTasks);
    const Explanation told = explain(records[i]);
    require(!told.who.empty() && !told.why.empty());
    for (const std::string& line : told.why) require(line.find('\n') == std::string::npos);
    if (i < 4) shown.push_back({i + 1, {}});
  }
  (void)to_text(records, shown, 80);
  require(!to_json(records, shown).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view log(reinterpret_cast<const char*>(data), size);
  read(log);
  read(log.substr(0, size / 2));
  read(fathom::oom::unescape_kmsg(log));
  return 0;
}
