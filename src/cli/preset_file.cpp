#include "cli/preset_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "analysis/core/words.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/parse.h"
#include "base/sudo_user.h"
#include "base/text.h"

namespace fathom::cli {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool is_comment_or_nothing(std::string_view rest) {
  rest = trimmed(rest);
  return rest.empty() || rest.front() == '#';
}

// A TOML string on one line; nullopt: it is none, or something stands behind it.
std::optional<std::string> string_in(std::string_view text) {
  if (text.empty() || (text.front() != '"' && text.front() != '\'')) return std::nullopt;
  const char quote = text.front();
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote)
      return is_comment_or_nothing(text.substr(i + 1)) ? std::optional(value) : std::nullopt;
    if (quote == '"' && text[i] == '\\') {
      if (++i == text.size() || (text[i] != '"' && text[i] != '\\')) return std::nullopt;
    }
    value += text[i];
  }
  return std::nullopt;
}

// No other user may have put options there: --work, --until and others start programs.
bool is_trusted(const struct stat& file) {
  const auto invoking = sudo_user();
  const bool own =
      file.st_uid == ::geteuid() || file.st_uid == 0 || (invoking && file.st_uid == invoking->uid);
  return own && (file.st_mode & S_IWOTH) == 0;
}

Result<std::optional<PresetFile>> read_presets(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) return system_error(path, errno);
  struct stat file {};
  if (::fstat(fd.get(), &file) != 0) return system_error(path, errno);
  if (!S_ISREG(file.st_mode)) return fail(ErrorKind::kUnsupported, path + ": not a regular file");
  if (!is_trusted(file))
    return fail(ErrorKind::kPermission, path + ": other users can write this file, so fathom does not use it",
                fmt::format("chmod o-w {0}, or chown it to your account", path));
  const auto text = read_file(fd, path, kMostBytes);
  if (!text) return tl::unexpected(text.error());
  auto presets = parse_presets(*text, path);
  if (!presets) return tl::unexpected(presets.error());
  return PresetFile{path, std::move(*presets)};
}

}  // namespace

Result<Presets> parse_presets(std::string_view text, const std::string& path) {
  Presets presets;
  std::string command;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    const auto wrong = [&](std::string_view what) {
      return fail(ErrorKind::kMalformed, fmt::format("{}: line {}: {}", path, number, what),
                  "[record], and below it: NAME = \"-d 60 --heap\"");
    };
    if (is_comment_or_nothing(line)) continue;
    if (line.front() == '[') {
      const std::size_t close = line.find(']');
      if (close == line.npos || !is_comment_or_nothing(line.substr(close + 1)))
        return wrong("expected a command in brackets");
      command = trimmed(line.substr(1, close - 1));
      if (!is_bare_key(command)) return wrong("expected a command in brackets");
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::string name(trimmed(line.substr(0, equals)));
    if (equals == line.npos || !is_bare_key(name)) return wrong("expected NAME = \"OPTIONS\"");
    const auto value = string_in(trimmed(line.substr(equals + 1)));
    if (!value) return wrong("expected options in quotes, on one line");
    if (command.empty()) return wrong("a preset belongs below a command in brackets");
    if (!presets.emplace(std::pair(command, name), *value).second)
      return wrong(fmt::format("the preset {} is there twice", name));
  }
  return presets;
}

Result<std::optional<PresetFile>> find_presets(const std::string& folder) {
  std::filesystem::path at(folder);
  for (int levels = 0; levels < 64; ++levels) {
    auto found = read_presets((at / kPresetFile).string());
    if (!found || *found) return found;
    if (!at.has_relative_path()) break;
    at = at.parent_path();
  }
  return std::nullopt;
}

Result<std::optional<PresetFile>> find_presets() {
  std::error_code gone;
  const std::filesystem::path here = std::filesystem::current_path(gone);
  if (gone) return std::nullopt;
  return find_presets(here.string());
}

}  // namespace fathom::cli
