// Lines for whoever looks, on standard error. A terminal that was closed, a full pipe, a full disk lose the
// lines and nothing else: no exception, no SIGPIPE, no waiting.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace fathom::cli {

// Writes what can be written at once; the rest is dropped. For while a recording runs.
void notice_now(std::string_view text);

// Waits for a slow reader as long as it takes something every few seconds. For results, when nothing is held
// up.
void notice(std::string_view text);

template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  notice(fmt::format(format, std::forward<Arguments>(arguments)...));
}

// A person is looking at standard error, and we are in front there.
bool somebody_looks();

}  // namespace fathom::cli
