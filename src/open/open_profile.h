// The one way from a path to a complete profile, for every front end: a recording, or any foreign format of
// formats/readers.h, told apart by their content and never by their name. "-" is standard input. What a
// recording leaves to its readers is done here: names that were not resolved when it was killed, and wakers
// that were none.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "model/profile.h"
#include "store/reader.h"

namespace fathom::open {

// Where names that a recording lacks are looked for, beside the files of this machine.
struct NameOptions {
  std::string symbol_directory;  // unstripped twins and debug files, by their build ids; empty: none
  // A program as of symbolize::ReaderProcess, which reads these files; empty: this process does.
  std::string reader;
  std::function<void(const std::string&)>
      tell;  // a sentence for whoever asked, such as why a file is not used
};

// The profile has passed check(). An imported one is named after its file (meta.target). What is recognised
// and cannot be read (perf.data, compressed files, pictures) is kUnsupported with the way out.
// What `options` ask for is kNotFound in anything but a recording.
Result<model::Profile> open_profile(const std::string& path, const store::ReadOptions& options = {},
                                    const NameOptions& names = {});

}  // namespace fathom::open
