#include "binary/symbolize/haskell_name.h"

#include <gtest/gtest.h>

#include <string>

#include "binary/symbolize/demangle.h"

namespace fathom::symbolize {
namespace {

TEST(HaskellName, IsThatOfTheSource) {
  for (const auto& [linker, name] : {
           std::pair{"zdmain_Main_zdwgo_info", "Main.$wgo"},
           {"Main_zdwgo_info", "Main.$wgo"},
           {"Main_main1_info", "Main.main1"},
           {"Main_go_s1Kx_info", "Main.go (s1Kx)"},
           {"base_GHCziBase_map_info", "GHC.Base.map"},
           {"base_GHCziBase_zpzp_info", "GHC.Base.++"},
           {"base_GHCziBase_zdfFunctorIO2_info", "GHC.Base.$fFunctorIO2"},
           {"base_ControlziMonad_zlzdznzg_info", "Control.Monad.<$!>"},
           {"base_DataziBifoldable_zdfBifoldableZLz2cUZR_info", "Data.Bifoldable.$fBifoldable(,)"},
           {"ghczmprim_GHCziTypes_Izh_con_info", "GHC.Types.I#"},
           {"ghczmprim_GHCziTypes_ZC_con_info", "GHC.Types.:"},
           {"ghczmprim_GHCziTuple_Z2T_con_info", "GHC.Tuple.(,)"},
           {"base_DataziTraversable_zdfTraversableZCzpZCzuzdctraverse_info",
            "Data.Traversable.$fTraversable:+:_$ctraverse"},
           {"ghczmprim_GHCziClasses_zdczeze_info", "GHC.Classes.$c=="},
           {"containerszm0zi6zi4zi1_DataziMapziInternal_insert_info", "Data.Map.Internal.insert"},
           {"textzm1zi2_DataziText_splitOnzq_entry", "Data.Text.splitOn'"},
           {"Main_foldlzq_fast", "Main.foldl'"},
       })
    EXPECT_EQ(haskell_name(linker), name) << linker;
}

// C and C++ have names with these endings, and letters that look like a code.
TEST(HaskellName, IsNoneOfOtherLanguages) {
  for (const char* name : {"main",
                           "get_info",
                           "Widget_info",
                           "Frame_resize_info",
                           "Resize_frame_info",
                           "Parser_parse_info",
                           "xml_Size_info",
                           "stg_ap_pp_fast",
                           "stg_upd_frame_info",
                           "png_get_sRGB_info",
                           "_info",
                           "__info",
                           "Z_info",
                           "Azi_b_info",
                           "zend_hash_fast",
                           "ZSTD_decompress_fast",
                           "ZSTD_compressBlock_fast",
                           "LZ4_compress_fast",
                           "Main__info",
                           "Main_z_info",
                           "Main_zy_info",
                           "Main_Z99_info",
                           "Curl_zlib_info"})
    EXPECT_EQ(haskell_name(name), "") << name;
}

TEST(HaskellName, IsFoundWithAllOthers) {
  EXPECT_EQ(demangle("base_GHCziList_filter_info"), "GHC.List.filter");
  EXPECT_EQ(demangle("LZ4_compress_fast"), "LZ4_compress_fast");
}

}  // namespace
}  // namespace fathom::symbolize
