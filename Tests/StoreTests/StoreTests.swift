import Foundation
import Platform
import Session
import Testing

@testable import Store

/// A folder that is gone when the test is.
final class Scratch {
  let url: URL
  var path: Path { Path(url.path) }
  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("hf-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(at: url) }

  func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: url.appendingPathComponent(name))
  }
  func read(_ name: String) -> String? {
    (try? Data(contentsOf: url.appendingPathComponent(name))).map { String(decoding: $0, as: UTF8.self) }
  }
  func exists(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: url.appendingPathComponent(name).path)
  }
  /// Everything below, as relative names.
  var files: [String] {
    (FileManager.default.enumerator(atPath: url.path)?.allObjects as? [String] ?? []).sorted()
  }
}

private let begin = LedgerRecord(
  captureFrame: 0, effectiveFrame: 0,
  event: .begin(
    TakeDescription(
      takeID: "id", context: nil, createdMs: 0, source: "file", deviceRate: 48_000, deviceChannels: 1,
      channel: "1",
      bitrate: 32_000, complexity: 10, preSkip: 312, serial: 1, maxMs: 0, minValidMs: 0, encoder: "")))

private func make(_ scratch: Scratch, _ name: String = "a.opus", force: Bool = false) throws(OutputError)
  -> PartialTake
{
  try PartialTake(
    folder: scratch.path, name: TakeName(audio: Path(name)), force: force, neededBytes: 0,
    headers: Array("HEAD".utf8), begin: begin)
}

@Test func `a partial take has its files, and sealing leaves the audio and the manifest`() throws {
  let scratch = try Scratch()
  let take = try make(scratch)
  #expect(
    scratch.files == [
      "a.opus.partial", "a.opus.partial/audio.opus", "a.opus.partial/ledger", "a.opus.partial/lock",
      "a.opus.partial/reserve", "a.opus.partial/tail.0", "a.opus.partial/tail.1",
    ])
  try take.append(page: Array("PAGE".utf8).span)
  let sealed = try take.seal(manifest: Array("{}".utf8))
  #expect(sealed.path == scratch.path.appending("a.opus"))
  #expect(scratch.files == ["a.opus", "a.take.json"])
  #expect(scratch.read("a.opus") == "HEADPAGE")
  #expect(scratch.read("a.take.json") == "{}")
}

@Test func `files are 0600 and folders 0700`() throws {
  let scratch = try Scratch()
  let take = try make(scratch)
  func mode(_ name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(
      atPath: scratch.url.appendingPathComponent(name).path)
    return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
  }
  #expect(try mode("a.opus.partial") == 0o700)
  #expect(try mode("a.opus.partial/audio.opus") == 0o600)
  _ = try take.seal(manifest: [])
  #expect(try mode("a.opus") == 0o600)
  #expect(try mode("a.take.json") == 0o600)
}

@Test func `an existing file is refused without force and not touched`() throws {
  let scratch = try Scratch()
  try scratch.write("a.opus", "old")
  #expect(throws: OutputError.exists) { try make(scratch) }
  #expect(scratch.files == ["a.opus"])
  #expect(scratch.read("a.opus") == "old")
}

@Test func `with force the old take goes to the trash when the new one is sealed, not before`() throws {
  let scratch = try Scratch()
  try scratch.write("a.opus", "old")
  try scratch.write("a.take.json", "old manifest")
  let take = try make(scratch, force: true)
  #expect(scratch.read("a.opus") == "old")
  _ = try take.seal(manifest: Array("{}".utf8))
  #expect(scratch.read("a.opus") == "HEAD")
  let trashed = scratch.files.filter { $0.hasPrefix(".holdfast-trash/") }
  #expect(trashed.contains { $0.hasSuffix("/a.opus") && scratch.read($0) == "old" })
  #expect(trashed.contains { $0.hasSuffix("/a.take.json") && scratch.read($0) == "old manifest" })
}

