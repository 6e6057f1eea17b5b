import Encoding
import Platform
import Session
import Signal

/// How a take is to be recorded.
public struct RecordingSettings: Sendable {
  /// `…/NAME.opus`; nil for a new name in the standard takes folder.
  public var output: Path?
  /// Where takes without `output` go, and those whose own folder is deleted.
  public var takesFolder: Path?
  /// Where a take goes whose folder is deleted, and that can go nowhere else.
  public var temporaryFolder: Path?
  public var force = false
  /// Names the take; the same id, input and libraries give the same bytes. Nil for a random one.
  public var takeID: String?
  /// Opaque text of the front end, at most 4 096 bytes.
  public var context: String?
  /// Limits in milliseconds of effective time; 0 for none.
  public var maxMs: Int64 = 0
  public var minValidMs: Int64 = 0
  /// Milliseconds from before the start that go into the take, where it was armed; they count as effective time.
  public var preRollMs: Int64 = 0
  public static let longestPreRollMs: Int64 = 60_000
  /// Gaps between words that are shorter are speech.
  public var minPauseMs = SpeechDetector.minPauseMs
  /// Silence of this many milliseconds, after which what follows is left out until 200 ms before the next sound; 0 for
  /// never.
  public var autoPauseMs: Int64 = 0
  /// Silence of this many milliseconds that ends the take; 0 for never.
  public var stopAfterSilenceMs: Int64 = 0
  /// The longest of both: a day.
  public static let longestSilenceMs: Int64 = 86_400_000
  public var encoder = EncoderSettings()
  public var channel = ChannelChoice.channel(1)
  public var quality = ResamplerQuality.medium
  public var gaps = GapPolicy.fill
  /// The file that is recorded, for messages; nil for other sources.
  public var inputPath: Path?
  /// What becomes of the take when its device goes away.
  public var absence = AbsencePolicy.ask
  /// What the ledger calls the source: file, stdin, tone, alsa.
  public var sourceKind = "file"
  /// True for a source that delivers in real time: every packet is stored at once, and slow readers lose levels.
  public var live = false
  /// Keeps the machine awake while a live source is recorded, where logind answers; not while it is armed.
  public var inhibitsSleep = true
  /// True where the reader of the events wants every level and the take can wait for it: never with a device.
  public var keepsEveryLevel = false

  /// Where it is heard from.
  public private(set) var input = InputSpec.defaultMicrophone
  public private(set) var inputOptions = InputOptions()

  public init() {}
  /// - Parameters:
  ///   - input: the source; the default microphone where nobody says.
  ///   - options: how it is read.
  public init(input: InputSpec, options: InputOptions = InputOptions()) {
    (self.input, inputOptions) = (input, options)
    (sourceKind, inputPath, live) = (input.kind, input.path, input.isLive(options))
  }
  func openInput() throws(RecorderFailure) -> SourceBox { SourceBox(source: try input.open(inputOptions)) }

  /// How an unfinished take is gone on with: as it was begun. Source and gaps are the caller's.
  public mutating func goOn(with continuation: Continuation) {
    let description = continuation.description
    output = continuation.place.audioPath
    takeID = description.takeID
    context = description.context
    (maxMs, minValidMs) = (description.maxMs, description.minValidMs)
    encoder = EncoderSettings(bitrate: description.bitrate, complexity: description.complexity)
  }

  /// The longest take id, in bytes of printable ASCII.
  public static let longestTakeID = 128
}
