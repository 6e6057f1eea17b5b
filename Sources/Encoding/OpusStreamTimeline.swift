/// Places packets on one stream's time line by the granule positions of its pages. Pure.
///
/// Positions count 48 kHz samples from the start of the stream's first packet, pre-skip included.
/// Source: RFC 7845 sections 4 to 4.5, and how holes and false positions are met where it only says that they mustn't be.
struct OpusTimeline: Equatable {
  /// Larger positions and negative ones are refused, so that no sum can overflow.
  static let granules = 0...(Int64(1) << 62)
  /// The longest a page can be: 255 packets of 120 ms.
  static let longestPage: Int64 = 255 * 5_760
  /// Silence put in where no page is missing: 10 minutes at most; a longer jump is a false position.
  static let longestJump: Int64 = 600 * 48_000
  /// Pages that may be missing before the first for the time before it to be a hole; with more, the stream was joined
  /// in the middle (RFC 7845 section 4.5).
  static let mostLostAtStart: Int64 = 64

  enum Fault: Equatable {
    /// The first granule position is smaller than its packets are long (refused by RFC 7845 section 4.5).
    case beforeStart
    /// It goes back, or the last one trims more than its page.
    case backwards(Int64)
    /// It jumps further than what is missing can account for.
    case jump(Int64)
  }
  struct Placement: Equatable {
    /// Silence ahead of the page's packets.
    var holeBefore: Int64 = 0
    /// Silence behind them.
    var holeAfter: Int64 = 0
    /// How much of the page's packets counts, from the front; less than all of it only at the end.
    var kept: Int64
    var fault: Fault?
  }

  /// Granule position of the stream's first sample, once a page told it.
  private(set) var base: Int64?
  /// Samples placed so far.
  private(set) var done: Int64 = 0
  private var isTrusted = true  // no position was false so far

  /// Places the packets that end on a page.
  ///
  /// - Parameters:
  ///   - sum: samples in these packets, 0…`longestPage`.
  ///   - granule: the page's position, nil where it has none that counts.
  ///   - unit: samples of its packets where all are equally long, else 0: what is lost is a multiple of it.
  ///   - isLast: no page of the stream follows.
  ///   - lostPages: pages missing just before it.
  ///   - allowance: samples of silence that may still be put in.
  mutating func place(
    _ sum: Int64, granule: Int64?, unit: Int64 = 0, isLast: Bool, lostPages: Int64, allowance: Int64
  ) -> Placement {
    var placement = Placement(kept: sum)
    if let granule, Self.granules.contains(granule) {
      if let base {
        let ahead = granule - (base + done + sum)
        if ahead > 0 {
          let bound = lostPages > 0 ? Self.bound(lostPages) : Self.longestJump
          if ahead > min(bound, allowance) {
            shift(by: ahead, .jump(ahead), &placement)
          } else if isLast, lostPages == 0 {
            placement.holeAfter = ahead
          } else {
            leaveHole(ahead, isLast ? unit : 0, &placement)
          }
        } else if ahead < 0 {
          let kept = sum + ahead
          if isLast, kept > 0 || (kept == 0 && isTrusted) {
            placement.kept = kept
          } else {
            shift(by: ahead, .backwards(-ahead), &placement)
          }
        }
      } else {
        placeFirst(granule - (done + sum), isLast ? unit : 0, isLast, lostPages, allowance, &placement)
      }
    }
    done += placement.holeBefore + placement.kept + placement.holeAfter
    return placement
  }

  private mutating func placeFirst(
    _ start: Int64, _ unit: Int64, _ isLast: Bool, _ lostPages: Int64, _ allowance: Int64,
    _ placement: inout Placement
  ) {
    base = 0
    if start > 0 {
      let isHole =
        (1...Self.mostLostAtStart).contains(lostPages) && start <= min(Self.bound(lostPages), allowance)
      if isHole { leaveHole(start, unit, &placement) } else { base = start }
    } else if start < 0 {
      if isLast, placement.kept + start > 0 {
        placement.kept += start
      } else {
        base = start
        isTrusted = false
        placement.fault = .beforeStart
      }
    }
  }
  /// - Parameter unit: on the last page, which may also be trimmed, the packets' length; else 0.
  private func leaveHole(_ samples: Int64, _ unit: Int64, _ placement: inout Placement) {
    let trim = unit > 0 ? (unit - samples % unit) % unit : 0
    placement.holeBefore = samples + trim
    placement.kept -= trim
  }
  private mutating func shift(by samples: Int64, _ fault: Fault, _ placement: inout Placement) {
    base = base.map { $0 + samples }
    isTrusted = false
    placement.fault = fault
  }
  private static func bound(_ lostPages: Int64) -> Int64 { min(lostPages, 1 << 32) * longestPage }
}
