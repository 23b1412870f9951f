// `record --marks FILE`: a load generator writes a line into FILE when a phase begins, and the moment becomes
// a mark of the recording (model/marks.h). A file or a named pipe, checked between two drains of the engine's
// events: marks are as exact as these are frequent, a few tenths of a second.
#pragma once

#include <cstdint>
#include <string>

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

// A recording has one companion: `other` gets all calls too, and outlives this one.
class MarkingCompanion final : public session::Companion {
 public:
  MarkingCompanion(MarkFile marks, session::Companion& other) : marks_(std::move(marks)), other_(other) {}

  bool walks_stacks() const override { return other_.walks_stacks(); }
  void open() override { other_.open(); }
  void begin(const Lent& lent) override {
    profile_ = &lent.profile;
    other_.begin(lent);
  }
  void look_first(std::uint64_t now_ns) override { other_.look_first(now_ns); }
  void step(std::uint64_t now_ns) override {
    marks_.look(now_ns, *profile_);
    other_.step(now_ns);
  }
  void looked() override { other_.looked(); }
  Save before_save(model::Profile& profile, bool last) override { return other_.before_save(profile, last); }
  bool enough() const override { return other_.enough(); }
  void finish() override {
    marks_.finish(*profile_);
    other_.finish();
  }

 private:
  MarkFile marks_;
  session::Companion& other_;
  model::Profile* profile_ = nullptr;  // from begin() on
};

}  // namespace fathom::cli
