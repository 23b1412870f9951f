// anvil, an Ethereum node in Rust, as a real server to record: started fresh, and asked for balances, blocks,
// and gas estimates, which run its virtual machine. Found in PATH, or named by ANVIL.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/command.h"

namespace fathom::support {

std::optional<std::string> find_anvil();

class Anvil {
 public:
  // Returns when it answers. Throws when it does not. With a recorder that starts programs as `prefix`, pid()
  // is the recorder's.
  Anvil(const std::string& program, int port, std::vector<std::string> prefix = {});
  pid_t pid() const { return node_.pid(); }
  // Answers per second, asked on 16 connections at once; `waited_ms` gets how long each answer took.
  double load(double seconds, std::vector<double>* waited_ms = nullptr) const;
  // Seconds for so many answers, one after the other; two requests in five are a transfer, which makes a
  // block, and a call.
  double work(long answers) const;

 private:
  int port_;
  Running node_;
};

}  // namespace fathom::support
