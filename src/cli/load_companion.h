// `record --load COMMAND`: runs a load generator while the target is recorded, and keeps in the recording what it was, when it
// ran, what it printed and how it ended. The recording ends when the load does.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "cli/load_output.h"
#include "cli/record_moments.h"
#include "record/session/companion.h"

namespace fathom::cli {

class LoadCompanion final : public session::Companion {
 public:
  // `redact`: neither the command nor what it prints goes into the recording. `quiet`: what it prints is not passed on.
  LoadCompanion(std::string command, bool redact, bool quiet)
      : command_(std::move(command)), redact_(redact), quiet_(quiet) {}

  void step(const Lent& lent, std::uint64_t now_ns) override;
  Save before_save(const Lent& lent, bool last) override;

  // The load could not be started, and the recording ended for that.
  const std::optional<Error>& problem() const { return problem_; }
  // It ended by itself with another status than 0.
  bool failed() const { return status_ && *status_ != 0; }
  // What the user should know of how it ended; empty: all went well.
  std::string sentence() const;

 private:
  void mark(const Lent& lent, std::string_view name) const;

  std::string command_;
  bool redact_, quiet_;
  std::optional<Around> running_;
  std::optional<int> status_;
  LoadOutput output_;
  std::optional<Error> problem_;
  std::uint64_t now_ns_ = 0;
};

}  // namespace fathom::cli
