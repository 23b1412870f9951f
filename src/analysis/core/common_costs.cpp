#include "analysis/core/common_costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>
#include <vector>

#include "analysis/core/idle.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"
#include "base/parse.h"

namespace fathom::analysis {
namespace {

struct Cost {
  std::string_view words;
  std::string_view glob;
};

std::vector<Cost> parse(std::string_view text) {
  std::vector<Cost> costs;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::size_t colon = line.find(": ");
    if (line.empty() || line.front() == '#' || colon == line.npos) continue;
    const std::string_view words = line.substr(0, colon);
    line.remove_prefix(colon + 1);
    for (std::size_t start; (start = line.find_first_not_of(' ')) != line.npos;) {
      const std::size_t stop = std::min(line.find(' ', start), line.size());
      costs.push_back({words, line.substr(start, stop - start)});
      line.remove_prefix(stop);
    }
  }
  return costs;
}

}  // namespace

std::optional<std::string> common_cost(std::string_view function) {
  static const std::vector<Cost> kCosts = parse(kCommonCostsText);
  // "c_parse_file()": a rule names functions without their arguments.
  if (const std::size_t open = function.find('(');
      open != function.npos && open != 0 && function.back() == ')' && function.find_first_of(" <:") > open)
    function = function.substr(0, open);
  const auto find = [](std::string_view name) -> std::optional<std::string> {
    for (const Cost& cost : kCosts)
      if (matches_glob(cost.glob, name)) return std::string(cost.words);
    return std::nullopt;
  };
  auto words = find(function);
  // "int v8::internal::Scavenger::Visit<T>(T)": an instance of a template begins with the type that it returns.
  if (!words && function.find(' ') != function.npos && function.find("::") != function.npos)
    words = find(fmt::format("{}", fmt::join(name_parts(function), "::")));
  return words;
}

std::string spoken_kernel_work(std::string_view function) {
  if (function == "asm_exc_page_fault" || function == "exc_page_fault") return "page faults";
  for (const std::string_view prefix : {"__x64_sys_", "__arm64_sys_", "ksys_", "__do_sys_", "__se_sys_"})
    if (function.starts_with(prefix)) return "the system call " + printable(function.substr(prefix.size()));
  return printable(function);
}

}  // namespace fathom::analysis
