#include "record/session/names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/cache_folder.h"
#include "binary/symbolize/symbol_cache.h"
#include "model/build_facts.h"
#include "model/main_crate.h"
#include "record/session/privileges.h"

namespace fathom::session {
namespace {

// For names that are still missing when the recording ends; readers look for those that then are.
constexpr std::chrono::seconds kPatience(4);

symbolize::Options symbol_options(const RecordOptions& options) {
  symbolize::Options symbols;
  symbols.symbol_directory = options.symbol_directory;
  symbols.cache_directory = symbolize::default_cache_directory();
  symbols.reader.program = options.name_reader;
  symbols.debuginfod_caches = symbolize::debuginfod_caches();
  symbols.fetch.urls = options.debuginfod_urls;
  symbols.fetch.program = options.name_reader;
  symbols.fetch.cache_directory = default_cache_folder("debug-files");
  symbols.fetch.give_up_rights = options.give_up_privileges;
  if (options.give_up_privileges) symbols.capabilities = needed_capabilities({});
  return symbols;
}

}  // namespace

Names::Names(const RecordOptions& options, model::Profile& profile, model::Builder& builder)
    : profile_(profile), builder_(builder), worker_(symbol_options(options)) {}

bool Names::is_executable(model::StringId path) const {
  return std::ranges::any_of(profile_.processes,
                             [&](const model::Process& process) { return process.executable == path; });
}

void Names::take() {
  auto found = worker_.poll();
  for (const auto& frame : found.frames) {
    std::vector<model::Builder::NamedLine> lines;
    lines.reserve(frame.names.size());
    for (const auto& name : frame.names) lines.push_back({name.function, name.file, name.line});
    builder_.name_frame(frame.frame, lines);
  }
  for (auto& health : found.modules) {
    model::Module& row = profile_.modules[health.module.value];
    row.symbols = health.symbols;
    row.symbols_path = builder_.string(health.symbols_path);
    if (!health.problem.empty()) note_once(profile_.quality, std::move(health.problem));
    if (!health.main_crate.empty())
      profile_.meta.facts[model::main_crate_fact(profile_.strings[row.path])] = health.main_crate;
    if (!health.compilers.empty() && is_executable(row.path))
      profile_.meta.facts[model::compilers_fact(profile_.strings[row.path])] = std::move(health.compilers);
    if (!health.lost.empty()) lost_.add(profile_.strings[row.name], health.lost);
  }
}

void Names::finish(const std::function<bool()>& hurry) {
  if (!worker_.drain(kPatience, hurry))
    note_once(
        profile_.quality,
        "names: the recording ended before all of them were read; fathom report finds them on this machine");
  take();
  if (std::string fetched = worker_.fetch_sentence(); !fetched.empty())
    note_once(profile_.quality, std::move(fetched));
}

}  // namespace fathom::session
