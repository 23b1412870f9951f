#include "analysis/feedback/source_profile.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analysis/feedback/block_rates.h"
#include "analysis/feedback/discriminator.h"

namespace fathom::feedback {
namespace {

using Chain = std::vector<symbolize::SourcePlace>;

// What one sample of one instruction counts: fine enough that a block of a hundred instructions with one sample counts.
constexpr double kUnit = 1000;

// A name must not end its field.
bool is_usable(std::string_view name) {
  return !name.empty() && name.find_first_of(" \n\r\t:") == std::string_view::npos;
}
bool is_known(const Chain& chain) {
  return !chain.empty() && std::ranges::all_of(chain, [](const symbolize::SourcePlace& place) {
    return is_usable(place.function) && place.line != 0 && place.start_line != 0;
  });
}

LinePlace line_place(const symbolize::SourcePlace& place) {
  return {(place.line - place.start_line) & 0xffff, unpack_discriminator(place.discriminator).base};
}

// The counts of the innermost function of the chain.
FunctionCounts& counts_of(SourceProfile& profile, const Chain& chain) {
  FunctionCounts* at = &profile.functions[chain.back().function];
  for (std::size_t i = chain.size() - 1; i > 0; --i)
    at = &at->inlined[line_place(chain[i])][chain[i - 1].function];
  return *at;
}
const FunctionCounts* find_counts(const SourceProfile& profile, const Chain& chain) {
  const auto function = profile.functions.find(chain.back().function);
  if (function == profile.functions.end()) return nullptr;
  const FunctionCounts* at = &function->second;
  for (std::size_t i = chain.size() - 1; i > 0; --i) {
    const auto place = at->inlined.find(line_place(chain[i]));
    if (place == at->inlined.end()) return nullptr;
    const auto callee = place->second.find(chain[i - 1].function);
    if (callee == place->second.end()) return nullptr;
    at = &callee->second;
  }
  return at;
}

// The samples of an instruction whose line is unknown are lost to a compiler.
std::int64_t samples_without_line(const SampledCode& function) {
  std::int64_t lost = 0;
  for (const AddressCount& row : function.samples) {
    const auto next = std::upper_bound(
        function.code.begin(), function.code.end(), row.address,
        [](ElfAddress value, const arch::DecodedInstruction& one) { return value < one.address; });
    if (next == function.code.begin() ||
        !is_known(function.places[static_cast<std::size_t>(next - function.code.begin()) - 1]))
      lost += row.samples;
  }
  return lost;
}

// Of a line that is in several blocks, the one that runs most often counts, as compilers expect it.
void add_function(SourceProfile& profile, const SampledCode& function) {
  const std::vector<double> rates = block_rates(function.code, function.samples);
  for (std::size_t i = 0; i < function.code.size(); ++i) {
    const Chain& chain = function.places[i];
    if (!is_known(chain)) continue;
    const std::uint32_t copies = unpack_discriminator(chain.front().discriminator).copies;
    const auto count = static_cast<std::uint64_t>(std::llround(rates[i] * kUnit * copies));
    std::uint64_t& line = counts_of(profile, chain).lines[line_place(chain.front())];
    line = std::max(line, count);
    if (i == 0) profile.functions[chain.back().function].head = std::max<std::uint64_t>(count, 1);
  }
}

// The count of a call is that of its line. Stacks show how it is divided between the functions that were called.
void add_targets(SourceProfile& profile, const std::vector<CallTarget>& calls) {
  struct Seen {
    Chain call;
    std::map<std::string, std::int64_t> targets;
    std::int64_t all = 0;
  };
  std::map<Chain, Seen> by_call;
  for (const CallTarget& row : calls) {
    if (!is_known(row.call) || !is_usable(row.target) || row.samples <= 0) continue;
    Chain key = row.call;
    for (symbolize::SourcePlace& place : key)
      place.discriminator = unpack_discriminator(place.discriminator).base;
    Seen& seen = by_call[key];
    seen.call = row.call;
    seen.targets[row.target] += row.samples;
    seen.all += row.samples;
  }
  for (const auto& [key, seen] : by_call) {
    const FunctionCounts* known = find_counts(profile, seen.call);
    if (known == nullptr) continue;
    const LinePlace place = line_place(seen.call.front());
    const auto line = known->lines.find(place);
    if (line == known->lines.end()) continue;
    FunctionCounts& counts = counts_of(profile, seen.call);
    for (const auto& [target, samples] : seen.targets) {
      const double share = static_cast<double>(samples) / static_cast<double>(seen.all);
      const auto count = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(line->second)));
      if (count != 0) counts.targets[place][target] = count;
    }
  }
}

}  // namespace

std::uint64_t FunctionCounts::total() const {
  std::uint64_t sum = 0;
  for (const auto& [place, count] : lines) sum += count;
  for (const auto& [place, callees] : inlined)
    for (const auto& [name, counts] : callees) sum += counts.total();
  return sum;
}

SourceProfile source_profile(const std::vector<SampledCode>& functions,
                             const std::vector<CallTarget>& calls) {
  SourceProfile profile;
  for (const SampledCode& function : functions) {
    std::int64_t all = 0;
    for (const AddressCount& row : function.samples) all += row.samples;
    const std::int64_t lost = function.code.empty() ? all : samples_without_line(function);
    profile.without_line += lost;
    profile.samples += all - lost;
    if (lost < all) add_function(profile, function);
  }
  add_targets(profile, calls);
  return profile;
}

}  // namespace fathom::feedback
