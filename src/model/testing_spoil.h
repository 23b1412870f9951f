// For tests of what checks and repairs a profile: breaks one value of one row at a time, over all fields of all tables.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "model/fields.h"
#include "model/random_profile.h"

namespace fathom::model {

// What may be broken: only ids (what a lost block leaves), or all that check() knows a rule for.
enum class Spoil : std::uint8_t { kIds, kAll };

class Spoiler {
 public:
  explicit Spoiler(Spoil what) : what_(what) {}

  // Calls test(profile, name) with a copy of `profile` for each field that has a value to break; in the last row of its table.
  void each(const Profile& profile, const std::function<void(Profile&, const std::string&)>& test) {
    for (std::size_t number = 0;; ++number) {
      Profile copy = profile;
      left_ = number + 1;
      name_.clear();
      tables_of([this](const Table& table, auto& rows) { spoil_row(table, rows); }, copy);
      if (left_ != 0) return;
      if (!name_.empty()) test(copy, name_);
    }
  }
  // "wait.thread" and so on: those broken so far.
  const std::set<std::string>& broken() const { return broken_; }

 private:
  template <class Row>
  void spoil_row(const Table& table, std::vector<Row>& rows) {
    // Rows 0 of some tables are never in a file.
    if (rows.empty() || (std::is_same_v<Row, Stack> && rows.size() == 1)) return;
    fields_of(
        [&](const Field& field, auto&& value) {
          if (left_ == 0 || --left_ != 0 || !spoil(value)) return;
          name_ = std::string(table.row) + "." + std::string(field.name);
          broken_.insert(name_);
        },
        rows.back());
  }
  template <class Tag>
  bool spoil(Id<Tag>& id) {
    id = {1u << 30};
    return true;
  }
  bool spoil(double& value) {
    if (what_ == Spoil::kAll) value = -1;
    return what_ == Spoil::kAll;
  }
  template <class T>
  bool spoil(const Optional<T>& field) {
    return spoil(field.value);
  }
  template <class T>
  bool spoil(T& value) {
    if constexpr (std::is_enum_v<T>) {
      if (what_ == Spoil::kAll) value = static_cast<T>(200);
      return what_ == Spoil::kAll;
    }
    return false;
  }

  Spoil what_;
  std::size_t left_ = 0;
  std::string name_;
  std::set<std::string> broken_;
};

}  // namespace fathom::model
