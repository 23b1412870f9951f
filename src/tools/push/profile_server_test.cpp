// Servers of profiles as their sources are written (pkg/validation/validate.go of Pyroscope, pkg/normalizer/validate.go of Parca):
// each rule that makes them refuse a profile is here, and no request of ours may break one.
#include "tools/push/profile_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/core/selection.h"
#include "analysis/core/words.h"
#include "base/clock.h"
#include "base/packed/unpacker.h"
#include "formats/pprof/message.h"
#include "formats/pprof/wire.h"
#include "linux/metrics/testing_http_server.h"
#include "model/random_profile.h"
#include "tools/push/parca.h"
#include "tools/push/pyroscope.h"

namespace fathom::push {
namespace {

using formats::PprofMessage;

// One profile as a server has filed it.
struct Filed {
  std::map<std::string, std::string> labels;
  std::vector<std::pair<std::string, std::int64_t>> sums;  // by type
  std::string type_id;
};

bool is_label_name(std::string_view name) {
  if (name.empty() || name.size() > 1024 || (name[0] >= '0' && name[0] <= '9')) return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
         name.npos;
}

// "" where both servers take it; else the rule that it breaks.
std::string broken_rule(const std::string& bytes, std::uint64_t now_ns) {
  if (bytes.size() > 4 << 20) return "more than 4 MiB";
  const auto message = formats::read_pprof_message(bytes, "x");
  if (!message) return message.error().message;
  if (message->types.empty()) return "no sample type";
  if (message->strings.empty() || !message->strings[0].empty()) return "string 0 is not empty";
  for (const std::string_view text : message->strings)
    if (analysis::valid_utf8(text) != text) return "a string is not UTF-8";
  for (const auto& type : message->types)
    if (type.type.empty() || type.type.find('-') != type.type.npos) return "a sample type with '-'";
  if (message->period_type.type.empty()) return "no period type";
  if (message->samples.size() > 16'000) return "more than 16,000 samples";
  if (message->time_unix_ns > 0) {
    const auto time = static_cast<std::uint64_t>(message->time_unix_ns);
    if (time + 3'600'000'000'000 < now_ns) return "older than an hour";
    if (time > now_ns + 600'000'000'000) return "newer than ten minutes";
  }
  const auto ids_are_dense = [](const auto& rows) {
    for (std::uint64_t id = 1; id <= rows.size(); ++id)
      if (!rows.contains(id)) return false;
    return true;
  };
  if (!ids_are_dense(message->mapping_rows) || !ids_are_dense(message->locations) ||
      !ids_are_dense(message->functions))
    return "ids that are not 1, 2, 3 ...";
  for (const auto& [id, location] : message->locations) {
    if (location.mapping_id > message->mappings.size()) return "a mapping out of range";
    for (const auto& line : location.lines)
      if (!message->functions.contains(line.function_id)) return "a function out of range";
  }
  PprofMessage::Sample sample;
  for (const std::string_view one : message->samples) {
    if (!message->sample_of(one, sample)) return "a damaged sample";
    if (sample.values.size() != message->types.size()) return "another number of values than of types";
    for (const std::uint64_t id : sample.location_ids)
      if (!message->locations.contains(id)) return "a location out of range";
    if (!sample.labels.empty()) return "labels, of which each makes a series";
  }
  return "";
}

Filed filed(const std::string& bytes, std::map<std::string, std::string> labels) {
  Filed result;
  result.labels = std::move(labels);
  const PprofMessage message = formats::read_pprof_message(bytes, "x").value();
  std::vector<std::int64_t> sums(message.types.size());
  PprofMessage::Sample sample;
  for (const std::string_view one : message.samples)
    if (message.sample_of(one, sample))
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += sample.values[i];
  for (std::size_t i = 0; i < sums.size(); ++i)
    result.sums.emplace_back(std::string(message.types[i].type), sums[i]);
  result.type_id = std::string(message.period_type.type) + (message.duration_ns > 0 ? ":delta" : "");
  return result;
}

// A server of either kind: takes apart what it receives, and answers 400 with the rule that it breaks.
class RuleServer {
 public:
  explicit RuleServer(int refuse_first = 0, int status = 429)
      : refuse_(refuse_first),
        status_(status),
        server_([this](const std::string& request) { return answer(request); }) {}
  std::string url(const std::string& scheme) const {
    return scheme + "://" + server_.address().host + ":" + std::to_string(server_.address().port);
  }
  std::vector<Filed> all;
  int requests = 0;

 private:
  std::string answer(const std::string& request) {
    ++requests;
    if (refuse_ > 0 && requests > 1 && refuse_-- > 0) return metrics::http_answer(status_, "slow down");
    const std::size_t end = request.find("\r\n\r\n");
    const std::string head = request.substr(0, end), body = request.substr(end + 4);
    std::map<std::string, std::string> labels;
    std::set<std::string> names;
    std::string packed, rule;
    if (head.starts_with("POST /push.v1.PusherService/Push ")) {
      if (head.find("Content-Type: application/proto\r\n") == head.npos)
        return metrics::http_answer(415, "type");
      formats::WireFields fields(body);
      while (fields.next()) {
        formats::WireFields series(fields.bytes());
        while (series.next()) {
          formats::WireFields inner(series.bytes());
          std::string name, value;
          while (inner.next()) {
            if (series.number() == 2 && inner.number() == 1) packed = inner.bytes();
            if (series.number() == 1) (inner.number() == 1 ? name : value) = inner.bytes();
          }
          if (series.number() != 1) continue;
          if (!names.insert(name).second) rule = "a label twice";
          labels[name] = value;
        }
      }
      if (labels["service_name"].empty()) rule = "no service_name";
    } else if (head.starts_with("POST /api/profiles/writeraw ")) {
      const auto json = nlohmann::json::parse(body);
      if (!json.at("normalized").get<bool>()) rule = "addresses of one process";
      const auto& series = json.at("series").at(0);
      for (const auto& label : series.at("labels").at("labels")) {
        if (!names.insert(label.at("name")).second) rule = "a label twice";
        labels[label.at("name")] = label.at("value");
      }
      packed = base64_decoded(series.at("samples").at(0).at("rawProfile"));
    } else {
      return metrics::http_answer(404, "no such path");
    }
    if (labels["__name__"].empty()) rule = "no __name__";
    if (labels.size() > 30) rule = "more than 30 labels";
    for (const auto& [name, value] : labels)
      if (!is_label_name(name) || value.empty() || value.size() > 2048 ||
          analysis::valid_utf8(value) != value)
        rule = "a label that is no label: " + name;
    const auto bytes = packed::unpacked(packed, "x", 64 << 20);
    if (!bytes) rule = "not packed";
    if (rule.empty()) rule = broken_rule(*bytes, wall_clock_ns());
    if (!rule.empty())
      return metrics::http_answer(400, "{\"code\":\"invalid_argument\",\"message\":\"" + rule + "\"}");
    all.push_back(filed(*bytes, labels));
    return metrics::http_answer(200, "{}");
  }
  static std::string base64_decoded(const std::string& text) {
    std::string out;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
      static constexpr std::string_view kDigits =
          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
      const std::size_t digit = kDigits.find(c);
      if (digit == kDigits.npos) break;
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
      if ((count += 6) < 8) continue;
      count -= 8;
      out += static_cast<char>(bits >> count & 0xff);
    }
    return out;
  }

  int refuse_, status_;
  metrics::TestingHttpServer server_;
};

model::Profile fresh(model::Profile profile) {
  profile.meta.end_ns = profile.meta.start_ns + 20'000'000'000;
  profile.meta.start_unix_ns = wall_clock_ns() - 20'000'000'000;
  return profile;
}

Result<std::unique_ptr<Destination>> destination(const std::string& scheme, const std::string& url) {
  return scheme == "parca" ? parca_destination(url) : pyroscope_destination(url, "");
}

class ProfileServers : public testing::TestWithParam<std::string> {};

TEST_P(ProfileServers, NoRequestBreaksARuleAndEverySumArrives) {
  RuleServer server;
  const auto to = destination(GetParam(), server.url(GetParam()));
  ASSERT_TRUE(to) << to.error().message;
  model::for_each_profile(25, [&](const model::Profile& random) {
    const model::Profile profile = fresh(random);
    server.all.clear();
    const auto sent = (*to)->send(profile, {"shop", "host \xff 1", std::string(5000, 'v')});
    const auto expected = server_profiles(profile);
    ASSERT_EQ(sent.has_value(), expected.has_value()) << sent.error().message;
    if (!sent) return;
    std::map<std::string, std::int64_t> sums, arrived;
    for (const ServerProfile& one : *expected)
      for (const std::string& part : one.parts)
        for (const auto& [type, sum] : filed(part, {}).sums) sums[one.name + type] += sum;
    for (const Filed& one : server.all)
      for (const auto& [type, sum] : one.sums) arrived[one.labels.at("__name__") + type] += sum;
    EXPECT_EQ(arrived, sums);
    for (const Filed& one : server.all) {
      EXPECT_EQ(one.labels.at("service_name"), "shop");
      for (const auto& [type, sum] : one.sums)
        EXPECT_EQ(type.starts_with("inuse") || type.starts_with("peak"), !one.type_id.ends_with(":delta"))
            << type;
    }
  });
  EXPECT_GT(server.requests, 25);
}

// Servers add up: what was answered is not sent again.
TEST_P(ProfileServers, AfterAnErrorOnlyTheRestIsSent) {
  const model::Profile profile = fresh(model::random_profile(3));
  RuleServer whole;
  ASSERT_TRUE((*destination(GetParam(), whole.url(GetParam())))->send(profile, {"shop", "", ""}));
  ASSERT_GT(whole.all.size(), 1u);
  RuleServer busy(1, 429);
  const auto to = destination(GetParam(), busy.url(GetParam()));
  const auto first = (*to)->send(profile, {"shop", "", ""});
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, ErrorKind::kSystem);
  EXPECT_THAT(first.error().message, testing::HasSubstr("answers 429: slow down"));
  ASSERT_TRUE((*to)->send(profile, {"shop", "", ""}));
  EXPECT_EQ(busy.all.size(), whole.all.size());
}

TEST_P(ProfileServers, ARefusalIsNotSentAgain) {
  RuleServer server(1, 401);
  const auto to = destination(GetParam(), server.url(GetParam()));
  const auto sent = (*to)->send(fresh(model::random_profile(3)), {"shop", "", ""});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kUsage);
}

// Hosted servers want a token. A user in the URL is another login.
TEST_P(ProfileServers, ATokenComesFromTheEnvironment) {
  metrics::TestingHttpServer server([](const std::string&) { return metrics::http_answer(200, "{}"); });
  const std::string address = "127.0.0.1:" + std::to_string(server.address().port);
  ::setenv("FATHOM_BEARER_TOKEN", "opensesame", 1);
  for (const char* user : {"", "me:secret@"}) {
    const auto to = destination(GetParam(), GetParam() + "://" + user + address);
    ASSERT_TRUE((*to)->send(fresh(model::random_profile(3)), {"shop", "", ""}));
    const std::string request = server.requests().back();
    const bool has_token = request.find("Authorization: Bearer opensesame\r\n") != std::string::npos;
    EXPECT_EQ(has_token, *user == '\0') << user;
  }
  const std::string password = GetParam() == "parca" ? "PARCA_PASSWORD" : "PYROSCOPE_PASSWORD";
  ::setenv(password.c_str(), "secret", 1);
  ASSERT_TRUE((*destination(GetParam(), GetParam() + "://me@" + address))
                  ->send(fresh(model::random_profile(3)), {"shop", "", ""}));
  EXPECT_THAT(server.requests().back(), testing::HasSubstr("Authorization: Basic bWU6c2VjcmV0\r\n"));
  ::unsetenv(password.c_str());
  ::unsetenv("FATHOM_BEARER_TOKEN");
}

INSTANTIATE_TEST_SUITE_P(Kinds, ProfileServers, testing::Values("pyroscope", "parca"));

TEST(Pyroscope, AnOldRecordingIsRefusedBeforeItIsSent) {
  RuleServer server;
  model::Profile profile = model::random_profile(3);
  profile.meta.start_unix_ns = wall_clock_ns() - 3'660'000'000'000;
  const auto sent = (*pyroscope_destination(server.url("pyroscope"), ""))->send(profile, {"shop", "", ""});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(server.requests, 0);
}

TEST(ServerUrl, HasThePortAndThePathOfItsServer) {
  const struct {
    const char *text, *is, *target;
  } rows[] = {{"parca://db1", "http://db1:7070", ""},
              {"parca://db1:80/base/", "http://db1:80/base", "/base"},
              {"parca://[::1]", "http://[::1]:7070", ""},
              {"parca://[::1]:99", "http://[::1]:99", ""},
              {"parca://me:secret@db1/", "http://db1:7070", ""},
              {"parca+https://db1/x", "https://db1:443/x", "/x"}};
  for (const auto& row : rows) {
    const auto url = parse_server_url(row.text, "parca", 7070);
    ASSERT_TRUE(url) << row.text << ": " << url.error().message;
    EXPECT_EQ(url->target, row.target) << row.text;
    EXPECT_THAT(url->text(), testing::StartsWith(std::string(row.is).substr(0, 10))) << row.text;
  }
  EXPECT_EQ(parse_server_url("parca://db1", "parca", 7070)->port, 7070);
  EXPECT_EQ(parse_server_url("parca://[::1]", "parca", 7070)->port, 7070);
  EXPECT_EQ(parse_server_url("parca+https://db1", "parca", 7070)->port, 443);
  EXPECT_FALSE(parse_server_url("parca://", "parca", 7070));
  EXPECT_FALSE(is_server_url("parcas://db1", "parca"));
}

}  // namespace
}  // namespace fathom::push