@Test(arguments: [false, true])
func `a file that has appeared meanwhile keeps every byte, and the take gets the next free name`(
  _ force: Bool
) throws {
  let scratch = try Scratch()
  if force { try scratch.write("a.opus", "old") }
  let take = try make(scratch, force: force)
  if force { try FileManager.default.removeItem(at: scratch.url.appendingPathComponent("a.opus")) }
  try scratch.write("other", "somebody else's")
  try FileManager.default.moveItem(
    at: scratch.url.appendingPathComponent("other"), to: scratch.url.appendingPathComponent("a.opus"))
  try scratch.write("a-2.opus", "taken too")
  let sealed = try take.seal(manifest: Array("{}".utf8))
  #expect(sealed.path.name.text == "a-3.opus")
  #expect(scratch.read("a.opus") == "somebody else's")
  #expect(scratch.read("a-2.opus") == "taken too")
  #expect(scratch.read("a-3.opus") == "HEAD")
  #expect(scratch.exists("a-3.take.json"))
}

@Test func `a manifest without its take goes to the trash and stops nothing`() throws {
  let scratch = try Scratch()
  try scratch.write("a.take.json", "lonely")
  _ = try make(scratch).seal(manifest: Array("{}".utf8))
  #expect(scratch.read("a.take.json") == "{}")
  #expect(scratch.files.contains { $0.hasSuffix("/a.take.json") && scratch.read($0) == "lonely" })
}

@Test func `a live partial take is told from a dead one`() throws {
  let scratch = try Scratch()
  do {
    let live = try make(scratch)
    // flock belongs to the open file, so this process' own second look is refused like any other's.
    #expect(throws: OutputError.recording) { try make(scratch) }
    #expect(throws: OutputError.recording) { try make(scratch, force: true) }
    withExtendedLifetime(live) {}
  }
  #expect(throws: OutputError.unfinished) { try make(scratch) }
  #expect(throws: OutputError.unfinished) { try make(scratch, force: true) }
  #expect(scratch.exists("a.opus.partial/audio.opus"))
}

@Test func `folders, links and FIFOs are no place for a take`() throws {
  let scratch = try Scratch()
  let file = FileManager.default
  try file.createDirectory(
    at: scratch.url.appendingPathComponent("d.opus"), withIntermediateDirectories: false)
  try file.createSymbolicLink(
    at: scratch.url.appendingPathComponent("l.opus"),
    withDestinationURL: scratch.url.appendingPathComponent("x"))
  mkfifo(scratch.url.appendingPathComponent("f.opus").path, 0o600)
  #expect(throws: OutputError.wrongKind(.folder)) { try make(scratch, "d.opus", force: true) }
  #expect(throws: OutputError.wrongKind(.symlink)) { try make(scratch, "l.opus", force: true) }
  #expect(throws: OutputError.wrongKind(.other)) { try make(scratch, "f.opus", force: true) }
  #expect(throws: OutputError.notOpus) { try make(scratch, "a.ogg") }
  #expect(throws: OutputError.notOpus) { try make(scratch, ".opus") }
  #expect(throws: OutputError.nameTooLong(248)) {
    try make(scratch, String(repeating: "n", count: 243) + ".opus")
  }
  let long = String(repeating: "n", count: 242) + ".opus"
  #expect(try make(scratch, long).seal(manifest: []).path.name.text == long)
}

@Test func `too little space is refused before anything is made`() throws {
  let scratch = try Scratch()
  #expect {
    try PartialTake(
      folder: scratch.path, name: TakeName(audio: Path("a.opus")), force: false, neededBytes: Int64.max,
      headers: [],
      begin: begin)
  } throws: { error in
    guard case .tooLittleSpace = error as? OutputError else { return false }
    return true
  }
  #expect(scratch.files.isEmpty)
}

