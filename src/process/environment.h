// The environment that a program was started with. Source: proc(5), /proc/PID/environ.
#pragma once

#include <string_view>

namespace fathom::process {

// `setting`: "NAME=VALUE". `environ` is the file's text.
bool has_setting(std::string_view environ, std::string_view setting);
// False where it cannot be read.
bool was_started_with(int pid, std::string_view setting);

}  // namespace fathom::process
