// `record --marks FILE`: a load generator writes a line into FILE when a phase begins, and the moment becomes
// a mark of the recording (model/marks.h). A file or a named pipe, checked between two drains of the engine's
// events: marks are as exact as these are frequent, a few tenths of a second.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "record/session/companion.h"

namespace fathom::cli {

class MarkFile {
 public:
  // Creates the file if it is missing. Skips its current content, which is not for this recording.
  static Result<MarkFile> open_file(const std::string& path);

  // Lines that came since the last time are marks of `now_ns`. Waits for nothing.
  void look(std::uint64_t now_ns, model::Profile& profile);
  // The last line may have no end.
  void finish(model::Profile& profile);

 private:
  explicit MarkFile(Fd file) : file_(std::move(file)) {}
  void take(model::Profile& profile);

  Fd file_;
  std::string line_;  // that has no end yet
  std::size_t marks_ = 0;
  std::uint64_t last_ns_ = 0;
};

class MarkingCompanion final : public session::Companion {
 public:
  explicit MarkingCompanion(MarkFile marks) : marks_(std::move(marks)) {}

  void step(const Lent& lent, std::uint64_t now_ns) override { marks_.look(now_ns, lent.profile); }
  Save before_save(const Lent& lent, bool last) override {
    if (last) marks_.finish(lent.profile);
    return Save::kAppend;
  }

 private:
  MarkFile marks_;
};

}  // namespace fathom::cli
