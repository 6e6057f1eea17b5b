import CALSA
import Glibc
import Platform

/// A capture device, as `devices` lists it.
public struct ALSADevice: Sendable, Equatable {
  public enum Kind: String, Sendable {
    case microphone
    /// Hears what a loudspeaker plays.
    case monitor
    /// Hears nothing.
    case null
  }
  public enum Status: String, Sendable { case ready, busy, denied }

  /// Opens this very device, passed back unchanged.
  public var id: Path
  /// One line for people, UTF-8.
  public var description: String
  public var isDefault: Bool
  public var kind: Kind
  public var status: Status
  /// Nil where it is busy or denied.
  public var offer: DeviceOffer?

  public var isMonitor: Bool { kind == .monitor }
}

/// The capture devices of this machine.
public enum ALSADevices {
  /// Names of ALSA's stock configuration that aren't devices: converters in front of the default, and the sink.
  private static let notDevices: Set<String> = [
    "null", "lavrate", "samplerate", "speexrate", "speex", "upmix", "vdownmix",
  ]

  /// Asks ALSA for its list, and every device for what it offers. Each is opened for a moment.
  ///
  /// A name that doesn't open is left out; one that is in use or denied is in, and says so. Any thread; not quick.
  public static func list() -> [ALSADevice] {
    holdfast_alsa_silence()
    // ALSA keeps its configuration for the process: a card or file that came since would be missing.
    snd_config_update_free_global()
    let hints = hints()
    var seen: Set<Path> = []
    var devices: [ALSADevice] = []
    let standard = Path("default")
    let all = hints.contains { $0.id == standard } ? hints : [(standard, "The default device")] + hints
    for (id, description) in all where seen.insert(id).inserted && !notDevices.contains(id.text) {
      // libjack says on standard error that its server doesn't run, and can't be kept from it.
      if DefaultSource.defined(id, "type") == "jack" { continue }
      if let device = probe(id, description) { devices.append(device) }
    }
    return devices
  }

  private static func hints() -> [(id: Path, description: String)] {
    var raw: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    guard unsafe snd_device_name_hint(-1, "pcm", &raw) >= 0, let list = unsafe raw else { return [] }
    defer { unsafe snd_device_name_free_hint(list) }
    var found: [(id: Path, description: String)] = []
    var index = 0
    while let hint = unsafe list[index] {
      index += 1
      let direction = unsafe text(hint, "IOID") ?? []
      guard let name = unsafe text(hint, "NAME"), direction.isEmpty || direction == Array("Input".utf8) else {
        continue
      }
      found.append((Path(bytes: name), line(unsafe text(hint, "DESC") ?? name)))
    }
    return found
  }
  private static func text(_ hint: UnsafeRawPointer, _ key: String) -> [UInt8]? {
    guard let raw = unsafe snd_device_name_get_hint(hint, key) else { return nil }
    defer { unsafe free(raw) }
    return unsafe Array(UnsafeRawBufferPointer(start: raw, count: strlen(raw)))
  }
  /// Folds line ends, tabs and other control characters to one space each.
  static func line(_ bytes: [UInt8]) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
      scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar == "\u{2028}"
        || scalar == "\u{2029}"
        ? " " : scalar
    }
    return String(String.UnicodeScalarView(scalars))
  }

  private static func probe(_ id: Path, _ description: String) -> ALSADevice? {
    var device = ALSADevice(
      id: id, description: description, isDefault: id == Path("default"), kind: .microphone, status: .ready)
    do throws(Errno) {
      var pcm = try PCM(opening: id)
      device.offer = pcm.offer
      // A server's PCM opens whatever source it names; only a start tells whether that is there.
      if pcm.isServer, (try? pcm.configure(CaptureWish())) == nil || pcm.restart() < 0 { return nil }
      if DefaultSource.monitor(of: id, server: pcm.isServer) != nil {
        device.kind = .monitor
      } else if pcm.isNull {
        device.kind = .null
      }
    } catch {
      switch error.code {
      case EBUSY, EAGAIN: device.status = .busy
      case EACCES, EPERM: device.status = .denied
      default: return nil
      }
    }
    return device
  }
}

/// What stands behind a PCM of a sound server.
enum DefaultSource {
  /// The name of the monitor or null source that the PCM would record; nil for a microphone, or where nobody says.
  static func monitor(of name: Path, server: Bool) -> String? {
    var source = defined(name, "device")
    if source.isEmpty, server { source = environment("PULSE_SOURCE") ?? asked(defined(name, "server")) ?? "" }
    return source.hasSuffix(".monitor") || source.hasPrefix("auto_null") ? source : nil
  }
  /// Whether the PulseAudio server of that PCM, or PipeWire's, takes connections. Up to 1 s.
  static func serverAnswers(_ name: Path) -> Bool { asked(defined(name, "server")) != nil }

  /// The server's default source, "" where it has none; nil where no server answers.
  private static func asked(_ server: String) -> String? {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { room in
      guard let base = room.baseAddress, unsafe holdfast_pulse_default_source(server, base, 512) == 0 else {
        return nil
      }
      return unsafe String(cString: base)
    }
  }
  private static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }
  /// What ALSA's configuration gives for a key of that PCM, "" for nothing.
  static func defined(_ name: Path, _ key: String) -> String {
    unsafe name.withCString { name in
      unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { room in
        guard let base = room.baseAddress else { return "" }
        unsafe holdfast_alsa_defined(name, key, base, 512)
        let text = unsafe String(cString: base)
        return text.hasPrefix("$") ? "" : text  // an argument of the definition, not its value
      }
    }
  }
}
