import Foundation
import TestSupport
import Testing

/// The C library as programs meet it: the header, what is exported, and the examples.
@Suite struct CLibraryTests {
  /// The library, built beside the tests; under its soname in a folder of its own.
  private static let library: String? = {
    let built = Places.built + "/libholdfast-c.so"
    guard built.exists else { return nil }
    let folder = Places.built + "/c-library"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in ["libholdfast.so", "libholdfast.so.0"] where !(folder + "/" + name).exists {
      try? FileManager.default.createSymbolicLink(atPath: folder + "/" + name, withDestinationPath: built)
    }
    return folder
  }()
  private static let header = Places.root + "/Sources/CHoldfast/include/holdfast.h"

  /// Compiles a C program against the header and the library.
  private func compile(_ source: String, in folder: TempFolder, _ flags: [String] = []) throws -> String {
    let library = try #require(Self.library, "libholdfast-c.so isn't built")
    let program = folder.file("program")
    // A library that a sanitizer was built into needs a program that brings its run time.
    let sanitizer = ProcessInfo.processInfo.environment["HOLDFAST_SANITIZE"]
    let said = try run(
      sanitizer == nil ? "gcc" : "clang",
      ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-o", program, source] + flags + [
        "-I", Places.root + "/Sources/CHoldfast/include", "-L", library, "-lholdfast", "-lpthread",
        "-Wl,-rpath," + library,
      ] + (sanitizer ?? "").split(separator: " ").map(String.init))
    try #require(said.code == 0, "\(said)")
    return program
  }

  @Test func `what is exported is what the header declares`() throws {
    let library = try #require(Self.library)
    let nm = try run("nm", ["-D", "--defined-only", library + "/libholdfast.so"])
    let exported = Set(
      nm.outText.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) })
    let text = try String(contentsOfFile: Self.header, encoding: .utf8)
    let code = text.replacing(/\/\*(.|\n)*?\*\//, with: "")
    let declared = Set(code.matches(of: /(holdfast_\w+)\(/).map { String($0.1) })
    #expect(exported == declared)
    #expect(declared.count > 20)
    let soname = try run("objdump", ["-p", library + "/libholdfast.so"])
    #expect(soname.outText.contains("libholdfast.so.0"))
  }

  @Test func `the header is C99 and C++ by itself`() throws {
    let folder = try TempFolder()
    try folder.write("a.c", "#include \"holdfast.h\"\nint main(void) { return 0; }\n")
    for (compiler, standard) in [("gcc", "-std=c99"), ("g++", "-std=c++11")] {
      let said = try run(
        compiler,
        [
          standard, "-x", compiler == "gcc" ? "c" : "c++", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
          "-fsyntax-only",
          "-I", Places.root + "/Sources/CHoldfast/include", folder.file("a.c"),
        ])
      #expect(said.code == 0, "\(said)")
    }
  }

  @Test func `wrong handles, wrong times and many threads are answered`() throws {
    let folder = try TempFolder()
    let program = try compile(
      Places.root + "/Tests/tools/c_abuse.c", in: folder, ["-D_DEFAULT_SOURCE"])
    try FileManager.default.createDirectory(atPath: folder.file("takes"), withIntermediateDirectories: false)
    let said = try run(program, [folder.file("takes")], timeout: 120)
    #expect(said.code == 0 && said.outText.hasSuffix("done\n"), "\(said)")
  }

  @Test func `what is made is freed, over many recorders`() throws {
    let folder = try TempFolder()
    let program = try compile(Places.root + "/Tests/tools/c_cycles.c", in: folder, ["-D_DEFAULT_SOURCE"])
    try FileManager.default.createDirectory(atPath: folder.file("takes"), withIntermediateDirectories: false)
    let said = try run(program, [folder.file("takes"), "128"], timeout: 120)
    #expect(said.code == 0 && said.outText.hasSuffix("done\n"), "\(said)")
  }

  // Python would need a sanitizer's run time preloaded.
  @Test(
    arguments: ProcessInfo.processInfo.environment["HOLDFAST_SANITIZE"] == nil
      ? ["c", "python", "swift"] : ["c", "swift"])
  func `an example is killed, and goes on with its take when it is started again`(language: String) throws {
    let folder = try TempFolder("example")
    let takes = folder.file("takes")
    try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: false)
    let library = try #require(Self.library)
    let command: [String] =
      switch language {
      case "c": [try compile(Places.root + "/examples/recorder.c", in: folder)]
      case "python": ["python3", Places.root + "/examples/recorder.py"]
      default: [Places.built + "/HoldfastExample"]
      }
    let environment = ["HOLDFAST_LIBRARY": library + "/libholdfast.so.0"]
    let arguments = Array(command.dropFirst()) + [takes, "tone:440"]
    let first = try Running(command[0], arguments + ["60000"], environment: environment)
    #expect(first.waitFor("\"recording\""))
    usleep(1_300_000)
    first.signal(SIGKILL)
    _ = first.wait()
    let second = try run(command[0], arguments + ["500"], environment: environment, timeout: 60)
    #expect(second.code == 0, "\(second)")
    let events = try second.jsonLines().map(Fields.init)
    let sealed = try #require(events.first { $0.text("event") == "sealed" }, "\(second)")
    let path = try #require(sealed.text("path"))
    #expect(try Judge.opusdecFrames(path) == sealed.int("effective_frames"))
    let manifest = try Fields(file: path.dropping(".opus") + ".take.json")
    #expect(
      manifest.objects("interruptions").map { $0.text("reason") } == ["killed"] && manifest.int("parts") == 2)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: takes).filter { $0.hasSuffix(".partial") }.isEmpty)
  }
}
