import Foundation
import Platform
import Session
import Testing

@testable import Store

/// What other programs, kills and odd settings do to a partial take's folder.
@Suite struct PartialFolderTests {
  private let begin = LedgerRecord(captureFrame: 0, effectiveFrame: 0, event: .mark(label: nil))
  private func make(_ scratch: Scratch, force: Bool = false) throws -> PartialTake {
    try PartialTake(
      folder: scratch.path, name: TakeName(audio: Path("a.opus")), force: force, neededBytes: 0,
      headers: Array("HEAD".utf8), begin: begin)
  }
  private func url(_ scratch: Scratch, _ name: String) -> URL { scratch.url.appendingPathComponent(name) }

  @Test(arguments: ["removed", "replaced", "linked"])
  func `an audio file that somebody took away is sealed from the open one`(what: String) throws {
    let scratch = try Scratch()
    try scratch.write("theirs", "somebody else's")
    let take = try make(scratch)
    try take.append(page: Array("PAGE".utf8).span)
    let audio = url(scratch, "a.opus.partial/audio.opus")
    try FileManager.default.removeItem(at: audio)
    if what == "replaced" { try FileManager.default.copyItem(at: url(scratch, "theirs"), to: audio) }
    if what == "linked" {
      try FileManager.default.createSymbolicLink(at: audio, withDestinationURL: url(scratch, "theirs"))
    }
    let sealed = try take.seal(manifest: Array("{}".utf8))
    #expect(scratch.read("a.opus") == "HEADPAGE")
    let attributes = try FileManager.default.attributesOfItem(atPath: url(scratch, "a.opus").path)
    #expect(attributes[.type] as? FileAttributeType == .typeRegular)
    #expect(scratch.read("theirs") == "somebody else's")
    // What isn't ours stays, and with it the folder; that is told.
    #expect((sealed.warning == nil) == (what == "removed"))
    #expect(scratch.files.contains { $0.contains("audio.other-") } == (what != "removed"))
  }

