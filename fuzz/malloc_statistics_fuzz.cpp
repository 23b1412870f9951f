// Any bytes as a log that may contain statistics of jemalloc: numbers within their bounds, sentences in one
// line each, JSON that is UTF-8; also with the log cut anywhere.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "attach/allocators/statistics/held_by.h"
#include "present/statistics/statistics_report.h"
#include "present/statistics/statistics_sentences.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void read(std::string_view log) {
  using namespace fathom;
  constexpr std::size_t kMost = 20;
  const std::vector<allocators::Statistics> all = allocators::read_statistics(log, kMost);
  require(all.size() <= kMost);
  require(all.empty() || allocators::holds_statistics(log));
  for (const allocators::Statistics& one : all) {
    const allocators::AllocatorState held = allocators::held_by(one);
    if (held.certainty != allocators::Certainty::kUnknown)
      require(held.bytes(allocators::HeldKind::kFreeInSlabs) <= *one.active);
    for (const present::StatisticsSentence& sentence : present::statistics_sentences(one))
      require(!sentence.text.empty() && sentence.text.find('\n') == std::string::npos);
  }
  if (all.empty()) return;
  require(!present::statistics_text(all, 80, false, 20).empty());
  require(!present::statistics_json(all).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view log(reinterpret_cast<const char*>(data), size);
  read(log);
  read(log.substr(0, size / 2));
  return 0;
}
