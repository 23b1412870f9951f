#include "analysis/feedback/read_code.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "analysis/core/call_tree.h"
#include "binary/symbolize/local_names.h"

namespace fathom::feedback {
namespace {

using Chain = std::vector<symbolize::SourcePlace>;

// An answer about so many addresses stays far below what a reader of names may say at once.
constexpr std::size_t kAddressesAtOnce = 16 << 10;

// Sources of many addresses, asked together.
class Places {
 public:
  void want(ElfAddress address) { wanted_.push_back(address); }
  void look_up(symbolize::ModuleSymbols& symbols) {
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    const std::span<const ElfAddress> all(wanted_);
    for (std::size_t from = 0; from < all.size(); from += kAddressesAtOnce) {
      auto some = symbols.resolve_places(all.subspan(from, std::min(kAddressesAtOnce, all.size() - from)));
      for (Chain& chain : some) {
        any_ = any_ || !chain.empty();
        found_.push_back(std::move(chain));
      }
    }
  }
  const Chain& of(ElfAddress address) const {
    const auto at = std::lower_bound(wanted_.begin(), wanted_.end(), address);
    return found_[static_cast<std::size_t>(at - wanted_.begin())];
  }
  bool any() const { return any_; }

 private:
  std::vector<ElfAddress> wanted_;
  std::vector<Chain> found_;
  bool any_ = false;
};

// Places that call, and where what they called was; each stack counts once for each pair.
std::map<std::pair<ElfAddress, ElfAddress>, std::int64_t> seen_calls(const model::Profile& profile,
                                                                     const analysis::Selection& selection,
                                                                     const CodeSamples& samples) {
  std::vector<char> is_inside(profile.modules.size(), 0);
  for (const model::ModuleId id : samples.modules) is_inside[id.value] = 1;
  std::map<std::pair<ElfAddress, ElfAddress>, std::int64_t> calls;
  for (const analysis::StackValue& row : analysis::stack_values(profile, selection)) {
    const model::Frame* callee = nullptr;
    for (model::StackId at = row.stack; at.value != 0; at = profile.stacks[at.value].parent) {
      const model::Frame& frame = profile.frames[profile.stacks[at.value].frame.value];
      const bool inside = is_inside[frame.module.value] != 0;
      if (inside && callee != nullptr) calls[{frame.address, callee->address}] += row.value;
      callee = inside ? &frame : nullptr;
    }
  }
  return calls;
}

}  // namespace

Result<ReadCode> read_code(const model::Profile& profile, const analysis::Selection& selection,
                           const CodeSamples& samples, annotate::LocalCode& code,
                           const symbolize::Options& names) {
  ReadCode read;
  Places places;
  std::map<ElfAddress, SampledCode> functions;  // by where they begin
  for (const AddressCount& row : samples.at) {
    const auto bounds = code.bounds_around(row.address);
    if (!bounds) {
      read.outside += row.samples;
      continue;
    }
    const auto [function, is_new] = functions.try_emplace(bounds->start);
    if (is_new) function->second.code = arch::disassemble(code.code(*bounds), bounds->start);
    function->second.samples.push_back(row);
  }
  for (const auto& [start, function] : functions)
    for (const arch::DecodedInstruction& row : function.code) places.want(row.address);
  const auto calls = seen_calls(profile, selection, samples);
  for (const auto& [pair, value] : calls) {
    places.want(pair.first);
    places.want(pair.second);
  }

  const model::Module& module = profile.modules[samples.modules.front().value];
  symbolize::LocalNames local(names);
  const auto symbols = local.open({.kind = module.kind,
                                   .path = std::string(profile.strings[module.path]),
                                   .open_path = code.path(),
                                   .identity = samples.build_id},
                                  0);
  places.look_up(*symbols);
  if (!places.any())
    return fail(ErrorKind::kUnsupported, code.path() + " has no debug information: its lines are unknown",
                "compile it with -g, and with clang also -fdebug-info-for-profiling");

  for (auto& [start, function] : functions) {
    for (const arch::DecodedInstruction& row : function.code)
      function.places.push_back(places.of(row.address));
    read.functions.push_back(std::move(function));
  }
  for (const auto& [pair, value] : calls)
    if (const Chain& callee = places.of(pair.second); !callee.empty())
      read.calls.push_back({places.of(pair.first), callee.back().function, value});
  return read;
}

}  // namespace fathom::feedback
