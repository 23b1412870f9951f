#include "analysis/annotate/annotation.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/annotate/local_code.h"
#include "analysis/annotate/source_files.h"
#include "analysis/core/call_tree.h"
#include "base/arch/common/disassembly.h"
#include "binary/symbolize/local_names.h"

namespace fathom::annotate {
namespace {

using Chain = std::vector<CodeLine>;

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::size_t kMostNotes = 4;

Chain chain_of(const std::vector<symbolize::Name>& names) {
  Chain chain;
  for (const symbolize::Name& name : names) chain.push_back({name.function, name.file, name.line});
  return chain;
}

// As it was recorded.
Chain chain_of(const model::Profile& profile, model::FrameId id) {
  const model::Frame& frame = profile.frames[id.value];
  Chain chain;
  for (std::uint32_t i = 0; i < std::max(1U, frame.line_count); ++i) {
    CodeLine line{analysis::frame_name(profile, id, i), {}, 0};
    if (i < frame.line_count) {
      const model::Line& row = profile.lines[frame.first_line + i];
      line.file = profile.strings[row.file];
      line.line = row.line;
    }
    chain.push_back(std::move(line));
  }
  return chain;
}

// One module of this machine.
struct OpenModule {
  LocalCode code;
  std::unique_ptr<symbolize::ModuleSymbols> symbols;  // null: the code is not here
  std::uint64_t built_unix_s = 0;

  std::vector<Chain> chains(const std::vector<ElfAddress>& addresses) {
    std::vector<Chain> all;
    for (const auto& names : symbols->resolve(addresses)) all.push_back(chain_of(names));
    return all;
  }
};

class Annotator {
 public:
  Annotator(const model::Profile& profile, const AnnotateOptions& options)
      : profile_(profile), options_(options), names_(options.names) {}

  Annotation of(CodeCosts costs) {
    costs_ = std::move(costs);
    functions_.insert(costs_.functions.begin(), costs_.functions.end());
    out_.functions = costs_.functions;
    out_.cost = costs_.cost;
    out_.all = costs_.all;
    out_.unit = costs_.unit;
    out_.effective_samples = costs_.effective_samples;
    make_blocks();
    add_up();
    sort_and_cut();
    tell_sources();
    return std::move(out_);
  }

 private:
  struct Block {
    CodeBlock shown;
    model::ModuleId module;
    std::vector<model::FrameId> frames;  // that have a cost
    bool decoded = false;                // else there is a row for each of the frames, in their order
  };

  OpenModule& module(model::ModuleId id) {
    const auto known = modules_.find(id);
    if (known != modules_.end()) return known->second;
    const model::Module& row = profile_.modules[id.value];
    OpenModule opened{LocalCode::open(profile_, row, std::string(profile_.strings[row.symbols_path])), {}, 0};
    if (opened.code.present()) {
      opened.symbols = names_.open({.kind = row.kind,
                                    .path = std::string(profile_.strings[row.path]),
                                    .open_path = opened.code.path(),
                                    .identity = std::string(profile_.strings[row.build_id])},
                                   id.value);
      struct stat status {};
      if (::fstat(opened.code.fd(), &status) == 0)
        opened.built_unix_s = static_cast<std::uint64_t>(status.st_mtime);
    }
    return modules_.emplace(id, std::move(opened)).first->second;
  }

  void make_blocks() {
    // If the bounds of the code are unknown, the recorded name separates functions.
    std::map<std::tuple<model::ModuleId, ElfAddress, std::string>, std::uint32_t> rows;
    for (const auto& [key, place] : costs_.places) {
      OpenModule& code = module(key.module);
      const auto bounds = code.code.bounds_around(key.address);
      const Chain recorded = chain_of(profile_, place.frame);
      const auto [row, is_new] = rows.try_emplace({key.module, bounds ? bounds->start : ElfAddress{0},
                                                   bounds ? std::string() : recorded.back().function},
                                                  static_cast<std::uint32_t>(blocks_.size()));
      if (is_new) {
        const model::Module& module = profile_.modules[key.module.value];
        Block block;
        block.module = key.module;
        block.shown.function = recorded.back().function;
        block.shown.module = profile_.strings[module.name];
        block.shown.path = profile_.strings[module.path];
        block.shown.inlined = true;
        if (bounds) {
          block.shown.start = bounds->start;
          block.shown.size = bounds->size;
        }
        block.shown.gap = code.code.problem();
        if (block.shown.gap.empty() && !bounds) block.shown.gap = "the bounds of this function are unknown";
        blocks_.push_back(std::move(block));
      }
      Block& block = blocks_[row->second];
      if (!costs_.inlined.contains(key)) block.shown.inlined = false;
      block.frames.push_back(place.frame);
    }
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) fill(blocks_[i]);
  }

