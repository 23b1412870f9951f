// Programs and a folder for a test that runs something as another user. The build may lie where only its owner gets in,
// as below /root: what other users must reach is copied into a folder of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "support/environment.h"

namespace fathom::support {

constexpr uid_t kNobody = 65534;

class OtherUsersFolder {
 public:
  // Owned by the user nobody and readable by all. Below /tmp whatever TMPDIR is, because that may be closed,
  // too.
  OtherUsersFolder();

  const std::string& path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  // Copies a program that everybody may then run; its path there. The second time it is there already.
  std::string program(const std::string& path) const;
  // The command line that starts a copy of the built program.
  std::vector<std::string> fathom_command(std::vector<std::string> arguments) const;

 private:
  TempDir folder_{"/tmp"};
};

}  // namespace fathom::support
