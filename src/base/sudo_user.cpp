#include "base/sudo_user.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/accounts.h"

namespace fathom {
namespace {

std::optional<std::uint32_t> whole_number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
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
