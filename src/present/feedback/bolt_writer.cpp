#include "present/feedback/bolt_writer.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace fathom::present {
namespace {

// A name ends at a blank, so those inside of it are escaped.
std::string bolt_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == ' ' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

std::string bolt_text(const feedback::SymbolCounts& counts) {
  // Whatever timer took the samples: of "cycles" BOLT knows that long blocks have more samples than short ones that run as often.
  std::string text = "no_lbr cycles\n";
  for (const feedback::SymbolCount& row : counts.rows)
    fmt::format_to(std::back_inserter(text), "1 {} {:x} {}\n", bolt_name(row.symbol), row.offset,
                   row.samples);
  return text;
}

}  // namespace fathom::present
