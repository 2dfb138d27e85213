// Runs a fuzz target without a fuzzer, with each file of a corpus and many small changes of it. The changes are the
// same in each run.
// usage: PROGRAM CORPUS_FOLDER [CHANGES_PER_FILE]

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s CORPUS_FOLDER [CHANGES_PER_FILE]\n", argv[0]);
        return 2;
    }
    long const changes = argc > 2 ? std::atol(argv[2]) : 20'000;
    std::mt19937 random(1);
    std::size_t played = 0;
    for (auto const& file : std::filesystem::directory_iterator(argv[1])) {
        std::ifstream in(file.path(), std::ios::binary);
        std::vector<std::uint8_t> const original(std::istreambuf_iterator<char>(in), {});
        LLVMFuzzerTestOneInput(original.data(), original.size());
        ++played;
        for (long i = 0; i < changes; ++i, ++played) {
            auto bytes = original;
            for (auto edits = 1 + random() % 4; edits > 0; --edits) {
                auto const at = bytes.empty() ? 0 : random() % bytes.size();
                auto const place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
                switch (random() % 4) {
                case 0:
                    if (!bytes.empty())
                        *place = static_cast<std::uint8_t>(random());
                    break;
                case 1:
                    bytes.insert(place, static_cast<std::uint8_t>(random()));
                    break;
                case 2:
                    if (!bytes.empty())
                        bytes.erase(place);
                    break;
                case 3:
                    bytes.insert(bytes.end(), original.begin(), original.end());
                    break;
                }
            }
            LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        }
    }
    std::printf("%zu inputs\n", played);
    return played > 0 ? 0 : 1;
}
