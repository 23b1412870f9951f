#include "present/exports/firefox_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/core/code_name.h"
#include "analysis/core/fold_generics.h"
#include "analysis/core/tracer_frames.h"
#include "present/exports/json_text.h"

namespace fathom::present {
namespace {

// A list of categories beyond this is no help; what comes later is "Other".
constexpr std::size_t kMostCrates = 60;

// The name that symbol servers know a file by: the first 16 bytes of its build id as a GUID, whose first three fields count
// the other way round, and an age of 0.
std::string breakpad_id(std::string_view build_id) {
  const bool hex =
      build_id.size() >= 16 && build_id.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  if (!hex) return std::string(33, '0');
  std::string id(build_id.substr(0, 32));
  id.resize(32, '0');
  constexpr std::size_t kOrder[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  std::string guid;
  for (const std::size_t byte : kOrder) guid += id.substr(2 * byte, 2);
  std::ranges::transform(guid, guid.begin(),
                         [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
  return guid + "0";
}

}  // namespace

FirefoxTables::FirefoxTables(const model::Profile& profile, bool fold_generics, bool tracer)
    : profile_(profile),
      fold_generics_(fold_generics),
      left_out_(tracer ? std::nullopt : analysis::tracer_module(profile)),
      stacks_(profile.stacks.size()),
      frames_(profile.frames.size()),
      lib_of_(profile.modules.size()) {}

std::uint32_t FirefoxTables::text(std::string_view raw) {
  const auto [known, added] =
      text_rows_.try_emplace(analysis::printable(raw), static_cast<std::uint32_t>(texts_.size()));
  if (added) texts_.push_back(&known->first);
  return known->second;
}

std::optional<std::uint32_t> FirefoxTables::stack(model::StackId id, std::uint32_t skip,
                                                  std::string_view cause) {
  // With lines left out the leaf is another one than for everybody else.
  const model::StackId whole = skip == 0 || id.value == 0 ? id : profile_.stacks[id.value].parent;
  std::vector<std::uint32_t> path;
  std::uint32_t at = whole.value;
  for (; at != 0 && stacks_[at] == 0; at = profile_.stacks[at].parent.value) path.push_back(at);
  std::uint32_t row = at == 0 ? kNone : stacks_[at] - 1;
  const auto enter = [&](model::FrameId frame, std::uint32_t first) {
    const model::Frame& place = profile_.frames[frame.value];
    if (left_out_ && place.module == *left_out_) return;
    for (std::uint32_t line = std::max(place.line_count, 1u); line-- > first;)
      row = child(row, frame_row(frame, line));
  };
  for (auto next = path.rbegin(); next != path.rend(); ++next) {
    enter(profile_.stacks[*next].frame, 0);
    // A frame that is left out at the root has no row; its stack is asked for again then.
    if (row != kNone) stacks_[*next] = row + 1;
  }
  if (whole != id) enter(profile_.stacks[id.value].frame, skip);
  if (!cause.empty()) row = child(row, cause_row(cause));
  return row == kNone ? std::nullopt : std::optional(row);
}

std::uint32_t FirefoxTables::child(std::uint32_t parent, std::uint32_t frame) {
  // kNone is no row, so neither key is the one that the map keeps for itself.
  std::uint32_t& known = children_[std::uint64_t{parent} << 32 | frame];
  if (known == 0) {
    stack_rows_.emplace_back(parent, frame);
    known = static_cast<std::uint32_t>(stack_rows_.size());
  }
  return known - 1;
}

std::uint32_t FirefoxTables::frame_row(model::FrameId id, std::uint32_t line) {
  std::uint32_t& first = frames_[id.value];
  if (first == 0) {
    const model::Frame& frame = profile_.frames[id.value];
    const bool kernel = profile_.modules[frame.module.value].kind == model::ModuleKind::kKernel;
    first = static_cast<std::uint32_t>(frame_rows_.size()) + 1;
    for (std::uint32_t i = 0; i < std::max(frame.line_count, 1u); ++i) {
      FrameRow row{0,
                   0,
                   frame.line_count == 0 ? 0 : frame.line_count - 1 - i,
                   kernel ? kKernel : kCode,
                   0,
                   frame.address.value};
      if (frame.line_count == 0) {
        row.func = func_row(profile_.pseudo_name(frame), frame.module, {});
      } else {
        const model::Line& of = profile_.lines[frame.first_line + i];
        const std::string_view name = profile_.strings[profile_.functions[of.function.value].name];
        row.func = func_row(name, frame.module, of.file);
        row.line = of.line;
        if (!kernel) row.subcategory = subcategory_of(name);
      }
      frame_rows_.push_back(row);
    }
  }
  return first - 1 + line;
}

std::uint32_t FirefoxTables::cause_row(std::string_view cause) {
  const auto known = causes_.find(cause);
  if (known != causes_.end()) return known->second;
  const auto row = static_cast<std::uint32_t>(frame_rows_.size());
  frame_rows_.push_back({func_row(cause, {0}, {}), 0, 0, kWaiting, 0, 0});
  causes_.emplace(cause, row);
  return row;
}

std::uint32_t FirefoxTables::func_row(std::string_view name, model::ModuleId module, model::StringId file) {
  if (name.empty()) name = "[unknown]";
  std::string folded = fold_generics_ ? analysis::fold_generics(name) : std::string(name);
  const auto [known, added] = func_numbers_.try_emplace({folded, module.value, file.value},
                                                        static_cast<std::uint32_t>(funcs_.size()));
  if (added) {
    FuncRow row{text(folded), resource_of(module), kNone};
    if (file.value != 0) {
      const std::uint32_t path = text(profile_.strings[file]);
      const auto [source, is_new] =
          source_rows_.try_emplace(path, static_cast<std::uint32_t>(sources_.size()));
      if (is_new) sources_.push_back(path);
      row.source = source->second;
    }
    funcs_.push_back(row);
  }
  return known->second;
}

std::uint32_t FirefoxTables::resource_of(model::ModuleId id) {
  const model::Module& module = profile_.modules[id.value];
  if (id.value == 0 || (module.name.value == 0 && module.path.value == 0)) return kNone;
  std::uint32_t& known = lib_of_[id.value];
  if (known == 0) {
    text(profile_.strings[module.name]);
    libs_.push_back(id);
    known = static_cast<std::uint32_t>(libs_.size());
  }
  return known - 1;
}

std::uint32_t FirefoxTables::subcategory_of(std::string_view name) {
  const std::string_view crate = analysis::crate_of(name);
  if (crate.empty()) return 0;
  const auto known = crate_rows_.find(crate);
  if (known != crate_rows_.end()) return known->second;
  if (crates_.size() >= kMostCrates) return 0;
  crates_.emplace_back(crate);
  crate_rows_.emplace(crate, static_cast<std::uint32_t>(crates_.size()));  // 0 is "Other"
  return static_cast<std::uint32_t>(crates_.size());
}

std::string FirefoxTables::libs_json() const {
  std::string out;
  append_list(out, libs_, [&](std::string& to, model::ModuleId id) {
    const model::Module& module = profile_.modules[id.value];
    const std::string name = json_text(profile_.strings[module.name]);
    const std::string path = json_text(profile_.strings[module.path.value != 0 ? module.path : module.name]);
    std::string_view build_id = profile_.strings[module.build_id];
    if (build_id.starts_with("x-")) build_id = {};
    to += fmt::format(
        R"({{"arch":"","name":{0},"path":{1},"debugName":{0},"debugPath":{1},"breakpadId":"{2}","codeId":{3}}})",
        name, path, breakpad_id(build_id), build_id.empty() ? "null" : json_text(build_id));
  });
  return out;
}

std::string FirefoxTables::categories_json() const {
  std::string out = R"([{"name":"Other","color":"grey","subcategories":["Other"]},)"
                    R"({"name":"Code","color":"yellow","subcategories":["Other")";
  for (const std::string& crate : crates_) out += "," + json_text(crate);
  return out + R"(]},{"name":"Kernel","color":"orange","subcategories":["Other"]},)"
               R"({"name":"Waiting","color":"lightblue","subcategories":["Other"]}])";
}

std::string FirefoxTables::shared_json() const {
  std::string out = R"({"stringArray":)";
  append_list(out, texts_, [](std::string& to, const std::string* row) { append_json_text(to, *row); });
  const auto column = [&](std::string_view name, const auto& rows, const auto& value) {
    out += fmt::format(R"(,"{}":)", name);
    append_list(out, rows, [&](std::string& to, const auto& row) {
      const std::int64_t number = value(row);
      if (number == INT64_MIN)
        to += "null";
      else
        append_number(to, number);
    });
  };
  const auto table = [&](std::string_view name, std::size_t length) {
    out += fmt::format(R"(,"{}":{{"length":{})", name, length);
  };
  const auto or_null = [](std::uint32_t number, std::uint32_t none) {
    return number == none ? INT64_MIN : std::int64_t{number};
  };
  const auto null = [](const auto&) { return INT64_MIN; };
  const auto zero = [](const auto&) { return std::int64_t{0}; };
  table("stackTable", stack_rows_.size());
  column("frame", stack_rows_, [](const auto& row) { return std::int64_t{row.second}; });
  column("prefix", stack_rows_, [&](const auto& row) { return or_null(row.first, kNone); });
  out += '}';
  table("frameTable", frame_rows_.size());
  // -1: none. Numbers beyond 2^53 are no numbers in a browser; those of kernels are, and their names say enough.
  column("address", frame_rows_, [](const FrameRow& row) {
    return row.address == 0 || row.address >> 53 != 0 ? std::int64_t{-1}
                                                      : static_cast<std::int64_t>(row.address);
  });
  column("inlineDepth", frame_rows_, [](const FrameRow& row) { return std::int64_t{row.depth}; });
  column("category", frame_rows_, [](const FrameRow& row) { return std::int64_t{row.category}; });
  column("subcategory", frame_rows_, [](const FrameRow& row) { return std::int64_t{row.subcategory}; });
  column("func", frame_rows_, [](const FrameRow& row) { return std::int64_t{row.func}; });
  column("nativeSymbol", frame_rows_, null);
  column("innerWindowID", frame_rows_, null);
  column("line", frame_rows_, [&](const FrameRow& row) { return or_null(row.line, 0); });
  column("column", frame_rows_, null);
  out += '}';
  table("funcTable", funcs_.size());
  column("name", funcs_, [](const FuncRow& row) { return std::int64_t{row.name}; });
  out += R"(,"isJS":)";
  append_list(out, funcs_, [](std::string& to, const FuncRow&) { to += "false"; });
  out += R"(,"relevantForJS":)";
  append_list(out, funcs_, [](std::string& to, const FuncRow&) { to += "false"; });
  column("resource", funcs_, [](const FuncRow& row) {
    return row.resource == kNone ? std::int64_t{-1} : std::int64_t{row.resource};
  });
  column("source", funcs_, [&](const FuncRow& row) { return or_null(row.source, kNone); });
  column("lineNumber", funcs_, null);
  column("columnNumber", funcs_, null);
  out += '}';
  table("resourceTable", libs_.size());
  std::int64_t lib = 0;
  column("lib", libs_, [&](model::ModuleId) { return lib++; });
  column("name", libs_, [&](model::ModuleId id) {
    return std::int64_t{
        text_rows_.at(analysis::printable(profile_.strings[profile_.modules[id.value].name]))};
  });
  column("host", libs_, null);
  column("type", libs_, [](model::ModuleId) { return std::int64_t{1}; });
  out += '}';
  out += R"(,"nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],"functionSize":[]})";
  table("sources", sources_.size());
  column("id", sources_, null);
  column("filename", sources_, [](std::uint32_t row) { return std::int64_t{row}; });
  column("startLine", sources_, [&](std::uint32_t row) { return zero(row) + 1; });
  column("startColumn", sources_, [&](std::uint32_t row) { return zero(row) + 1; });
  column("sourceMapURL", sources_, null);
  return out + "}}";
}

}  // namespace fathom::present
