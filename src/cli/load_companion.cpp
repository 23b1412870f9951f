#include "cli/load_companion.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/marks.h"

namespace fathom::cli {

void LoadCompanion::mark(const Lent& lent, std::string_view name) const {
  const std::uint64_t start_ns = lent.profile.meta.start_ns;
  const double at_s = static_cast<double>(now_ns_ - std::min(now_ns_, start_ns)) * 1e-9;
  lent.profile.meta.facts[model::kMarksFact] += model::mark_line(at_s, name) + "\n";
}

void LoadCompanion::step(const Lent& lent, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (problem_ || status_) return;
  if (!running_) {
    auto started = Around::start(command_, !quiet_);
    if (!started) {
      problem_ = started.error();
      return lent.end_recording();
    }
    running_.emplace(std::move(*started));
    mark(lent, "load");
    return;
  }
  // Asked before the last words are read: what it printed up to its end is in the pipe by then.
  const std::optional<int> ended = running_->status();
  running_->read([this](std::string_view bytes) { output_.take(bytes); });
  if (!ended) return;
  status_ = ended;
  mark(lent, "load ended");
  lent.end_recording();
}

session::Companion::Save LoadCompanion::before_save(const Lent& lent, bool last) {
  if (!last || !running_) return Save::kAppend;
  running_->read([this](std::string_view bytes) { output_.take(bytes); });
  output_.finish();
  auto& facts = lent.profile.meta.facts;
  if (!redact_) {
    facts["load_command"] = load_command_line(command_);
    facts["load_output"] = output_.text();
  }
  facts["load_output_bytes"] = std::to_string(output_.bytes());
  if (status_) facts["load_status"] = std::to_string(*status_);
  if (std::string found = sentence(); !found.empty()) lent.profile.quality.notes.push_back(std::move(found));
  return Save::kAppend;
}

std::string LoadCompanion::sentence() const {
  const auto quoted = [this](std::string_view what, const std::string& line) {
    return redact_ || line.empty() ? "" : fmt::format("; its {} line: {}", what, line);
  };
  if (failed())
    return fmt::format("the load failed with status {}{}", *status_,
                       output_.first_error().empty() ? quoted("last", output_.last_line())
                                                     : quoted("first error", output_.first_error()));
  if (output_.error_lines() != 0)
    return fmt::format("the load printed {} error line{}{}", output_.error_lines(),
                       output_.error_lines() == 1 ? "" : "s", redact_ ? "" : ": " + output_.first_error());
  return {};
}

}  // namespace fathom::cli
