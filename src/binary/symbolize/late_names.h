// Names for frames of a recording that has none: it was killed before its symbols were resolved, or names
// come later from a folder (--symbols). Looks at files of this machine, and believes them only if
// they are what was recorded.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "binary/symbolize/options.h"
#include "model/profile.h"

namespace fathom::symbolize {

// Names what can be named. Frames that have names keep them. The kernel is left alone: its addresses change
// with every boot. Returns how many frames got a name.
std::size_t name_unnamed_frames(model::Profile& profile, const Options& options);

// What options.symbol_directory gave.
struct FolderNames {
  std::vector<std::string> used;     // paths of files, in the order of the modules
  std::vector<std::string> refused;  // sentences: a file is called like a module, and is not of it
  std::vector<std::string> gaps;     // sentences: what was not looked at
};
// Names from the unstripped twins and separate debug files below options.symbol_directory. A file belongs to
// a module by its build id; where neither has one, by the code of the functions that were recorded without
// names. It is used if it knows more than the recording; then frames that have names get its names, inlined
// calls and lines, too. kNotFound or kPermission if the folder cannot be read.
Result<FolderNames> name_from_folder(model::Profile& profile, const Options& options);

}  // namespace fathom::symbolize
