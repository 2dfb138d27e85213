// The installed package includes the suite for tests of nodes that users write.

#include <redlock/testing/node_suite.hpp>

int main() { return redlock::testing::node_cases().size() > 40 ? 0 : 1; }
