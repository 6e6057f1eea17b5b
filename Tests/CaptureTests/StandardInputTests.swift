import Glibc
import Signal
import Testing

@testable import Capture

@Suite struct `Raw samples from a pipe` {
  private func source(_ pieces: [[UInt8]], _ format: SourceFormat) throws -> StandardInputSource {
    try StandardInputSource(descriptor: pipe(of: pieces), format: format)
  }
  private func pieces(_ bytes: [UInt8], of size: Int) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
  }

  @Test(arguments: SampleFormat.allCases, [1, 3])
  func `frames of every format are put together from short reads`(sample: SampleFormat, channels: Int) throws
  {
    let format = SourceFormat(sample: sample, rate: 48_000, channels: channels)
    let bytes = (0..<(format.bytesPerFrame * 500)).map { UInt8(truncatingIfNeeded: $0 &* 7 + 1) }
    for size in [1, 5, 13, 4_096] where size > 1 || channels == 1 {
      let input = try source(pieces(bytes, of: size), format)
      #expect(try drainBytes(input) == bytes)
      #expect(input.problems == [])
    }
  }
  @Test(arguments: [2, 3, 12, 13, 1_000]) func `any room for frames will do`(room: Int) throws {
    let bytes = ramp(300)
    let format = SourceFormat(sample: .s16, rate: 48_000, channels: 1)
    #expect(try drainBytes(source([bytes], format), room: room) == bytes)
  }
  @Test func `a part of a frame at the end is dropped and told`() throws {
    let input = try source([ramp(100), [1, 2, 3]], SourceFormat(sample: .s32, rate: 48_000, channels: 1))
    #expect(try drainBytes(input) == ramp(100))
    #expect(
      input.problems == [
        SourceProblem(
          kind: "partial_frame", offset: 200, bytes: 3,
          message: "the input ends inside a frame; that part was dropped")
      ])
  }
  @Test func `an empty pipe is the end`() throws {
    #expect(try drainBytes(source([], SourceFormat(sample: .s16, rate: 48_000, channels: 1))) == [])
  }
  @Test(arguments: [
    (Array("RIFF".utf8), "a WAV file"), (Array("RF64".utf8), "a WAV file"),
    (Array("OggS".utf8), "an Ogg file"),
    (Array("fLaC".utf8), "a FLAC file"), (Array("FORM0000AIFF".utf8), "an AIFF file"),
    (Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 9], "a tagged audio file (ID3)"),
  ])
  func `an audio file is refused with what to do`(head: [UInt8], kind: String) throws {
    let input = try source(
      pieces(head + ramp(50), of: 3), SourceFormat(sample: .s16, rate: 48_000, channels: 1))
    #expect(
      throws: SourceError.wrongKind(
        "the input is \(kind), not raw samples; give it as a file: --input file:PATH")
    ) {
      try input.checkHead()
    }
  }
  @Test func `looking at the head loses nothing`() throws {
    let input = try source(pieces(ramp(50), of: 7), SourceFormat(sample: .s16, rate: 48_000, channels: 1))
    try input.checkHead()
    #expect(try drainBytes(input) == ramp(50))
  }
  @Test func `a read that waits can be ended, and what lies in the pipe by then is still read`() throws {
    var data: [Int32] = [0, 0]
    #expect(pipe(&data) == 0)
    let bytes = ramp(50)
    #expect(write(data[1], bytes, bytes.count) == bytes.count)
    let input = try StandardInputSource(
      descriptor: data[0], format: SourceFormat(sample: .s16, rate: 48_000, channels: 1))
    try input.checkHead()
    input.interrupt()
    #expect(try drainBytes(input) == bytes)  // the writer is still there: without the interrupt it would wait
  }
  @Test func `a pipe that doesn't block is waited for`() throws {
    let descriptor = pipe(of: pieces(ramp(2_000), of: 10))
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    let input = try StandardInputSource(
      descriptor: descriptor, format: SourceFormat(sample: .s16, rate: 48_000, channels: 1))
    #expect(try drainBytes(input) == ramp(2_000))
  }
  @Test func `what can't be read is refused at once`() throws {
    let format = SourceFormat(sample: .s16, rate: 48_000, channels: 1)
    let folder = open("/tmp", O_RDONLY)
    defer { close(folder) }
    #expect(throws: SourceError.notAFile("a folder")) {
      _ = try StandardInputSource(descriptor: folder, format: format)
    }
    #expect(throws: SourceError.io(EBADF)) { _ = try StandardInputSource(descriptor: 9_999, format: format) }
    #expect(throws: SourceError.unreadable("it states 0 channels")) {
      _ = try StandardInputSource(
        descriptor: 0, format: SourceFormat(sample: .s16, rate: 48_000, channels: 0))
    }
    #expect(throws: SourceError.self) {
      _ = try StandardInputSource(descriptor: 0, format: SourceFormat(sample: .s16, rate: 1, channels: 1))
    }
  }
}
