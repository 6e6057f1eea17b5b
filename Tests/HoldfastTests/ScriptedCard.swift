import Foundation
import TestSupport

/// The project's own sound card for the command (Tests/tools/scriptmic): `--input alsa:mic` hears a file, with faults.
struct ScriptedCard {
  /// What to add to the command's environment.
  let environment: [String: String?]

  /// - Parameters:
  ///   - samples: what it hears, again and again.
  ///   - rate: of the samples; the device's own stands in `keys`, 48 kHz by default.
  ///   - keys: more of scriptmic's keys, as ALSA's configuration has them.
  init(
    _ samples: [Float] = Tone.sine(48_000, hz: 1000, db: -6), rate: Int = 48_000, script: String = "",
    keys: String = "",
    in folder: TempFolder
  ) throws {
    let library = try Tool.library("scriptmic", ["-lasound", "-lm"])
    try Wav(samples, rate: rate).write(to: folder.file("mic.wav"))
    try folder.write(
      "asoundrc",
      """
      pcm_type.scriptmic { lib "\(library)" }
      pcm.mic { type scriptmic wav "\(folder.file("mic.wav"))" script "\(script)" \(keys) }
      """)
    environment = ["ALSA_CONFIG_PATH": "/usr/share/alsa/alsa.conf:\(folder.file("asoundrc"))"]
  }

  /// A device buffer that a busy machine doesn't overrun.
  static let patient = ["--input", "alsa:mic", "--buffer-ms", "2000"]
}
