/// Which of a source's channels becomes the take's one.
public enum ChannelChoice: Sendable, Equatable {
  case channel(Int)  // counted from 1
  case mix  // the mean of all
}
