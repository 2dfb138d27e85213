# Conan 2 recipe. It packages the checkout that it lies in:
#   conan create packaging/conan --build=missing [-o "redlock/*:postgresql=True"]
# Conan Center has no client of ZooKeeper, and builds that of MariaDB under another name than src/find_mariadb.cmake looks
# for, so these stores are left out.
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class Redlock(ConanFile):
    name = "redlock"
    description = "Distributed locks on Redis, databases and etcd for Boost.Asio"
    license = "BSL-1.0"
    topics = ("distributed-lock", "redlock", "redis", "asio", "coroutines", "leader-election")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "postgresql": [True, False],
    }
    default_options = {"shared": False, "fPIC": True, "postgresql": False}

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._root, "include", "redlock", "version.hpp"))
        self.version = re.search(r'VERSION_STRING "(.*)"', header).group(1)

    def export_sources(self):
        pages = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
        for pattern in ("CMakeLists.txt", "LICENSE", *pages, "include/*", "src/*", "docs/*"):
            copy(self, pattern, self._root, self.export_sources_folder, excludes=("build/*", ".deps/*", ".cache/*"))

    def configure(self):
        self.options["fmt"].header_only = True
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # Types of Boost.Asio are part of the interface, so programs use the same Boost.
        self.requires("boost/[>=1.81 <1.93]", headers=True, libs=False, transitive_headers=True)
        self.requires("openssl/[>=3 <4]")
        self.requires("fmt/[>=9 <13]", visible=False)
        if self.options.postgresql:
            self.requires("libpq/[>=14]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"redlock runs on Linux, not on {self.settings.os}")

    def generate(self):
        tools = CMakeToolchain(self)
        tools.variables["REDLOCK_BUILD_TESTS"] = False
        tools.variables["REDLOCK_BUILD_TOOLS"] = False
        tools.variables["REDLOCK_INSTALL"] = True
        tools.variables["REDLOCK_POSTGRESQL"] = "ON" if self.options.postgresql else "OFF"
        tools.variables["REDLOCK_MYSQL"] = "OFF"
        tools.variables["REDLOCK_ZOOKEEPER"] = "OFF"
        tools.variables["REDLOCK_BOOST_INCLUDE_DIR"] = self.dependencies["boost"].cpp_info.includedirs[0]
        tools.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "redlock")
        stores = ["etcd"]
        if self.options.postgresql:
            stores.append("postgresql")
        core = self.cpp_info.components["redlock"]
        core.libs = ["redlock"]
        core.requires = ["boost::headers", "openssl::openssl", "fmt::fmt"]
        core.system_libs = ["pthread"]
        core.set_property("cmake_target_name", "redlock::redlock")
        core.set_property("pkg_config_name", "redlock")
        clients = {"postgresql": ["libpq::libpq"]}
        for name in stores + ["testing"]:
            component = self.cpp_info.components[name]
            component.libs = [f"redlock_{name}"]
            component.requires = ["redlock"] + clients.get(name, [])
            component.set_property("cmake_target_name", f"redlock::{name}")
            component.set_property("pkg_config_name", f"redlock-{name}")
