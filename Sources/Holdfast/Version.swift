import Capture
import Encoding
import Signal

/// This program's version and those of the libraries it runs with.
public enum HoldfastVersion {
  public static let number = "0.1.0"
  public static var libraries: [String] {
    [
      OpusEncoder.libraryVersion, Digest.libraryVersion, ResamplerVersion.text, AudioFile.libraryVersion,
      ALSASource.libraryVersion,
    ]
  }
}
