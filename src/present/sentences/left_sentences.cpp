#include "present/sentences/left_sentences.h"

#include <fmt/format.h>

#include "analysis/core/words.h"

namespace fathom::present {

using namespace analysis;
using model::LeftChanged;

namespace {

std::string reason_of(const LeftChanged& left) {
  switch (left.reason) {
    case LeftChanged::Reason::kDebugger:
      return fmt::format(", because process {} traced it", left.by);
    case LeftChanged::Reason::kFrozen:
      return ", because its control group was frozen";
    case LeftChanged::Reason::kChanged:
      return ", because another tool changed a hooked place";
    case LeftChanged::Reason::kThreadInside:
      return ", because a thread was inside the tracer";
    case LeftChanged::Reason::kOther:
      break;
  }
  return "";
}

std::string what_of(const LeftChanged& left) {
  std::string text;
  if (left.bytes != 0)
    text = fmt::format("{} in {} of its code and data {} fathom's", counted(left.bytes, "byte"),
                       counted(left.places, "place"), left.bytes == 1 ? "is" : "are");
  if (left.mapped_bytes != 0)
    text += fmt::format("{}{} of fathom's memory are mapped", text.empty() ? "" : ", ",
                        bytes(static_cast<double>(left.mapped_bytes)));
  return text.empty() ? "part of the heap tracer is still in it" : text;
}

}  // namespace

std::string left_sentence(const LeftChanged& left, std::string_view name) {
  return fmt::format("process {}{} was left changed: {}{}", left.pid,
                     name.empty() ? "" : fmt::format(" ({})", printable(name)), what_of(left),
                     reason_of(left));
}

std::string left_sentence(const LeftChanged& left, const model::Profile& profile) {
  for (const model::Process& process : profile.processes)
    if (process.pid == left.pid) return left_sentence(left, profile.strings[process.name]);
  return left_sentence(left, "");
}

std::string left_line(const model::Profile& profile) {
  std::string text;
  for (const LeftChanged& left : model::left_changed_of(profile.meta.facts))
    text += fmt::format("{}{} when the recording ended (fathom detach -p {} restores it)",
                        text.empty() ? "Left changed: " : "; ", left_sentence(left, profile), left.pid);
  return text.empty() ? "" : text + ".";
}

}  // namespace fathom::present
