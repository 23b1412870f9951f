// .fathom.toml: a project's own presets, which are options by name. A small part of TOML: tables, and strings in them.
//
//   [record]
//   api = "--unit api.service --sources cpu,wait -d 60"
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace fathom::cli {

inline constexpr std::string_view kPresetFile = ".fathom.toml";

// The options by command and name.
using Presets = std::map<std::pair<std::string, std::string>, std::string>;

// `path` is for messages, which name the line. kMalformed for everything but tables, strings and comments.
Result<Presets> parse_presets(std::string_view text, const std::string& path);

struct PresetFile {
  std::string path;
  Presets presets;
};
// In `folder` or the nearest one above it that has such a file; nullopt: none has. kPermission where another user than we and root
// could have written it: options can start programs.
Result<std::optional<PresetFile>> find_presets(const std::string& folder);
// From the folder that fathom runs in.
Result<std::optional<PresetFile>> find_presets();

}  // namespace fathom::cli
