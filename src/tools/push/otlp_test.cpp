#include "tools/push/otlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/clock.h"
#include "base/packed/unpacker.h"
#include "formats/pprof/message.h"
#include "formats/pprof/wire.h"
#include "linux/metrics/testing_http_server.h"
#include "model/random_profile.h"

namespace fathom::push {
namespace {

using formats::PprofMessage, formats::WireFields;
using testing::HasSubstr;

// A request as a server of version 1.11.0 takes it apart. The numbers stand here once more, so that none changes by accident.
struct OtlpRows {
  std::vector<std::string> mappings, locations, functions, links, strings, attributes, stacks;
  std::map<std::string, std::string> resource;
  // Sum of values by scope, type and names of the stack, root first.
  std::map<std::string, std::int64_t> sums;
  std::vector<std::string> ids;
};

std::vector<std::uint64_t> numbers_of(std::string_view packed) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t value = 0; formats::take_varint(packed, value);) numbers.push_back(value);
  return numbers;
}

std::string stack_text(const OtlpRows& rows, std::uint64_t stack) {
  std::string text;
  for (WireFields in(rows.stacks.at(stack)); in.next();)
    for (const std::uint64_t location : numbers_of(in.bytes()))
      for (WireFields place(rows.locations.at(location)); place.next();) {
        if (place.number() == 2) text += std::to_string(place.value()) + "@";
        if (place.number() != 3) continue;
        for (WireFields line(place.bytes()); line.next();)
          if (line.number() == 1)
            for (WireFields function(rows.functions.at(line.value())); function.next();)
              if (function.number() == 1) text += rows.strings.at(function.value()) + ";";
      }
  return text;
}

std::string type_text(const OtlpRows& rows, std::string_view bytes) {
  std::string text;
  for (WireFields in(bytes); in.next();) text += rows.strings.at(in.value()) + " ";
  return text;
}

void add_profile(std::string_view bytes, const std::string& scope, OtlpRows& rows) {
  std::string type;
  for (WireFields in(bytes); in.next();) {
    if (in.number() == 1) type = type_text(rows, in.bytes());
    if (in.number() == 7) rows.ids.emplace_back(in.bytes());
    if (in.number() != 2) continue;
    std::uint64_t stack = 0;
    std::int64_t value = 0;
    for (WireFields sample(in.bytes()); sample.next();) {
      if (sample.number() == 1) stack = sample.value();
      if (sample.number() == 4)
        for (const std::uint64_t one : numbers_of(sample.bytes())) value += static_cast<std::int64_t>(one);
    }
    rows.sums[scope + " " + type + stack_text(rows, stack)] += value;
  }
}

OtlpRows rows_in(const std::string& request) {
  OtlpRows rows;
  for (WireFields in(request); in.next();)
    if (in.number() == 2)
      for (WireFields table(in.bytes()); table.next();) {
        std::vector<std::string>* const tables[] = {&rows.mappings, &rows.locations, &rows.functions,
                                                    &rows.links,    &rows.strings,   &rows.attributes,
                                                    &rows.stacks};
        tables[table.number() - 1]->emplace_back(table.bytes());
      }
  for (WireFields in(request); in.next();)
    if (in.number() == 1)
      for (WireFields of(in.bytes()); of.next();) {
        std::string scope;
        for (WireFields inner(of.bytes()); inner.next();) {
          if (of.number() == 1) {
            std::string key, value;
            for (WireFields pair(inner.bytes()); pair.next();)
              if (pair.number() == 1)
                key = pair.bytes();
              else
                for (WireFields any(pair.bytes()); any.next();) value = any.bytes();
            rows.resource[key] = value;
          }
          if (of.number() == 2 && inner.number() == 1)
            for (WireFields name(inner.bytes()); name.next();) scope = name.bytes();
          if (of.number() == 2 && inner.number() == 2) add_profile(inner.bytes(), scope, rows);
        }
      }
  return rows;
}

