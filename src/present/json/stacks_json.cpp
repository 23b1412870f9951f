#include "present/json/stacks_json.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "analysis/core/call_tree.h"
#include "analysis/core/printable_json.h"
#include "analysis/core/shown_calls.h"
#include "analysis/core/words.h"
#include "analysis/stacks/changes.h"
#include "present/sentences/stacks_sentences.h"

namespace fathom::present {
namespace {

using Ordered = nlohmann::ordered_json;
using analysis::valid_utf8;
using stacks::Holder;
using stacks::Look;
using stacks::ThreadLook;

Ordered stack_json(const model::Profile& profile, model::StackId stack) {
  Ordered frames = Ordered::array();
  const analysis::ShownCalls all(profile, nullptr);
  all.visit(stack, 0, [&](model::FrameId id, std::uint32_t line) {
    const model::Frame& frame = profile.frames[id.value];
    const model::Module& module = profile.modules[frame.module.value];
    Ordered row;
    row["function"] = valid_utf8(analysis::frame_name(profile, id, line));
    row["module"] = valid_utf8(profile.strings[module.name]);
    row["address"] = frame.address.value;
    row["kernel"] = module.kind == model::ModuleKind::kKernel;
    row["inlined"] = line + 1 < frame.line_count;
    const bool known = line < frame.line_count;
    const model::Line at = known ? profile.lines[frame.first_line + line] : model::Line();
    row["file"] = at.file.value != 0 ? Ordered(valid_utf8(profile.strings[at.file])) : Ordered();
    row["line"] = at.line != 0 ? Ordered(at.line) : Ordered();
    frames.push_back(std::move(row));
    return true;
  });
  return frames;
}

Ordered holder_json(const Holder& holder) {
  if (holder.kind == Holder::Kind::kUnknown) return {};
  return {{"tid", holder.tid},
          {"pid", holder.pid != 0 ? Ordered(holder.pid) : Ordered()},
          {"exited", holder.kind == Holder::Kind::kExited},
          {"evidence", to_string(holder.evidence)}};
}

Ordered thread_json(const Look& look, const ThreadLook& thread, std::size_t stack) {
  Ordered json;
  json["pid"] = thread.pid;
  json["tid"] = thread.tid;
  json["name"] = valid_utf8(thread.name);
  json["state"] = to_string(thread.state);
  json["waited_s"] = thread.waited_ns ? Ordered(static_cast<double>(*thread.waited_ns) * 1e-9) : Ordered();
  json["function"] = valid_utf8(thread.place.function);
  json["file"] = thread.place.file.empty() ? Ordered() : Ordered(valid_utf8(thread.place.file));
  json["line"] = thread.place.line != 0 ? Ordered(thread.place.line) : Ordered();
  json["idle"] = thread.idle.empty() ? Ordered() : Ordered(thread.idle);
  if (thread.wait) {
    const bool futex = thread.awaited.cause == analysis::Cause::kFutex;
    json["waits_for"] = {
        {"cause", analysis::to_string(thread.awaited.cause)},
        {"kind", futex ? Ordered(analysis::to_string(thread.awaited.futex)) : Ordered()},
        {"address", thread.awaited.address != 0 ? Ordered(thread.awaited.address) : Ordered()},
        {"text", valid_utf8(awaited_words(look, thread))},
        {"timeout", thread.awaited.has_timeout},
        {"holder", holder_json(thread.holder)}};
  } else {
    json["waits_for"] = nullptr;
  }
  json["stack"] = stack;
  if (!thread.registers.empty()) {
    json["signal"] = thread.signal != 0 ? Ordered(thread.signal) : Ordered();
    for (const auto& [name, value] : thread.registers) json["registers"][name] = value;
  }
  return json;
}

}  // namespace

std::string stacks_json(const model::Profile& profile, const std::vector<Look>& looks) {
  std::map<model::StackId, std::size_t> numbers;
  Ordered stacks = Ordered::array();
  Ordered json;
  json["format_version"] = 1;
  json["looks"] = Ordered::array();
  for (const Look& look : looks) {
    Ordered row;
    row["time_s"] = static_cast<double>(look.time_ns) * 1e-9;
    row["took_s"] = static_cast<double>(look.took_ns) * 1e-9;
    row["core"] = look.is_core;
    row["signal"] = look.core_signal != 0 ? Ordered(look.core_signal) : Ordered();
    row["targets"] = Ordered::array();
    for (const stacks::Target& target : look.targets)
      row["targets"].push_back({{"pid", target.pid},
                                {"name", valid_utf8(target.name)},
                                {"stopped", target.stopped},
                                {"tracer_pid", target.tracer_pid}});
    row["verdicts"] = Ordered::array();
    for (const stacks::Verdict& verdict : look.verdicts) {
      Ordered tids = Ordered::array(), chain = Ordered::array();
      for (const std::size_t thread : verdict.threads) tids.push_back(look.threads[thread].tid);
      for (const std::size_t thread : verdict.chain) chain.push_back(look.threads[thread].tid);
      row["verdicts"].push_back({{"finding", to_string(verdict.finding)},
                                 {"text", valid_utf8(verdict_sentence(look, verdict))},
                                 {"threads", tids},
                                 {"chain", chain},
                                 {"behind", verdict.behind},
                                 {"may_end", verdict.may_end}});
    }
    row["threads"] = Ordered::array();
    for (const ThreadLook& thread : look.threads) {
      const auto [number, is_new] = numbers.try_emplace(thread.stack, stacks.size());
      if (is_new) stacks.push_back(stack_json(profile, thread.stack));
      row["threads"].push_back(thread_json(look, thread, number->second));
    }
    row["notes"] = Ordered::array();
    for (const std::string& note : look.notes) row["notes"].push_back(valid_utf8(note));
    json["looks"].push_back(std::move(row));
  }
  json["stacks"] = std::move(stacks);
  if (looks.size() > 1) {
    const stacks::Changes changes = compare(looks.front(), looks.back());
    Ordered moved = Ordered::array(), stayed = Ordered::array();
    for (const std::size_t row : changes.moved) moved.push_back(looks.back().threads[row].tid);
    for (const std::size_t row : changes.stayed) stayed.push_back(looks.back().threads[row].tid);
    json["changes"] = {
        {"moved", moved}, {"stayed", stayed}, {"started", changes.started}, {"ended", changes.ended}};
  }
  return analysis::printable_json(json.dump(1)) + "\n";
}

}  // namespace fathom::present
