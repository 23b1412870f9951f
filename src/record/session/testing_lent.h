// For tests of companions: what a recording lends, without a recording.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "binary/symbolize/worker.h"
#include "record/session/companion.h"
#include "record/session/tracking/testing_source.h"

namespace fathom::session {

class TestingLent {
 public:
  explicit TestingLent(model::Profile& profile, model::Builder& builder)
      : profile_(profile),
        builder_(builder),
        modules_(builder, symbols_, {}),
        processes_(profile, modules_, source_, true),
        stacks_(profile, builder, processes_, modules_, symbols_, 1000) {}

  Companion::Lent lent() {
    return {profile_,
            builder_,
            processes_,
            stacks_,
            [this] { ++keeps; },
            [this](std::function<void()> call) { after_readings.push_back(std::move(call)); },
            [this] { ended = true; }};
  }
  ProcessTable& processes() { return processes_; }
  StackResolver& stacks() { return stacks_; }

  // What companions have asked for.
  int keeps = 0;
  std::vector<std::function<void()>> after_readings;
  bool ended = false;

 private:
  model::Profile& profile_;
  model::Builder& builder_;
  SilentSource source_;
  symbolize::Worker symbols_{symbolize::Options{}};
  ModuleCatalog modules_;
  ProcessTable processes_;
  StackResolver stacks_;
};

}  // namespace fathom::session
