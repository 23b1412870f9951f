#include "tools/doctor/allocator_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attach/allocators/settings/settings.h"
#include "attach/allocators/state/held_words.h"
#include "attach/allocators/state/remedies.h"
#include "tools/doctor/lines.h"

namespace fathom::doctor {
namespace {

using allocators::AllocatorState;
using allocators::Certainty;
using allocators::HeldKind;
using allocators::HeldLine;
using Json = nlohmann::ordered_json;

std::string mib(std::uint64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / (1024 * 1024));
}

std::string_view word_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::kVerified:
      return "verified";
    case Certainty::kMoved:
      return "moved";
    case Certainty::kUnknown:
      break;
  }
  return "unknown";
}

std::string label_of(const TargetFacts& target, const AllocatorState& state) {
  for (const AllocatorFact& fact : target.allocators)
    if (fact.module == state.module && fact.label.starts_with(state.name)) return fact.label;
  return state.layout.empty() ? state.name : fmt::format("{} ({})", state.name, state.layout);
}

// "_rjem_" of "jemalloc 5.3.0 (_rjem_)"; "" of the library as it is distributed; nullopt: not known.
std::optional<std::string> prefix_of(const TargetFacts& target, const AllocatorState& state) {
  for (const AllocatorFact& fact : target.allocators) {
    if (fact.module != state.module || !fact.label.starts_with(state.name)) continue;
    return std::string(allocators::prefix_in(fact.label));
  }
  return std::nullopt;
}

std::uint64_t resident_of(const AllocatorState& state) {
  std::uint64_t bytes = 0;
  for (const HeldLine& line : state.lines) bytes += line.resident;
  return bytes;
}

// What fast bins and thread caches hold lies in the pages of live blocks, whose line has all of them.
bool has_own_pages(HeldKind kind) {
  return kind != HeldKind::kFastBins && kind != HeldKind::kThreadCache;
}

}  // namespace

std::string held_table(const TargetFacts& target) {
  if (!target.held || target.held->allocators.empty()) return "";
  std::string out;
  for (const AllocatorState& state : target.held->allocators) {
    if (state.certainty == Certainty::kUnknown) {
      append_line(out, "");
      append_line(out, "  {} of {}: contents unknown: {}", label_of(target, state), state.module,
                  state.reason);
      continue;
    }
    append_line(out, "");
    append_line(out, "  {} of {} holds", label_of(target, state), state.module);
    append_line(out, "          MiB  resident  ");
    for (const HeldLine& line : state.lines)
      if (line.bytes != 0 || line.resident != 0)
        append_line(out, "  {:>11}{:>10}  {}", mib(line.bytes),
                    has_own_pages(line.kind) ? mib(line.resident) : "-", allocators::words_of(line.kind));
    std::string how = fmt::format("  in {} arena{}; {} records agree with each other", state.arenas.size(),
                                  state.arenas.size() == 1 ? "" : "s", state.records);
    if (state.moved != 0)
      how += fmt::format("; {} changed while they were read: up to {} MiB off", state.moved,
                         mib(state.moved_bytes));
    append_line(out, "{}{}{}", how, state.reason.empty() ? "" : "; ", state.reason);
  }
  out += fmt::format("  read from outside in {:.1f} ms, without stopping it\n",
                     static_cast<double>(target.held->took_ns) / 1e6);
  return out;
}

Json held_json(const TargetFacts& target) {
  if (!target.held) return Json();
  Json json;
  json["took_ns"] = target.held->took_ns;
  json["pages_ns"] = target.held->pages_ns;
  json["allocators"] = Json::array();
  for (const AllocatorState& state : target.held->allocators) {
    Json one;
    one["name"] = state.name;
    one["label"] = label_of(target, state);
    one["layout"] = state.layout;
    one["module"] = state.module;
    one["certainty"] = word_of(state.certainty);
    one["reason"] = state.reason;
    one["records"] = state.records;
    one["moved"] = state.moved;
    one["moved_bytes"] = state.moved_bytes;
    one["returnable_bytes"] = state.returnable;
    one["trim_threshold_bytes"] = state.trim_threshold ? Json(*state.trim_threshold) : Json();
    one["lines"] = Json::array();
    for (const HeldLine& line : state.lines)
      one["lines"].push_back({{"kind", allocators::to_string(line.kind)},
                              {"bytes", line.bytes},
                              {"resident_bytes", has_own_pages(line.kind) ? Json(line.resident) : Json()},
                              {"resident_is_shared_out", line.resident_is_shared_out}});
    one["arenas"] = Json::array();
    for (const allocators::HeldArena& arena : state.arenas)
      one["arenas"].push_back({{"index", arena.index},
                               {"live_bytes", arena.live},
                               {"free_bytes", arena.free},
                               {"held_bytes", arena.held}});
    one["size_classes"] = Json::array();
    for (const allocators::HeldClass& use : state.classes)
      one["size_classes"].push_back({{"size", use.size},
                                     {"slabs", use.slabs},
                                     {"slab_bytes", use.slab_bytes},
                                     {"blocks", use.blocks},
                                     {"used", use.used}});
    json["allocators"].push_back(std::move(one));
  }
  return json;
}

void find_about_held(const TargetFacts& target, std::vector<Finding>& findings) {
  constexpr std::uint64_t kLeast = std::uint64_t{4} << 20;
  if (!target.held) return;
  for (const AllocatorState& state : target.held->allocators) {
    const std::uint64_t least = std::max(kLeast, resident_of(state) / 10);
    const auto remedies = allocators::remedies_of(state, prefix_of(target, state), least);
    if (remedies.empty()) continue;
    Finding finding{Finding::Severity::kNote,
                    fmt::format("{} keeps {} MiB of resident memory that is free and could be given back.",
                                label_of(target, state), mib(remedies.front().gives_back)),
                    {}};
    for (const allocators::Remedy& remedy : remedies)
      finding.remedies.push_back(
          {remedy.what, fmt::format("{}{} (up to {} MiB); {}", remedy.at_start ? "at the next start: " : "",
                                    remedy.how, mib(remedy.gives_back), remedy.price)});
    findings.push_back(std::move(finding));
  }
}

}  // namespace fathom::doctor
