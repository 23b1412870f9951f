// The companions of one recording, called in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "record/session/companion.h"

namespace fathom::session {

class Companions {
 public:
  // They outlive this object. One that takes rows out of the profile (Companion::Save::kKept) comes last, so that the others see
  // these rows, too.
  explicit Companions(std::vector<Companion*> companions) : companions_(std::move(companions)) {}

  // It records. All outlive this object; `keep_now` and `readings` as Companion has them.
  void begin(model::Profile& profile, model::Builder& builder, ProcessTable& processes, StackResolver& stacks,
             std::function<void()> keep_now, Companion::Readings readings = {});

  // Before begin() nothing is called.
  void before_events(std::uint64_t now_ns);
  void step(std::uint64_t now_ns);
  // After each step().
  void readings_taken();
  // What the last companion that does not append wants.
  Companion::Save before_save(bool last);
  // One of them wants the recording to end.
  bool enough() const { return enough_; }

 private:
  std::vector<Companion*> companions_;
  std::optional<Companion::Lent> lent_;
  std::vector<std::function<void()>> after_readings_;
  bool enough_ = false;
};

}  // namespace fathom::session
