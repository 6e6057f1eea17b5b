/// Columns that a text takes on a terminal: 2 for East Asian wide characters and emoji, 0 for what combines.
func displayWidth(_ text: String) -> Int { text.reduce(0) { $0 + displayWidth($1) } }

private func displayWidth(_ character: Character) -> Int {
  // What stands behind the first scalar of a character combines with it; a second one that makes it an emoji widens it.
  var width = 0
  for scalar in character.unicodeScalars {
    if scalar == "\u{FE0F}" { return 2 }
    width = max(width, displayWidth(scalar))
  }
  return width
}
private func displayWidth(_ scalar: Unicode.Scalar) -> Int {
  if scalar.value < 0x300 { return scalar.value == 0xAD ? 0 : 1 }
  switch scalar.properties.generalCategory {
  case .nonspacingMark, .enclosingMark, .format, .control: return 0
  default: break
  }
  if scalar.properties.isEmojiPresentation { return 2 }
  return wide.contains { $0.contains(scalar.value) } ? 2 : 1
}
/// East Asian Width W and F (Unicode 15, UAX #11), in whole blocks.
private let wide: [ClosedRange<UInt32>] = [
  0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
  0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60,
  0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
]

/// Fills up with blanks to a column; one blank at least.
func pad(_ text: String, _ column: Int) -> String {
  text + String(repeating: " ", count: max(1, column - displayWidth(text)))
}

/// The front of a text that fits into so many columns, with the style's ellipsis where something is left out.
func fitted(_ text: String, _ columns: Int, _ style: Style) -> String {
  guard displayWidth(text) > columns else { return text }
  let dots = displayWidth(style.ellipsis) < columns ? style.ellipsis : ""
  var out = ""
  var room = columns - displayWidth(dots)
  for character in text {
    room -= displayWidth(character)
    guard room >= 0 else { break }
    out.append(character)
  }
  return out + dots
}