  @Test func `an audio file that somebody cut or overwrote isn't sealed`() throws {
    for (at, text) in [(0, "XXXX"), (2, "")] {
      let scratch = try Scratch()
      let take = try make(scratch)
      try take.append(page: Array("PAGE".utf8).span)
      let file = try FileHandle(forUpdating: url(scratch, "a.opus.partial/audio.opus"))
      if text.isEmpty {
        try file.truncate(atOffset: UInt64(at))
      } else {
        try file.write(contentsOf: Data(text.utf8))
      }
      try file.close()
      #expect {
        try take.seal(manifest: Array("{}".utf8))
      } throws: { error in
        guard let error = error as? SealError else { return false }
        return !error.committed && error.cause.call == PartialFolder.compare
      }
      #expect(!scratch.exists("a.opus") && scratch.exists("a.opus.partial/audio.opus"))
    }
  }

  @Test func `a page isn't written behind a hole that somebody made`() throws {
    let scratch = try Scratch()
    let take = try make(scratch)
    try take.append(page: Array("PAGE".utf8).span)
    try FileHandle(forUpdating: url(scratch, "a.opus.partial/audio.opus")).truncate(atOffset: 3)
    #expect(throws: DiskError.self) { try take.append(page: Array("MORE".utf8).span) }
  }

  @Test
  func `what a killed recorder left half made is removed by the next one, what a live one makes is not`()
    throws
  {
    let scratch = try Scratch()
    try FileManager.default.createDirectory(
      at: url(scratch, ".holdfast-new-00ff"), withIntermediateDirectories: false)
    try FileManager.default.createDirectory(
      at: url(scratch, ".holdfast-new-11ff"), withIntermediateDirectories: false)
    try FileManager.default.createDirectory(
      at: url(scratch, ".holdfast-new-22ff"), withIntermediateDirectories: false)
    for file in ["audio.opus", "ledger"] { try scratch.write(".holdfast-new-22ff/\(file)", "x") }
    for file in ["lock", "audio.opus", "ledger"] { try scratch.write(".holdfast-new-11ff/\(file)", "x") }
    let live = try PartialFolder(
      making: TakeName(audio: Path("live.opus")), in: scratch.path, force: false, neededBytes: 0)
    _ = try make(scratch)
    let left = scratch.files.filter { $0.hasPrefix(".holdfast-new") && !$0.contains("/") }
    #expect(left.count == 1 && left.first?.hasSuffix("00ff") == false)
    try live.publish()
    #expect(scratch.exists("live.opus.partial/lock"))
  }

  @Test func `a umask takes nothing away from us`() throws {
    let scratch = try Scratch()
    let before = umask(0o777)
    let take = Result { try make(scratch) }
    umask(before)
    _ = try take.get()
    for (name, mode) in [("a.opus.partial", 0o700), ("a.opus.partial/audio.opus", 0o600)] {
      let attributes = try FileManager.default.attributesOfItem(atPath: url(scratch, name).path)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode)
    }
  }

  @Test func `a trash that can't be used is noticed before the take is recorded`() throws {
    let scratch = try Scratch()
    try scratch.write("a.opus", "old")
    try scratch.write(".holdfast-trash", "a file")
    #expect {
      try make(scratch, force: true)
    } throws: { error in
      if case .trash = error as? OutputError { true } else { false }
    }
    #expect(scratch.files == [".holdfast-trash", "a.opus"])
  }

  @Test func `a renamed folder is told by its new name`() throws {
    let scratch = try Scratch()
    try FileManager.default.createDirectory(at: url(scratch, "one"), withIntermediateDirectories: false)
    let take = try PartialTake(
      folder: scratch.path.appending("one"), name: TakeName(audio: Path("a.opus")), force: false,
      neededBytes: 0, headers: [1], begin: begin)
    try FileManager.default.moveItem(at: url(scratch, "one"), to: url(scratch, "two"))
    let sealed = try take.seal(manifest: [])
    #expect(sealed.path.text.hasSuffix("/two/a.opus"))
  }

  @Test func `a take that is set aside is whole, told, and out of the way`() throws {
    let scratch = try Scratch()
    for number in 1...2 {
      _ = try make(scratch)  // and let go of, as by a kill
      let place = try PartialFolder(opening: TakeName(audio: Path("a.opus")), in: scratch.path)
      let path = try place.setAside(reason: "it can't be read")
      #expect(path.name.text == "a.opus.unreadable" + (number == 1 ? "" : "-2"))
    }
    #expect(scratch.read("a.opus.unreadable/audio.opus") == "HEAD")
    #expect(scratch.read("a.opus.unreadable/reason") == "it can't be read\n")
    let kinds = try TakesFolder.list(scratch.path).map(\.kind)
    #expect(kinds == [.unreadable(Path("a.opus.unreadable")), .unreadable(Path("a.opus.unreadable-2"))])
  }

  @Test func `only one opens a partial take, and nobody opens one that is recorded`() throws {
    let scratch = try Scratch()
    let name = TakeName(audio: Path("a.opus"))
    do {
      let take = try make(scratch)
      #expect(throws: OutputError.recording) { try PartialFolder(opening: name, in: scratch.path) }
      withExtendedLifetime(take) {}
    }
    let first = try PartialFolder(opening: name, in: scratch.path)
    #expect(throws: OutputError.recording) { try PartialFolder(opening: name, in: scratch.path) }
    withExtendedLifetime(first) {}
  }

  @Test func `names of takes set aside are known, and no others`() {
    #expect(TakeName(unreadable: Path("a.opus.unreadable"))?.audio == Path("a.opus"))
    #expect(TakeName(unreadable: Path("a.opus.unreadable-12"))?.audio == Path("a.opus"))
    for name in ["a.opus", ".opus.unreadable", "a.unreadable", "a.opus.unreadable.txt"] {
      #expect(TakeName(unreadable: Path(name)) == nil, "\(name)")
    }
  }
}

/// Renames where the file system has no call for one that never replaces.
@Suite struct RenameTests {
  private func rename(_ scratch: Scratch, _ from: String, _ to: String) throws {
    let folder = try Disk.openFolder(scratch.path)
    try Disk.renameByOtherMeans(Path(from), in: folder, to: Path(to), in: folder)
  }
  private func expectRefused(_ scratch: Scratch, _ from: String, _ to: String) {
    #expect {
      try rename(scratch, from, to)
    } throws: { ($0 as? DiskError)?.errno.code == EEXIST }
  }

  @Test func `nothing that is there is replaced`() throws {
    let scratch = try Scratch()
    let file = FileManager.default
    try scratch.write("a", "same")
    try scratch.write("b", "same")
    expectRefused(scratch, "a", "b")
    #expect(scratch.files == ["a", "b"])
    for name in ["d", "e"] {
      try file.createDirectory(
        at: scratch.url.appendingPathComponent(name), withIntermediateDirectories: false)
      try scratch.write("\(name)/f", name)
    }
    expectRefused(scratch, "d", "e")
    expectRefused(scratch, "a", "e")
    try rename(scratch, "d", "g")
    try rename(scratch, "a", "c")
    #expect(scratch.files == ["b", "c", "e", "e/f", "g", "g/f"])
    #expect(scratch.read("g/f") == "d")
  }

  @Test func `a file that a kill left with both names gets the new one`() throws {
    let scratch = try Scratch()
    try scratch.write("a", "voice")
    try FileManager.default.linkItem(
      at: scratch.url.appendingPathComponent("a"), to: scratch.url.appendingPathComponent("b"))
    try rename(scratch, "a", "b")
    #expect(scratch.files == ["b"] && scratch.read("b") == "voice")
  }
}
