/// Tells that the source is too quiet for a good take: somebody speaks, but far too low, or no sound at all gets through.
///
/// Works on the powers of blocks of 100 ms without their DC part, which `NoSignalDetector` has anyway. Pure, counts
/// effective frames, never allocates. Comes and goes at levels 4 dB apart, each held over a second and more, so that it
/// doesn't flicker.
public struct QuietWatch: Sendable {
  /// Mean square below which three seconds of speech are too quiet: −46 dBFS. That is 20 dB under −26 dBov, the level of
  /// speech that ITU-T P.830 tests telephony at and that recorders are set for; an analogue input that is muted has its
  /// noise near −63 dBFS, so that not much is left between both.
  static let tooQuiet: Float = 2.511_886e-5
  /// Above this over the newest second of speech it is loud enough: −42 dBFS.
  static let loudEnough: Float = 6.309_573e-5
  /// Mean square that nothing rose above, so that no bar of the waveform did: −60 dBFS.
  static let nothing: Float = 1e-6
  /// Sound without speech above this ends that: −55 dBFS, above a muted input's noise.
  static let something: Float = 3.162_278e-6

  private static let spokenBlocks = 30
  private static let newestBlocks = 10
  private static let silentBlocks = 100
  private static let soundBlocks = 20
  /// Speech is known some 0.2 s late: a block is judged when so many have followed.
  private static let late = 3

  public private(set) var isActive = false
  private var recent = InlineArray<3, Float>(repeating: 0)
  private var pushed = 0
  private var spoken = InlineArray<30, Float>(repeating: 0)
  private var spokenCount = 0  // since the take's start
  private var silent = 0  // blocks in a row below `nothing`
  private var sounding = 0  // blocks without speech above `something`, since the warning came

  public init() {}

  /// Takes the next 100 ms.
  ///
  /// - Parameters:
  ///   - power: mean square without DC.
  ///   - speaking: the detector's word on the present.
  ///   - hasSignal: false while there is none at all: another warning tells that, and this one doesn't come.
  /// - Returns: true where the warning came or went.
  public mutating func push(power: Float, speaking: Bool, hasSignal: Bool) -> Bool {
    let judged = recent[pushed % Self.late]
    recent[pushed % Self.late] = power
    pushed += 1
    guard pushed > Self.late else { return false }
    let was = isActive
    if speaking {
      spoken[spokenCount % Self.spokenBlocks] = judged
      spokenCount += 1
      judgeSpeech()
    } else {
      judgeSound(judged)
    }
    if !hasSignal { isActive = isActive && was }
    return isActive != was
  }

  private mutating func judgeSpeech() {
    (silent, sounding) = (0, 0)
    if isActive {
      guard spokenCount >= Self.newestBlocks else { return }
      isActive = mean(newest: Self.newestBlocks) <= Self.loudEnough
    } else {
      isActive = spokenCount >= Self.spokenBlocks && mean(newest: Self.spokenBlocks) < Self.tooQuiet
    }
  }
  /// Who has spoken may well be silent: only before the first word does quiet say anything.
  private mutating func judgeSound(_ power: Float) {
    guard spokenCount < Self.newestBlocks else { return }
    silent = power < Self.nothing ? silent + 1 : 0
    sounding = isActive && power > Self.something ? sounding + 1 : 0
    if sounding >= Self.soundBlocks { isActive = false }
    if silent >= Self.silentBlocks { isActive = true }
  }
  private func mean(newest count: Int) -> Float {
    var sum: Float = 0
    for i in (spokenCount - count)..<spokenCount { sum += spoken[i % Self.spokenBlocks] }
    return sum / Float(count)
  }
}
