// swift-tools-version: 6.2
import PackageDescription

// Read top to bottom: a sample's way from its source to a sealed file.
let strict: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error)]

func system(_ name: String, _ pkgConfig: String, _ debian: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([debian])])
}
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: [.treatAllWarnings(as: .error)])
}

let package = Package(
  name: "holdfast",
  products: [
    .library(name: "Holdfast", targets: ["Holdfast"]),
    // SwiftPM drops a library that shares the executable's name: `make build` adds the name it installs under.
    .library(name: "holdfast-c", type: .dynamic, targets: ["HoldfastC"]),
    .executable(name: "holdfast", targets: ["HoldfastCommand"]),
  ],
  targets: [
    system("CSndFile", "sndfile", "libsndfile1-dev"),
    system("CSampleRate", "samplerate", "libsamplerate0-dev"),
    system("COpus", "opus", "libopus-dev"),
    system("COgg", "ogg", "libogg-dev"),
    system("CCrypto", "libcrypto", "libssl-dev"),
    system("CEbur128", "libebur128", "libebur128-dev"),
    system("CALSA", "alsa", "libasound2-dev"),
    .systemLibrary(name: "CPlatform"),
    .systemLibrary(name: "CLogind"),

    module("Platform", ["CPlatform"]),
    module("Capture", ["Platform", "Signal", "CSndFile", "CALSA"]),
    module("Signal", ["CSampleRate"]),
    module("Encoding", ["COpus", "COgg", "CCrypto"]),
    module("Session"),
    module("Store", ["Platform", "Session"]),
    module(
      "Holdfast", ["Platform", "Capture", "Signal", "Encoding", "Session", "Store", "CEbur128", "CLogind"]),
    .target(name: "CHoldfast"),
    .target(
      name: "HoldfastC", dependencies: ["CHoldfast", "Holdfast"], exclude: ["exports.map"],
      swiftSettings: strict,
      linkerSettings: [
        .unsafeFlags([
          "-use-ld=lld",
          "-Xlinker", "--version-script=\(Context.packageDirectory)/Sources/HoldfastC/exports.map",
          "-Xlinker",
          "-soname=libholdfast.so.0",
        ])
      ]),
    .executableTarget(
      name: "HoldfastCommand", dependencies: ["Holdfast", "Platform"], swiftSettings: strict),

    .executableTarget(
      name: "HoldfastExample", dependencies: ["Holdfast"], path: "examples/swift", swiftSettings: strict),

    // Not a part of what is installed: `make bench` runs it.
    .executableTarget(
      name: "HoldfastBenchmarks",
      dependencies: ["Holdfast", "Platform", "Capture", "Signal", "Encoding", "Session"],
      path: "benchmarks/stages", swiftSettings: [.treatAllWarnings(as: .error)]),
    // The simulator: an executable for tests, not a product.
    .target(name: "CSim"),
    .executableTarget(
      name: "HoldfastSim", dependencies: ["CSim", "Holdfast", "Store", "Encoding"], swiftSettings: strict),

    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .target(
      name: "TestSupport", dependencies: ["CTestSupport"], path: "Tests/TestSupport",
      swiftSettings: [.treatAllWarnings(as: .error)]),
    tests("HoldfastTests", ["TestSupport", "Holdfast", "Capture", "Encoding"]),
    tests("CaptureTests", ["Capture", "Signal", "Platform"]),
    tests("CaptureALSATests", ["Capture", "Signal", "Platform"]),
    tests("SignalTests", ["TestSupport", "Signal"]),
    tests("EncodingTests", ["Encoding"]),
    tests("SessionTests", ["Session"]),
    tests("StoreTests", ["Store", "Session", "Platform"]),
  ],
  swiftLanguageModes: [.v6]
)
