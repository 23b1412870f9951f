// The invoking user: with sudo, the user who typed the command and will want to read its output.
#pragma once

#include <sys/types.h>

#include <optional>

namespace fathom {

struct Account {
  uid_t uid;
  gid_t gid;
};

// The account that SUDO_UID and SUDO_GID name, when this process runs as root. Only sudo and root can set
// them for us, but they may be stale or garbage: both must be whole numbers, the account must exist and not
// be root, and the group must be one of its own. Otherwise nullopt, and what is written belongs to root.
std::optional<Account> sudo_user();

}  // namespace fathom
