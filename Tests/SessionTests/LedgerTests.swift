import Testing

@testable import Session

let description = TakeDescription(
  takeID: "id", context: #"{"session":"s","round":2}"#, createdMs: 1_700_000_000_000, source: "file",
  deviceRate: 44_100, deviceChannels: 2, channel: "1", bitrate: 32_000, complexity: 10, preSkip: 312,
  serial: 0xDEAD_BEEF, maxMs: 0, minValidMs: 20_000, encoder: "libopus")
private let time = EventTime(wallMs: 1, bootNs: 2)
private let summary: LevelSummary = {
  var s = LevelSummary()
  s.frames = 48_000
  s.sum = -1.5
  s.sumOfSquares = 12.25
  s.peak = 0.5
  s.bins = [0, 1.5, 3e-9]
  return s
}()
let everyEvent: [LedgerEvent] = [
  .begin(description), .start(time), .pause(time), .resume(time),
  .gap(Gap(frames: 480, filled: true, measuredBy: "htimestamp", uncertaintyFrames: 3)),
  .mark(label: "a\n\"b\""),
  .mark(label: nil), .interruption(.deviceLost, time),
  .continued(time, deviceRate: 48_000, deviceChannels: 1),
  .stop(.maxMs, time, submit: true), .levels(summary), .speech(speaking: true, atFrame: 4_800),
  .speech(speaking: false, atFrame: 9_600), .silence(leftOut: true), .silence(leftOut: false),
  .unknown(kind: 200, payload: [1, 2, 3]),
]

@Test(arguments: everyEvent)
func `every event comes back as it was written`(_ event: LedgerEvent) {
  let record = LedgerRecord(captureFrame: 5, effectiveFrame: 1 << 40, event: event)
  let contents = LedgerContents(Ledger.header + Ledger.encode(record))
  #expect(contents.records == [record])
  #expect(contents.fault == nil)
}

private let whole: [UInt8] =
  Ledger.header
  + everyEvent.enumerated().flatMap {
    Ledger.encode(LedgerRecord(captureFrame: Int64($0), effectiveFrame: Int64($0), event: $1))
  }

@Test func `a ledger cut anywhere gives its whole records and names the rest`() {
  var seen = 0
  for length in 0...whole.count {
    let contents = LedgerContents(Array(whole[..<length]))
    #expect(contents.records.count >= seen)
    seen = contents.records.count
    switch contents.fault {
    case nil: #expect(length == whole.count || LedgerContents(Array(whole[..<length])).records.count == seen)
    case .empty: #expect(length == 0)
    case .notALedger: #expect(length < Ledger.headerSize)
    case .torn(let offset, let bytes): #expect(offset + bytes == length)
    case .newerVersion: Issue.record("no version is torn into another")
    }
  }
  #expect(seen == everyEvent.count)
}

@Test func `one flipped bit anywhere is found`() {
  for byte in whole.indices {
    var bytes = whole
    bytes[byte] ^= 0x10
    let contents = LedgerContents(bytes)
    #expect(contents.fault != nil, "byte \(byte)")
    #expect(contents.records.count < everyEvent.count)
  }
}

@Test func `a ledger of a newer version says so`() {
  var bytes = Ledger.magic
  bytes.put(UInt32(2))
  bytes.put(crc32(bytes[...]))
  #expect(LedgerContents(bytes).fault == .newerVersion(2))
}

@Test(arguments: [Int64.min, -1, Int64.max])
func `frame counts that fall or are negative end a ledger, huge ones don't trap`(_ frames: Int64) {
  let bytes =
    Ledger.header
    + Ledger.encode(LedgerRecord(captureFrame: 0, effectiveFrame: frames, event: .begin(description)))
    + Ledger.encode(LedgerRecord(captureFrame: 0, effectiveFrame: 5, event: .pause(time)))
  let contents = LedgerContents(bytes)
  #expect(contents.records.isEmpty)
  #expect(TakeStory(contents.records).pauses.isEmpty)
}

@Test func `crc32 is the one of zlib`() {
  #expect(crc32(Array("123456789".utf8)[...]) == 0xCBF4_3926)
}

@Test func `a tail gives its whole records`() {
  var bytes = Tail.header(generation: 7)
  for i in 0..<3 {
    Tail.append(packet: [UInt8](repeating: UInt8(i), count: 50 + i)[...], index: Int64(10 + i), to: &bytes)
  }
  let contents = TailContents(bytes)
  #expect(contents.generation == 7)
  #expect(contents.packets.map(\.index) == [10, 11, 12])
  #expect(contents.tornBytes == 0)
  for cut in 0..<bytes.count {
    let torn = TailContents(Array(bytes[..<cut]))
    #expect(torn.packets.count < 3)
    #expect(torn.packets.allSatisfy { packet in contents.packets.contains { $0 == packet } })
  }
}

@Test func `a tail that leaves out what a page holds is read to its end, an older record behind it isn't`() {
  var bytes = Tail.header(generation: 7)
  for index: Int64 in [50, 51, 100, 101] { Tail.append(packet: [1], index: index, to: &bytes) }
  #expect(TailContents(bytes).packets.map(\.index) == [50, 51, 100, 101])
  Tail.append(packet: [1], index: 60, to: &bytes)
  #expect(TailContents(bytes).packets.map(\.index) == [50, 51, 100, 101])
}