@Test func `a folder renamed in mid-take is followed`() throws {
  let scratch = try Scratch()
  let inner = scratch.url.appendingPathComponent("one")
  try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
  let take = try PartialTake(
    folder: Path(inner.path), name: TakeName(audio: Path("a.opus")), force: false, neededBytes: 0,
    headers: [1],
    begin: begin)
  try FileManager.default.moveItem(at: inner, to: scratch.url.appendingPathComponent("two"))
  _ = try take.seal(manifest: [])
  #expect(scratch.files == ["two", "two/a.opus", "two/a.take.json"])
}

@Test func `a discarded take is in the trash, whole`() throws {
  let scratch = try Scratch()
  let take = try make(scratch)
  let entry = try take.place.discard()
  #expect(FileManager.default.fileExists(atPath: entry.text + "/a.opus.partial/audio.opus"))
  #expect(!scratch.exists("a.opus.partial"))
}

@Test func `two takes at one name: exactly one is made`() async throws {
  let scratch = try Scratch()
  let path = scratch.path
  let made = await withTaskGroup(of: Bool.self) { group in
    for _ in 0..<8 {
      group.addTask {
        let take = try? PartialTake(
          folder: path, name: TakeName(audio: Path("a.opus")), force: false, neededBytes: 0, headers: [1],
          begin: begin)
        if take != nil { try? await Task.sleep(for: .milliseconds(50)) }
        return take != nil
      }
    }
    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
  }
  #expect(made == 1)
  #expect(scratch.files.filter { $0.hasPrefix(".holdfast-new") }.isEmpty)
}

@Test func `the tails keep every packet that isn't in a synced page`() throws {
  let scratch = try Scratch()
  let take = try make(scratch)
  var index: Int64 = 0
  var synced: Int64 = 0  // packets in pages that are synced
  var paged: Int64 = 0
  for step in 0..<400 {
    var bytes: [UInt8] = []
    Tail.append(packet: [1, 2, 3], index: index, to: &bytes)
    try take.append(tail: bytes.span)
    index += 1
    if step % 50 == 49 {
      try take.append(page: Array("PAGE".utf8).span)
      paged = index
    }
    if step % 70 == 69 {
      try take.sync()
      synced = paged
    }
    let contents = try PartialContents(folder: scratch.path, name: TakeName(audio: Path("a.opus")))
    let held = Set(contents.tails.flatMap { $0.packets.map(\.index) })
    #expect((synced..<index).allSatisfy { held.contains($0) }, "step \(step)")
    #expect(contents.tails.allSatisfy { $0.tornBytes == 0 })
    #expect(held.count < 200, "the tails don't grow for ever")
  }
}

@Test func `default names never clash and sort in the order taken, also when the clock steps back`() throws {
  let scratch = try Scratch()
  var names: [Path] = []
  for now: Int64 in [
    1_700_000_000_000, 1_700_000_000_000, 1_699_996_400_000, 1_700_000_000_001, 1_700_086_400_000,
  ] {
    let name = try TakesFolder.newName(in: scratch.path, now: now)
    try scratch.write(name.audio.text, "")
    names.append(name.audio)
  }
  #expect(Set(names).count == names.count)
  #expect(names.map(\.text) == names.map(\.text).sorted())
  #expect(names[0].text == "20231114T221320.000Z.opus")
  // A name from a clock that was years ahead doesn't draw the others with it.
  try scratch.write("20990101T000000.000Z.opus", "")
  #expect(try TakesFolder.newName(in: scratch.path, now: 1_700_100_000_000).audio.text.hasPrefix("20231116"))
}

@Test func `the takes folder follows XDG_DATA_HOME, then HOME`() {
  #expect(
    TakesFolder.standard { $0 == "XDG_DATA_HOME" ? Path("/x") : Path("/h") } == Path("/x/holdfast/takes"))
  #expect(TakesFolder.standard { $0 == "HOME" ? Path("/h") : nil } == Path("/h/.local/share/holdfast/takes"))
  #expect(TakesFolder.standard { $0 == "XDG_DATA_HOME" ? Path("rel") : nil } == nil)
}
