#include "base/accounts.h"

#include <array>
#include <cstdint>

#include "base/files.h"
#include "base/parse.h"

namespace fathom {
namespace {

constexpr std::size_t kMostBytes = 64 << 20;

// The first `kCount` fields between colons; nothing where there are fewer.
template <std::size_t kCount>
std::optional<std::array<std::string_view, kCount>> fields_of(std::string_view line) {
  std::array<std::string_view, kCount> fields;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::size_t end = line.find(':');
    if (end == std::string_view::npos && i + 1 < kCount) return std::nullopt;
    fields[i] = line.substr(0, end);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return fields;
}

}  // namespace

std::optional<AccountEntry> account_in(std::string_view passwd, uid_t uid) {
  while (!passwd.empty()) {
    const auto fields = fields_of<4>(take_until(passwd, '\n'));  // name:password:uid:gid:...
    if (!fields || (*fields)[0].empty() || parse_number<std::uint32_t>((*fields)[2]) != uid) continue;
    if (const auto gid = parse_number<std::uint32_t>((*fields)[3]))
      return AccountEntry{std::string((*fields)[0]), uid, *gid};
  }
  return std::nullopt;
}

bool lists_member(std::string_view group, gid_t gid, std::string_view account) {
  while (!group.empty()) {
    const auto fields = fields_of<4>(take_until(group, '\n'));  // name:password:gid:member,member
    if (!fields || parse_number<std::uint32_t>((*fields)[2]) != gid) continue;
    for (std::string_view members = (*fields)[3]; !members.empty();)
      if (take_until(members, ',') == account) return true;
  }
  return false;
}

std::optional<AccountEntry> account_of(uid_t uid) {
  const auto passwd = read_file("/etc/passwd", kMostBytes);
  return passwd ? account_in(*passwd, uid) : std::nullopt;
}

bool is_group_of(gid_t gid, const AccountEntry& account) {
  if (gid == account.gid) return true;
  const auto group = read_file("/etc/group", kMostBytes);
  return group && lists_member(*group, gid, account.name);
}

}  // namespace fathom
