#include "present/feedback/sample_profile_writer.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/stable_sort.h"

namespace fathom::present {
namespace {

class SampleProfileWriter {
 public:
  explicit SampleProfileWriter(std::string first_line) : text_(std::move(first_line)) {}
  void function(std::string_view name, const feedback::FunctionCounts& counts) {
    fmt::format_to(std::back_inserter(text_), "{}:{}:{}\n", name, counts.total(), counts.head);
    body(counts, 1);
  }
  std::string take() { return std::move(text_); }

 private:
  void place(const feedback::LinePlace& at, std::size_t depth) {
    text_.append(depth, ' ');
    fmt::format_to(std::back_inserter(text_), "{}", at.offset);
    if (at.discriminator != 0) fmt::format_to(std::back_inserter(text_), ".{}", at.discriminator);
    text_ += ": ";
  }
  // Calls are nested as deep as a compiler inlines.
  void body(const feedback::FunctionCounts& counts, std::size_t depth) {
    for (const auto& [at, count] : counts.lines) {
      place(at, depth);
      fmt::format_to(std::back_inserter(text_), "{}", count);
      if (const auto targets = counts.targets.find(at); targets != counts.targets.end())
        for (const auto& [name, times] : targets->second)
          fmt::format_to(std::back_inserter(text_), " {}:{}", name, times);
      text_ += '\n';
    }
    for (const auto& [at, callees] : counts.inlined)
      for (const auto& [name, inlined] : callees) {
        place(at, depth);
        fmt::format_to(std::back_inserter(text_), "{}:{}\n", name, inlined.total());
        body(inlined, depth + 1);
      }
  }

  std::string text_;
};

}  // namespace

std::string sample_profile_text(const feedback::SourceProfile& profile) {
  std::vector<std::pair<std::string_view, const feedback::FunctionCounts*>> order;
  for (const auto& [name, counts] : profile.functions) order.emplace_back(name, &counts);
  stable_sort_rows(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second->total() > b.second->total(); });
  SampleProfileWriter writer("# sample profile of LLVM, by fathom\n");
  for (const auto& [name, counts] : order) writer.function(name, *counts);
  return writer.take();
}

}  // namespace fathom::present