  void fill(Block& block) {
    OpenModule& code = module(block.module);
    std::vector<CodeInstruction>& rows = block.shown.instructions;
    std::vector<arch::DecodedInstruction> decoded;
    if (block.shown.gap.empty()) {
      const auto bytes = code.code.code({block.shown.start, block.shown.size});
      decoded = arch::disassemble(bytes, block.shown.start);
      if (decoded.empty())
        block.shown.gap = bytes.empty() ? code.code.path() + " does not hold this code"
                                        : "there is no decoder for the code of this processor";
    }
    if (decoded.empty()) {
      for (const model::FrameId frame : block.frames)
        rows.push_back({profile_.frames[frame.value].address, 0, {}, {}, chain_of(profile_, frame)});
      if (code.symbols) name_anew(code, rows);
      for (std::size_t i = 0; i < rows.size(); ++i)
        keep_recorded_line(rows[i].chain, chain_of(profile_, block.frames[i]));
      return;
    }
    for (arch::DecodedInstruction& row : decoded)
      rows.push_back({row.address, row.size, std::move(row.text), {}, {}});
    block.decoded = true;
    name_anew(code, rows);
    for (const model::FrameId frame : block.frames) {
      const std::uint32_t row = row_of(block, profile_.frames[frame.value].address);
      if (row != kNone) keep_recorded_line(rows[row].chain, chain_of(profile_, frame));
    }
    name_targets(code, block.shown, decoded);
    if (!block.shown.inlined) return;
    std::erase_if(rows, [&](const CodeInstruction& row) {
      return std::none_of(row.chain.begin(), row.chain.end(),
                          [&](const CodeLine& line) { return functions_.contains(line.function); });
    });
    // Other names than those that were recorded: what has a cost is shown nevertheless.
    for (const model::FrameId frame : block.frames)
      if (row_of(block, profile_.frames[frame.value].address) == kNone)
        rows.push_back({profile_.frames[frame.value].address, 0, {}, {}, chain_of(profile_, frame)});
    std::sort(rows.begin(), rows.end(),
              [](const CodeInstruction& a, const CodeInstruction& b) { return a.address < b.address; });
  }

  // The recording may know more than the files of this machine: its names were looked up where it was made.
  static void keep_recorded_line(Chain& chain, Chain recorded) {
    if (chain.empty() || (chain.front().line == 0 && !recorded.empty() && recorded.front().line != 0))
      chain = std::move(recorded);
  }

  static void name_anew(OpenModule& code, std::vector<CodeInstruction>& rows) {
    std::vector<ElfAddress> addresses;
    for (const CodeInstruction& row : rows) addresses.push_back(row.address);
    std::vector<Chain> chains = code.chains(addresses);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!chains[i].empty()) rows[i].chain = std::move(chains[i]);
  }

