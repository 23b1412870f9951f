// Notices to the user on standard error. If the terminal is closed or a pipe or disk is full, the lines are
// lost and nothing else: no exception, no SIGPIPE, no waiting.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "analysis/core/words.h"

namespace fathom::cli {

// Writes what can be written at once; the rest is dropped. For while a recording runs.
void notice_now(std::string_view text);

// Waits for a slow reader as long as it takes something every few seconds. For results, when nothing is held
// up.
void notice(std::string_view text);

// The printable part of a text argument. Names of files, functions and processes are untrusted, and an escape
// sequence in one is a command to the reader's terminal.
template <class Argument>
using Shown = std::conditional_t<std::is_convertible_v<Argument, std::string_view>, std::string,
                                 std::remove_cvref_t<Argument>>;
template <class Argument>
Shown<Argument> shown(const Argument& argument) {
  if constexpr (std::is_convertible_v<Argument, std::string_view>)
    return analysis::printable(std::string_view(argument));
  else
    return argument;
}

// A line of ours with untrusted text. Clean text of several lines goes to notice().
template <class... Arguments>
void say(fmt::format_string<Shown<Arguments>...> format, const Arguments&... arguments) {
  // By name, as newer fmt takes no temporaries.
  [&](const auto&... texts) {
    notice(fmt::vformat(format, fmt::make_format_args(texts...)));
  }(shown(arguments)...);
}

// A person is looking at standard error, and we are in front there.
bool somebody_looks();

}  // namespace fathom::cli
