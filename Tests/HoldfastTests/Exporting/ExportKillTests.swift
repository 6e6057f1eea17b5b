import Foundation
import TestSupport
import Testing

/// An export, killed or failed at each of its calls to the disk: nothing is lost, and nothing half is there.
@Suite struct ExportKillTests {
  @Test(arguments: ["wav", "flac", "opus"])
  func `at every call`(ending: String) throws {
    let folder = try TempFolder()
    try expectSealed(record(["--input", "tone:440", "--max-ms", "300"], in: folder))
    let audio = try contents(folder.file("take.opus"))
    let whole = try TempFolder()
    let made = whole.file("out." + ending)
    try #require(holdfast(["export", folder.file("take.opus"), "-o", made]).code == 0)
    // Not the calls on the take itself: those before the hidden file change nothing.
    try everyCall(["export", "take.opus", "-o", "out." + ending], from: folder.path) { here, said, there in
      let out = here.file("takes/out." + ending)
      let hidden = here.names.filter { $0.contains(".holdfast-export-") }
      #expect(try contents(here.file("takes/take.opus")) == audio, "\(there)")
      if said.code == 0 || out.exists { #expect(try contents(out) == contents(made), "\(there)") }
      if said.signal == nil, !there.contains("unlink") { #expect(hidden.isEmpty, "\(there) \(here.names)") }
      if said.signal == nil, said.code != 0 { #expect(!out.exists || there.contains("unlink"), "\(there)") }
      if !out.exists {
        let again = try holdfast(["export", here.file("takes/take.opus"), "-o", out])
        #expect(
          again.code == 0 && !here.names.contains { $0.contains(".holdfast-export-") }, "\(there) \(again)")
        #expect(try contents(out) == contents(made), "\(there)")
      }
    }
  }

  @Test func `what force replaces is there or in the trash`() throws {
    let folder = try TempFolder()
    try expectSealed(record(["--input", "tone:440", "--max-ms", "300"], in: folder))
    try folder.write("out.wav", "the old one")
    try everyCall(["export", "take.opus", "-o", "out.wav", "--force"], from: folder.path) {
      here, said, there in
      let copies = here.names.filter { $0.hasSuffix("/out.wav") }.map { here.file($0) }
      let old = try copies.filter { try contents($0) == Data("the old one".utf8) }
      #expect(old.count == 1, "\(there) \(here.names)")
    }
  }
}
