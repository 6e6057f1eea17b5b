import Glibc

/// The lowest level any field shows, in dBFS.
public let levelFloor = -160.0

/// dBFS of a mean square against full scale 1.0: a full-scale sine reads −3.01.
///
/// - Parameter meanSquare: linear, 0 or more. NaN and negative values read as silence.
/// - Returns: finite, −160 or more.
public func decibels(meanSquare: Double) -> Double {
  guard meanSquare > 1e-16 else { return levelFloor }
  return 10 * log10(meanSquare)
}

/// dBFS of an amplitude against full scale 1.0: a full-scale sine's peak reads 0.
public func decibels(amplitude: Double) -> Double { decibels(meanSquare: amplitude * amplitude) }

/// Height of a waveform bar, 0…1: −60 dBFS and less is flat, 0 dBFS is full.
public func barHeight(meanSquare: Double) -> Double {
  min(1, max(0, (decibels(meanSquare: meanSquare) + 60) / 60))
}
