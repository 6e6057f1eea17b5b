import Signal

/// What a person should know of a take's sound, in words.
public struct Verdict: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    case tooQuiet = "too_quiet"
    case tooLoud = "too_loud"
    case noisy, humming, offset
  }
  public var kind: Kind
  /// What it is, and what to do about it.
  public var message: String

  var json: JSON { .object([("kind", .string(kind.rawValue)), ("message", .string(message))]) }

  /// Speech below this is too quiet, as while it is recorded: −46 LUFS, 20 dB under the −26 dBov of ITU-T P.830.
  static let quietSpeech = -46.0
  /// Where nobody speaks: the bars of the waveform begin at −60 dBFS.
  static let quietSound = -60.0
  /// Speech has peaks 12 dB and more above its loudness: beyond this they must have been cut.
  static let loudest = -10.0
  /// Speech less than 15 dB above the noise is hard to follow (ANSI/ASA S12.60 asks that of classrooms).
  static let leastDistance = 15.0
  /// Of 21 recordings of Debian's pocketsphinx-testdata, alsa-utils and codec2-examples six have hum that can be seen in
  /// their pauses, at −48 to −59 dBFS; below −55 it can't be heard beside a voice at −24.
  static let leastHum = -55.0
  /// −40 dBFS.
  static let leastOffset = 0.01

  static func all(of report: InspectReport) -> [Verdict] {
    guard report.frames > 0 else { return [] }
    var verdicts: [Verdict] = []
    func add(_ kind: Kind, _ message: String) { verdicts.append(Verdict(kind: kind, message: message)) }
    let levels = report.levels
    let speaks = report.speech.practice.speechMs > 0
    let floor = report.noiseFloorDb
    // Loudness has no blocks below −70 LUFS, nor of less than 0.4 s.
    let level = report.loudness > levelFloor ? report.loudness : levels.acRmsDb
    if level < (speaks ? quietSpeech : quietSound) {
      add(
        .tooQuiet,
        speaks
          ? "too quiet: come nearer to the microphone or raise its level"
          : "too quiet: hardly anything is to be heard")
    }
    if levels.clippedRuns > 0 {
      let times = levels.clippedRuns == 1 ? "once" : "\(levels.clippedRuns) times"
      add(.tooLoud, "clipped \(times): move the microphone away or lower its level")
    } else if level > loudest {
      add(.tooLoud, "too loud: lower the microphone's level")
    }
    // Without pauses the quietest tenth isn't the background.
    if speaks, report.speech.practice.speechShare < 0.9, floor > quietSound,
      level - floor < leastDistance
    {
      add(.noisy, "noisy: what is said stands only little above the background")
    }
    if let hum = report.hum, hum.db > leastHum {
      add(.humming, "humming: mains hum of \(hum.hertz) Hz; look at cables, chargers and ground")
    }
    if abs(levels.dcOffset) > leastOffset {
      add(.offset, "DC offset: the waveform isn't centred, which costs headroom; the sound card's fault")
    }
    return verdicts
  }
}
