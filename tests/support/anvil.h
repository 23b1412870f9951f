// anvil, an Ethereum node in Rust, as a real server to record: started fresh, and asked for balances, blocks,
// and gas estimates, which run its virtual machine. Found in PATH, or named by ANVIL.
#pragma once

#include <optional>
#include <string>

#include "support/command.h"

namespace fathom::support {

std::optional<std::string> find_anvil();

class Anvil {
 public:
  // Returns when it answers. Throws when it does not.
  Anvil(const std::string& program, int port);
  pid_t pid() const { return node_.pid(); }
  // Answers per second, asked on 16 connections at once.
  double load(double seconds) const;

 private:
  int port_;
  Running node_;
};

}  // namespace fathom::support
