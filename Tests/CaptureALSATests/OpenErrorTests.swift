import Glibc
import Testing

@testable import Capture
@testable import Platform
@testable import Signal

@Suite(.enabled(if: Rig.works, Rig.missing)) struct OpenErrorTests {
  private func refusal(_ name: Path?) -> CaptureOpenError? {
    do throws(CaptureOpenError) { _ = try ALSASource(name: name) } catch { return error }
    return nil
  }
  private func refusal(opening code: String) -> CaptureOpenError? {
    refusal(Card(bytes: [0, 0], openError: code).name())
  }
  /// As if it were the default.
  private func unnamed(_ name: String) -> CaptureOpenError? {
    var pcm = PCM()
    do throws(CaptureOpenError) {
      _ = try ALSASource.open(Path(name), CaptureWish(), unnamed: true, into: &pcm)
    } catch { return error.forDefault }
    return nil
  }

  @Test func `each reason has its own kind, code and words`() throws {
    let errors = ["EBUSY", "EACCES", "ENODEV", "ENOSPC", "EIO"].compactMap { refusal(opening: $0) }
    #expect(
      errors.map(\.kind) == ["device_busy", "permission", "no_device", "format_refused", "device_error"])
    #expect(errors.map(\.exitCode) == [75, 77, 69, 69, 69])
    #expect(Set(errors.map(\.message)).count == 5)
    for error in errors {
      #expect(!error.message.contains("\n"))
      for word in ["disk", "space"] { #expect(!error.message.lowercased().contains(word)) }
    }
    #expect(errors.count > 1 && errors[1].message.contains("group audio"))
  }

  @Test(arguments: [
    "hw1,0", "nosuch", "", "hw:97,0", "a,b|c", "{", "sm:NOSUCHKEY=1", "é\u{1F3A4}", "sm:RAW=/nonexistent",
  ])
  func `a name that isn't there is refused in one line`(name: String) throws {
    let error = try #require(refusal(Path(name)))
    #expect(error.exitCode == 69 && !error.message.contains("\n"))
  }
  @Test func `bytes that are no text, and a NUL, are refused too`() {
    #expect(refusal(Path(bytes: [0xFF, 0xFE]))?.exitCode == 69)
    #expect(refusal(Path(bytes: Array("nothing".utf8) + [0, 1]))?.kind == "no_device")
  }

  @Test func `a device in use is busy, and free again once it is closed`() throws {
    let name = Card(bytes: noise(20_000, seed: 1)).name()
    var first: ALSASource? = try ALSASource(name: name)
    #expect(first?.format.rate == 48_000)
    #expect(refusal(name) == .busy(name))
    first = nil
    #expect(refusal(name) == nil)
  }

  @Test func `a sound server that isn't there is told apart from a device`() throws {
    let error = try #require(refusal(Path("noserver")))
    // Without ALSA's pulse plugin the name means nothing.
    if error.kind != "no_device" { #expect(error == .noServer(Path("noserver")) && error.exitCode == 69) }
  }

  @Test func `null and monitors are microphones only when they are named`() {
    #expect(unnamed("nothing") == .noMicrophone(.null))
    #expect(unnamed("nothingbehind") == .noMicrophone(.null))
    #expect(unnamed("nosuch") == .noMicrophone(.missing))
    #expect(refusal(Path("nothing")) == nil)
    #expect(CaptureOpenError.noMicrophone(.missing).message.contains("holdfast record --input file:"))
    #expect(CaptureOpenError.noMicrophone(.missing).exitCode == 69)
  }

  @Test func `permission of the sound nodes is found without a trap`() { _ = SoundNodes.areDenied }
}

@Suite(.enabled(if: Rig.works, Rig.missing)) struct DeviceListTests {
  @Test func `every listed id that is ready opens, and what doesn't open isn't listed`() throws {
    _ = Rig.shared.file("listed.raw", noise(20_000, seed: 3))
    let devices = ALSADevices.list()
    let ids = devices.map(\.id.text)
    #expect(Set(ids).count == ids.count)
    for id in ["mic,é [x]", "CARD=Mic,DEV=0", "spät", "listed", "listedbusy", "listeddenied"] {
      #expect(ids.contains(id), "\(id)")
    }
    for id in ["a", "a|b", "listedgone", "null"] { #expect(!ids.contains(id), "\(id)") }
    // What leads to a sound server comes and goes with the tests that run beside this one.
    let served: Set = ["pa", "padefault", "panosource", "default", "pulse"]
    for device in devices
    where device.status == .ready && device.id.text != "listed" && !served.contains(device.id.text) {
      var pcm = PCM()
      #expect(throws: Never.self) {
        _ = try ALSASource.open(device.id, CaptureWish(), unnamed: false, into: &pcm)
      }
    }
    #expect(throws: Never.self) { _ = try ALSASource(name: Path("a|b")) }
  }

  @Test func `a device says what it offers, or why not, in one line`() throws {
    _ = Rig.shared.file("listed.raw", noise(20_000, seed: 3))
    let devices = ALSADevices.list()
    let listed = try #require(devices.first { $0.id.text == "listed" })
    #expect(listed.description == "Two lines, and a tab" && listed.kind == .microphone && !listed.isDefault)
    #expect(
      listed.offer == DeviceOffer(formats: ["S16_LE", "S24_3LE"], rates: [44_100, 48_000], channels: 1...2))
    #expect(devices.first { $0.id.text == "listedbusy" }?.status == .busy)
    #expect(devices.first { $0.id.text == "listeddenied" }?.status == .denied)
    let zeile = try #require(devices.first { $0.id.text == "spät" })
    #expect(zeile.description == "Zeile eins Zeile zwei" && zeile.kind == .null)
  }
}
