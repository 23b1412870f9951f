// Writes recording files: append-only, and readable after every append. When append returns, the data is in
// the page cache, so killing this process loses nothing; a power failure may (the writer never waits for the
// disk). Format: docs/format.md. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "model/profile.h"
#include "model/store/block.h"
#include "model/store/payload.h"

namespace fathom::store {

struct WriterOptions {
  bool overwrite = false;  // an earlier recording, or an empty file
  bool force = false;      // any regular file, in any user's folder
};

class Writer {
 public:
  // Until finish() the writer's process holds a lock on the file, so that readers know that more will come.
  // The lock ends with the process, for any kind of exit, and its children do not inherit it.
  //
  // Creates a new file, as described in base/output_file.h, and its folders. The first append that succeeds
  // gives the file its name and replaces an earlier file: a recording that never began leaves nothing.
  static Result<Writer> create(const std::string& path, const WriterOptions& options = {});

  // Appends the changes of `profile` since the last call, usually in one write(2): new rows of all tables,
  // names of frames that had none, changed rows and facts. Samples, waits, heap rows and points of series
  // count as new every time: the caller clears them afterwards. Always the same profile, which only grows;
  // the writer keeps no part of it.
  //
  // On an error (disk full, file size limit with SIGXFSZ ignored) the file is as before, still readable, and
  // nothing counts as written: a later append tries everything again (except if another process has taken the
  // name since create(): then everything is written, and a later append tries the name again). The caller
  // counts dropped samples in quality.lost_disk, waits in quality.lost_waits.
  //
  // `changed` lists the rows of processes and threads that were added or changed since the last successful
  // append; without it all rows are compared with the written ones. Pass it always or never.
  Result<> append(const model::Profile& profile, const ChangedRows* changed = nullptr);

  // Appends, then writes index and end mark. Nothing can be appended afterwards.
  Result<> finish(const model::Profile& profile, const ChangedRows* changed = nullptr);

  // For the last message about a recording: makes sure that the file exists under its name. If it was removed
  // in the meantime, even with its folder, it is written again. If another file has its name, it is written
  // next to it, as "x-2.fathom", and the error says so. Call after finish().
  Result<> ensure_there();
  FileIdentity identity() const { return identity_; }  // of the existing file, after ensure_there()

  std::uint64_t bytes_written() const { return size_; }
  const std::string& path() const { return file_.path(); }

 private:
  explicit Writer(OutputFile file) : file_(std::move(file)) {}

  // Rows and times for the index, for blocks of samples and waits.
  struct Span {
    std::size_t rows;
    std::uint64_t first_ns, last_ns;
  };
  static Span span_of(std::span<const model::Sample> samples);
  static Span span_of(std::span<const model::Wait> waits);
  void put_block(std::uint32_t type, const Bytes& payload, const Span& span = {}, std::uint32_t hints = 0);
  Result<> encode_append(const model::Profile& profile, const std::vector<std::uint32_t>& named,
                         const ChangedRows* changed);
  Result<> write_pending();

  OutputFile file_;
  bool force_ = false;  // as in WriterOptions
  FileIdentity identity_;
  BlockEncoder encoder_;
  SamplePredictor predictor_;
  std::uint64_t size_ = 0;  // of complete blocks; a failed attempt may have left more in the file
  std::uint64_t samples_ = 0;
  bool finished_ = false;

  // Written so far.
  TableSizes tables_;
  StateCopy state_;
  HeapCopy heap_;
  std::vector<std::uint32_t> unnamed_;  // frames written without lines
  std::vector<IndexEntry> index_;       // one per block

  // Being written now.
  Bytes pending_;
  std::vector<IndexEntry> pending_index_;
};

}  // namespace fathom::store
