import Glibc
import Platform

/// Why a device that was capturing stopped. Frames delivered before it are good.
public enum CaptureFault: Error, Equatable, Sendable {
  /// Unplugged, unloaded, or broken: the errno ALSA gave.
  case deviceLost(Int32)
  /// The machine slept.
  case suspended
  /// The sound server went away: the errno ALSA gave.
  case serverGone(Int32)
  /// Another program holds it.
  case deviceTaken
  /// Over 20 overruns in 1 s.
  case overrunStorm
  /// No frames for 2 s, though the device says it runs.
  case deviceSilent

  /// How long a device may deliver nothing: 2 s.
  public static let silenceMs: Int64 = 2_000

  /// As events and the ledger name it.
  public var reason: String {
    switch self {
    case .deviceLost: "device_lost"
    case .suspended: "suspended"
    case .serverGone: "server_gone"
    case .deviceTaken: "device_taken"
    case .overrunStorm: "overrun_storm"
    case .deviceSilent: "device_silent"
    }
  }
  /// For people, one clause.
  public var text: String {
    switch self {
    case .deviceLost(let code): "the sound device is gone (\(alsaText(code)))"
    case .suspended: "the machine went to sleep"
    case .serverGone(let code): "the sound server is gone (\(alsaText(code)))"
    case .deviceTaken: "another program took the sound device"
    case .overrunStorm: "over 20 overruns in a second"
    case .deviceSilent: "the sound device delivers nothing"
    }
  }
}

/// Why a device can't be opened. Nothing was made; there is no take yet.
public enum CaptureOpenError: Error, Equatable, Sendable {
  case noDevice(Path)
  /// Only for a default that nobody named.
  case noMicrophone(WhyNoMicrophone)
  case busy(Path)
  case permission(Path)
  case noServer(Path)
  /// No format, rate or channel count in common, or the device can't start so (ENOSPC there is bandwidth).
  case formatRefused(Path, DeviceOffer?)
  /// ALSA's definition of that name doesn't hold.
  case badSettings(Path)
  case other(Path, Int32)

  public enum WhyNoMicrophone: Equatable, Sendable {
    case missing
    /// The default is what a loudspeaker plays: the source's name.
    case monitor(String)
    case null
  }

  /// The command's exit code.
  public var exitCode: Int32 {
    switch self {
    case .busy: 75
    case .permission: 77
    default: 69
    }
  }
  /// For programs, snake_case.
  public var kind: String {
    switch self {
    case .noDevice: "no_device"
    case .noMicrophone: "no_microphone"
    case .busy: "device_busy"
    case .permission: "permission"
    case .noServer: "no_server"
    case .formatRefused: "format_refused"
    case .badSettings: "bad_settings"
    case .other: "device_error"
    }
  }
  /// One line for people: what failed, on what, why, and what to do.
  public var message: String {
    switch self {
    case .noDevice(let name):
      "\(shown(name)): no such sound device; `holdfast devices` lists those that are there"
    case .noMicrophone(let why):
      "no microphone: \(why.text); record a file instead: holdfast record --input file:PATH"
    case .busy(let name): "\(shown(name)): in use by another program; close it there and try again"
    case .permission(let name):
      "\(shown(name)): permission denied; join the group audio (`usermod -aG audio USER`, then log in again), "
        + "or let the sound server of your session have the device"
    case .noServer(let name):
      "\(shown(name)): no sound server answers; start it (`systemctl --user start pulseaudio` or `pipewire-pulse`)"
    case .formatRefused(let name, let offer):
      "\(shown(name)): the device can't run with what Holdfast reads; "
        + (offer.map { "it offers \($0.text); " } ?? "")
        + "try alsa:plughw: in place of alsa:hw:, or another device"
    case .badSettings(let name):
      "\(shown(name)): bad settings: no such card number, or ALSA's definition of the name doesn't hold; "
        + "see `holdfast devices`, asound.conf and ~/.asoundrc"
    case .other(let name, let code): "\(shown(name)): \(alsaText(code))"
    }
  }
  private func shown(_ name: Path) -> String { "sound device \"\(name.display)\"" }

  /// Sorts an errno of ALSA's (positive) by what the caller can do about it.
  ///
  /// - Parameters:
  ///   - running: it failed once the PCM was open: the name is right then.
  ///   - offer: what the device can do, where it could be asked.
  static func from(_ code: Int32, _ name: Path, running: Bool, offer: DeviceOffer? = nil) -> CaptureOpenError
  {
    switch code {
    case EBUSY, EAGAIN: .busy(name)
    case EACCES, EPERM: .permission(name)
    case ECONNREFUSED, ECONNRESET, EHOSTDOWN, ENOTCONN: .noServer(name)
    case ENOSPC: .formatRefused(name, offer)
    case EINVAL, ENOTSUP, EPROTO: running ? .formatRefused(name, offer) : .badSettings(name)
    case ENOENT, ENODEV, ENXIO, ENOTTY: SoundNodes.areDenied ? .permission(name) : .noDevice(name)
    default: .other(name, code)
    }
  }
  /// The same error where the user named no device.
  var forDefault: CaptureOpenError {
    switch self {
    case .noDevice, .noServer: .noMicrophone(.missing)
    default: self
    }
  }
}

extension CaptureOpenError.WhyNoMicrophone {
  var text: String {
    switch self {
    case .missing: "this machine has no default sound device to record from"
    case .monitor(let name): "the default source is \(name), which only hears what is played"
    case .null: "the default sound device is a null device, which hears nothing"
    }
  }
}

/// The C library's text, but for the number that would speak of a disk.
private func alsaText(_ code: Int32) -> String {
  code == ENOSPC ? "not enough bandwidth" : Errno(code).text
}

/// The kernel's device files.
enum SoundNodes {
  /// True where sound cards are there but this user may not open one of them. ALSA then says "no such device".
  static var areDenied: Bool {
    for card in 0..<32 {
      let denied = unsafe "/dev/snd/controlC\(card)".withCString { path in
        unsafe access(path, R_OK | W_OK) != 0 && (errno == EACCES || errno == EPERM)
      }
      if denied { return true }
    }
    return false
  }
}
