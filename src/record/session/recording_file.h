// The journal of a recording: rows go into its file as they come, so a kill costs what came since the last save; or the whole file is
// rewritten, if a companion keeps rows. Rows that the disk does not take are counted as lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/profile.h"
#include "model/store/writer.h"
#include "record/session/companion.h"
#include "record/session/record_options.h"
#include "record/session/tracking/row_book.h"
#include "record/session/urgency.h"

namespace fathom::session {

class RecordingFile {
 public:
  // Both outlive it.
  RecordingFile(const RecordOptions& options, Urgency& urgency) : options_(options), urgency_(urgency) {}

  // The file gets its name, and an earlier one is replaced, with the first save.
  Result<> create();
  // Rows that are in the file, or that a companion keeps, are no longer in `profile` afterwards.
  Result<> save(model::Profile& profile, RowBook& rows, Companion::Save way);
  // Completes it.
  Result<> finish(model::Profile& profile, RowBook& rows, Companion::Save way);

  // "" before create().
  std::string path() const { return writer_ ? writer_->path() : std::string(); }
  Result<> ensure_there() { return writer_->ensure_there(); }
  std::uint64_t bytes_written() const { return writer_ ? writer_->bytes_written() : 0; }

 private:
  Result<> append(model::Profile& profile, RowBook& rows);
  Result<> write_anew(model::Profile& profile, bool last);

  const RecordOptions& options_;
  Urgency& urgency_;
  std::optional<store::Writer> writer_;
  bool has_file_ = false;  // there is one of ours under the name
};

}  // namespace fathom::session