@Test func `a story tells pauses, marks, gaps and levels`() {
  func at(_ capture: Int64, _ effective: Int64, _ event: LedgerEvent) -> LedgerRecord {
    LedgerRecord(captureFrame: capture, effectiveFrame: effective, event: event)
  }
  let records = [
    at(0, 0, .begin(description)), at(0, 0, .start(time)), at(44_100, 48_000, .pause(time)),
    at(88_200, 48_240, .resume(time)), at(90_000, 50_000, .mark(label: "x")),
    at(90_000, 50_000, .levels(summary)),
    at(91_000, 52_000, .gap(Gap(frames: 960, filled: true, measuredBy: "m", uncertaintyFrames: 0))),
    at(99_000, 60_000, .pause(time)), at(99_000, 60_000, .levels(summary)),
    at(99_000, 60_000, .stop(.user, EventTime(wallMs: 9, bootNs: 9), submit: false)),
  ]
  let story = TakeStory(records)
  #expect(story.pauses == [.init(frame: 48_000, lengthMs: 1_000), .init(frame: 60_000, lengthMs: 0)])
  #expect(story.marks == [.init(frame: 50_000, label: "x")])
  #expect(story.gapFrames == 960)
  #expect(story.endedBy == .user)
  #expect(story.levels.bins == summary.bins + summary.bins)
  #expect(TakeStory(records, clampedTo: 49_000).marks == [.init(frame: 49_000, label: "x")])
  // Embedded, the bins are gone and all else is the same.
  var embedded = TakeStory(LedgerContents(TakeStory.embedded(records)).records)
  embedded.levels.bins = story.levels.bins
  #expect(embedded == story)
}

@Test func `a pause or a silence that a stop ends has its length, one that a kill came upon has none`() {
  func at(_ capture: Int64, _ event: LedgerEvent) -> LedgerRecord {
    LedgerRecord(captureFrame: capture, effectiveFrame: 48_000, event: event)
  }
  let begin = [at(0, .begin(description)), at(0, .start(time))]
  let stop = LedgerEvent.stop(.user, time, submit: false)
  let stopped = TakeStory(
    begin + [
      at(44_100, .silence(leftOut: true)), at(66_150, .silence(leftOut: false)), at(66_150, .pause(time)),
      at(88_200, .levels(summary)), at(88_200, stop),
    ])
  #expect(stopped.pauses == [.init(frame: 48_000, lengthMs: 500)])
  #expect(stopped.autoPauses == [.init(frame: 48_000, lengthMs: 500)])
  #expect(stopped.edges == [48_000, 48_000])
  let silent = TakeStory(begin + [at(44_100, .silence(leftOut: true)), at(88_200, stop)])
  #expect(silent.autoPauses == [.init(frame: 48_000, lengthMs: 1_000)])
  for event in [LedgerEvent.pause(time), .silence(leftOut: true)] {
    let killed = TakeStory(
      begin + [at(44_100, event), at(44_100, .interruption(.killed, time)), at(44_100, stop)])
    #expect((killed.pauses.map(\.lengthMs) + killed.autoPauses.map(\.lengthMs)) == [nil])
  }
}

@Test func `speech runs and their pauses come out of the ledger, and no pause spans an edge`() {
  func at(_ effective: Int64, _ event: LedgerEvent) -> LedgerRecord {
    LedgerRecord(captureFrame: effective, effectiveFrame: effective, event: event)
  }
  func speech(_ speaking: Bool, _ frame: Int64) -> LedgerRecord {
    at(frame + 9_600, .speech(speaking: speaking, atFrame: frame))
  }
  let time = EventTime(wallMs: 0, bootNs: 0)
  let records = [
    speech(true, 4_800), speech(false, 48_000), speech(true, 72_000), at(100_000, .pause(time)),
    LedgerRecord(captureFrame: 0, effectiveFrame: 100_240, event: .speech(speaking: false, atFrame: 99_840)),
    speech(true, 110_400), speech(false, 144_000), speech(true, 192_000),
  ]
  let story = TakeStory(records)
  #expect(
    story.speech == [4_800..<48_000, 72_000..<99_840, 110_400..<144_000, 192_000..<201_600])
  #expect(story.speechPauses == [48_000..<72_000, 144_000..<192_000])
  // A recovered take is shorter: what lies behind its end isn't told, and who spoke then spoke to the end.
  let short = TakeStory(records, clampedTo: 130_000)
  #expect(short.speech == [4_800..<48_000, 72_000..<99_840, 110_400..<130_000])
  #expect(short.speechPauses == [48_000..<72_000])
}

@Test func `numbers that no take can reach are damage, not arithmetic`() {
  for frame in [Int64.max, 1 << 60] {
    let record = LedgerRecord(captureFrame: 0, effectiveFrame: frame, event: .mark(label: nil))
    let contents = LedgerContents(Ledger.header + Ledger.encode(record))
    #expect(contents.records.isEmpty && contents.fault?.isTorn == true)
  }
  for index in [Int64.max, Int64.max - 1, 1 << 62, 1 << 60, -1] {
    var bytes = Tail.header(generation: 1)
    Tail.append(packet: [1], index: index, to: &bytes)
    Tail.append(packet: [2], index: 7, to: &bytes)
    let tail = TailContents(bytes)
    #expect(tail.packets.map(\.index) == [7] && tail.tornBytes == 17 && !tail.isTornWrite)
  }
}

@Test func `a damaged record of a tail costs that record alone`() {
  var bytes = Tail.header(generation: 1)
  for index: Int64 in 0..<5 { Tail.append(packet: [1, 2, 3], index: index, to: &bytes) }
  var damaged = bytes
  damaged[16 + 19 * 2 + 17] ^= 0x40
  #expect(TailContents(damaged).packets.map(\.index) == [0, 1, 3, 4])
  #expect(TailContents(damaged).tornBytes == 19 && !TailContents(damaged).isTornWrite)
  let cut = TailContents(Array(bytes.dropLast(5)))
  #expect(cut.packets.count == 4 && cut.tornBytes == 14 && cut.isTornWrite)
}
