// SPDX-License-Identifier: BSD-3-Clause
// Drives a fuzz target where there is no libFuzzer: mutates the target's seeds, the same way every run.
//
//     TARGET [--cases N] [--seed S] [--corpus DIRECTORY]
//         every input in the directory once, then N mutations of them and of the seeds (default 1000000)
//     TARGET FILE...
//         these inputs only, such as one that libFuzzer found
//     TARGET --write-seeds DIRECTORY
//         a file for each seed, for libFuzzer to begin with (scripts/fuzz --corpus)

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "tests/fuzz/fuzz.hpp"

namespace {

using spead::fuzz::Input;
using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
}

/// Changes one thing about the input: a bit, a byte, a word at the edge of its range, the length, a piece.
void mutate(Input& input, const Input& other, Random& random) {
    constexpr std::size_t kKinds = 8;
    const std::size_t kind = input.empty() ? 5 : below(random, kKinds);
    const std::size_t at = input.empty() ? 0 : below(random, input.size());
    const auto byte_at = [&input](std::size_t index) {
        return input.begin() + static_cast<std::ptrdiff_t>(index);
    };
    switch (kind) {
        case 0:
            input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << below(random, 8)));
            break;
        case 1:
            input[at] = static_cast<std::uint8_t>(random());
            break;
        case 2: {  // a big-endian number of 1 to 8 bytes: 0, 1, largest, halfway, or nearly so
            constexpr std::uint64_t kEdges[] = {0, 1, ~0ULL, ~0ULL - 7, 1ULL << 63, 0x7FFFFFFF, 0x8000, 0xFF};
            const std::uint64_t value = kEdges[below(random, std::size(kEdges))];
            const std::size_t length = std::min(std::size_t{1} << below(random, 4), input.size() - at);
            for (std::size_t i = 0; i < length; ++i) {
                input[at + i] = static_cast<std::uint8_t>(value >> (8 * (length - 1 - i)));
            }
            break;
        }
        case 3:
            input.resize(at);
            break;
        case 4:
            input.erase(byte_at(at),
                        byte_at(at + 1 + below(random, std::min<std::size_t>(input.size() - at, 16))));
            break;
        case 5:
            input.insert(byte_at(at), 1 + below(random, 16), static_cast<std::uint8_t>(random()));
            break;
        case 6: {  // a piece of itself, elsewhere
            const std::size_t from = below(random, input.size());
            const std::size_t length = std::min(input.size() - std::max(at, from), 1 + below(random, 16));
            std::memmove(input.data() + at, input.data() + from, length);
            break;
        }
        default:  // the rest of another
            if (!other.empty()) {
                input.resize(at);
                const std::size_t from = below(random, other.size());
                input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
            }
    }
}

Input read_input(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        std::exit(EXIT_FAILURE);
    }
    return Input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

int run_files(int count, char** files) {
    for (int i = 0; i < count; ++i) {
        const Input input = read_input(files[i]);
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    std::printf("%d inputs replayed\n", count);
    return EXIT_SUCCESS;
}

/// Names files by their content, so that a corpus in version control changes where a seed does.
int write_seeds(const std::filesystem::path& directory) {
    std::filesystem::create_directories(directory);
    const std::vector<Input> inputs = spead::fuzz::seeds();
    for (const Input& input : inputs) {
        std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
        for (const std::uint8_t byte : input) {
            hash = (hash ^ byte) * 0x100000001B3;
        }
        char name[32];
        std::snprintf(name, sizeof name, "seed-%016llx", static_cast<unsigned long long>(hash));
        std::ofstream file(directory / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
        if (!file.flush()) {
            std::fprintf(stderr, "cannot write %s/%s\n", directory.c_str(), name);
            return EXIT_FAILURE;
        }
    }
    std::printf("%zu seeds\n", inputs.size());
    return EXIT_SUCCESS;
}

/// Returns the inputs in the order of their files' names, so that every run is the same.
std::vector<Input> read_corpus(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> paths;
    if (!std::filesystem::exists(directory)) {
        return {};
    }
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Input> inputs;
    for (const auto& path : paths) {
        inputs.push_back(read_input(path));
    }
    return inputs;
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t cases = 1000000;
    std::uint64_t seed = 1;
    std::vector<Input> seeds;
    int first_file = 1;
    for (; first_file + 1 < argc && std::strncmp(argv[first_file], "--", 2) == 0; first_file += 2) {
        const std::string option = argv[first_file];
        const std::string value = argv[first_file + 1];
        if (option == "--write-seeds") {
            return write_seeds(value);
        }
        if (option == "--corpus") {
            seeds = read_corpus(value);
        } else if (option == "--seed") {
            seed = std::stoull(value);
        } else if (option == "--cases") {
            cases = std::stoull(value);
        } else {
            std::fprintf(stderr, "no option is called %s\n", option.c_str());
            return EXIT_FAILURE;
        }
    }
    if (first_file < argc) {
        return run_files(argc - first_file, argv + first_file);
    }
    for (Input& input : spead::fuzz::seeds()) {
        seeds.push_back(std::move(input));
    }
    for (const Input& input : seeds) {
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    Random random(seed);
    for (std::uint64_t i = 0; i < cases; ++i) {
        Input input = seeds[below(random, seeds.size())];
        const Input& other = seeds[below(random, seeds.size())];
        for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) {
            mutate(input, other, random);
        }
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    std::printf("%llu cases\n", static_cast<unsigned long long>(cases + seeds.size()));
    return EXIT_SUCCESS;
}
