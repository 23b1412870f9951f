// What a folder of debug files and unstripped binaries holds, for whoever has a build id. Reads the heads of files; their
// names are read elsewhere. Private to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::symbolize {

struct SymbolFile {
  std::string path;
  std::string build_id;  // empty: it has none
};

class SymbolFolder {
 public:
  // All regular ELF files below `path` that have names, 10 folders deep and 20,000 files at most. kNotFound where the folder
  // cannot be read.
  static Result<SymbolFolder> scan(const std::string& path);

  // By path. None for an empty build id, or a hash in the place of one ("x-...").
  std::vector<const SymbolFile*> of(const std::string& build_id) const;
  // Files that one would take for those of the module "sqlite3": sqlite3, sqlite3.debug. By path.
  std::vector<const SymbolFile*> called(std::string_view module) const;

 private:
  std::vector<SymbolFile> files_;
};

}  // namespace fathom::symbolize
