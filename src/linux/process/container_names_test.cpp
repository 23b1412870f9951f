#include "linux/process/container_names.h"

#include <gtest/gtest.h>

namespace fathom::process {
namespace {

using Names = std::vector<ContainerName>;

TEST(ContainerNames, OfDockerStandInItsStateWithASlash) {
  EXPECT_EQ(names_in_docker_state(R"({"ID":"0a1b","Name":"/web","State":{"Running":true}})"),
            (Names{{"0a1b", "web"}}));
  EXPECT_EQ(names_in_docker_state(R"({"ID":"0a1b"})"), Names{});
}

TEST(ContainerNames, OfPodmanAreSeveralInOneFile) {
  EXPECT_EQ(names_in_podman_state(R"([{"id":"aa","names":["db","store"]},{"id":"bb"},{"names":["lost"]}])"),
            (Names{{"aa", "db"}, {"aa", "store"}}));
}

TEST(ContainerNames, OfContainerdAreAnnotationsOfItsBundles) {
  EXPECT_EQ(
      names_in_containerd_bundle(R"({"annotations":{"io.kubernetes.cri.container-name":"reth"}})", "cc"),
      (Names{{"cc", "reth"}}));
  EXPECT_EQ(names_in_containerd_bundle(R"({"annotations":{"nerdctl/name":"node"}})", "cc"),
            (Names{{"cc", "node"}}));
  EXPECT_EQ(names_in_containerd_bundle(R"({"annotations":{}})", "cc"), Names{});
}

TEST(ContainerNames, TextThatIsNoStateHasNone) {
  for (const char* text : {"", "{", "[1,2", "7", "null", "[7,{\"id\":7,\"names\":{}}]", "{\"annotations\":3}",
                           "{\"ID\":[],\"Name\":{}}"}) {
    EXPECT_EQ(names_in_docker_state(text), Names{}) << text;
    EXPECT_EQ(names_in_podman_state(text), Names{}) << text;
    EXPECT_EQ(names_in_containerd_bundle(text, "id"), Names{}) << text;
  }
}

}  // namespace
}  // namespace fathom::process
