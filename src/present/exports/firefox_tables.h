// The tables that all threads of a processed profile share: texts, libraries, functions, frames and stacks. A call that was
// inlined is a frame of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "model/profile.h"

namespace fathom::present {

class FirefoxTables {
 public:
  // Rows of the categories of meta.
  enum Category : std::uint32_t { kOther, kCode, kKernel, kWaiting };

  FirefoxTables(const model::Profile& profile, bool fold_generics, bool tracer);

  std::uint32_t text(std::string_view raw);
  // The row of a stack, with the frame of its cause; nothing for the empty one.
  std::optional<std::uint32_t> stack(model::StackId stack, std::uint32_t skip, std::string_view cause);

  std::string libs_json() const;
  std::string categories_json() const;
  std::string shared_json() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct FrameRow {
    std::uint32_t func, line, depth, category, subcategory;
    std::uint64_t address;
  };
  struct FuncRow {
    std::uint32_t name, resource, source;
  };

  std::uint32_t child(std::uint32_t parent, std::uint32_t frame);
  std::uint32_t frame_row(model::FrameId id, std::uint32_t line);
  std::uint32_t func_row(std::string_view name, model::ModuleId module, model::StringId file);
  std::uint32_t cause_row(std::string_view cause);
  std::uint32_t resource_of(model::ModuleId module);
  std::uint32_t subcategory_of(std::string_view name);

  const model::Profile& profile_;
  bool fold_generics_;
  std::optional<model::ModuleId> left_out_;
  std::unordered_map<std::string, std::uint32_t> text_rows_;
  std::vector<const std::string*> texts_;
  std::vector<std::uint32_t> stacks_;  // by row of the model: row + 1 of stack_rows_
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stack_rows_;  // parent or kNone, frame
  FlatMap<std::uint32_t> children_;
  std::vector<FrameRow> frame_rows_;
  std::vector<std::uint32_t> frames_;  // by row of the model: first row + 1 of frame_rows_
  std::map<std::string, std::uint32_t, std::less<>> causes_;
  std::vector<FuncRow> funcs_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::uint32_t> func_numbers_;
  std::vector<model::ModuleId> libs_;
  std::vector<std::uint32_t> lib_of_;   // by module: row + 1 of libs_
  std::vector<std::uint32_t> sources_;  // texts
  std::map<std::uint32_t, std::uint32_t> source_rows_;
  std::vector<std::string> crates_;
  std::map<std::string, std::uint32_t, std::less<>> crate_rows_;
};

}  // namespace fathom::present
