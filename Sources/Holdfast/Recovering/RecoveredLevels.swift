import Encoding
import Platform
import Session
import Signal

/// Levels, bars and noise floor of a recovered take: the ledger's, and what lies behind its newest summary measured from
/// the decoded audio.
struct RecoveredLevels {
  var summary: LevelSummary
  var bars: [Double]
  var quietMeanSquare: Double?

  /// - Parameters:
  ///   - records: the ledger's.
  ///   - frames: the take's length; summaries beyond it aren't used.
  ///   - read: the finished stream's bytes.
  init(_ records: [LedgerRecord], frames: Int64, read: @escaping OggReadBytes) throws(OpusFileError) {
    var known = LevelSummary()
    for record in records {
      guard case .levels(let summary) = record.event, summary.frames <= frames else { continue }
      known.goOn(with: summary)
    }
    if known.frames == frames, let overview = Overview(restoring: known.bins, frames: frames) {
      summary = known
      bars = overview.bars(count: LiveBars.count, frames: frames, rest: known.pendingEnergy)
      quietMeanSquare = overview.quietMeanSquare()
      return
    }
    let restored = Meter(restoring: known.totals, bins: known.bins, pendingEnergy: known.pendingEnergy)
    if restored == nil { known = LevelSummary() }
    var measured = restored ?? Meter()
    if frames > known.frames {
      var decoder = try OpusStreamDecoder(read: read)
      _ = try decoder.seek(toFrame: known.frames)
      var block = [Float](repeating: 0, count: 4_800)
      while true {
        var span = block.mutableSpan
        let n = try decoder.read(into: &span)
        if n == 0 { break }
        for i in 0..<n { block[i] = max(-1, min(1, block[i])) }
        measured.push(block.span.extracting(0..<n)) { _ in }
      }
    }
    summary = known
    summary.totals = measured.finalTotals
    summary.pendingEnergy = measured.pendingEnergy
    summary.bins = []
    bars = measured.bars()
    quietMeanSquare = measured.overview.quietMeanSquare()
  }
}
