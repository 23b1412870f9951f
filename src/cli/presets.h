// --preset NAME: options by name, before the command line is parsed. Some come with fathom, a project adds its own
// (preset_file.h). What the user types replaces the same option of the preset.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/preset_file.h"

namespace fathom::cli {

// Declares --preset on a command, for help; expand_preset() has done its work when it is parsed.
void add_preset_option(CLI::App& command);

// Whether `words`, the command line without the program, name a preset.
bool names_preset(const std::vector<std::string>& words);

// `words` with the options of their preset behind the command. kUsage for a preset that is not there, and for one that holds more than
// options. `project` may be null.
Result<std::vector<std::string>> expand_preset(const CLI::App& app, const std::vector<std::string>& words,
                                               const PresetFile* project);

// fathom help presets.
std::string presets_text(const PresetFile* project);

}  // namespace fathom::cli
