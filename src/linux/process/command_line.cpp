#include "linux/process/command_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace fathom::process {
namespace {

constexpr std::string_view kHidden = "***";
constexpr std::size_t kKeyDigits = 64;

// How the names of options and variables end whose values are secrets; "-" and "_" do not count.
constexpr std::array<std::string_view, 14> kSecretNames = {
    "password",  "passwd",    "passphrase", "secret",   "token",      "apikey",     "authkey",
    "accesskey", "secretkey", "privatekey", "mnemonic", "seedphrase", "credential", "credentials"};
constexpr std::array<std::string_view, 2> kSecretWords = {"pass", "pwd"};  // not bypass

bool is_secret_name(std::string_view name) {
  std::string plain, last_word;
  for (const char c : name) {
    const bool is_part = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (!is_part) last_word.clear();
    if (!is_part) continue;
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    last_word += plain.back();
  }
  return std::ranges::find(kSecretWords, last_word) != kSecretWords.end() ||
         std::ranges::any_of(kSecretNames, [&](std::string_view secret) { return plain.ends_with(secret); });
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

// NAME=VALUE anywhere in a word: the whole word, a part of a query, a line of a shell's script.
void hide_values(std::string& word) {
  for (std::size_t at = word.find('='); at != std::string::npos; at = word.find('=', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_name_character(word[begin - 1])) --begin;
    if (!is_secret_name(std::string_view(word).substr(begin, at - begin))) continue;
    const std::size_t end = std::min(word.find_first_of("& \t\n;\"'#", at + 1), word.size());
    if (end > at + 1) word.replace(at + 1, end - at - 1, kHidden);
  }
}

// scheme://user:password@host
void hide_address_password(std::string& word) {
  for (std::size_t at = word.find("://"); at != std::string::npos; at = word.find("://", at + 1)) {
    const std::size_t end = std::min(word.find_first_of("/?# \t\n", at + 3), word.size());
    const std::size_t host = word.rfind('@', end == 0 ? 0 : end - 1);
    const std::size_t colon = word.find(':', at + 3);
    if (host == std::string::npos || host < at + 3 || colon == std::string::npos || colon >= host) continue;
    word.replace(colon + 1, host - colon - 1, kHidden);
  }
}

void hide_authorization(std::string& word) {
  for (const std::string_view kind : {"Bearer ", "bearer ", "Basic ", "basic "})
    for (std::size_t at = word.find(kind); at != std::string::npos; at = word.find(kind, at + 1)) {
      const std::size_t begin = at + kind.size();
      const std::size_t end = std::min(word.find_first_of(" \t\n\"'", begin), word.size());
      if (end > begin) word.replace(begin, end - begin, kHidden);
    }
}

void hide_keys(std::string& word) {
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t end = begin;
    while (end < word.size() && std::isxdigit(static_cast<unsigned char>(word[end])) != 0) ++end;
    if (end - begin == kKeyDigits) {
      word.replace(begin, kKeyDigits, kHidden);
      end = begin + kHidden.size();
    }
    begin = std::max(end, begin + 1);
  }
}

// What programs take a password by, as a letter.
struct Letter {
  std::string_view program;  // the beginning of its name; "": any
  std::string_view option;
};
constexpr std::array<Letter, 9> kAttached = {{{"mysql", "-p"},
                                              {"mariadb", "-p"},
                                              {"mysqldump", "-p"},
                                              {"mongo", "-p"},
                                              {"sshpass", "-p"},
                                              {"redis-cli", "-a"},
                                              {"7z", "-p"},
                                              {"unrar", "-p"},
                                              {"ldap", "-w"}}};
constexpr std::array<Letter, 3> kApart = {{{"", "-p"}, {"redis-cli", "-a"}, {"ldap", "-w"}}};

bool is_program(std::string_view program, std::string_view name) {
  return program.substr(program.rfind('/') + 1).starts_with(name);
}

// "-p 8080", "-p 80:80", "-p /run/x", "-p a,b": a port, a path, a list of processes.
bool may_be_password(std::string_view value) {
  return !value.empty() && value.front() != '-' && value.find_first_of("/.,:=") == std::string_view::npos &&
         value.find_first_not_of("0123456789") != std::string_view::npos;
}

void hide_attached(std::string_view program, std::string& word) {
  for (const Letter& letter : kAttached)
    if (is_program(program, letter.program) && word.starts_with(letter.option) &&
        word.size() > letter.option.size())
      word.replace(letter.option.size(), std::string::npos, kHidden);
}

// "user:password" behind -u and --user.
void hide_after_colon(std::string& word) {
  const std::size_t colon = word.find(':');
  const bool is_account = colon != std::string::npos && colon != 0 && colon + 1 < word.size() &&
                          word.find('/') == std::string::npos;
  // The user and group of a program: "-u 1000:1000".
  if (is_account && word.find_first_not_of("0123456789:") != std::string::npos)
    word.replace(colon + 1, std::string::npos, kHidden);
}

}  // namespace

std::string command_line(std::span<const std::string> words) {
  std::string line;
  std::string_view before;
  bool value_is_secret = false;  // of the option before
  const std::string_view program = words.empty() ? std::string_view() : std::string_view(words.front());
  for (const std::string& original : words) {
    std::string word = original;
    const bool by_letter = std::ranges::any_of(kApart, [&](const Letter& letter) {
      return before == letter.option && is_program(program, letter.program);
    });
    if (value_is_secret && !word.empty() && word.front() != '-') {
      word = kHidden;
      value_is_secret = false;
    } else if (by_letter && may_be_password(word)) {
      word = kHidden;
    } else {
      value_is_secret = word.starts_with('-') && word.find('=') == std::string::npos && is_secret_name(word);
      if (before == "-u" || before == "--user") hide_after_colon(word);
      hide_attached(program, word);
      hide_values(word);
      hide_address_password(word);
      hide_authorization(word);
      hide_keys(word);
    }
    before = original;
    if (!line.empty()) line += ' ';
    line += word;
  }
  return line;
}

}  // namespace fathom::process
