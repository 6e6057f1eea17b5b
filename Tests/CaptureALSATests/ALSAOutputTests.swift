import Glibc
import Testing

@testable import Capture
@testable import Platform
@testable import Signal

extension ALSAOutput {
  /// Plays all of it, to its end.
  fileprivate func play(_ samples: [Float]) throws {
    try give(samples)
    while try !drain() {}
  }
  fileprivate func give(_ samples: [Float]) throws {
    let frames = samples.count / format.channels
    var done = 0
    while done < frames { done += try write(samples, from: done, count: frames - done) }
  }
}

private func sine(_ frames: Int, _ hertz: Float = 440) -> [Float] {
  (0..<frames).map { 0.3 * sinf(2 * .pi * hertz * Float($0) / 48_000) }
}
private func packed(_ samples: [Float]) -> [UInt8] {
  var bytes: [UInt8] = []
  for sample in samples { SampleFormat.s16.append(sample, to: &bytes) }
  return bytes
}
private func bytes(of path: String) -> [UInt8] {
  guard let file = fopen(path, "r") else { return [] }
  defer { fclose(file) }
  var all: [UInt8] = []
  var room = [UInt8](repeating: 0, count: 65_536)
  while case let n = fread(&room, 1, room.count, file), n > 0 { all += room[..<n] }
  return all
}

@Suite(.enabled(if: Rig.works, Rig.missing)) struct ALSAOutputTests {
  @Test func `a device gets the very samples`() throws {
    let samples = sine(20_011)
    do {
      let output = try ALSAOutput(name: Path("filed"), rate: 48_000, channels: 1)
      #expect(output.format == SourceFormat(sample: .s16, rate: 48_000, channels: 1))
      try output.play(samples)
      #expect(output.underruns == 0)
    }
    #expect(bytes(of: Rig.shared.folder + "/filed.raw") == packed(samples))
  }

  @Test func `samples are laid out as each format says`() {
    func laid(_ format: SampleFormat, _ samples: Float...) -> [UInt8] {
      var bytes: [UInt8] = []
      for sample in samples { format.append(sample, to: &bytes) }
      return bytes
    }
    #expect(laid(.u8, 0, 1, -1, .nan) == [128, 255, 0, 128])
    #expect(laid(.s16, 0.5, 2, -2, .nan) == [0, 64, 255, 127, 0, 128, 0, 0])
    #expect(laid(.s24Packed, 0.5, 1, -1) == [0, 0, 64, 255, 255, 127, 0, 0, 128])
    #expect(laid(.s24In32, -1) == [0, 0, 128, 255])
    #expect(laid(.s32, 1, -1, .infinity) == [255, 255, 255, 127, 0, 0, 0, 128, 255, 255, 255, 127])
    #expect(laid(.float32, 1, .nan) == [0, 0, 128, 63, 0, 0, 0, 0])
  }

  @Test func `a device that isn't there is told`() throws {
    let none = #expect(throws: CaptureOpenError.self) {
      _ = try ALSAOutput(name: Path("nosuchpcm"), rate: 48_000, channels: 1)
    }
    #expect(none == .noDevice(Path("nosuchpcm")))
    let server = #expect(throws: CaptureOpenError.self) {
      _ = try ALSAOutput(name: Path("noserver"), rate: 48_000, channels: 1)
    }
    #expect(server == .noServer(Path("noserver")))
  }
}

extension SoundServerTests {
  @Test func `what the library plays arrives bit for bit`() throws {
    let server = try SoundServer()
    let samples = sine(48_000, 313)
    let wanted = packed(samples)
    // A machine that is busy for 200 ms makes a hole in any sound: then once more.
    for attempt in 1... {
      let background = try Background(ALSASource(name: Path("pa"), wish: CaptureWish(bufferMs: 500)))
      let output = try ALSAOutput(name: Path("paout"), rate: 48_000, channels: 1)
      try output.play(samples)
      usleep(300_000)
      let got = background.stop()
      if found(wanted, in: got.bytes) { break }
      try #require(attempt < 8, "never whole: \(got.frames) frames came")
    }
    server.stop()
  }
  private func found(_ part: [UInt8], in all: [UInt8]) -> Bool {
    // Sample 0 is 0: begin with the next, which silence hasn't.
    let body = part[2...]
    let head = Array(body.prefix(64))
    guard all.count >= body.count else { return false }
    return stride(from: 0, through: all.count - body.count, by: 2).contains { start in
      all[start] == head[0] && all[start..<(start + 64)].elementsEqual(head)
        && all[start..<(start + body.count)].elementsEqual(body)
    }
  }

  @Test func `it goes on after it ran out of sound`() throws {
    let server = try SoundServer()
    let output = try ALSAOutput(name: Path("paunder"), rate: 48_000, channels: 1)
    try output.give(sine(19_200))
    // Until the server says that it has run out: not by our clock.
    var rounds = 0
    while output.underruns == 0, rounds < 200 {
      usleep(100_000)
      try output.give(sine(960))
      rounds += 1
    }
    #expect(output.underruns > 0)
    try output.play(sine(19_200))
    server.stop()
  }

  @Test func `a server that dies while it plays is told`() throws {
    let server = try SoundServer()
    let output = try ALSAOutput(name: Path("paout"), rate: 48_000, channels: 1)
    try output.give(sine(19_200))
    server.stop()
    let fault = #expect(throws: CaptureFault.self) { try output.give(sine(480_000)) }
    guard case .serverGone? = fault else {
      Issue.record("\(String(describing: fault))")
      return
    }
  }

  @Test func `a sink that isn't there is no device`() throws {
    let server = try SoundServer()
    let error = #expect(throws: CaptureOpenError.self) {
      let output = try ALSAOutput(name: Path("panosink"), rate: 48_000, channels: 1)
      _ = output
    }
    #expect(error == .noDevice(Path("panosink")))
    server.stop()
  }
}
