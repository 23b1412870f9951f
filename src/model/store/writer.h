// Writes recording files: append-only, and readable after every append. What was appended is in the page
// cache when append returns, so killing this process loses nothing of it; a power cut may (nothing waits for
// the disk here). Format: docs/format.md. One thread at a time.
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
  bool force = false;      // any regular file, in anybody's folder
};

class Writer {
 public:
  // Until finish() the writer's process holds a lock on the file, so that readers know that more will come. The lock goes with
  // the process, however that ends, and is not inherited by its children.
  //
  // A new file, as base/output_file.h makes it, and the folders that lead to it. It gets its name, and an
  // earlier file is replaced, with the first append that succeeds: a recording that never began leaves
  // nothing.
  static Result<Writer> create(const std::string& path, const WriterOptions& options = {});

  // Appends what `profile` has gained since the last call, in one write(2) as a rule: new rows of all tables,
  // names of frames that had none, rows and facts that have changed. Samples, waits, rows of the heap and
  // points of series are taken as new every time: the caller clears them afterwards. Always the same profile,
  // which only grows; nothing is kept of it.
  //
  // On an error (disk full, file size limit with SIGXFSZ ignored) the file is as before, still readable, and
  // nothing counts as written: a later append tries everything again (but for a name that somebody else has
  // taken since create(): all is written, and a later append tries the name again). Samples that the caller
  // gives up belong into quality.lost_disk, waits into quality.lost_waits.
  //
  // `changed` tells which rows of processes and threads were added or have changed since the last append that
  // succeeded; without it all rows are compared with what was written. Always with it, or always without.
  Result<> append(const model::Profile& profile, const ChangedRows* changed = nullptr);

  // append, then index and end mark. Nothing can be appended afterwards.
  Result<> finish(const model::Profile& profile, const ChangedRows* changed = nullptr);

  // For the last word on a recording: that the file is there under its name. Where it was removed meanwhile, also with its
  // folder, it is written again. Where something else has the name, it is written beside it, as "x-2.fathom", and the error
  // says so. After finish().
  Result<> ensure_there();
  FileIdentity identity() const { return identity_; }  // of the file that is there, after ensure_there()

  std::uint64_t bytes_written() const { return size_; }
  const std::string& path() const { return file_.path(); }

 private:
  explicit Writer(OutputFile file) : file_(std::move(file)) {}

  // Rows and times that the index tells of it, of blocks of samples and waits.
  struct Span {
    std::size_t rows;
    std::uint64_t first_ns, last_ns;
  };
  static Span span_of(std::span<const model::Sample> samples);
  static Span span_of(std::span<const model::Wait> waits);
  void put_block(std::uint32_t type, const Bytes& payload, const Span& span = {});
  Result<> encode_append(const model::Profile& profile, const std::vector<std::uint32_t>& named,
                         const ChangedRows* changed);
  Result<> write_pending();

  OutputFile file_;
  bool force_ = false;  // as of WriterOptions
  FileIdentity identity_;
  BlockEncoder encoder_;
  SamplePredictor predictor_;
  std::uint64_t size_ = 0;  // of whole blocks; an attempt that failed may have left more in the file
  std::uint64_t samples_ = 0;
  bool finished_ = false;

  // What has been written so far.
  TableSizes tables_;
  StateCopy state_;
  HeapCopy heap_;
  std::vector<std::uint32_t> unnamed_;  // frames written without lines
  std::vector<IndexEntry> index_;       // one per block

  // What is being written.
  Bytes pending_;
  std::vector<IndexEntry> pending_index_;
};

}  // namespace fathom::store
