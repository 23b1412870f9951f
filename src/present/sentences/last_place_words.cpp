#include "present/sentences/last_place_words.h"

#include <fmt/format.h>

#include <string_view>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

std::string spoken_frame(const model::FatalSignal::Frame& frame, bool with_line) {
  std::string text = printable(spoken_name(frame.function));
  if (with_line && !frame.file.empty() && frame.line != 0)
    text += fmt::format(" ({}:{})", printable(frame.file.substr(frame.file.rfind('/') + 1)), frame.line);
  return text;
}

}  // namespace

std::string last_place_words(const LastPlace& place, bool brief) {
  if (!place.where && !place.own) return "";
  if (!place.own) return " in " + spoken_frame(*place.where, !brief);
  // What an abort passes through on its way is said by its reason.
  const bool is_fault = place.reason == EndReason::kNone || place.reason == EndReason::kNullPointer ||
                        place.reason == EndReason::kFileCut || place.reason == EndReason::kDivision;
  const bool is_below = !brief && is_fault && place.where && *place.where != *place.own;
  return fmt::format(" in {}{}", is_below ? spoken_frame(*place.where, false) + " below " : "",
                     spoken_frame(*place.own, !brief));
}

std::string end_reason_words(const model::FatalSignal& signal, EndReason reason) {
  switch (reason) {
    case EndReason::kNone:
      return signal.code > 0 && signal.address != 0 ? fmt::format("at address {:#x}", signal.address) : "";
    case EndReason::kHeapDamaged:
      return "the C library found the heap damaged, by a second free of a block or a write outside of one";
    case EndReason::kAssertion:
      return "an assertion failed";
    case EndReason::kException:
      return "nothing caught an exception";
    case EndReason::kTerminate:
      return "std::terminate was called";
    case EndReason::kPureVirtual:
      return "a pure virtual function was called";
    case EndReason::kStackSmashed:
      return "a function wrote past the end of an array on its stack";
    case EndReason::kBufferOverflow:
      return "a call would have written past the end of its buffer";
    case EndReason::kRustPanic:
      return "Rust code panicked";
    case EndReason::kGoPanic:
      return "Go code panicked, or its runtime gave up";
    case EndReason::kAbort:
      return "it called abort";
    case EndReason::kStackOverflow:
      return fmt::format("its stack overflowed (address {:#x})", signal.address);
    case EndReason::kNullPointer:
      return fmt::format("a null pointer (address {:#x})", signal.address);
    case EndReason::kDivision:
      return "a division by zero";
    case EndReason::kFileCut:
      return fmt::format("a page of a mapped file behind the end of the file (address {:#x})",
                         signal.address);
    case EndReason::kSent:
      return fmt::format("sent by process {}", signal.sender_pid);
  }
  return "";
}

}  // namespace fathom::present