// The same sums of the pprof profiles that it is made of.
std::map<std::string, std::int64_t> pprof_sums(const std::vector<ServerProfile>& profiles) {
  std::map<std::string, std::int64_t> sums;
  for (const ServerProfile& profile : profiles)
    for (const std::string& part : profile.parts) {
      const PprofMessage message = formats::read_pprof_message(part, "x").value();
      PprofMessage::Sample sample;
      for (const std::string_view bytes : message.samples) {
        if (!message.sample_of(bytes, sample)) continue;
        std::string stack;
        for (const std::uint64_t id : sample.location_ids) {
          const PprofMessage::Location& location = message.locations.at(id);
          if (location.address != 0) stack += std::to_string(location.address) + "@";
          for (const auto& line : location.lines)
            stack += std::string(message.functions.at(line.function_id).name) + ";";
        }
        for (std::size_t i = 0; i < sample.values.size(); ++i) {
          const auto& type = message.types[i];
          const bool counted = message.types.size() == 2 && message.types[1].type == "cpu";
          if (sample.values[i] == 0 || (counted && (message.period > 0) != (i == 0))) continue;
          sums[profile.name + " " + std::string(type.type) + " " + std::string(type.unit) + " " + stack] +=
              sample.values[i];
        }
      }
    }
  return sums;
}

TEST(Otlp, ARequestHasEverySampleUnderItsStack) {
  int checked = 0;
  model::for_each_profile(20, [&](const model::Profile& random) {
    const auto profiles = server_profiles(random);
    if (!profiles) return;
    const auto request = otlp_request(*profiles, {"shop", "web1", "3a7f"});
    ASSERT_TRUE(request) << request.error().message;
    const OtlpRows rows = rows_in(*request);
    EXPECT_EQ(rows.sums, pprof_sums(*profiles));
    EXPECT_EQ(rows.resource,
              (std::map<std::string, std::string>{
                  {"service.name", "shop"}, {"host.name", "web1"}, {"service.version", "3a7f"}}));
    ++checked;
  });
  EXPECT_GT(checked, 10);
}

TEST(Otlp, TheFirstRowOfEachTableIsEmpty) {
  const OtlpRows rows =
      rows_in(otlp_request(server_profiles(model::random_profile(3)).value(), {"s", "", ""}).value());
  for (const auto* table : {&rows.mappings, &rows.locations, &rows.functions, &rows.links, &rows.strings,
                            &rows.attributes, &rows.stacks}) {
    ASSERT_FALSE(table->empty());
    EXPECT_EQ(table->front(), "");
  }
  for (const std::string& id : rows.ids) EXPECT_EQ(id.size(), 16U);
}

TEST(Otlp, WhatTheServerRejectsIsAnError) {
  // partial_success{rejected_profiles 2, error_message "no"}
  EXPECT_EQ(otlp_refusal("\x0a\x06\x08\x02\x12\x02no"), "the server rejected 2 profiles: no");
  EXPECT_EQ(otlp_refusal(""), "");
  EXPECT_EQ(otlp_refusal("\x0a\x02\x12\x00"), "");
}

TEST(Otlp, GoesToThePathOfTheProtocolAsGzip) {
  metrics::TestingHttpServer server([](const std::string&) { return metrics::http_answer(200, ""); });
  const auto to = otlp_destination("otlp://127.0.0.1:" + std::to_string(server.address().port) + "/base");
  ASSERT_TRUE(to) << to.error().message;
  model::Profile profile = model::random_profile(3);
  profile.meta.start_unix_ns = wall_clock_ns();
  const auto sent = (*to)->send(profile, {"shop", "", ""});
  ASSERT_TRUE(sent) << sent.error().message;
  const std::string request = server.requests().back();
  const std::size_t end = request.find("\r\n\r\n");
  const std::string head = request.substr(0, end + 2), body = request.substr(end + 4);
  EXPECT_THAT(head, testing::StartsWith("POST /base/v1development/profiles HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Type: application/x-protobuf\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_FALSE(rows_in(packed::unpacked(body, "x", 64 << 20).value()).sums.empty());
}

}  // namespace
}  // namespace fathom::push
