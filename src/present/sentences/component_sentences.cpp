#include "present/sentences/component_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "analysis/core/words.h"
#include "base/stable_sort.h"

namespace fathom::present {
namespace {

using analysis::bytes;
using analysis::ComponentGrowth;
using analysis::Components;
using analysis::ComponentVerdict;
using analysis::MetricMeaning;

constexpr std::size_t kMostNamed = 6;  // that one sentence names

std::string whole_percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

std::string growth_rate(double per_second) {
  const char* sign = per_second < 0 ? "-" : "";
  const double size = std::fabs(per_second);
  return size >= 100 ? fmt::format("{}{}/s", sign, bytes(size))
                     : fmt::format("{}{}/h", sign, bytes(3600 * size));
}

std::string grown(const ComponentGrowth& growth) {
  return growth.meaning == MetricMeaning::kCount ? fmt::format("{:.0f}", growth.last) : bytes(growth.last);
}

// "a (1 MiB), b (2 MiB) and 3 others"
std::string listed(const std::vector<const ComponentGrowth*>& rows,
                   const std::function<std::string(const ComponentGrowth&)>& text) {
  std::string out;
  const std::size_t shown = rows.size() > kMostNamed ? kMostNamed - 1 : rows.size();
  for (std::size_t i = 0; i < shown; ++i) out += fmt::format("{}{}", i == 0 ? "" : "; ", text(*rows[i]));
  if (shown < rows.size()) out += fmt::format("; and {} others", rows.size() - shown);
  return out;
}
std::string named(const ComponentGrowth& growth) {
  return fmt::format("{} ({})", growth.component, grown(growth));
}

class Sentences {
 public:
  explicit Sentences(const Components& found) : found_(found) {}

  std::vector<std::string> make() {
    if (found_.memory && found_.memory->grows())
      of_growth();
    else
      of_sizes();
    of_unusual();
    of_allocator();
    return std::move(out_);
  }

  // The part of it that answers why the memory grows, or is too much.
  std::string headline() {
    std::string text;
    const auto explains = with(ComponentVerdict::kExplains);
    if (found_.memory && found_.memory->grows() && found_.explained >= 0.5 && !explains.empty())
      text = fmt::format("The program's own metrics explain {} of that growth: {}.",
                         whole_percent(std::min(1.0, found_.explained)),
                         listed(explains, [](const ComponentGrowth& growth) {
                           return fmt::format("{} {}, now {}", growth.component,
                                              whole_percent(std::min(1.0, growth.share)), bytes(growth.last));
                         }));
    of_unusual();
    for (const std::string& sentence : out_) text += (text.empty() ? "" : " ") + sentence;
    return text;
  }

 private:
  std::vector<const ComponentGrowth*> with(ComponentVerdict verdict) const {
    std::vector<const ComponentGrowth*> rows;
    for (const ComponentGrowth& growth : found_.components)
      if (growth.verdict == verdict) rows.push_back(&growth);
    return rows;
  }

  void of_growth() {
    if (found_.components.empty()) return;
    const auto explains = with(ComponentVerdict::kExplains);
    std::string head = fmt::format("Anonymous memory grows by {} (over {}); ",
                                   growth_rate(found_.memory->per_second), analysis::seconds(found_.seconds));
    if (explains.empty()) {
      out_.push_back(head + "none of the components that the program's metrics name explains it.");
    } else {
      head += fmt::format("the program's metrics explain {}: ", whole_percent(found_.explained));
      out_.push_back(head +
                     listed(explains,
                            [](const ComponentGrowth& growth) {
                              std::string text = fmt::format(
                                  "{} {} ({} to {}), now {}", growth.component, whole_percent(growth.share),
                                  whole_percent(std::max(0.0, growth.share_low)),
                                  whole_percent(growth.share_high), bytes(growth.last));
                              if (!growth.crates.empty())
                                text += fmt::format(", of crate {}", growth.crates.front());
                              for (const analysis::CrateHeap& heap : growth.heap)
                                text += fmt::format(" ({} live at the heap sites of {})",
                                                    bytes(heap.live_bytes), heap.crate);
                              return text;
                            }) +
                     ".");
    }
    if (const auto out = with(ComponentVerdict::kRuledOut); !out.empty())
      out_.push_back(fmt::format("Ruled out: {}.", listed(out, named)));
    if (const auto rows = with(ComponentVerdict::kGrows); !rows.empty())
      out_.push_back(fmt::format(
          "More components, with unknown size in bytes: {}.", listed(rows, [](const ComponentGrowth& growth) {
            return fmt::format("{} ({:.0f} to {:.0f})", growth.component, growth.first, growth.last);
          })));
    if (const auto rows = with(ComponentVerdict::kUnclear); !rows.empty())
      out_.push_back(fmt::format("Unclear so far: {}.", listed(rows, named)));
  }

  void of_sizes() {
    std::vector<const ComponentGrowth*> sizes, counts;
    for (const ComponentGrowth& growth : found_.components)
      (growth.meaning == MetricMeaning::kCount ? counts : sizes).push_back(&growth);
    stable_sort_rows(sizes.begin(), sizes.end(),
                     [](const ComponentGrowth* a, const ComponentGrowth* b) { return a->last > b->last; });
    if (!sizes.empty())
      out_.push_back(fmt::format(
          "From the program's metrics{}: {}.",
          found_.memory_last > 0 ? fmt::format(", of {} anonymous memory", bytes(found_.memory_last)) : "",
          listed(sizes, [&](const ComponentGrowth& growth) {
            return found_.memory_last > 0 ? fmt::format("{} {} ({})", growth.component, bytes(growth.last),
                                                        analysis::percent(growth.last / found_.memory_last))
                                          : fmt::format("{} {}", growth.component, bytes(growth.last));
          })));
    if (!counts.empty()) out_.push_back(fmt::format("Counts that use memory: {}.", listed(counts, named)));
  }

  void of_unusual() {
    for (const ComponentGrowth* growth : found_.unusual())
      out_.push_back(fmt::format("Likely a bug: {} hold {}; at least {} is unusual for that.",
                                 growth->component, bytes(growth->last),
                                 bytes(static_cast<double>(growth->unusual_bytes))));
  }

  const ComponentGrowth* whole(std::string_view what) const {
    const auto row = std::find_if(found_.whole.begin(), found_.whole.end(),
                                  [&](const ComponentGrowth& growth) { return growth.component == what; });
    return row == found_.whole.end() ? nullptr : &*row;
  }

  void of_allocator() {
    const ComponentGrowth* live = whole("live");
    if (live == nullptr) return;
    std::string text = fmt::format("Its allocator reports {} live", bytes(live->last));
    if (const ComponentGrowth* resident = whole("resident"))
      text += fmt::format(", {} resident", bytes(resident->last));
    if (const ComponentGrowth* retained = whole("retained"))
      text += fmt::format(", {} free and kept", bytes(retained->last));
    if (live->verdict == ComponentVerdict::kExplains)
      text += fmt::format("; live blocks are {} of the growth", whole_percent(live->share));
    if (live->verdict == ComponentVerdict::kRuledOut)
      text +=
          "; live blocks do not grow with it, so it is free memory that the allocator keeps, or memory that another allocator or the program maps";
    out_.push_back(text + ".");
  }

  const Components& found_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> sentences_of(const Components& components) {
  return Sentences(components).make();
}

std::string component_headline(const Components& components) {
  return Sentences(components).headline();
}

}  // namespace fathom::present
