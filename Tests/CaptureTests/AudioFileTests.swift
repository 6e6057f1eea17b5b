import Glibc
import Platform
import Testing

@testable import Capture

/// Files of every kind, made here or by the tools that the machine has.
@Suite struct `Reading audio files` {
  let folder = Folder()
  let plain = riff(chunk("fmt ", fmt()), chunk("data", ramp(1_000)))

  @Test func `samples are those of the file`() throws {
    let read = try readAll(folder.write(plain))
    #expect(read.samples.count == 1_000)
    #expect(isRamp(read.samples))
    #expect(read.error == nil)
    #expect(
      read.source.file.facts
        == AudioFacts(
          rate: 48_000, channels: 1, container: "WAV", sample: "s16", contentType: "audio/wav",
          statedFrames: 1_000))
  }
  @Test(arguments: [1, 64, 1_000, 48_000])
  func `the size of the reads doesn't matter`(block: Int) throws {
    let source = BlockSource(try FileSource(folder.write(plain)), frames: block)
    #expect(isRamp(drain(source, block: 48_000).samples))
  }
  @Test func `eight bits are unsigned`() throws {
    let file = riff(chunk("fmt ", fmt(rate: 8_000, bits: 8)), chunk("data", [0x80, 0x80, 0, 0xFF, 0x81]))
    #expect(try readAll(folder.write(file)).samples == [0, 0, -1, 127.0 / 128, 1.0 / 128])
  }
  @Test func `24 and 32 bits and floats come out exactly`() throws {
    let three = riff(
      chunk("fmt ", fmt(bits: 24)), chunk("data", [0, 0, 0x80, 1, 0, 0, 0xFF, 0xFF, 0x7F], pad: 0x51))
    #expect(try readAll(folder.write(three)).samples == [-1, 1 / 8_388_608, 8_388_607 / 8_388_608])
    let four = riff(chunk("fmt ", fmt(bits: 32)), chunk("data", [0, 0, 0, 0x80, 0, 0, 0, 0x40]))
    #expect(try readAll(folder.write(four)).samples == [-1, 0.5])
    let double = riff(chunk("fmt ", fmt(tag: 3, bits: 64)), chunk("data", u64((-0.25).bitPattern)))
    #expect(try readAll(folder.write(double)).samples == [-0.25])
  }
  @Test func `what isn't a number, and what is over full scale, goes through`() throws {
    let values: [Float] = [.nan, .infinity, -.infinity, 2.5, -0.1]
    let file = riff(
      chunk("fmt ", fmt(tag: 3, bits: 32)), chunk("data", values.flatMap { u32($0.bitPattern) }))
    #expect(try readAll(folder.write(file)).samples.map(\.bitPattern) == values.map(\.bitPattern))
  }
  @Test func `a thousand channels can be read`() throws {
    let file = riff(chunk("fmt ", fmt(channels: 1_024)), chunk("data", ramp(1_024 * 3)))
    let read = try readAll(folder.write(file), block: 2)
    #expect(read.source.format.channels == 1_024)
    #expect(isRamp(read.samples))
  }
  @Test func `a file of no frames is read`() throws {
    let read = try readAll(folder.write(riff(chunk("fmt ", fmt()), chunk("data", []))))
    #expect(read.samples == [])
    #expect(read.error == nil)
  }
  @Test func `the samples of a killed recorder are all read`() throws {
    let junk = chunk("JUNK", [UInt8](repeating: 0, count: 4_044))
    let read = try readAll(
      folder.write(riff(junk, chunk("fmt ", fmt()), chunk("data", ramp(1_000), size: 0), size: 4_088)))
    #expect(isRamp(read.samples))
    #expect(read.samples.count == 1_000)
  }
  @Test func `reading changes neither the file nor its time`() throws {
    let path = folder.write(plain)
    var before = stat()
    var after = stat()
    _ = path.withCString { stat($0, &before) }
    _ = try readAll(path)
    _ = path.withCString { stat($0, &after) }
    #expect(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)
    #expect(folder.bytes(path) == plain)
  }
  @Test func `names are bytes`() throws {
    let names: [[UInt8]] = [
      Array("grün.wav".utf8), Array("gru\u{308}n.wav".utf8), Array("-dash.wav".utf8),
      Array("new\nline.wav".utf8),
      [0x62, 0xFF, 0x2E, 0x77], Array("%s%n.wav".utf8), Array("q\"uo'te ".utf8),
      [UInt8](repeating: 0x6C, count: 250),
    ]
    for name in names { #expect(try readAll(folder.write(plain, Path(bytes: name))).samples.count == 1_000) }
  }

  // MARK: What can't be opened

  private func refusal(_ path: Path) -> SourceError? {
    do throws(SourceError) {
      _ = try AudioFile(path)
      return nil
    } catch { return error }
  }
  @Test func `each kind of failure has its own error`() {
    #expect(refusal(folder.path.appending("missing")) == .notFound)
    #expect(refusal(Path("")) == .notFound)
    #expect(refusal(folder.path) == .notAFile("a folder"))
    #expect(refusal(Path("/dev/null")) == .notAFile("a character device"))
    #expect(refusal(folder.write([], "empty")) == .unreadable("it is empty"))
  }
  @Test(arguments: [
    Array("this is no sound\n".utf8), [UInt8](repeating: 0, count: 1_024), Array("RIFF".utf8),
    Array("OggS".utf8),
    Array("fLaC".utf8), Array("ID3".utf8), [0xFF, 0xFB], [0x49, 0x44, 0x33, 4, 0, 0, 0x7F, 0x7F, 0x7F, 0x7F],
  ])
  func `what is no audio is refused in one line`(content: [UInt8]) {
    guard case .unreadable(let text) = refusal(folder.write(content)) else {
      Issue.record("not refused")
      return
    }
    #expect(!text.contains("\n"))
  }
  @Test func `a film is called by its name`() {
    let film = folder.write(u32(0x1800_0000) + Array("ftypisom".utf8) + [UInt8](repeating: 0, count: 99))
    #expect(
      refusal(film)
        == .unreadable("it is an MP4 or M4A file, which can't be read; convert it to WAV, FLAC or Opus first")
    )
  }

  // MARK: Descriptors

  @Test func `a pipe is read through a file that has no name`() throws {
    let descriptor = pipe(
      of: stride(from: 0, to: plain.count, by: 100).map { Array(plain[$0..<min($0 + 100, plain.count)]) })
    defer { close(descriptor) }
    #expect(isRamp(drain(FileSource(try AudioFile(descriptor: descriptor))).samples))
  }
  @Test func `a pipe with placeholders for sizes counts its bytes`() throws {
    let file = riff(chunk("fmt ", fmt()), chunk("data", ramp(1_000), size: .max), size: .max)
    let descriptor = pipe(of: [file])
    defer { close(descriptor) }
    #expect(try AudioFile(descriptor: descriptor).facts.statedFrames == 1_000)
  }
  @Test func `a descriptor is read from where it stands, and stays there`() throws {
    let path = folder.write([1, 2, 3] + plain)
    let descriptor = path.withCString { open($0, O_RDONLY) }
    defer { close(descriptor) }
    lseek(descriptor, 3, SEEK_SET)
    #expect(isRamp(drain(FileSource(try AudioFile(descriptor: descriptor))).samples))
    #expect(lseek(descriptor, 0, SEEK_CUR) == 3)
  }
  @Test func `a named pipe is read`() throws {
    let path = folder.path.appending("fifo")
    _ = path.withCString { mkfifo($0, 0o600) }
    var child: pid_t = 0
    let file = folder.write(plain)
    let command = ["sh", "-c", "cat '\(file.text)' > '\(path.text)'"]
    var arguments = command.map { strdup($0) } + [nil]
    #expect(posix_spawnp(&child, "sh", nil, nil, &arguments, environ) == 0)
    #expect(isRamp(try readAll(path).samples))
    waitpid(child, nil, 0)
  }

  // MARK: Other formats

  private func tone(_ name: String, _ more: String...) -> Path {
    let wav = folder.write(riff(chunk("fmt ", fmt()), chunk("data", ramp(48_000))), "tone.wav")
    let out = folder.path.appending(name)
    precondition(run(["ffmpeg", "-v", "error", "-y", "-i", wav.text] + more + [out.text]) == 0)
    return out
  }
  @Test func `FLAC gives back every sample, whatever its name`() throws {
    let flac = folder.bytes(tone("a.flac"))
    let read = try readAll(folder.write(flac, "named.wav"))
    #expect(read.samples.count == 48_000)
    #expect(isRamp(read.samples))
    #expect(read.source.file.facts.container == "FLAC")
  }
  @Test func `tags around FLAC don't matter`() throws {
    let flac = folder.bytes(tone("a.flac"))
    func id3(_ size: Int) -> [UInt8] {
      Array("ID3".utf8) + [4, 0, 0] + [21, 14, 7, 0].map { UInt8(size >> $0 & 127) }
        + [UInt8](repeating: 0, count: size)
    }
    let behind = Array("TAG".utf8) + [UInt8](repeating: 32, count: 125)
    for file in [id3(300) + flac, id3(70_000) + flac, flac + behind, id3(300) + flac + behind] {
      let read = try readAll(folder.write(file, "tagged.flac"))
      #expect(isRamp(read.samples) && read.samples.count == 48_000)
      #expect(read.error == nil)
    }
  }
  @Test func `a cut FLAC gives its good frames and then an error`() throws {
    let flac = folder.bytes(tone("a.flac"))
    let read = try readAll(folder.write(Array(flac[..<(flac.count / 2)]), "cut.flac"))
    #expect(isRamp(read.samples))
    #expect(read.samples.count > 10_000)
    #expect(read.error == .read("it states 48000 frames; \(read.samples.count) could be decoded"))
  }
  @Test func `damage inside FLAC or Vorbis is an error`() throws {
    for name in ["a.flac", "a.ogg"] {
      let long = folder.made(name, by: "sox", "-n", "-r", "48000", "OUT", "synth", "10", "sine", "440")
      var bytes = folder.bytes(long)
      for index in 0..<200 { bytes[bytes.count / 2 + index] ^= 0x5A }
      let read = try readAll(folder.write(bytes, "damaged"))
      guard case .read = read.error else {
        Issue.record("\(name): \(String(describing: read.error))")
        continue
      }
    }
  }
  @Test func `a Vorbis file that wasn't closed says so`() throws {
    let bytes = folder.bytes(tone("a.ogg"))
    let read = try readAll(folder.write(Array(bytes.dropLast(10)), "cut.ogg"))
    #expect(read.source.statedFrames == nil)
    #expect(read.source.problems.kinds == ["not_closed"])
  }
  @Test(arguments: ["a.flac", "a.ogg", "a.aiff", "a.w64", "a.caf", "a.au", "a.mp3"])
  func `other containers have all their frames`(name: String) throws {
    let read = try readAll(tone(name))
    #expect(read.samples.count == 48_000)
    #expect(read.error == nil)
    #expect(read.source.problems == [])
  }
  @Test func `an RF64 file of another program is read`() throws {
    let read = try readAll(tone("a.wav", "-rf64", "always"))
    #expect(read.source.file.facts.container == "RF64")
    #expect(isRamp(read.samples) && read.samples.count == 48_000)
  }
  @Test func `an MP3 cut in the middle is damaged`() throws {
    let bytes = folder.bytes(tone("a.mp3"))
    guard case .read = try readAll(folder.write(Array(bytes[..<(bytes.count / 2)]), "cut.mp3")).error else {
      Issue.record("no error")
      return
    }
  }
  @Test(arguments: ["adpcm_ima_wav", "adpcm_ms", "pcm_alaw", "pcm_mulaw"])
  func `packed codecs in WAV are read`(codec: String) throws {
    let read = try readAll(tone("packed.wav", "-c:a", codec))
    #expect(read.error == nil)
    #expect((48_000...50_100).contains(read.samples.count))
    #expect(Int64(read.samples.count) == read.source.statedFrames)
  }
}
