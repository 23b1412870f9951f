// Names of the recorded code: a thread of low priority looks them up, and they come into the profile as they are found.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "binary/symbolize/worker.h"
#include "model/profile.h"
#include "record/session/notes.h"
#include "record/session/record_options.h"
#include "record/session/tracking/lost_names.h"

namespace fathom::session {

class Names {
 public:
  // `profile` and `builder` outlive it.
  Names(const RecordOptions& options, model::Profile& profile, model::Builder& builder);

  symbolize::Worker& worker() { return worker_; }
  // What was found since the last time.
  void take();
  // One note for all files whose names were given up.
  void note_lost() { lost_note_.set(profile_.quality, lost_.sentence()); }
  // What is still missing: waits for it, unless `hurry` answers true, and takes it.
  void finish(const std::function<bool()>& hurry);

  // What the look-ups cost, of this process, and of the process that reads the files.
  std::uint64_t cpu_ns() const { return worker_.cpu_ns(); }
  std::uint64_t reader_cpu_ns() const { return worker_.reader_cpu_ns(); }

 private:
  bool is_executable(model::StringId path) const;

  model::Profile& profile_;
  model::Builder& builder_;
  symbolize::Worker worker_;
  LostNames lost_;
  ChangingNote lost_note_;
};

}  // namespace fathom::session
