// Accounts of /etc/passwd and /etc/group. The C library would ask its name services, which are shared libraries: a static
// program has none. An account that only a directory service knows (LDAP, SSSD) is therefore unknown here.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace fathom {

struct AccountEntry {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;  // its primary group
};

// passwd(5): the first line with this number. Lines that are cut short or have no number are skipped.
std::optional<AccountEntry> account_in(std::string_view passwd, uid_t uid);
// group(5): whether a line with this number lists the account by name.
bool lists_member(std::string_view group, gid_t gid, std::string_view account);

// The same of this system's files; nothing where they cannot be read.
std::optional<AccountEntry> account_of(uid_t uid);
// The primary group, or one that lists it.
bool is_group_of(gid_t gid, const AccountEntry& account);

}  // namespace fathom
