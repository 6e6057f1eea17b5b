import Glibc
import Testing

@testable import Capture
@testable import Platform
@testable import Signal

/// Through a real PulseAudio and ALSA's pulse plugin.
@Suite(
  .enabled(if: Rig.works, Rig.missing),
  .enabled(if: SoundServer.trouble == nil, Comment(rawValue: SoundServer.trouble ?? "")), .serialized)
struct SoundServerTests {
  private func position(of part: [UInt8], in all: [UInt8]) -> Int? {
    let first = Array(part.prefix(64))
    guard all.count >= part.count else { return nil }
    for start in stride(from: 0, through: all.count - part.count, by: 2)
    where all[start] == first[0] && all[start..<(start + 64)].elementsEqual(first) {
      return all[start..<(start + part.count)].elementsEqual(part) ? start : nil
    }
    return nil
  }

  @Test func `what is played is recorded bit for bit`() throws {
    let server = try SoundServer()
    let source = try ALSASource(name: Path("pa"), wish: CaptureWish(bufferMs: 500))
    #expect(source.format == SourceFormat(sample: .s16, rate: 48_000, channels: 1))
    let background = try Background(source)
    let played = noise(2 * 72_000, seed: 9)
    let paplay = server.play(played)
    #expect(paplay.code == 0, "\(paplay.output)")
    usleep(300_000)
    let got = background.stop()
    #expect(got.fault == nil)
    #expect(position(of: played, in: got.bytes) != nil)
  }

  @Test func `the default is no microphone where it is a monitor, and one where it is named`() throws {
    let server = try SoundServer()
    var pcm = PCM()
    let error = #expect(throws: CaptureOpenError.self) {
      _ = try ALSASource.open(Path("padefault"), CaptureWish(), unnamed: true, into: &pcm)
    }
    #expect(error == .noMicrophone(.monitor("mic.monitor")))
    #expect(throws: Never.self) { _ = try ALSASource(name: Path("padefault")) }
    let missing = #expect(throws: CaptureOpenError.self) { _ = try ALSASource(name: Path("panosource")) }
    #expect(missing == .noDevice(Path("panosource")))
    server.stop()
  }

  @Test func `a server that dies is server_gone, and found again when it is back`() throws {
    var server: SoundServer? = try SoundServer()
    let source = try ALSASource(name: Path("pa"))
    var got = source.collect(9_600)
    #expect(got.frames >= 9_600)
    server?.stop()
    source.collect(.max, &got)
    guard case .serverGone? = got.fault else {
      Issue.record("\(String(describing: got.fault))")
      return
    }
    #expect(throws: CaptureOpenError.noServer(Path("pa"))) { try source.reopen() }
    server = try SoundServer()
    try source.reopen()
    got.fault = nil
    let before = got.frames
    source.collect(before + 9_600, &got)
    #expect(got.fault == nil && got.frames >= before + 9_600)
    _ = server
  }

  @Test func `a source that is unloaded is device_lost, and found again when it is back`() throws {
    let server = try SoundServer()
    let source = try ALSASource(name: Path("pa"))
    var got = source.collect(9_600)
    _ = server.pactl("unload-module", "module-null-sink")
    source.collect(.max, &got)
    guard case .deviceLost? = got.fault else {
      Issue.record("\(String(describing: got.fault))")
      return
    }
    #expect(throws: CaptureOpenError.noDevice(Path("pa"))) { try source.reopen() }
    let loaded = server.pactl(
      "load-module", "module-null-sink", "sink_name=mic", "rate=48000", "channels=1", "norewinds=1")
    #expect(loaded.code == 0, "\(loaded.output)")
    try source.reopen()
    got.fault = nil
    let before = got.frames
    source.collect(before + 9_600, &got)
    #expect(got.fault == nil && got.frames >= before + 9_600)
  }
}
