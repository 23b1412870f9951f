#include "cli/source_list.h"

#include <fmt/format.h>

#include "analysis/core/words.h"

namespace fathom::cli {
namespace {

constexpr const char* kKnown = "--sources cpu,wait,memory,heap: any of these; heap=exact traces every call";

std::string heap_word(const std::string& heap) {
  return heap == "exact" ? "heap=exact" : "heap";
}

Sources with(Sources listed, const Sources& more) {
  listed.cpu = listed.cpu || more.cpu;
  listed.wait = listed.wait || more.wait;
  listed.memory = listed.memory || more.memory;
  if (!more.heap.empty()) listed.heap = more.heap;
  return listed;
}

Sources without(Sources listed, const Sources& less) {
  listed.cpu = listed.cpu && !less.cpu;
  listed.wait = listed.wait && !less.wait;
  listed.memory = listed.memory && !less.memory;
  if (!less.heap.empty()) listed.heap.clear();
  return listed;
}

}  // namespace

Result<Sources> parse_sources(const std::vector<std::string>& words) {
  Sources sources;
  for (const std::string& word : words) {
    if (word == "cpu") {
      sources.cpu = true;
    } else if (word == "wait") {
      sources.wait = true;
    } else if (word == "memory") {
      sources.memory = true;
    } else if (word == "heap" || word == "heap=sampled" || word == "heap=exact") {
      const std::string heap = word == "heap=exact" ? "exact" : "sampled";
      if (!sources.heap.empty() && sources.heap != heap)
        return fail(ErrorKind::kUsage, "--sources: the heap is either sampled or exact",
                    "heap or heap=exact, not both");
      sources.heap = heap;
    } else {
      return fail(ErrorKind::kUsage,
                  fmt::format("--sources: there is no source '{}'", analysis::printable(word)), kKnown);
    }
  }
  return sources;
}

std::string to_text(const Sources& sources) {
  std::vector<std::string> words;
  if (sources.cpu) words.push_back("cpu");
  if (sources.wait) words.push_back("wait");
  if (sources.memory) words.push_back("memory");
  if (!sources.heap.empty()) words.push_back(heap_word(sources.heap));
  return fmt::format("{}", fmt::join(words, ","));
}

Result<> fits(const Sources& listed, const std::vector<SourceDemand>& demands) {
  for (const SourceDemand& demand : demands) {
    const bool needs = demand.kind == SourceDemand::Kind::kNeeds;
    const Sources better = needs ? with(listed, demand.what) : without(listed, demand.what);
    if (better == listed) continue;
    const std::string list = to_text(better);
    return fail(
        ErrorKind::kUsage,
        needs ? fmt::format("{} needs {}, which --sources does not list", demand.option, to_text(demand.what))
              : fmt::format("{} contradicts --sources, which lists {}", demand.option, to_text(demand.what)),
        list.empty() ? fmt::format("without {}", demand.option) : "fathom record --sources " + list);
  }
  return {};
}

}  // namespace fathom::cli
