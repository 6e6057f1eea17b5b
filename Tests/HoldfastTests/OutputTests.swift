import Foundation
import TestSupport
import Testing

/// Case F06 and the rules for names: no file of anybody's is ever lost.
@Suite struct OutputTests {
  private let short = ["--input", "tone:440", "--max-ms", "200"]
  private func bytes(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }
  private func trashed(_ folder: TempFolder, _ name: String) -> [Data] {
    folder.names.filter { $0.hasPrefix(".holdfast-trash/") && $0.hasSuffix("/" + name) }.compactMap {
      bytes(folder.file($0))
    }
  }
  /// Refused with a line on standard error and an error object, the folder as it was.
  private func expectRefused(
    _ arguments: [String], code: Int32, words: [String] = [], in folder: TempFolder,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let before = folder.names
    let said = try holdfast(["record", "--json"] + short + arguments, folder: folder.path)
    #expect(said.code == code && said.isOneLine, "\(said)", sourceLocation: sourceLocation)
    for word in words { #expect(said.errText.contains(word), "\(said)", sourceLocation: sourceLocation) }
    let error = try said.jsonLines().map(Fields.init).first { $0.text("event") == "error" }
    #expect(error?.int("code") == Int(code), "\(said)", sourceLocation: sourceLocation)
    #expect(folder.names == before, sourceLocation: sourceLocation)
  }

  @Test func `an existing file keeps every byte, and the message says how to replace it`() throws {
    let folder = try TempFolder()
    let first = try record(short, in: folder)
    let (audio, manifest) = (bytes(first.path), bytes(folder.file("take.take.json")))
    try expectRefused(["-o", "take.opus"], code: 73, words: ["take.opus exists", "--force"], in: folder)
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: first.path)
    try expectRefused(["-o", "take.opus"], code: 73, words: ["--force"], in: folder)
    #expect(bytes(first.path) == audio && bytes(folder.file("take.take.json")) == manifest)
  }

