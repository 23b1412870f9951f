#include "present/page/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/core/hand_made_profile.h"
#include "model/random_profile.h"
#include "present/page/columns.h"

namespace fathom::page {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string unpacked(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out;
  char buffer[65536];
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int outcome = Z_OK;
  while (outcome == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    outcome = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer, sizeof buffer - stream.avail_out);
  }
  EXPECT_EQ(outcome, Z_STREAM_END);
  inflateEnd(&stream);
  return out;
}

struct Parts {
  nlohmann::json head;
  std::string columns;
};
Parts parts_of(const std::string& bytes) {
  const std::string whole = unpacked(bytes);
  constexpr std::string_view kMark = "fathom page\n";
  if (!whole.starts_with(kMark) || whole.size() < kMark.size() + 4) {
    ADD_FAILURE() << "no document";
    return {};
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length |= std::size_t{static_cast<unsigned char>(whole[kMark.size() + i])} << (8 * i);
  return {nlohmann::json::parse(whole.substr(kMark.size() + 4, length)),
          whole.substr(kMark.size() + 4 + length)};
}

analysis::HandMade small_profile() {
  analysis::HandMade hand;
  const auto process = hand.process(10, "server");
  const auto thread = hand.thread(process, 10, "main");
  const auto module = hand.module("server");
  const auto stack = hand.stack({hand.frame(module, {"main"}), hand.frame(module, {"parse"})});
  hand.sample(thread, stack, 30, 1);
  return hand;
}

Document document_of(const model::Profile& profile, const DocumentOptions& options = {}) {
  auto document = make_document(profile, options);
  EXPECT_TRUE(document.has_value()) << document.error().message;
  return document ? std::move(*document) : Document{};
}

// Views of waits name the code that a place belongs to: a lock or an executor waits on behalf of its caller.
TEST(PageDocument, EachPlaceSaysWhoseCodeItIs) {
  analysis::HandMade hand;
  const auto thread = hand.thread(hand.process(10, "server"), 10, "main");
  const auto module = hand.module("server");
  const auto stack = hand.stack({hand.frame(module, {"Ledger::post"}),
                                 hand.frame(module, {"__gthread_mutex_lock(pthread_mutex_t*)"}),
                                 hand.frame(module, {"tokio::runtime::park::park"})});
  hand.sample(thread, stack, 30, 1);
  const Parts parts = parts_of(document_of(hand.profile).bytes);
  const auto& whose = parts.head["columns"]["place.whose"];
  EXPECT_EQ(parts.columns.substr(whose[1], whose[2]), std::string("\0\0\2\2", 4));  // the root is nobody's
}

TEST(PageDocument, HeadAndColumnsFitTogether) {
  DocumentOptions options;
  options.file = "a b.fathom";
  const Parts parts = parts_of(document_of(small_profile().profile, options).bytes);
  EXPECT_EQ(parts.head["version"], kDocumentVersion);
  EXPECT_EQ(parts.head["file"], "a b.fathom");
  EXPECT_EQ(parts.head["metrics"][0]["name"], "cpu");
  EXPECT_EQ(parts.head["metrics"][0]["unit"], "samples");
  EXPECT_EQ(parts.head["threads"][0]["name"], "main");
  EXPECT_THAT(parts.head["texts"], Contains("parse"));
  EXPECT_EQ(parts.head["columns"]["node.place"][3], 3);  // the root, main, parse
  std::map<std::uint64_t, std::uint64_t> sizes;          // by offset
  for (const auto& [name, place] : parts.head["columns"].items()) {
    if (place[2] != 0) sizes[place[1]] = place[2];
  }
  std::uint64_t end = 0;
  for (const auto& [offset, size] : sizes) {
    EXPECT_EQ(offset, end) << "begins where the one before ends";
    end += size;
  }
  EXPECT_EQ(parts.columns.size(), end);
}

TEST(PageDocument, NamesCannotHarmTheirViewer) {
  analysis::HandMade hand;
  const auto process = hand.process(10, "server");
  const auto thread = hand.thread(process, 10, "</script>\x1b[2J");
  const auto module = hand.module("server");
  const auto stack =
      hand.stack({hand.frame(module, {"evil\xe2\x80\xae"
                                      "gnp.exe"}),
                  hand.frame(module, {std::string(10'000, 'x')}), hand.frame(module, {"\xff\xfe broken"})});
  hand.sample(thread, stack, 30, 1);
  const Parts parts = parts_of(document_of(hand.profile).bytes);
  const std::string head = parts.head.dump();
  EXPECT_THAT(head, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(head, Not(HasSubstr("\\u001b")));
  EXPECT_THAT(parts.head["texts"], Contains(std::string(10'000, 'x')));
}

TEST(PageDocument, WhatHasNoRoomIsFoldedAndSaidToBe) {
  analysis::HandMade hand;
  const auto process = hand.process(10, "server");
  const auto thread = hand.thread(process, 10, "main");
  const auto module = hand.module("server");
  const auto top = hand.frame(module, {"main"});
  for (int i = 0; i < 900; ++i)
    hand.sample(thread,
                hand.stack({top, hand.frame(module, {"function_number_" + std::to_string(i * 7919)})}), 1,
                i * 0.01);
  hand.sample(thread, hand.stack({top, hand.frame(module, {"large"})}), 900, 0.5);
  const Document whole = document_of(hand.profile);
  EXPECT_EQ(whole.folded_share, 0);
  DocumentOptions options;
  options.most_bytes = 2500;
  const Document folded = document_of(hand.profile, options);
  EXPECT_LE(folded.bytes.size(), options.most_bytes);
  EXPECT_GT(folded.slice_ms, whole.slice_ms);
  EXPECT_GT(folded.folded_share, 0);
  const Parts parts = parts_of(folded.bytes);
  EXPECT_GT(parts.head["folded"]["calls"], 0);
  EXPECT_THAT(parts.head["texts"], Contains("(smaller calls)"));
}

TEST(PageDocument, OfAProfileThatIsNeededNoMoreIsTheSame) {
  model::for_each_profile(25, [](const model::Profile& profile) {
    for (const std::size_t most_bytes : {std::size_t{11'000'000}, std::size_t{3000}}) {
      DocumentOptions options;
      options.most_slices = 400;
      options.most_bytes = most_bytes;
      const auto kept = make_document(profile, options);
      model::Profile spent = profile;
      const auto of_spent = make_document(
          std::move(spent), [&]() -> Result<model::Profile> { return profile; }, options);
      ASSERT_EQ(of_spent.has_value(), kept.has_value());
      if (!kept) continue;
      EXPECT_EQ(of_spent->bytes, kept->bytes);
      EXPECT_EQ(of_spent->slice_ms, kept->slice_ms);
    }
  });
}

TEST(PageDocument, OfPackedRowsIsTheSame) {
  const auto grow = [](auto& rows) {  // to several blocks of packed rows
    const auto once = rows;
    while (!once.empty() && rows.size() < 1300) rows.insert(rows.end(), once.begin(), once.end());
  };
  model::for_each_profile(25, [&](model::Profile profile) {
    grow(profile.samples);
    grow(profile.waits);
    grow(profile.heap.rows);
    DocumentOptions options;
    options.most_slices = 400;
    const auto open = make_document(profile, options);
    profile.packed_samples.take_from(profile.samples);
    profile.packed_waits.take_from(profile.waits);
    profile.heap.packed_rows.take_from(profile.heap.rows);
    const auto packed = make_document(profile, options);
    ASSERT_EQ(packed.has_value(), open.has_value());
    if (open) {
      EXPECT_EQ(packed->bytes, open->bytes);
    }
  });
}

TEST(PageDocument, AnUnneededProfileIsFreedAndReadAgainIfItDidNotFit) {
  const model::Profile profile = small_profile().profile;
  model::Profile spent = profile;
  ASSERT_TRUE(make_document(std::move(spent), [] { return model::Profile(); }, {}).has_value());
  EXPECT_THAT(spent.samples, testing::IsEmpty());  // NOLINT(bugprone-use-after-move): emptied, not moved
  int reads = 0;
  DocumentOptions options;
  options.most_bytes = 100;
  spent = profile;
  const auto large = make_document(
      std::move(spent),
      [&]() -> Result<model::Profile> {
        if (++reads == 3) return fail(ErrorKind::kNotFound, "it is gone");
        return profile;
      },
      options);
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().message, "it is gone");
}

TEST(PageDocument, ALimitThatCannotBeKeptIsAnError) {
  DocumentOptions options;
  options.most_bytes = 100;
  const auto document = make_document(small_profile().profile, options);
  ASSERT_FALSE(document.has_value());
  EXPECT_THAT(document.error().message, HasSubstr("would be larger than 100 bytes"));
}

TEST(PageDocument, AnyProfileHasOne) {
  model::for_each_profile(25, [](const model::Profile& profile) {
    DocumentOptions options;
    options.most_slices = 100;
    const Parts parts = parts_of(document_of(profile, options).bytes);
    EXPECT_EQ(parts.head["version"], kDocumentVersion);
  });
}

std::string kinds_of(const Columns& columns) {
  std::string kinds;
  for (const ColumnPlace& place : columns.places()) kinds += static_cast<char>(place.kind);
  return kinds;
}

TEST(PageColumns, AnEntryOfOneSampleHasItsSliceOnly) {
  Columns columns;
  const std::vector<std::uint32_t> first{0, 2, 2, 4}, slices{0, 5, 7, 70};
  const std::vector<std::int64_t> values{1, 3, 1, 2};
  columns.add_entries("cpu", first, slices, values);
  EXPECT_EQ(kinds_of(columns), "ed");
  // Slices between, doubled, and 1 more where there is a value: 0, 4 and 1, 7, 62 and 1. Values: 3, and 1 less.
  EXPECT_EQ(columns.bytes(), std::string("\x00\x09\x0e\x7d\x06\x01", 6));
  EXPECT_EQ(columns.places()[0].count, 4u);
  EXPECT_EQ(columns.places()[1].count, 2u);
}

TEST(PageColumns, SumsThatAreWholeNumbersAreVarints) {
  const auto of = [](std::vector<double> values) {
    Columns columns;
    columns.add_reals("x", values);
    return kinds_of(columns) + " " + std::to_string(columns.bytes().size());
  };
  EXPECT_EQ(of({0, 127, 300}), "u 4");
  EXPECT_EQ(of({9007199254740991}), "u 8");
  EXPECT_EQ(of({9007199254740992}), "f 8");
  EXPECT_EQ(of({1, 0.5}), "f 16");
  EXPECT_EQ(of({-1}), "f 8");
  EXPECT_EQ(of({-0.0}), "f 8");
  EXPECT_EQ(of({std::numeric_limits<double>::quiet_NaN()}), "f 8");
  EXPECT_EQ(of({std::numeric_limits<double>::infinity()}), "f 8");
}

TEST(Base64, EndsAreFilledUp) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace fathom::page
