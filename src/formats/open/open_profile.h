// The one way from a path to a complete profile, for every front end: a recording, or any foreign format of
// formats/readers.h, told apart by their content and never by their name. "-" is standard input. What a
// recording leaves to its readers is done here: names that were not resolved when it was killed, and wakers
// that were none.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/dumps/merge.h"
#include "model/profile.h"
#include "model/store/reader.h"

namespace fathom::open {

// Where names that a recording lacks are looked for, beside the files of this machine, and who reads these files.
struct NameOptions {
  // A program as of symbolize::ReaderProcess; empty: this process. It has no default: whoever records as root opens the
  // recording as root, and the files in question were written by the target.
  explicit NameOptions(std::string reader_program) : reader(std::move(reader_program)) {}

  std::string reader;
  std::string symbol_directory;  // unstripped twins and debug files, by their build ids; empty: none
  std::function<void(const std::string&)>
      tell;  // a sentence for whoever asked, such as why a file is not used; it may hold names from files
  bool long_names = false;  // functions without a name keep the one they were recorded with (short_names.h)
  // For the text of a file that is no profile but holds statistics which an allocator prints of itself
  // (allocators/statistics): they have no stacks, so the answer is kUnsupported all the same. Null: nobody reads them.
  std::string* statistics = nullptr;
};

// The profile has passed check(). An imported one is named after its file (meta.target). A file that is packed
// with gzip or zstd is what is in it. What is recognised and cannot be read (pictures) is kUnsupported with the
// way out.
// What `options` ask for is kNotFound in anything but a recording.
Result<model::Profile> open_profile(const std::string& path, const NameOptions& names,
                                    const store::ReadOptions& options = {});

// How heap dumps are taken together.
struct DumpOptions {
  dumps::Merge merge;
  std::optional<std::int32_t> pid = {};               // of dumps of several processes those of this one
  std::uint64_t most_bytes = std::uint64_t{4} << 30;  // of all their texts together; more is refused
};

// The same of several inputs: files, patterns ("jeprof.*.heap") and folders of heap dumps, which become one profile as
// formats/dumps/merge.h says. kUsage where there are several and not all of them are dumps.
Result<model::Profile> open_profiles(const std::vector<std::string>& inputs,
                                     const store::ReadOptions& options, const NameOptions& names,
                                     const DumpOptions& dumps);

}  // namespace fathom::open