  @Test func `force replaces at the seal, not before, and the old take is in the trash`() throws {
    let folder = try TempFolder()
    let old = try record(short, in: folder)
    let (audio, manifest) = (bytes(old.path), bytes(folder.file("take.take.json")))
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: old.path)
    let live = try LiveTake(["--input", "tone:880", "--force"], in: folder)
    try live.reach(ms: 100)
    #expect(bytes(old.path) == audio)
    let new = try live.stop()
    try expectSealed(new)
    #expect(new.sealed?.text("path") == old.path && bytes(old.path) != audio)
    #expect(trashed(folder, "take.opus") == [audio] && trashed(folder, "take.take.json") == [manifest])
  }

  @Test(arguments: [false, true]) func `a file that appears meanwhile is left alone: the next free name`(
    force: Bool
  )
    throws
  {
    let folder = try TempFolder()
    let live = try LiveTake(["--input", "tone:440"] + (force ? ["--force"] : []), in: folder)
    try folder.write("take.opus", "somebody else's")
    let take = try live.stop()
    #expect(take.said.code == 0)
    #expect(bytes(folder.file("take.opus")) == Data("somebody else's".utf8))
    let path = try #require(take.sealed?.text("path"))
    #expect(path == folder.file("take-2.opus") && folder.names.contains("take-2.take.json"))
    try expectWhole(path, frames: take.sealed?.int("effective_frames"))
    #expect(!folder.names.contains { $0.contains(".partial") })
  }

  @Test(arguments: 0..<4) func `of several takes at one moment under one name exactly one is made`(round: Int)
    throws
  {
    let folder = try TempFolder()
    let all = try (0..<4).map { index in
      try Running(
        Places.holdfast,
        ["record", "--realtime", "--json", "-o", folder.file("take.opus"), "--take-id", "id\(index)"] + short)
    }
    let ended = all.map { $0.wait() }
    #expect(ended.count { $0.code == 0 } == 1)
    #expect(ended.allSatisfy { [0, 73, 75].contains($0.code) && ($0.code == 0 || $0.isOneLine) })
    #expect(folder.names == ["take.opus", "take.take.json"])
    let winner = try #require(ended.first { $0.code == 0 })
    try expectSealed(Recorded(winner, folder, folder.file("take.opus")), frames: 9600)
  }

  @Test func `default names never clash, lie in the takes folder and sort by time`() throws {
    let home = try TempFolder()
    let variables: [String: String?] = ["XDG_DATA_HOME": home.path]
    let all = try (0..<8).map { _ in
      try Running(Places.holdfast, ["record", "--json"] + short, environment: variables)
    }
    let ended = all.map { $0.wait() }
    #expect(ended.allSatisfy { $0.code == 0 })
    let paths = try ended.map {
      try $0.jsonLines().map(Fields.init).compactMap { $0.text("path") }.last ?? ""
    }
    #expect(Set(paths).count == 8)
    #expect(paths.allSatisfy { $0.hasPrefix(home.file("holdfast/takes/")) && $0.exists })
    let later = try holdfast(["record", "--json"] + short, environment: variables)
    let last = try later.jsonLines().map(Fields.init).compactMap { $0.text("path") }.last ?? ""
    #expect(paths.allSatisfy { $0 < last })
    let listed = try holdfast(["list", "--json"], environment: variables).jsonLines().map(Fields.init)
    #expect(listed.count == 9 && listed.allSatisfy { $0.text("outcome") == "complete" })
    let mode = try FileManager.default.attributesOfItem(atPath: last)[.posixPermissions] as? Int
    let folderMode = try FileManager.default.attributesOfItem(atPath: home.file("holdfast/takes"))[
      .posixPermissions]
    #expect(mode == 0o600 && folderMode as? Int == 0o700)
  }

  @Test func `without a home there is no default folder, and that is said`() throws {
    let said = try holdfast(["record"] + short, environment: ["XDG_DATA_HOME": nil, "HOME": nil])
    #expect(said.code == 73 && said.isOneLine && said.errText.contains("-o FILE.opus"))
  }

  @Test func `a link, a folder, a FIFO and a device are no place for a take`() throws {
    let folder = try TempFolder()
    try folder.write("target", "keeps its bytes")
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("link.opus"), withDestinationPath: folder.file("target"))
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("null.opus"), withDestinationPath: "/dev/null")
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("dangling.opus"), withDestinationPath: folder.file("nothing"))
    try FileManager.default.createDirectory(
      atPath: folder.file("folder.opus"), withIntermediateDirectories: false)
    #expect(mkfifo(folder.file("fifo.opus"), 0o600) == 0)
    for name in ["link", "null", "dangling", "folder", "fifo"] {
      try expectRefused(["-o", name + ".opus"], code: 73, in: folder)
      try expectRefused(["-o", name + ".opus", "--force"], code: 73, in: folder)
    }
    #expect(bytes(folder.file("target")) == Data("keeps its bytes".utf8))
    if getuid() == 0, mknod(folder.file("device.opus"), S_IFCHR | 0o600, 0x103) == 0 {
      try expectRefused(["-o", "device.opus", "--force"], code: 73, in: folder)
    }
  }

  @Test(arguments: ["/dev/null", "take.wav", "take", "take.opus.partial", "", ".opus", "take.OPUS"])
  func `a name that doesn't end in .opus is a mistake of the caller`(name: String) throws {
    try expectRefused(["-o", name], code: 64, words: [".opus"], in: TempFolder())
  }

  @Test func `a name may have 247 bytes and not one more`() throws {
    let folder = try TempFolder()
    let long = String(repeating: "l", count: 242) + ".opus"
    try expectSealed(record(short, to: long, in: folder), frames: 9600)
    try expectRefused(["-o", "m" + long], code: 73, words: ["247"], in: folder)
  }

  @Test func `a missing folder, and a file in place of a folder`() throws {
    let folder = try TempFolder()
    try folder.write("file", "")
    try expectRefused(["-o", "missing/take.opus"], code: 73, words: ["missing"], in: folder)
    try expectRefused(["-o", "file/take.opus"], code: 73, words: ["file"], in: folder)
  }

  @Test func `a take being recorded is busy, also with force`() throws {
    let folder = try TempFolder()
    let live = try LiveTake(in: folder)
    for force in [[], ["--force"]] {
      let said = try holdfast(["record", "-o", live.path] + short + force)
      #expect(said.code == 75 && said.isOneLine && said.errText.contains("being recorded"))
    }
    try live.reach(ms: 100)
    try expectSealed(live.stop())
  }

  @Test func `an unfinished take isn't recorded over: recover it or go on with it`() throws {
    let folder = try TempFolder()
    let live = try LiveTake(in: folder)
    try live.reach(ms: 200)
    live.process.signal(SIGKILL)
    #expect(live.process.wait().signal == SIGKILL)
    let before = Dictionary(uniqueKeysWithValues: folder.names.map { ($0, bytes(folder.file($0))) })
    for force in [[], ["--force"]] {
      try expectRefused(
        ["-o", "take.opus"] + force, code: 73, words: ["recover", "--continue"], in: folder)
    }
    for (name, content) in before { #expect(bytes(folder.file(name)) == content, "\(name)") }
  }

  @Test func `a manifest without its take stops nothing and goes to the trash`() throws {
    let folder = try TempFolder()
    try folder.write("take.take.json", "lonely")
    try expectSealed(record(short, in: folder), frames: 9600)
    #expect(trashed(folder, "take.take.json") == [Data("lonely".utf8)])
  }
}
