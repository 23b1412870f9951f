#include "record/session/engine_ladder.h"

#include <fmt/format.h>

#include <utility>

#include "base/attempt.h"
#include "record/session/privileges.h"

namespace fathom::session {
namespace {

Result<std::unique_ptr<Source>> open_source(const RecordOptions& options, Engine engine) {
  switch (engine) {
    case Engine::kPerf:
      return open_perf_source(options);
    case Engine::kProc:
      return open_proc_source(options);
    case Engine::kAutomatic:
    case Engine::kBpf:
      break;
  }
  return open_bpf_source(options);
}

PrivilegedParts parts_of(const RecordOptions& options, Engine engine) {
  return {.heap = options.heap != Heap::kNone,
          .without_bpf = engine != Engine::kBpf,
          .probes = !options.probes.empty()};
}

}  // namespace

std::string_view to_string(Engine engine) {
  switch (engine) {
    case Engine::kBpf:
      return "bpf";
    case Engine::kPerf:
      return "perf";
    case Engine::kProc:
      return "proc";
    case Engine::kAutomatic:
      break;
  }
  return "auto";
}

std::vector<Engine> engines_for(const RecordOptions& options) {
  if (options.engine != Engine::kAutomatic) return {options.engine};
  // The others sample the clock.
  if (!options.probes.empty() || !options.events.empty() || options.system_calls ||
      options.event != "cpu-clock")
    return {Engine::kBpf};
  std::vector<Engine> engines{Engine::kBpf, Engine::kPerf};
  // It sees waits only, and learns too late of mapped libraries for the stacks of a heap.
  if (options.off_cpu && options.heap == Heap::kNone) engines.push_back(Engine::kProc);
  return engines;
}

Result<OpenedEngine> open_engine(const RecordOptions& options, Engine engine,
                                 const std::vector<std::int32_t>& targets) {
  auto source = open_source(options, engine);
  if (!source) return tl::unexpected<Error>(source.error());
  OpenedEngine opened{engine, std::move(*source), own_capabilities()};
  if (!options.give_up_privileges) {
    if (auto rehearsed = opened.source->rehearse(targets); !rehearsed)
      return tl::unexpected<Error>(rehearsed.error());
    return opened;
  }
  const auto attempt = [&](CapabilitySet kept) {
    return attempt_in_child([&] {
      give_up_privileges(kept);
      return opened.source->rehearse(targets);
    });
  };
  auto choice = choose_capabilities(parts_of(options, engine), own_capabilities(), attempt);
  if (!choice.tried) return tl::unexpected<Error>(choice.tried.error());
  opened.kept = choice.kept;
  return opened;
}

EngineLadder::EngineLadder(const RecordOptions& options) : options_(options), left_(engines_for(options)) {}

Result<OpenedEngine> EngineLadder::next(const std::vector<std::int32_t>& targets) {
  while (!left_.empty()) {
    const Engine engine = left_.front();
    left_.erase(left_.begin());
    auto opened = open_engine(options_, engine, targets);
    if (opened) return opened;
    // What the user mistyped is wrong for every engine.
    if (opened.error().kind == ErrorKind::kUsage) return opened;
    failed(opened.error());
  }
  if (options_.engine != Engine::kAutomatic)
    return tl::unexpected<Error>(without_engine_option(last_error_, targets));
  return tl::unexpected<Error>(last_error_);
}

void EngineLadder::failed(Error error) {
  obstacles_.push_back(error.message);
  last_error_ = std::move(error);
}

// Where another engine works, that is the remedy.
Error EngineLadder::without_engine_option(Error error, const std::vector<std::int32_t>& targets) const {
  RecordOptions automatic = options_;
  automatic.engine = Engine::kAutomatic;
  for (const Engine other : engines_for(automatic)) {
    if (other == options_.engine || !open_engine(automatic, other, targets)) continue;
    error.remedy = fmt::format("fathom record without --engine: engine {} works here{}{}", to_string(other),
                               error.remedy.empty() ? "" : "; or ", error.remedy);
    return error;
  }
  return error;
}

}  // namespace fathom::session
