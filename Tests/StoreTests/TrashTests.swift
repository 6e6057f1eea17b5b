import Foundation
import Platform
import Session
import Testing

@testable import Store

/// What the trash keeps, for how long, and what it never touches.
@Suite struct TrashTests {
  private static let day: Int64 = 86_400_000
  private static let now: Int64 = 1_800_000_000_000  // 2027-01-15

  /// Ages in days by the entry's name, its folder's two times, and the boot's clock where it is the same boot.
  @Test(
    arguments: [
      (name: 8, modified: 8, changed: 8, boot: nil, expired: true),
      (name: 6, modified: 6, changed: 6, boot: nil, expired: false),
      // A name that somebody gave, a folder that was copied or touched.
      (name: 8, modified: 8, changed: 1, boot: nil, expired: false),
      (name: 8, modified: 1, changed: 8, boot: nil, expired: false),
      // Put there while the clock was ahead of now.
      (name: -300, modified: -300, changed: -300, boot: nil, expired: false),
      (name: 8, modified: 8, changed: -1, boot: nil, expired: false),
      // The clock has gone ahead by a year, or was set at last, since yesterday.
      (name: 366, modified: 366, changed: 366, boot: 1, expired: false),
      (name: 366, modified: 366, changed: 366, boot: 8, expired: true),
      // A clock that nobody had set: 1970.
      (name: 20_000, modified: 20_000, changed: 20_000, boot: nil, expired: false),
    ] as [(name: Int64, modified: Int64, changed: Int64, boot: Int64?, expired: Bool)])
  func `an entry is as old as the youngest that anything says`(
    row: (name: Int64, modified: Int64, changed: Int64, boot: Int64?, expired: Bool)
  ) {
    let boot = TrashStamp.Boot(id: "this", nanoseconds: 100 * Self.day * 1_000_000)
    let stamp = TrashStamp(
      named: Self.now - row.name * Self.day, modified: Self.now - row.modified * Self.day,
      changed: Self.now - row.changed * Self.day,
      boot: row.boot.map { .init(id: "this", nanoseconds: boot.nanoseconds - $0 * Self.day * 1_000_000) })
    #expect(stamp.isExpired(now: Self.now, boot: boot) == row.expired)
    var earlier = stamp
    earlier.boot?.id = "an earlier one"
    if row.boot != nil { #expect(earlier.isExpired(now: Self.now, boot: boot)) }
  }

  @Test func `exactly 7 days are kept`() {
    let stamp = TrashStamp(named: Self.now, modified: Self.now, changed: Self.now)
    #expect(!stamp.isExpired(now: Self.now + 7 * Self.day, boot: nil))
    #expect(stamp.isExpired(now: Self.now + 7 * Self.day + 1, boot: nil))
  }

  @Test func `the note of the boot is read as it was written, and nothing else is`() throws {
    let boot = TrashStamp.Boot(id: "0a-1", nanoseconds: 12)
    #expect(TrashStamp.Boot(note: boot.note) == boot)
    for text in ["", "boot", "boot a", "boot a -1", "boot a 1 2", "root a 1", "boot a x"] {
      #expect(TrashStamp.Boot(note: Array(text.utf8)) == nil, "\(text)")
    }
    let real = try #require(TrashStamp.Boot.now)
    #expect(real.id == TrashStamp.Boot.now?.id && real.nanoseconds > 0)
  }

  @Test func `the order of two entries is the boot's, whatever the wall clock did between them`() {
    func stamp(_ named: Int64, _ boot: Int64?) -> TrashStamp {
      TrashStamp(
        named: named, modified: 0, changed: 0, boot: boot.map { .init(id: "b", nanoseconds: $0) })
    }
    #expect(stamp(2, 1).precedes(stamp(1, 2)) && !stamp(1, 2).precedes(stamp(2, 1)))
    #expect(stamp(1, nil).precedes(stamp(2, 0)) && !stamp(2, nil).precedes(stamp(1, 9)))
  }

  private let begin = LedgerRecord(captureFrame: 0, effectiveFrame: 0, event: .mark(label: nil))
  private func discard(_ scratch: Scratch, _ name: String = "a.opus") throws -> Path {
    let take = try PartialTake(
      folder: scratch.path, name: TakeName(audio: Path(name)), force: false, neededBytes: 0,
      headers: Array("HEAD".utf8), begin: begin)
    return try take.place.discard()
  }
  private func trash(_ scratch: Scratch) -> Trash { Trash(folder: scratch.path) }
  /// Later than anything in these tests, by more than is kept, and in another boot.
  private var later: Int64 { Stamp.wallMilliseconds + 8 * Self.day }

  @Test func `only what is old goes, and only what is ours`() throws {
    let scratch = try Scratch()
    let entry = try discard(scratch).name.text
    let file = FileManager.default
    let inTrash = { (name: String) in scratch.url.appendingPathComponent(".holdfast-trash/" + name) }
    try scratch.write("precious", "mine")
    // Names that no entry has; an entry with somebody's file in it; a link for a name, and one inside an entry.
    let old = "20260301T000000.000Z-"
    for name in ["notes", "\(old)00000g", old + "0000011", old + "0000a1", old + "0000a2", old + "0000a3"] {
      try file.createDirectory(at: inTrash(name), withIntermediateDirectories: false)
      try scratch.write(".holdfast-trash/\(name)/take.opus", "voice")
    }
    try scratch.write(".holdfast-trash/\(old)0000a1/readme", "theirs")
    try file.createSymbolicLink(at: inTrash(old + "0000a4"), withDestinationURL: scratch.url)
    try file.createSymbolicLink(
      at: inTrash(old + "0000a2/b.opus.partial"), withDestinationURL: scratch.url)
    try file.removeItem(at: inTrash(old + "0000a3/take.opus"))
    try file.createSymbolicLink(
      at: inTrash(old + "0000a3/take.opus"),
      withDestinationURL: scratch.url.appendingPathComponent("precious"))
    let before = scratch.files
    #expect(try trash(scratch).sweep().isEmpty)
    #expect(scratch.files == before)
    let gone = try trash(scratch).sweep(now: later, boot: nil)
    #expect(gone.map(\.name.text) == [entry])
    #expect(scratch.files == before.filter { !$0.contains(entry) })
    #expect(scratch.read("precious") == "mine")
  }

  @Test func `of an old entry everything goes that Holdfast put there`() throws {
    let scratch = try Scratch()
    try scratch.write("a.opus", "old")
    try scratch.write("a.take.json", "old manifest")
    let take = try PartialTake(
      folder: scratch.path, name: TakeName(audio: Path("a.opus")), force: true, neededBytes: 0,
      headers: Array("HEAD".utf8), begin: begin)
    _ = try take.seal(manifest: Array("{}".utf8))
    _ = try discard(scratch, "b.opus")
    #expect(try trash(scratch).sweep(now: later, boot: nil).count == 2)
    #expect(scratch.files == [".holdfast-trash", "a.opus", "a.take.json"])
    #expect(scratch.read("a.opus") == "HEAD")
  }

  @Test func `an entry of this boot is young whatever the wall clock says`() throws {
    let scratch = try Scratch()
    _ = try discard(scratch)
    #expect(try trash(scratch).sweep(now: Stamp.wallMilliseconds + 366 * Self.day).isEmpty)
    #expect(scratch.files.contains { $0.hasSuffix("a.opus.partial/audio.opus") })
  }

  @Test func `a take that a recorder has open isn't deleted`() throws {
    let scratch = try Scratch()
    do {
      let live = try PartialTake(
        folder: scratch.path, name: TakeName(audio: Path("a.opus")), force: false, neededBytes: 0,
        headers: Array("HEAD".utf8), begin: begin)
      _ = try live.place.discard()
      #expect(try trash(scratch).sweep(now: later, boot: nil).isEmpty)
      withExtendedLifetime(live) {}
    }
    #expect(try trash(scratch).sweep(now: later, boot: nil).count == 1)
  }

  @Test func `a partial take comes back whole, with what somebody put into it, and never over another`()
    throws
  {
    let scratch = try Scratch()
    let entry = try discard(scratch).name
    try scratch.write(".holdfast-trash/\(entry.text)/a.opus.partial/theirs", "theirs")
    try FileManager.default.createDirectory(
      at: scratch.url.appendingPathComponent("a.opus.partial"), withIntermediateDirectories: false)
    let partial = Path("a.opus.partial")
    #expect {
      try trash(scratch).putBack([partial], of: entry)
    } throws: { ($0 as? DiskError)?.errno.code == EEXIST }
    #expect(scratch.exists(".holdfast-trash/\(entry.text)/a.opus.partial/audio.opus"))
    try FileManager.default.removeItem(at: scratch.url.appendingPathComponent("a.opus.partial"))
    try trash(scratch).putBack([partial], of: entry)
    #expect(scratch.read("a.opus.partial/audio.opus") == "HEAD")
    #expect(scratch.read("a.opus.partial/theirs") == "theirs")
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path.text + "/.holdfast-trash") == [])
  }

  @Test func `a trash that is a link or a file is told, not followed`() throws {
    let scratch = try Scratch()
    let other = try Scratch()
    _ = try discard(other)
    let link = scratch.url.appendingPathComponent(".holdfast-trash")
    try FileManager.default.createSymbolicLink(
      at: link, withDestinationURL: other.url.appendingPathComponent(".holdfast-trash"))
    #expect(throws: DiskError.self) { try trash(scratch).entries() }
    #expect(throws: DiskError.self) { try trash(scratch).sweep(now: later, boot: nil) }
    #expect(try trash(other).entries().count == 1)
    let none = try Scratch()
    #expect(try trash(none).entries() == [])
  }
}
