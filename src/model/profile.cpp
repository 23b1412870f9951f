#include "model/profile.h"

#include <fmt/format.h>

namespace fathom::model {

StringTable::StringTable(const StringTable& other) {
  reserve(other.size());
  for (const std::string* row : other.rows_) intern(*row);
}

StringTable& StringTable::operator=(const StringTable& other) {
  if (this != &other) *this = StringTable(other);
  return *this;
}

StringId StringTable::intern(std::string_view text) {
  if (auto found = ids_.find(text); found != ids_.end()) return {found->second};
  const auto row = static_cast<std::uint32_t>(rows_.size());
  auto added = ids_.emplace(std::string(text), row).first;
  rows_.push_back(&added->first);
  return {row};
}

void StringTable::reserve(std::size_t rows) {
  ids_.reserve(rows);
  rows_.reserve(rows);
}

bool StringTable::operator==(const StringTable& other) const {
  if (size() != other.size()) return false;
  for (std::size_t i = 0; i < size(); ++i)
    if (*rows_[i] != *other.rows_[i]) return false;
  return true;
}

Profile::Profile() : modules(1), stacks(1), objects(1) {}

std::string Profile::pseudo_name(const Frame& frame) const {
  const Module& module = modules[frame.module.value];
  std::string_view name = strings[module.name];
  if (name.empty()) name = "unknown";
  // "[kernel]" stands in brackets already.
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  return fmt::format("[{}+{:#x}]", name, frame.address.value);
}

}  // namespace fathom::model
