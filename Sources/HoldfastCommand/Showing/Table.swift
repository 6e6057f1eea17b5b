/// The one table of every command: fixed columns, so that rows can be shown as they come, and the name last.
///
/// On a terminal that is too narrow columns go, the least important first, until the name has some room.
struct Table {
  struct Column: Sendable {
    var title: String
    /// Columns of the terminal, the blank behind it included.
    var width: Int
    /// The highest goes first; 0 stays.
    var rank: Int
    init(_ title: String, _ width: Int, rank: Int = 0) {
      self.title = title
      self.width = width
      self.rank = rank
    }

    static let length = Column("LENGTH", 9)
    static let state = Column("STATE", 12)
    static let pauses = Column("PAUSES", 8, rank: 3)
    static let size = Column("SIZE", 10, rank: 2)
  }
  struct Cell {
    var text: String
    var tone: Style.Tone
    init(_ text: String, _ tone: Style.Tone = .plain) {
      self.text = text
      self.tone = tone
    }
  }

  private let style: Style
  private let columns: [Column]
  private let shown: [Int]
  private let last: String
  private static let leastName = 16

  init(_ columns: [Column], last: String = "NAME", _ style: Style) {
    self.columns = columns
    self.style = style
    self.last = last
    var shown = Array(columns.indices)
    if let width = style.columns {
      while shown.reduce(0, { $0 + columns[$1].width }) + Self.leastName > width,
        let least = shown.last(where: { i in
          columns[i].rank > 0 && shown.allSatisfy { columns[$0].rank <= columns[i].rank }
        })
      {
        shown.removeAll { $0 == least }
      }
    }
    self.shown = shown
  }

  var header: String {
    style.strong(shown.map { pad(columns[$0].title, columns[$0].width) }.joined() + last)
  }
  /// - Parameter cells: one a column, in their order.
  func row(_ cells: [Cell], _ name: String) -> String {
    shown.map { i in
      let text = fitted(cells[i].text, columns[i].width - 1, style)
      let blanks = String(repeating: " ", count: max(1, columns[i].width - displayWidth(text)))
      return style.paint(text, cells[i].tone) + blanks
    }.joined() + name
  }
  /// What is to be said of a row, below it.
  func note(_ text: String, _ tone: Style.Tone = .plain) -> [String] {
    let indent = columns.first.map(\.width) ?? 2
    guard style.columns != nil else { return [String(repeating: " ", count: indent) + text] }
    return Help.wrap(text, style, indent: min(indent, style.textWidth / 4)).map { style.paint($0, tone) }
  }
}

/// Bytes for people: `812 B`, `44.7 kB`, `1.2 MB`.
func sizeText(_ bytes: Int64) -> String {
  guard bytes >= 1_000 else { return "\(bytes) B" }
  var value = Double(bytes) / 1_000
  for unit in ["kB", "MB", "GB"] {
    if value < 999.95 { return "\(fixed(value, 1)) \(unit)" }
    value /= 1_000
  }
  return "\(fixed(value, 1)) TB"
}
