#include "binary/symbolize/late_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/parse.h"
#include "base/text.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/function_code.h"
#include "binary/symbolize/local_names.h"
#include "binary/symbolize/module_symbols.h"
#include "binary/symbolize/symbol_folder.h"
#include "model/nameless_function.h"

namespace fathom::symbolize {
namespace {

using model::ModuleId;
using model::Profile;

// By module; only of files.
using FramesByModule = std::map<ModuleId, std::vector<std::uint32_t>>;

// The file of the module on this machine, if it is the one that was recorded.
std::optional<ModuleSource> source_of(const Profile& profile, const model::Module& module) {
  if (module.kind != model::ModuleKind::kFile || module.build_id.value == 0) return std::nullopt;
  ModuleSource source;
  source.kind = module.kind;
  source.path = profile.strings[module.path];
  source.identity = profile.strings[module.build_id];
  const auto file = elf::ModuleFile::open(source.path);
  if (!file || file->elf().identity() != source.identity) return std::nullopt;
  return source;
}

bool is_name(const std::vector<Name>& names) {
  return !names.empty() && !model::nameless_function(names.back().function);
}

// Returns how many of the frames got names. Frames that have some get others only where `renames`, and only real ones.
std::size_t name_frames(Profile& profile, model::Builder& builder, std::vector<std::uint32_t> frames,
                        ModuleSymbols& symbols, bool renames) {
  std::ranges::sort(frames, {}, [&](std::uint32_t frame) { return profile.frames[frame].address; });
  std::vector<ElfAddress> addresses;
  for (const std::uint32_t frame : frames) addresses.push_back(profile.frames[frame].address);
  const auto names = symbols.resolve(addresses);
  std::size_t named = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (names[i].empty()) continue;
    model::Frame& frame = profile.frames[frames[i]];
    if (frame.line_count != 0) {
      if (!renames || !is_name(names[i])) continue;
      frame.line_count = 0;  // the builder names what has no name
    }
    std::vector<model::Builder::NamedLine> lines;
    for (const Name& name : names[i]) lines.push_back({name.function, name.file, name.line});
    builder.name_frame(model::FrameId{frames[i]}, lines);
    ++named;
  }
  return named;
}

// How much a source of names knows.
int rank_of(model::SymbolSource source) {
  switch (source) {
    case model::SymbolSource::kPseudo:
      return 1;
    case model::SymbolSource::kDynsym:
      return 2;
    case model::SymbolSource::kSymtab:
      return 3;
    case model::SymbolSource::kGo:
      return 4;
    case model::SymbolSource::kDwarf:
      return 5;
    default:
      return 0;
  }
}

std::string identity_of(const std::string& path) {
  const auto file = elf::ModuleFile::open(path);
  return file ? file->elf().identity() : "";
}

// The functions of which the recording knows the code: those without a name.
RecordedCode recorded_code(const Profile& profile, const std::vector<std::uint32_t>& frames) {
  RecordedCode functions;
  for (const std::uint32_t row : frames) {
    const model::Frame& frame = profile.frames[row];
    if (frame.line_count == 0) continue;
    const model::Line& line = profile.lines[frame.first_line + frame.line_count - 1];
    const auto nameless =
        model::nameless_function(profile.strings[profile.functions[line.function.value].name]);
    if (!nameless || nameless->code == 0) continue;
    if (const auto start = parse_number(nameless->address, 16))
      functions[ElfAddress{*start}] = nameless->code;
  }
  return functions;
}

// Of the files that may be of a module without a build id those that have its code.
std::vector<const SymbolFile*> twins_by_code(const SymbolFolder& folder, std::string_view module,
                                             const RecordedCode& functions,
                                             std::vector<std::string>& refused) {
  std::vector<const SymbolFile*> twins;
  for (const SymbolFile* candidate : folder.without_build_id(module)) {
    const auto file = elf::ModuleFile::open(candidate->path);
    if (!file) continue;
    const CodeMatch match = match_code(file->elf(), functions);
    if (match.is_twin())
      twins.push_back(candidate);
    else
      refused.push_back(
          fmt::format("{} is not used: neither it nor {} in the recording has a build id, and {}",
                      candidate->path, module, match.reason()));
  }
  return twins;
}

}  // namespace

std::size_t name_unnamed_frames(Profile& profile, const Options& options) {
  FramesByModule unnamed;
  for (std::uint32_t i = 0; i < profile.frames.size(); ++i) {
    if (profile.frames[i].line_count == 0) unnamed[profile.frames[i].module].push_back(i);
  }
  if (unnamed.empty()) return 0;
  model::Builder builder(profile);
  LocalNames reader(options);
  std::size_t named = 0;
  for (auto& [module, frames] : unnamed) {
    const auto source = source_of(profile, profile.modules[module.value]);
    if (!source) continue;
    const auto symbols = reader.open(*source, module.value);
    named += name_frames(profile, builder, std::move(frames), *symbols, false);
    model::Module& row = profile.modules[module.value];
    row.symbols = std::max(row.symbols, symbols->source());
    if (const std::string path = symbols->source_path(); !path.empty())
      row.symbols_path = builder.string(path);
  }
  return named;
}

Result<FolderNames> name_from_folder(Profile& profile, const Options& options) {
  const Result<SymbolFolder> folder = SymbolFolder::scan(options.symbol_directory);
  if (!folder) return tl::unexpected(folder.error());
  FramesByModule frames;
  for (std::uint32_t i = 0; i < profile.frames.size(); ++i)
    if (profile.modules[profile.frames[i].module.value].kind == model::ModuleKind::kFile)
      frames[profile.frames[i].module].push_back(i);
  Options of_files = options;
  of_files.symbol_directory.clear();  // by build id alone, which is found below
  model::Builder builder(profile);
  LocalNames reader(of_files);
  FolderNames found;
  found.gaps = folder->gaps();
  std::vector<std::string> build_ids;
  for (const model::Module& module : profile.modules)
    build_ids.emplace_back(profile.strings[module.build_id]);
  if (const std::string wrong = folder->refusal(build_ids); !wrong.empty()) {
    found.refused.push_back(wrong);
    return found;
  }
  for (auto& [module, rows] : frames) {
    model::Module& row = profile.modules[module.value];
    const std::string path(profile.strings[row.path]), build_id(profile.strings[row.build_id]);
    std::vector<const SymbolFile*> files = folder->of(build_id);
    const bool by_code = build_id.starts_with("x-");
    if (by_code) files = twins_by_code(*folder, base_name(path), recorded_code(profile, rows), found.refused);
    if (files.empty() && !(by_code && folder->is_file())) {
      for (const SymbolFile* file : folder->called(base_name(path)))
        if (!by_code || !file->build_id.empty())
          found.refused.push_back(fmt::format(
              "{} is not used: {}, and that of {} in the recording is {}", file->path,
              file->build_id.empty() ? "it has no build id" : "its build id is " + file->build_id,
              base_name(path), build_id.empty() || build_id.starts_with("x-") ? "none" : build_id));
      continue;
    }
    for (const SymbolFile* file : files) {
      const std::string identity = by_code ? identity_of(file->path) : build_id;
      const auto symbols =
          reader.open({.path = path, .open_path = file->path, .identity = identity}, module.value);
      if (rank_of(symbols->source()) <= rank_of(row.symbols)) continue;
      if (name_frames(profile, builder, rows, *symbols, true) == 0) continue;
      row.symbols = symbols->source();
      row.symbols_path = builder.string(file->path);
      found.used.push_back(file->path);
    }
  }
  return found;
}

}  // namespace fathom::symbolize
