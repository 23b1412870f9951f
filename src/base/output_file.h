// A file to write a result to. It appears under its name only when it is published: a command that fails
// leaves nothing, neither a part nor an empty folder, and an existing file stays. The file is always new,
// never overwritten in place: mode 0600 whatever the umask, in a safe folder (safe_folder.h), without a name
// or under an unguessable one until then. With sudo it belongs to the invoking user.
//
// A link is never followed or replaced. A device or a pipe is written to if the caller allows it, and never
// replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "base/safe_folder.h"
#include "base/sudo_user.h"

namespace fathom {

// Whether an existing file that begins like this may be replaced without being asked for. `first` has up to
// 256 KiB.
using Replaceable = bool (*)(std::string_view first);

// Which file this is, whatever it is called.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
// Of what the path names, of a link the link; zeros: nothing.
FileIdentity identity_of(const std::string& path);

struct OutputOptions {
  Replaceable replaceable = nullptr;  // nullptr: none but empty files
  bool keep_existing = false;         // not even these
  bool force = false;                 // any regular file is replaced, and the folder may belong to another
                                      // user
  bool streams = false;               // pipes and character devices are written into
  bool unnamed = true;                // false: as on a file system without O_TMPFILE
  std::string temporary = {};         // its name until it is published, for tests; empty: an unguessable one
  std::optional<Account> owner = sudo_user();
};

class OutputFile {
 public:
  // Rejected, each with its own message: an existing file that may not be replaced, a folder, a link, a
  // socket, a disk; pipes and devices unless `streams` is set; with it, a pipe without a reader. Never
  // blocks.
  static Result<OutputFile> open(const std::string& path, const OutputOptions& options = {});
  // The same in a folder that is open already. `path` is what messages call it.
  static Result<OutputFile> open_in(SafeFolder folder, const std::string& name, const std::string& path,
                                    const OutputOptions& options = {});

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

  // All of it, at the end. A reader of the pipe that has left (with SIGPIPE ignored) is no error: it has seen
  // enough.
  Result<> write(std::string_view bytes);

  // Gives the file its name and replaces what was there. Rejected if something else has taken the name since
  // open().
  Result<> publish();

  // What the path names now, after publish(): this file, nothing, or another one. Streams are always there.
  enum class Place { kThere, kGone, kTaken };
  Place place() const;
  FileIdentity identity() const;  // of this file; zeros: not known
  // All that was written, once more in a file of its own. `path` as in open().
  Result<OutputFile> copy_to(const std::string& path, const OutputOptions& options = {}) const;

 private:
  OutputFile(SafeFolder folder, std::string name, std::string path)
      : folder_(std::move(folder)), name_(std::move(name)), path_(std::move(path)) {}

  Result<> look_at_existing(const OutputOptions& options);
  Result<> create(const OutputOptions& options);
  Result<> give_name(const std::string& name);

  SafeFolder folder_;
  std::string name_, path_;
  Fd fd_;
  std::string temporary_;   // name in the folder; "": none, or none yet
  Fd existing_;             // what publish() replaces, held so that its inode is not given to another file
  bool published_ = false;  // streams from the start
  bool is_stream_ = false;
};

}  // namespace fathom
