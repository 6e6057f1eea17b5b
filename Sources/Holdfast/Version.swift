import Capture
import Encoding
import Signal

/// This program's version and those of the libraries it runs with.
public enum HoldfastVersion {
  public static let text: StaticString = "0.1.0"
  public static var number: String { text.description }
  public static var libraries: [String] {
    [
      OpusEncoder.libraryVersion, Digest.libraryVersion, ResamplerVersion.text, AudioFile.libraryVersion,
      ALSASource.libraryVersion,
    ]
  }
}
