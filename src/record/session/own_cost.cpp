#include "record/session/own_cost.h"

namespace fathom::session {
namespace {

// The two clocks are not read at one moment.
std::uint64_t difference(std::uint64_t more, std::uint64_t less) {
  return more > less ? more - less : 0;
}

}  // namespace

void OwnCost::begun(OwnCpu now) {
  before_ns_ = difference(now.all_ns, now.naming_ns);
  phase_ = Phase::kRecording;
}

void OwnCost::ended(OwnCpu now) {
  until_ns_ = difference(now.all_ns, now.naming_ns);
  phase_ = Phase::kAfter;
}

OwnCost::Parts OwnCost::parts(OwnCpu now) const {
  const std::uint64_t own_ns = difference(now.all_ns, now.naming_ns);
  switch (phase_) {
    case Phase::kStart:
      return {own_ns, 0, now.naming_ns};
    case Phase::kRecording:
      return {before_ns_, difference(own_ns, before_ns_), now.naming_ns};
    case Phase::kAfter:
      return {before_ns_, difference(until_ns_, before_ns_), now.naming_ns};
  }
  return {};
}

void tell(const OwnCost::Parts& parts, std::map<std::string, std::string>& facts) {
  facts["own_start_us"] = std::to_string(parts.start_ns / 1000);
  facts["own_recording_us"] = std::to_string(parts.recording_ns / 1000);
  facts["own_naming_us"] = std::to_string(parts.naming_ns / 1000);
}

}  // namespace fathom::session
