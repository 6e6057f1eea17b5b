/// The newest 34 windows as bar heights, right-aligned, zeros on the left.
public struct LiveBars: Sendable {
  public static let count = 34
  private var heights = InlineArray<34, Double>(repeating: 0)
  private var next = 0

  public init() {}

  public mutating func push(_ height: Double) {
    heights[next] = height
    next = (next + 1) % Self.count
  }
  /// Oldest first.
  public var bars: [Double] { (0..<Self.count).map { heights[(next + $0) % Self.count] } }
}
