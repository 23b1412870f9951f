// What a reader of the recording will want to know about the machine. docs/format.md lists the keys.
#pragma once

#include <map>
#include <string>

namespace fathom::session {

std::map<std::string, std::string> host_facts();

}  // namespace fathom::session
