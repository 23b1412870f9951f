// What collectors of logs and terminals put around a line, taken off: colours, levels, JSON.
#pragma once

#include <string>
#include <string_view>

namespace fathom::oom {

// The line inside: without escape sequences of a terminal (dmesg --color); of a line of JSON the message, unescaped, behind its
// date (docker's json-file, journalctl -o json, collectors); without "MESSAGE=" (journalctl -o export) and levels ("kern  :warn  : ").
std::string plain_line(std::string_view line);

// dmesg --json has a line for each key. "\"time\": 518.25," -> "[518.25] ", for the message in a line after it; "" for any other line.
std::string uptime_in_json(std::string_view line);

// Where the kernel's message begins, after any known or unknown line prefix. The whole text if it contains
// nothing that a record consists of.
std::string_view kernel_message(std::string_view text);

}  // namespace fathom::oom
