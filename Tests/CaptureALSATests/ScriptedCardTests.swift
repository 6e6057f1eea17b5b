import Glibc
import Testing

@testable import Capture
@testable import Platform
@testable import Signal

/// What comes out of a device is what went in. The clock waits for the reader, so these are quick.
@Suite(.enabled(if: Rig.works, Rig.missing)) struct ScriptedCardTests {
  static let formats: [(String, SampleFormat)] = [
    ("U8", .u8), ("S16_LE", .s16), ("S24_3LE", .s24Packed), ("S24_LE", .s24In32), ("S32_LE", .s32),
    ("FLOAT_LE", .float32),
  ]

  @Test(arguments: formats, [1, 2, 3, 8])
  func `every format and channel count arrives byte for byte`(format: (String, SampleFormat), channels: Int)
    throws
  {
    for rate in [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 96_000, 192_000] {
      let size = format.1.bytes * channels
      let fed = noise(size * 9_001, seed: UInt64(rate + channels))
      let card = Card(
        bytes: fed, formats: format.0, rates: rate...rate, channels: channels...channels, onDemand: true)
      let source = try ALSASource(name: card.name())
      #expect(source.format == SourceFormat(sample: format.1, rate: rate, channels: channels))
      #expect(source.periodFrames == rate / 100)
      let got = source.collect(5_000)
      #expect(got.fault == nil && got.losses.isEmpty)
      #expect(got.bytes.elementsEqual(fed[..<got.bytes.count]))
    }
  }

  @Test(arguments: [false, true]) func `mmap and readi deliver the same`(mmap: Bool) throws {
    let fed = noise(4 * 20_000, seed: 5)
    let source = try ALSASource(
      name: Card(bytes: fed, formats: "S16_LE", channels: 2...2, onDemand: true).name(),
      wish: CaptureWish(mmap: mmap))
    let got = source.collect(15_000)
    #expect(got.bytes.elementsEqual(fed[..<got.bytes.count]) && got.frames >= 15_000)
  }

  @Test func `a buffer of any size takes what fits`() throws {
    let fed = noise(2 * 20_000, seed: 6)
    for frames in [1, 7, 479, 480, 481, 5_000] {
      let source = try ALSASource(name: Card(bytes: fed, onDemand: true).name())
      var got = Captured()
      source.collect(5_000, &got, readFrames: frames)
      #expect(got.bytes.elementsEqual(fed[..<got.bytes.count]) && got.frames >= 5_000)
      #expect(got.reads.allSatisfy { $0 <= min(frames, 480) })
    }
  }

  @Test func `the wish is met where the device can, else what is nearest, and told as it is`() throws {
    func format(_ formats: String, _ rates: ClosedRange<Int>, _ channels: ClosedRange<Int>) throws
      -> SourceFormat
    {
      let card = Card(
        bytes: noise(200_000, seed: 1), formats: formats, rates: rates, channels: channels, onDemand: true)
      return try ALSASource(name: card.name()).format
    }
    #expect(
      try format("U8 S24_LE S32_LE S16_LE", 8_000...192_000, 1...8)
        == .init(sample: .s16, rate: 48_000, channels: 1))
    #expect(
      try format("U8 S24_3LE FLOAT_LE", 8_000...44_100, 2...8)
        == .init(sample: .float32, rate: 44_100, channels: 2))
    #expect(
      try format("U8 S24_3LE", 96_000...192_000, 6...8)
        == .init(sample: .s24Packed, rate: 96_000, channels: 6))
    #expect(
      try format("S24_LE U8", 48_000...48_000, 12...16) == .init(sample: .s24In32, rate: 48_000, channels: 12)
    )
  }

  @Test func `period and buffer are as wished`() throws {
    let card = Card(bytes: noise(20_000, seed: 1))
    let source = try ALSASource(name: card.name(), wish: CaptureWish(periodMs: 40, bufferMs: 400))
    #expect(source.periodFrames == 1_920 && source.bufferFrames == 19_200)
    let odd = try ALSASource(
      name: Card(bytes: noise(20_000, seed: 1)).name(), wish: CaptureWish(periodMs: -5, bufferMs: 0))
    #expect(odd.periodFrames == 48 && odd.bufferFrames >= 96)
  }

  @Test func `short reads and passing errors lose nothing`() throws {
    let fed = counted(60_000)
    let script =
      "0.05 short 37 5; 0.1 err EAGAIN 3; 0.15 err EINTR 3; 0.2 short 1 3; 0.25 err EAGAIN 1; 0.3 short 479 9"
    let source = try ALSASource(
      name: Card(bytes: fed, formats: "S32_LE", script: script, onDemand: true).name())
    let got = source.collect(30_000)
    #expect(got.fault == nil && got.losses.isEmpty && got.frames >= 30_000)
    #expect(numbers(got.bytes) == Array(0..<got.frames))
    #expect(got.reads.contains(37) && got.reads.contains(1))
  }

  @Test func `a device with nothing in common is refused with what it offers`() throws {
    let card = Card(
      bytes: noise(20_000, seed: 1), formats: "S20_3LE S16_BE", rates: 44_100...44_100, channels: 2...2)
    let name = card.name()
    let error = try #require(throws: CaptureOpenError.self) { _ = try ALSASource(name: name) }
    guard case .formatRefused(name, let offer?) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(offer.text == "S16_BE or S20_3LE, 44100 Hz, 2 channels")
    #expect(error.exitCode == 69 && error.message.contains(offer.text) && !error.message.contains("\n"))
  }
}
