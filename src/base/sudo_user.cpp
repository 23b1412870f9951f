#include "base/sudo_user.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

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

bool is_group_of(gid_t group, const passwd& account) {
  if (group == account.pw_gid) return true;
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (::getgrouplist(account.pw_name, account.pw_gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(account.pw_name, account.pw_gid, groups.data(), &count) < 0) return false;
  }
  groups.resize(static_cast<std::size_t>(count));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace

std::optional<Account> sudo_user() {
  if (::geteuid() != 0) return std::nullopt;
  const auto uid = whole_number("SUDO_UID"), gid = whole_number("SUDO_GID");
  if (!uid || !gid || *uid == 0) return std::nullopt;
  passwd account{};
  passwd* found = nullptr;
  std::vector<char> buffer(64 * 1024);
  if (::getpwuid_r(*uid, &account, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  if (!is_group_of(*gid, account)) return std::nullopt;
  return Account{*uid, *gid};
}

}  // namespace fathom
