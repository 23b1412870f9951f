#include "record/session/recording_file.h"

#include <fmt/format.h>

#include <utility>

#include "base/shell_word.h"
#include "record/session/notes.h"

namespace fathom::session {
namespace {

void clear_rows(model::Profile& profile) {
  profile.samples.clear();
  profile.waits.clear();
  profile.heap.rows.clear();
  profile.heap.blocks.clear();
  profile.faults.clear();
  profile.calls.clear();
  profile.spans.clear();
  profile.memory_ranges.clear();
  for (auto& series : profile.series) series.points = {};  // gives the room back, too
}

// The rows are kept, and written with the rest, or they are lost.
void count_as_lost(model::Profile& profile) {
  profile.quality.lost_disk += profile.samples.size();
  profile.quality.samples -= profile.samples.size();
  profile.quality.waits -= profile.waits.size();
  profile.quality.lost_waits += profile.waits.size();
  profile.samples.clear();
  profile.waits.clear();
  profile.faults.clear();
  profile.heap.blocks.clear();
}

}  // namespace

Result<> RecordingFile::create() {
  auto writer =
      store::Writer::create(options_.output, {.overwrite = options_.overwrite, .force = options_.force});
  if (!writer) return tl::unexpected<Error>(writer.error());
  writer_.emplace(std::move(*writer));
  return {};
}

// The file before it stays until this one is whole.
Result<> RecordingFile::write_anew(model::Profile& profile, bool last) {
  std::optional<Calm> calm;
  if (!last) calm.emplace(urgency_);
  auto writer = store::Writer::create(
      options_.output, {.overwrite = options_.overwrite || has_file_, .force = options_.force});
  if (!writer) return tl::unexpected<Error>(writer.error());
  auto written = last ? writer->finish(profile) : writer->append(profile);
  if (!written) return written;
  writer_.emplace(std::move(*writer));
  has_file_ = true;
  return {};
}

Result<> RecordingFile::append(model::Profile& profile, RowBook& rows) {
  auto written = writer_->append(profile, &rows.changed());
  if (written) return written;
  count_as_lost(profile);
  std::string& remedy = written.error().remedy;
  if (remedy.empty()) remedy = "-o FILE on a disk with room";
  remedy += fmt::format("; what was written before can be read: fathom report {}", shell_word(path()));
  return written;
}

Result<> RecordingFile::save(model::Profile& profile, RowBook& rows, Companion::Save way) {
  switch (way) {
    case Companion::Save::kAppend:
      if (auto appended = append(profile, rows); !appended) return appended;
      break;
    case Companion::Save::kAnew:
      // A disk that is full now may have room in an hour: what is kept is written then.
      if (auto written = write_anew(profile, false); !written) {
        if (!has_file_) return written;
        note_once(profile.quality,
                  "a state of the recording could not be written: " + written.error().message);
      }
      break;
    case Companion::Save::kKept:
      break;
  }
  rows.written();
  clear_rows(profile);
  return {};
}

Result<> RecordingFile::finish(model::Profile& profile, RowBook& rows, Companion::Save way) {
  if (way == Companion::Save::kKept) return {};
  return way == Companion::Save::kAppend ? writer_->finish(profile, &rows.changed())
                                         : write_anew(profile, true);
}

}  // namespace fathom::session
