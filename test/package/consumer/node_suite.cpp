// What others need to test nodes of their own is installed, too.

#include <redlock/testing/node_suite.hpp>

int main() { return redlock::testing::node_cases().size() > 40 ? 0 : 1; }
