import Capture
import Encoding
import Signal

/// This program's version and those of the libraries it runs with.
public enum HoldfastVersion {
  public static let text: StaticString = "0.1.0"
  /// When that version was made, as manual pages show it.
  public static let date = "2026-11-30"
  public static var number: String { text.description }
  public static var libraries: [String] {
    [
      OpusEncoder.libraryVersion, Digest.libraryVersion, ResamplerVersion.text, AudioFile.libraryVersion,
      ALSASource.libraryVersion,
    ]
  }
}
