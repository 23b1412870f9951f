#include "record/session/companions.h"

namespace fathom::session {

void Companions::begin(model::Profile& profile, model::Builder& builder, ProcessTable& processes,
                       StackResolver& stacks, std::function<void()> keep_now, Companion::Readings readings) {
  lent_.emplace(
      Companion::Lent{profile, builder, processes, stacks, std::move(keep_now),
                      [this](std::function<void()> call) { after_readings_.push_back(std::move(call)); },
                      [this] { enough_ = true; }, std::move(readings)});
}

void Companions::before_events(std::uint64_t now_ns) {
  if (!lent_) return;
  for (Companion* companion : companions_) companion->before_events(*lent_, now_ns);
}

void Companions::step(std::uint64_t now_ns) {
  if (!lent_) return;
  for (Companion* companion : companions_) companion->step(*lent_, now_ns);
}

void Companions::readings_taken() {
  for (const auto& call : std::exchange(after_readings_, {})) call();
}

Companion::Save Companions::before_save(bool last) {
  auto save = Companion::Save::kAppend;
  if (!lent_) return save;
  for (Companion* companion : companions_)
    if (const auto wanted = companion->before_save(*lent_, last); wanted != Companion::Save::kAppend)
      save = wanted;
  return save;
}

}  // namespace fathom::session
