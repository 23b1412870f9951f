#include "symbolize/late_names.h"

#include <algorithm>
#include <map>
#include <vector>

#include "elf/module_file.h"
#include "symbolize/debug_files.h"
#include "symbolize/module_symbols.h"

namespace fathom::symbolize {
namespace {

// The file of the module on this machine, if it is the one that was recorded.
std::optional<ModuleSource> source_of(const model::Profile& profile, const model::Module& module) {
  if (module.kind != model::ModuleKind::kFile || module.build_id.value == 0) return std::nullopt;
  ModuleSource source;
  source.kind = module.kind;
  source.path = profile.strings[module.path];
  source.identity = profile.strings[module.build_id];
  const auto file = elf::ModuleFile::open(source.path);
  if (!file || file->elf().identity() != source.identity) return std::nullopt;
  return source;
}

}  // namespace

std::size_t name_unnamed_frames(model::Profile& profile, const Options& options) {
  std::map<model::ModuleId, std::vector<std::uint32_t>> unnamed;
  for (std::uint32_t i = 0; i < profile.frames.size(); ++i) {
    if (profile.frames[i].line_count == 0) unnamed[profile.frames[i].module].push_back(i);
  }
  if (unnamed.empty()) return 0;
  model::Builder builder(profile);
  DebugFiles debug_files(options);
  std::size_t named = 0;
  for (auto& [module, frames] : unnamed) {
    const auto source = source_of(profile, profile.modules[module.value]);
    if (!source) continue;
    const auto symbols = ModuleSymbols::open(*source, options, debug_files);
    std::ranges::sort(frames, {}, [&](std::uint32_t frame) { return profile.frames[frame].address; });
    std::vector<ElfAddress> addresses;
    for (const std::uint32_t frame : frames) addresses.push_back(profile.frames[frame].address);
    const auto names = symbols->resolve(addresses);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (names[i].empty()) continue;
      std::vector<model::Builder::NamedLine> lines;
      for (const Name& name : names[i]) lines.push_back({name.function, name.file, name.line});
      builder.name_frame(model::FrameId{frames[i]}, lines);
      ++named;
    }
    model::Module& row = profile.modules[module.value];
    row.symbols = std::max(row.symbols, symbols->source());
    if (const std::string path = symbols->source_path(); !path.empty())
      row.symbols_path = builder.string(path);
  }
  return named;
}

}  // namespace fathom::symbolize