  static void name_targets(OpenModule& code, CodeBlock& block,
                           const std::vector<arch::DecodedInstruction>& decoded) {
    std::map<ElfAddress, std::string> targets;
    for (const auto& row : decoded)
      if (row.target && row.target->value - block.start.value >= block.size) targets[*row.target];
    std::vector<ElfAddress> addresses;
    for (const auto& [address, name] : targets) addresses.push_back(address);
    const std::vector<Chain> chains = code.chains(addresses);
    for (std::size_t i = 0; i < addresses.size(); ++i)
      if (!chains[i].empty()) targets[addresses[i]] = chains[i].back().function;
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      if (!decoded[i].target) continue;
      const auto target = targets.find(*decoded[i].target);
      if (target != targets.end() && !target->second.empty())
        block.instructions[i].text += " <" + target->second + ">";
    }
  }

  static std::uint32_t row_of(const Block& block, ElfAddress address) {
    const auto& rows = block.shown.instructions;
    auto next =
        std::upper_bound(rows.begin(), rows.end(), address,
                         [](ElfAddress value, const CodeInstruction& row) { return value < row.address; });
    if (next == rows.begin()) return kNone;
    --next;
    if (address.value - next->address.value >= std::max(1U, next->size)) return kNone;
    return static_cast<std::uint32_t>(next - rows.begin());
  }

  // What stands on one stack several times counts once in a total: as an instruction, as a line and as a block.
  void add_up() {
    struct Where {
      std::uint32_t block = kNone, row = kNone, line = kNone;
    };
    std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> lines;
    std::vector<Where> where(profile_.frames.size());
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      for (std::uint32_t i = 0; i < blocks_[b].frames.size(); ++i) {
        const model::FrameId frame = blocks_[b].frames[i];
        Where& to = where[frame.value];
        to.block = b;
        to.row = blocks_[b].decoded ? row_of(blocks_[b], profile_.frames[frame.value].address) : i;
        if (to.row == kNone) continue;
        const Chain& chain = blocks_[b].shown.instructions[to.row].chain;
        if (chain.empty() || chain.front().line == 0) continue;
        const auto [line, is_new] = lines.try_emplace({chain.front().file, chain.front().line},
                                                      static_cast<std::uint32_t>(out_.lines.size()));
        if (is_new) {
          out_.lines.push_back({chain.front(), {}, {}});
          line_modules_.push_back(blocks_[b].module);
        }
        to.line = line->second;
      }
    }
    // Frames of one address that differ in their names are one place.
    for (std::uint32_t i = 0; i < where.size(); ++i) {
      if (costs_.stands[i] == 0) continue;
      const auto place = costs_.places.find(place_of(profile_, model::FrameId{i}));
      if (place != costs_.places.end()) where[i] = where[place->second.frame.value];
    }
    const auto once = [](std::vector<std::uint64_t>& seen, std::uint64_t id) {
      if (std::find(seen.begin(), seen.end(), id) != seen.end()) return false;
      seen.push_back(id);
      return true;
    };
    std::vector<std::uint64_t> seen_rows, seen_lines, seen_blocks;
    for (const analysis::StackValue& stack : costs_.stacks) {
      seen_rows.clear();
      seen_lines.clear();
      seen_blocks.clear();
      bool is_leaf = true;
      for (model::StackId at = stack.stack; at.value != 0; at = profile_.stacks[at.value].parent) {
        const Where& to = where[profile_.stacks[at.value].frame.value];
        const bool leaf = std::exchange(is_leaf, false);
        if (to.block == kNone) continue;
        CodeBlock& block = blocks_[to.block].shown;
        if (leaf) block.cost.self += stack.value;
        if (once(seen_blocks, to.block)) block.cost.total += stack.value;
        if (to.row != kNone) {
          Cost& cost = block.instructions[to.row].cost;
          if (leaf) cost.self += stack.value;
          if (once(seen_rows, std::uint64_t{to.block} << 32 | to.row)) cost.total += stack.value;
        }
        if (to.line == kNone) continue;
        if (leaf) out_.lines[to.line].cost.self += stack.value;
        if (once(seen_lines, to.line)) out_.lines[to.line].cost.total += stack.value;
      }
    }
  }

  void sort_and_cut() {
    for (std::size_t i = 0; i < out_.lines.size(); ++i) {
      LineCost& line = out_.lines[i];
      line.text = text_of(line_modules_[i], line.at);
    }
    std::sort(out_.lines.begin(), out_.lines.end(), [](const LineCost& a, const LineCost& b) {
      return std::tuple(-a.cost.self, -a.cost.total, a.at) < std::tuple(-b.cost.self, -b.cost.total, b.at);
    });
    std::sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) {
      return std::tuple(-a.shown.cost.self, -a.shown.cost.total, a.shown.path, a.shown.start,
                        a.shown.function) < std::tuple(-b.shown.cost.self, -b.shown.cost.total, b.shown.path,
                                                       b.shown.start, b.shown.function);
    });
    for (std::size_t i = options_.most_blocks; i < blocks_.size(); ++i) {
      ++out_.blocks_left_out;
      out_.left_out += blocks_[i].shown.cost.self;
    }
    if (blocks_.size() > options_.most_blocks) blocks_.resize(options_.most_blocks);
    for (Block& block : blocks_) {
      for (const CodeInstruction& row : block.shown.instructions)
        for (const CodeLine& line : row.chain) {
          const std::string text = text_of(block.module, line);
          if (!text.empty()) out_.sources[line.file][line.line] = text;
        }
      out_.blocks.push_back(std::move(block.shown));
    }
  }

  std::string text_of(model::ModuleId id, const CodeLine& line) {
    return files_.line(line.file, line.line, module(id).code.fd());
  }

  // Of the files that have a cost, what cost most first.
  void tell_sources() {
    std::set<std::string> told;
    std::size_t more = 0;
    for (const LineCost& line : out_.lines) {
      if (line.at.file.empty() || !told.insert(line.at.file).second) continue;
      const auto file = files_.files().find(line.at.file);
      if (file == files_.files().end()) continue;
      std::string note;
      if (!file->second.problem.empty()) {
        note = line.at.file + " " + file->second.problem;
      } else {
        for (const auto& [id, code] : modules_)
          if (code.built_unix_s != 0 && file->second.modified_unix_s > code.built_unix_s)
            note = fmt::format("{} was changed after {} was built, so lines may have moved", line.at.file,
                               code.code.path());
      }
      if (note.empty()) continue;
      if (out_.notes.size() < kMostNotes)
        out_.notes.push_back(std::move(note));
      else
        ++more;
    }
    if (more != 0) out_.notes.push_back(fmt::format("and {} more source files are not here", more));
  }

  const model::Profile& profile_;
  const AnnotateOptions& options_;
  symbolize::LocalNames names_;
  CodeCosts costs_;
  std::set<std::string, std::less<>> functions_;
  std::map<model::ModuleId, OpenModule> modules_;
  std::vector<Block> blocks_;
  std::vector<model::ModuleId> line_modules_;  // by row of out_.lines, until they are sorted
  SourceFiles files_;
  Annotation out_;
};

}  // namespace

Result<Annotation> annotate(const model::Profile& profile, const analysis::Selection& selection,
                            const AnnotateOptions& options) {
  Result<CodeCosts> costs = code_costs(profile, selection, options.pattern);
  if (!costs) return tl::unexpected(costs.error());
  return Annotator(profile, options).of(std::move(*costs));
}

}  // namespace fathom::annotate
