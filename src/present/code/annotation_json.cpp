#include "present/code/annotation_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "present/code/annotation_sentences.h"
#include "present/json/json.h"

namespace fathom::present {
namespace {

using Json = nlohmann::ordered_json;

Json chain_json(const std::vector<annotate::CodeLine>& chain) {
  Json rows = Json::array();
  for (const annotate::CodeLine& line : chain)
    rows.push_back({{"function", line.function}, {"file", line.file}, {"line", line.line}});
  return rows;
}

}  // namespace

std::string to_json(const annotate::Annotation& annotation) {
  Json json;
  json["fathom_annotation"] = kJsonVersion;
  json["functions"] = annotation.functions;
  json["unit"] = annotation.unit;
  json["all"] = annotation.all;
  json["self"] = annotation.cost.self;
  json["total"] = annotation.cost.total;
  json["sentences"] = sentences_of(annotation);
  json["lines"] = Json::array();
  for (const annotate::LineCost& line : annotation.lines)
    json["lines"].push_back({{"file", line.at.file},
                             {"line", line.at.line},
                             {"function", line.at.function},
                             {"self", line.cost.self},
                             {"total", line.cost.total},
                             {"text", line.text}});
  json["blocks"] = Json::array();
  for (const annotate::CodeBlock& block : annotation.blocks) {
    Json row{{"function", block.function},
             {"module", block.module},
             {"path", block.path},
             {"address", fmt::format("0x{:x}", block.start.value)},
             {"bytes", block.size},
             {"inlined", block.inlined},
             {"self", block.cost.self},
             {"total", block.cost.total},
             {"gap", block.gap}};
    row["instructions"] = Json::array();
    for (const annotate::CodeInstruction& instruction : block.instructions)
      row["instructions"].push_back({{"address", fmt::format("0x{:x}", instruction.address.value)},
                                     {"bytes", instruction.size},
                                     {"text", instruction.text},
                                     {"self", instruction.cost.self},
                                     {"total", instruction.cost.total},
                                     {"chain", chain_json(instruction.chain)}});
    json["blocks"].push_back(std::move(row));
  }
  json["blocks_left_out"] = annotation.blocks_left_out;
  json["self_left_out"] = annotation.left_out;
  json["sources"] = Json::object();
  for (const auto& [file, lines] : annotation.sources) {
    Json texts = Json::object();
    for (const auto& [line, text] : lines) texts[std::to_string(line)] = text;
    json["sources"][file] = std::move(texts);
  }
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::present
