// Compiles free-function kernels of SYCL to SPIR-V: `syclc SOURCE OUT [OPTION...]`.
// The compiler is a library of the SYCL runtime; it is asked through the runtime's own extension
// (sycl_ext_oneapi_kernel_compiler), on the processor's device that the same wheels bring.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <sycl/sycl.hpp>

namespace sx = sycl::ext::oneapi::experimental;

// The library calls its input `rtc_0.cpp`; a person wants the name of the file.
static std::string named(std::string text, const std::string& source) {
    for (std::size_t at = 0; (at = text.find("rtc_", at)) != std::string::npos; at += source.size()) {
        std::size_t end = at + 4;
        while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
        if (text.compare(end, 4, ".cpp") != 0) { at = end - source.size(); continue; }
        text.replace(at, end + 4 - at, source);
    }
    return text;
}

int main(int count, char** words) {
    if (count < 3) return 2;
    const std::string source = words[1];
    try {
        std::ifstream file(source);
        std::stringstream text;
        text << file.rdbuf();
        if (!file) {
            std::cerr << source << ": error: it cannot be read\n";
            return 1;
        }
        const std::vector<std::string> options(words + 3, words + count);
        const sycl::context context{sycl::device{sycl::cpu_selector_v}};
        std::string log;
        auto bundle = sx::create_kernel_bundle_from_source(context, sx::source_language::sycl, text.str());
        const auto made = sx::build(bundle, sx::properties{sx::build_options{options}, sx::save_log{&log}});
        std::cerr << named(log, source);
        std::vector<std::byte> code;
        int images = 0;
        for (const auto& image : made) {
            code = image.ext_oneapi_get_backend_content();
            ++images;
        }
        if (images != 1) {
            std::cerr << source << ": error: it has " << images << " device images, and one is wanted\n";
            return 1;
        }
        std::ofstream out(words[2], std::ios::binary);
        out.write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size()));
        return out ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << named(error.what(), source) << "\n";
        return 1;
    }
}
