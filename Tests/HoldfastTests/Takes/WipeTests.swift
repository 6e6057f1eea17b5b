import Foundation
import TestSupport
import Testing

@testable import Holdfast

/// Deleting for good: all of ours, nothing of others'.
@Suite struct WipeTests {
  private let folder: TempFolder
  init() throws { folder = try TempFolder("wipe") }

  private func sealed(_ name: String, session: String) throws {
    let take = try record(
      ["--input", "tone:440", "--max-ms", "300", "--session", session], to: name, in: folder)
    try #require(take.said.code == 0, "\(take.said)")
  }
  private func killed(_ name: String, session: String) throws {
    let live = try LiveTake(["--input", "tone:440", "--session", session], in: folder, to: name)
    try live.reach(ms: 100)
    live.process.signal(SIGKILL)
    live.process.wait()
  }
  private func context(_ session: String) -> String { #"{"session":"\#(session)"}"# }
  /// A folder with everything that Holdfast leaves, for two contexts, and other people's things among it.
  private func fill() throws {
    for session in ["one", "two"] {
      try sealed("\(session).opus", session: session)
      try killed("\(session)-p.opus", session: session)
      try killed("\(session)-d.opus", session: session)
      _ = try folder.store.discard(Path("\(session)-d.opus"))
      try sealed("\(session)-r.opus", session: session)
      let again = try record(
        ["--input", "tone:550", "--max-ms", "300", "--session", session, "--force"], to: "\(session)-r.opus",
        in: folder)
      try #require(again.said.code == 0)
      try killed("\(session)-u.opus", session: session)
      try FileManager.default.moveItem(
        atPath: folder.file("\(session)-u.opus.partial"), toPath: folder.file("\(session)-u.opus.unreadable"))
    }
    try folder.write(".holdfast-export-x.wav", "RIFF")
  }
  private func foreign() throws -> [String: Data] {
    let other = try TempFolder("other")
    let wav = Data(repeating: 7, count: 100)
    let made = try run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "sine=duration=0.2", "-c:a", "libopus",
        folder.file("theirs.opus"),
      ])
    try #require(made.code == 0, "\(made)")
    try folder.write("photo.jpg", wav)
    try folder.write("theirs.take.json", #"{"format":"something else"}"#)
    try FileManager.default.createDirectory(
      atPath: folder.file("mine.opus.partial"), withIntermediateDirectories: false)
    try folder.write("mine.opus.partial/letter.txt", wav)
    let outside = try other.write("outside.opus", contents(folder.file("theirs.opus")))
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("link.opus"), withDestinationPath: outside)
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("linked.opus.partial"), withDestinationPath: other.path)
    keep.append(other)
    var all: [String: Data] = [:]
    for name in ["theirs.opus", "photo.jpg", "theirs.take.json", "mine.opus.partial/letter.txt", "link.opus"]
    {
      all[name] = try contents(folder.file(name))
    }
    return all
  }
  private let keep = Kept()
  private final class Kept: @unchecked Sendable {
    private var folders: [TempFolder] = []
    func append(_ folder: TempFolder) { folders.append(folder) }
  }

  @Test func `after wipeAll no byte of audio of ours is left, and all of others is`() throws {
    try fill()
    let theirs = try foreign()
    let result = try folder.store.wipeAll()
    #expect(result.isComplete, "\(result)")
    #expect(
      folder.names.sorted()
        == [
          "link.opus", "linked.opus.partial/", "mine.opus.partial/", "mine.opus.partial/letter.txt",
          "photo.jpg", "theirs.opus", "theirs.take.json",
        ].sorted()
        || folder.names.sorted()
          == [
            "link.opus", "linked.opus.partial/", "linked.opus.partial/outside.opus", "mine.opus.partial/",
            "mine.opus.partial/letter.txt", "photo.jpg", "theirs.opus", "theirs.take.json",
          ].sorted(),
      "\(folder.names)")
    for (name, data) in theirs { #expect(try contents(folder.file(name)) == data, "\(name)") }
    // Somebody's folder that has the name of a partial take.
    #expect(try folder.store.pending().map(\.path.name.text) == ["mine.opus"])
    #expect(try folder.store.wipeAll().gone.isEmpty)
  }

  @Test func `a context goes as a whole, and the other stays as it is`() throws {
    try fill()
    let before = try folder.state().filter { $0.key.contains("two") }
    let result = try folder.store.wipe(context: context("one"))
    #expect(result.isComplete, "\(result)")
    #expect(result.gone.count == 6, "\(result)")
    #expect(try folder.state().filter { $0.key.contains("two") } == before)
    #expect(!folder.names.contains { $0.contains("one") }, "\(folder.names)")
    #expect(try folder.store.trash().count == 2)
    #expect(try folder.store.pending(context: context("two")).count == 4)
  }

  @Test func `a take that is being recorded is refused and named`() throws {
    try sealed("one.opus", session: "one")
    let live = try LiveTake(["--input", "tone:440", "--session", "one"], in: folder, to: "live.opus")
    try live.reach(ms: 100)
    for result in [try folder.store.wipe(context: context("one")), try folder.store.wipeAll()] {
      #expect(result.recording == [Path(folder.file("live.opus"))] && !result.isComplete)
    }
    #expect(!folder.names.contains("one.opus"))
    try expectSealed(try live.stop())
  }

  @Test func `what lost its manifest is told, and goes with all`() throws {
    try sealed("one.opus", session: "one")
    try FileManager.default.removeItem(atPath: folder.file("one.take.json"))
    let result = try folder.store.wipe(context: context("one"))
    #expect(result.kept.map(\.path) == [Path(folder.file("one.opus"))] && result.gone.isEmpty)
    #expect(try folder.store.wipeAll().isComplete && folder.names == [])
  }

  @Test func `a file in a take's place that may not be it is told, and stays`() throws {
    try sealed("one.opus", session: "one")
    try folder.write("one.opus", "somebody else's")
    for result in [try folder.store.wipe(context: context("two")), try folder.store.wipeAll()] {
      #expect(result.kept.map(\.path.name.text) == (result.gone.isEmpty ? [] : ["one.opus"]))
    }
    #expect(folder.names == ["one.opus"])
  }

  @Test func `somebody else's file in a working folder stays there`() throws {
    try killed("one.opus", session: "one")
    try folder.write("one.opus.partial/letter.txt", "mine")
    let result = try folder.store.wipeAll()
    #expect(result.kept.map(\.path.name.text) == ["letter.txt"] && result.gone.count == 1)
    #expect(folder.names == ["one.opus.partial/", "one.opus.partial/letter.txt"])
  }

  @Test func `a wipe that is killed is finished by the next`() throws {
    try fill()
    // The states that a kill between two removals leaves, by hand: audio gone, the rest there.
    for name in ["one.opus", "one-p.opus.partial/audio.opus", "two-u.opus.unreadable/tail.0"] {
      try FileManager.default.removeItem(atPath: folder.file(name))
    }
    #expect(try folder.store.wipe(context: context("one")).isComplete)
    #expect(!folder.names.contains { $0.contains("one") }, "\(folder.names)")
    #expect(try folder.store.wipeAll().isComplete && folder.names == [])
  }
}
