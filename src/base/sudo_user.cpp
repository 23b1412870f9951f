#include "base/sudo_user.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/accounts.h"
#include "base/parse.h"

namespace fathom {
namespace {

std::optional<std::uint32_t> whole_number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : parse_number<std::uint32_t>(text);
}

}  // namespace

std::optional<Account> sudo_user() {
  if (::geteuid() != 0) return std::nullopt;
  const auto uid = whole_number("SUDO_UID"), gid = whole_number("SUDO_GID");
  if (!uid || !gid || *uid == 0) return std::nullopt;
  const auto account = account_of(*uid);
  if (!account || !is_group_of(*gid, *account)) return std::nullopt;
  return Account{*uid, *gid};
}

}  // namespace fathom
