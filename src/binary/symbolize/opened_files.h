// The files that name a module's code, open: the module itself and, where that has no DWARF, the file that
// was split off it. Opened with the recorder's rights and read without any: by the process of NameProcess, or
// here. Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"
#include "binary/symbolize/debug_files.h"
#include "binary/symbolize/options.h"
#include "binary/symbolize/pointed_paths.h"

namespace fathom::symbolize {

struct OpenedFiles {
  Fd file, debug_file;     // -1: there is none
  std::string debug_path;  // below `pointed.root`
  // Files that debug information refers to: their paths are relative to that root, or to that file, which is
  // below it too.
  PointedPaths pointed;
  bool stripped = false;  // no DWARF, no .symtab, and no other file that has them
  std::string problem;    // one line: why there is no file; "" if all is well
};
// A file that is not regular, or no longer the one that was running, is not opened.
OpenedFiles open_files(const ModuleSource& source, DebugFiles& debug_files);

// Opens files that debug information refers to (split DWARF, files shared by dwz): the path is text chosen by
// the file's author. So it is followed below the root of the target, and with the rights of the owner of the
// referring file, unless only root can write that.
class PointedFiles {
 public:
  // A root that is gone with its process leaves our own: what is opened is checked by its id all the same.
  PointedFiles(const std::string& root, int file);
  // A regular file on a disk, for reading; -1 otherwise.
  Fd open(const std::string& path) const;

 private:
  Fd root_;
  bool as_owner_ = false;
  unsigned owner_ = 65534, group_ = 65534;
};

}  // namespace fathom::symbolize
