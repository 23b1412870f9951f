// Names that come from elsewhere when reading, and what stands for a function without one.
#include "binary/elf/module_file.h"
#include "cli/testing_program.h"

namespace fathom::cli {
namespace {

// A program that was stripped and recorded elsewhere: its function was named by its bounds.
class CliNames : public Cli {
 protected:
  CliNames() {
    const auto program = elf::ModuleFile::open(FATHOM_FIXTURES "/dwarf5");
    analysis::HandMade hand;
    model::Module row;
    row.kind = model::ModuleKind::kFile;
    row.name = hand.builder.string("server");
    row.path = hand.builder.string("/elsewhere/server");
    row.build_id = hand.builder.string(program->elf().build_id());
    row.symbols = model::SymbolSource::kPseudo;
    const auto module = hand.builder.module(row);
    model::FrameId frame;
    for (const elf::Symbol& symbol : program->elf().symbols(elf::SymbolTable::kSymtab))
      if (symbol.name == "_ZN5store4fillERNS_6BucketEj") frame = hand.builder.frame(module, symbol.address);
    hand.builder.name_frame(frame, {{"server@fde+0x1c20", "", 0}});
    hand.sample(hand.thread(hand.process(1, "server"), 1, "server"), hand.stack({frame}), 1000);
    EXPECT_TRUE(store::Writer::create(stripped_).value().finish(hand.profile));
    std::filesystem::create_directories(names_);
  }
  void put(const std::string& fixture, const std::string& name) {
    std::filesystem::copy_file(FATHOM_FIXTURES "/" + fixture, names_ + "/" + name);
  }
  std::string stripped_ = folder_ + "/stripped.fathom", names_ = folder_ + "/names";
};

TEST_F(CliNames, AFunctionWithoutANameIsShort) {
  const Outcome outcome = run({"report", stripped_});
  EXPECT_THAT(outcome.out, HasSubstr("in an unnamed function of server (0x1c20)"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("fde"))) << outcome.out;
  EXPECT_THAT(run({"export", stripped_, "--to", "folded"}).out, HasSubstr("server@0x1c20 1000"));
}

TEST_F(CliNames, ComeFromAFolderWhenReading) {
  put("dwarf5.debug", "of any name");
  const Outcome outcome = run({"report", stripped_, "--symbols", names_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("store::fill \\(inlines.cpp:[0-9]+\\) accounts for 100 % of CPU time"));
  EXPECT_THAT(run({"export", stripped_, "--to", "folded", "--symbols", names_}).out,
              HasSubstr("store::fill(store::Bucket&, unsigned int)"));
}

TEST_F(CliNames, OfAFileOfAnotherBuildIdAreRefusedInWords) {
  put("dwarf4", "server");
  const Outcome outcome = run({"report", stripped_, "--symbols", names_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.error, HasSubstr("names/server is not used: its build id is "));
  EXPECT_THAT(outcome.error,
              HasSubstr("no file in " + names_ + " has the build id of a module that lacks names"));
  EXPECT_THAT(outcome.out, HasSubstr("an unnamed function of server"));
  EXPECT_EQ(run({"report", stripped_, "--symbols", names_ + "/nowhere"}).status, 3);
  EXPECT_EQ(run({"report", file("x.folded", "a;b 1\n"), "--symbols", names_}).status, 2);
}

TEST_F(CliNames, AreKeptByFathomSymbolize) {
  put("dwarf5.debug", "debug");
  const std::string kept = folder_ + "/kept.fathom";
  const Outcome outcome = run({"symbolize", stripped_, "--symbols", names_ + "/debug", "-o", kept});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out + outcome.error, HasSubstr("1 of 1 places have names, 0 before"));
  EXPECT_THAT(run({"export", kept, "--to", "folded"}).out,
              HasSubstr("store::fill(store::Bucket&, unsigned int)"));
  EXPECT_EQ(run({"symbolize", stripped_, "--symbols", names_, "-o", kept}).status, 2) << "it is there";
}

TEST_F(CliNames, OfAWrongTwinAreRefusedByFathomSymbolize) {
  put("dwarf4", "twin");
  const std::string kept = folder_ + "/kept.fathom";
  const Outcome outcome = run({"symbolize", stripped_, "--symbols", names_ + "/twin", "-o", kept});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.error, HasSubstr("names/twin is not used: its build id is "));
  EXPECT_THAT(outcome.error, HasSubstr("and no module of the recording has that"));
  EXPECT_FALSE(std::filesystem::exists(kept)) << "nothing was gained";
}

}  // namespace
}  // namespace fathom::cli
