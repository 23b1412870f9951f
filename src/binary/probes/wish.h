// What the user asks of --probe: a function or a static probe (USDT), where to look for it, and which number of its calls is a size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::probes {

enum class SizeFrom : std::uint8_t {
  kNothing,
  kArgument,  // an argument is the size
  kPointed,   // an argument points to it: the 8 bytes at argument + offset
  kResult,    // what the function returns
};

// What a call means for spans.
enum class SpanPart : std::uint8_t {
  kWhole,  // a span from the call to its return
  kBegin,  // a span begins; the next wish is for its end
  kEnd,    // the span ends that began with the same value, or on the same thread if there is no value
};

struct Wish {
  static constexpr unsigned kMostArguments = 6;  // so many are passed in registers
  static constexpr unsigned kMostValues = 12;    // that a static probe can report
  std::string function = {};  // as the file names it, or as people do; the name of a static probe
  std::string provider = {};  // of a static probe; empty: it is a function
  std::string module = {};    // file name or path; empty: any file
  SizeFrom size = SizeFrom::kNothing;
  unsigned argument = 0;  // from 1
  std::int64_t offset = 0;
  std::string span = {};  // of this name; empty: its calls are no spans
  SpanPart part = SpanPart::kWhole;
  bool operator==(const Wish&) const = default;
};

// FUNCTION[@MODULE][:argN[+OFFSET]|:ret], or PROVIDER:NAME[@MODULE][:argN]. kUsage where it is none.
Result<Wish> parse_wish(std::string_view text);
// [NAME=]FUNCTION[@MODULE]: each call is a span. [NAME=]BEGIN..END: from the call of one function or static probe to that of another, each
// written as above; with :argN in both, of the same value. kUsage otherwise.
Result<std::vector<Wish>> parse_span(std::string_view text);

}  // namespace fathom::probes
