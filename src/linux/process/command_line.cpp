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

// "-pa55word" of a program that is not known: letters and digits, and too long for a number with a unit.
bool looks_like_attached(std::string_view word) {
  constexpr std::size_t kShortest = 6;
  if (!word.starts_with("-p") || word.size() < 2 + kShortest) return false;
  const auto any = [value = word.substr(2)](auto is_one) {
    return std::ranges::any_of(value, [&](char c) { return is_one(static_cast<unsigned char>(c)) != 0; });
  };
  return may_be_password(word.substr(2)) && any([](int c) { return std::isalpha(c); }) &&
         any([](int c) { return std::isdigit(c); });
}

bool takes_attached(std::string_view program) {
  return std::ranges::any_of(kAttached, [&](const Letter& l) { return is_program(program, l.program); });
}

void hide_attached(std::string_view program, std::string& word) {
  for (const Letter& letter : kAttached)
    if (is_program(program, letter.program) && word.starts_with(letter.option) &&
        word.size() > letter.option.size())
      word.replace(letter.option.size(), std::string::npos, kHidden);
  if (looks_like_attached(word)) word.replace(2, std::string::npos, kHidden);
}

// "--password": its value is the next word, unless that is an option, too.
bool takes_secret(std::string_view word) {
  return word.starts_with('-') && word.find('=') == std::string_view::npos && is_secret_name(word);
}

bool is_value(std::string_view word) {
  return !word.empty() && word.front() != '-';
}

bool is_by_letter(std::string_view program, std::string_view before) {
  return std::ranges::any_of(kApart, [&](const Letter& letter) {
    return before == letter.option && is_program(program, letter.program);
  });
}

// A line of a shell as one word, as "sh -c" takes it: "mysql -uroot -pa55 db".
void hide_in_line(std::string& line) {
  if (line.find(' ') == std::string::npos) return;
  std::string shown;
  std::string_view program, before;
  bool value_is_secret = false;
  for (std::string_view rest = line; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view original = rest.substr(0, end);
    const bool has_blank = end < rest.size();
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::string word(original);
    if ((is_by_letter(program, before) && may_be_password(word)) || (value_is_secret && is_value(word)))
      word = kHidden;
    hide_attached(program, word);
    value_is_secret = takes_secret(word);
    if (takes_attached(original)) program = original;
    before = original;
    shown += word;
    if (has_blank) shown += ' ';
  }
  line = std::move(shown);
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
  // The last one that takes a password by a letter: "sudo mysql -pa55".
  std::string_view program = words.empty() ? std::string_view() : std::string_view(words.front());
  for (const std::string& original : words) {
    std::string word = original;
    if (value_is_secret && is_value(word)) {
      word = kHidden;
      value_is_secret = false;
    } else if (is_by_letter(program, before) && may_be_password(word)) {
      word = kHidden;
    } else {
      if (before == "-u" || before == "--user") hide_after_colon(word);
      hide_attached(program, word);
      value_is_secret = takes_secret(word);  // not "-psecret", which is "-p***" by now
      hide_in_line(word);
      hide_values(word);
      hide_address_password(word);
      hide_authorization(word);
      hide_keys(word);
    }
    if (takes_attached(original)) program = original;
    before = original;
    if (!line.empty()) line += ' ';
    line += word;
  }
  return line;
}

}  // namespace fathom::process
