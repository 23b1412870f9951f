// What readers of foreign formats do alike: a profile is begun, its processes, threads, modules and places of allocation are
// found again, and it is checked at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

// Where the clock of a profile begins whose file has none. Not 0, which says "not known".
inline constexpr std::uint64_t kImportStart = 1'000'000'000;
// What a reader takes of one stack. What a file repeats beyond that is no program's stack, and would be expanded at each of
// its uses.
inline constexpr std::size_t kMostImportedFrames = 4096;
inline constexpr std::size_t kMostInlinedLines = 128;

class Import {
 public:
  // `format`: as meta.facts["format"] has it.
  explicit Import(std::string_view format);
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;

  model::ProcessId process(std::int32_t pid, std::string_view name);
  model::ThreadId thread(model::ProcessId process, std::int32_t tid, std::string_view name);
  // A file with code; empty: of names without a file.
  model::ModuleId module(std::string_view path, std::string_view build_id = {},
                         model::SymbolSource symbols = model::SymbolSource::kSymtab);
  // The frame of a name alone, with where it stands as far as that is known.
  model::FrameId frame(model::ModuleId module, std::string_view function, std::string_view file = {},
                       std::uint32_t line = 0);
  model::HeapSiteId site(model::HeapId heap, model::StackId stack, model::ThreadId thread = model::kNoThread);
  void note(std::string text) { profile.quality.notes.push_back(std::move(text)); }
  // `name` of the file, for messages. kMalformed if the rows make no sound profile.
  Result<model::Profile> finish(const std::string& name);

  model::Profile profile;
  model::Builder builder;

 private:
  std::map<std::int32_t, model::ProcessId> processes_;
  std::map<std::tuple<std::uint32_t, std::int32_t, std::string>, model::ThreadId, std::less<>> threads_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, model::HeapSiteId> sites_;
  std::unordered_map<std::string, model::FrameId> frames_;
};

}  // namespace fathom::formats
