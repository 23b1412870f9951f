// A command line as a recording keeps it and as lists of processes show it: both are shown to others, and command lines hold
// secrets. Pure.
#pragma once

#include <span>
#include <string>

namespace fathom::process {

// The words with a blank between them. In the place of what looks like a secret stands "***": the value of an option or a
// variable whose name ends so (--password X, --api-key=X, TOKEN=X, ?token=X in an address), a password in an address
// (scheme://user:password@host), an authorization (Bearer X), 64 hexadecimal digits in a row, as private keys have them, and
// the value of the letters that programs take passwords by (-p X that is no number, path or list; -pX of mysql, -a X of
// redis-cli, -u user:X). A secret that looks like none of these stays: --redact keeps all arguments out.
std::string command_line(std::span<const std::string> words);

}  // namespace fathom::process
