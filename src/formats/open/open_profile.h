// The only way from a path to a complete profile, for every front end: a recording, or any foreign format of
// formats/readers.h, recognized by content and never by file name. "-" is standard input. Also does the work
// that a recording leaves to its readers: resolves names that are missing because fathom was killed, and
// removes wakers that an interrupt faked.
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

// Which samples of a recording with named events (model/event_samples.h) to take.
struct EventChoice {
  std::string name;  // of the event; empty: those of CPU time
  bool all = false;  // as they were recorded, so that a copy of the recording has them, too
};

// Where to look for names that a recording lacks, in addition to the files of this machine, and which process
// reads these files.
struct NameOptions {
  // A program as in symbolize::ReaderProcess; empty: this process. It has no default because a user who
  // records as root opens the recording as root, and the target wrote the files in question.
  explicit NameOptions(std::string reader_program) : reader(std::move(reader_program)) {}

  std::string reader;
  EventChoice event;
  std::string symbol_directory;  // unstripped files and debug files, by build id; empty: none
  std::function<void(const std::string&)>
      tell;  // receives a sentence for the user, such as why a file is not used; it may contain names from
             // files
  bool long_names = false;  // functions without a name keep the one they were recorded with (short_names.h)
  // Receives the text of a file that is not a profile but holds statistics that an allocator prints about
  // itself (allocators/statistics): they have no stacks, so the result is still kUnsupported. Null: ignored.
  std::string* statistics = nullptr;
};

// The profile has passed check(). An imported one is named after its file (meta.target). A file packed with
// gzip, xz or zstd is treated as its content. A recognized file that cannot be read (a picture) is kUnsupported
// with a remedy.
// Anything that `options` request is kNotFound except in a recording.
Result<model::Profile> open_profile(const std::string& path, const NameOptions& names,
                                    const store::ReadOptions& options = {});

// How to combine heap dumps.
struct DumpOptions {
  dumps::Merge merge;
  std::optional<std::int32_t> pid = {};               // if dumps come from several processes: only this one's
  std::uint64_t most_bytes = std::uint64_t{4} << 30;  // limit for the total size of their texts; larger input
                                                      // is rejected
};

// The same for several inputs: files, patterns ("jeprof.*.heap") and folders of heap dumps, which become one
// profile as described in formats/dumps/merge.h. kUsage if there are several and not all of them are dumps.
Result<model::Profile> open_profiles(const std::vector<std::string>& inputs,
                                     const store::ReadOptions& options, const NameOptions& names,
                                     const DumpOptions& dumps);

}  // namespace fathom::open
